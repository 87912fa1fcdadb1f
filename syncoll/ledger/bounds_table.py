"""BoundsTable: a collective's lower bounds on a topology, shared between values of C.

One linear program serves every C, because a larger C cuts every chunk of the least one.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial

from syncoll.bounding import bound_at_once, combining_rounds_bound
from syncoll.bounding.rounds import BoundsMemory, rounds_bound, with_cut, with_trees
from syncoll.certificates import Certificate, ChunkClasses, DemandView, RoundsBound
from syncoll.clock import now
from syncoll.deadline import NEVER, Deadline
from syncoll.errors import LocatedError, UsageError
from syncoll.model import Collective, Instance, RelationTable, Topology
from syncoll.model.derived import require_sense
from syncoll.model.node_sets import MOST_DENSE_CELLS
from syncoll.model.reach import Reach
from syncoll.results import Point
from syncoll.wording import counted

LARGEST_LEAST_CHUNKS = 100_000
"""Where the search for the least C gives up."""

THOROUGH_SECONDS, MORE = 20.0, 2
"""Seconds for one bound, so that the others of a frontier get time too; and the factor by which
more time must be available before a late bound is tried again."""

_SHARE = 0.4
"""The share of the remaining time that one bound may take; and the share of a bound's time for
trees, which prove more than flows where few steps are left."""

_NEAR_STEPS, _NEAR_MULTIPLES = (64, 24), (3, 5)
"""Each S has its own bound up to these limits, in steps and in multiples of the least S, to save
time and memory.  The first number is for collectives that move data, the second for combining."""


_FEWEST = 6
"""The first S are bounded in ascending order; a frontier has its most useful points there."""

_MANY_SETS = 1 << 14
"""With more different sets of destinations the first points come sooner than a cut."""


@dataclass(eq=False)
class BoundsTable:
    """Lower bounds on steps and rounds of a collective; the bounds on R/C hold for every C.

    Args:
        prove: computes bounds, as `syncoll.bounding.rounds_bound` does.
        deadline: after it no linear program is started; quick bounds for any number of steps are
            used instead.
        chunks: the C whose chunks certificates refer to; None for the least.
        further: looks for better bounds where a gap is left, as
            `syncoll.plugins.plugin_bounds.PluginBounds` does; None without plugins of bounds.

    Attributes:
        left_out: each C for which the collective is defined but cannot be met, with the error.
        skipped: S (None: any) for whose bound there was no time.
        late: S for which more time may prove more.
    """

    topology: Topology
    collective: Collective
    prove: Callable[..., RoundsBound] = rounds_bound
    deadline: Deadline = NEVER
    chunks: int | None = None
    further: Callable[..., RoundsBound] | None = None
    left_out: dict[int, LocatedError] = field(default_factory=dict, init=False)
    skipped: set[int | None] = field(default_factory=set, init=False)
    late: set[int | None] = field(default_factory=set, init=False)
    _admits: dict[int, bool] = field(default_factory=dict, init=False)
    _bounds: dict[int | None, RoundsBound] = field(default_factory=dict, init=False)
    # Seconds after which a quick bound that proved nothing for its S is tried again; other quick
    # bounds, in a search that begins again; and a thorough bound, with more time.
    _hurried: dict[int | None, float] = field(default_factory=dict, init=False)
    _late: dict[int | None, float] = field(default_factory=dict, init=False)
    _thorough: dict[int | None, float] = field(default_factory=dict, init=False)
    _found: list[tuple[int, Fraction]] = field(default_factory=list, init=False)
    _points: dict[int, Point] = field(default_factory=dict, init=False)
    _memory: BoundsMemory = field(default_factory=BoundsMemory, init=False)

    def admits(self, chunks: int) -> bool:
        """Whether there are algorithms to look for with C = `chunks`.

        The collective must be defined for this C, and its demands must be possible: its parts fit
        together, and paths exist for its chunks.  If they are impossible, `left_out` has the
        reason.
        """
        if chunks not in self._admits:
            try:
                admitted = self.collective.admits(self.topology.num_nodes, chunks)
                if admitted and True not in self._admits.values():  # one stands for all
                    require_sense(self.collective, self.topology, chunks)
            except LocatedError as error:
                admitted, self.left_out[chunks] = False, error
            self._admits[chunks] = admitted
        return self._admits[chunks]

    def least_chunks(self, most: int | None = None) -> int:
        """The least C, up to a limit.  Raises `UsageError` if the collective is defined for no C.
        Raises `ModelError` if its demands are impossible on the topology."""
        most = most or LARGEST_LEAST_CHUNKS
        for chunks in range(1, most + 1):
            if self.admits(chunks):
                return chunks
            if self.left_out:  # impossible for every C
                raise next(iter(self.left_out.values()))
        name, needs = self.collective.name, self.collective.requirement
        raise UsageError(
            f"collective {name} is defined for no C up to {most} on "
            f"{counted(self.topology.num_nodes, 'node')}" + (f": {needs}" if needs else "")
        )

    def instance(self, chunks: int, steps: int, rounds: int) -> Instance:
        """The instance for these numbers; raises `ModelError` where the collective makes none."""
        return self.collective.instantiate(self.topology, chunks=chunks, steps=steps, rounds=rounds)

    def num_chunks(self, chunks: int) -> int:
        """The number of chunks of all nodes together with C = `chunks`."""
        return len(self.table) * chunks // self._chunks

    def num_sends(self, chunks: int, steps: int) -> int:
        """About the number of sends that an algorithm chooses from: a formula's variables."""
        return self.num_chunks(chunks) * len(self.topology.links) * steps

    def is_writable(self, chunks: int) -> bool:
        """Whether the chunks fit the tables of an instance."""
        return self.num_chunks(chunks) * self.topology.num_nodes <= MOST_DENSE_CELLS

    @cached_property
    def shape(self) -> ChunkClasses:
        """The chunks by their demands, for the C that certificates refer to."""
        return ChunkClasses.of(self.table, self._chunks, combining=self.collective.combining)

    @cached_property
    def _chunks(self) -> int:
        return self.chunks or self.least_chunks()

    @cached_property
    def table(self) -> RelationTable:
        """Pre and post, for the C that certificates refer to."""
        return self.collective.table_on(self.topology, self._chunks)

    @property
    def has_many_sets(self) -> bool:
        """Whether bounds and reports take seconds, for many different sets of destinations."""
        return len(self.table.ends.sets) > _MANY_SETS

    @cached_property
    def reach(self) -> Reach:
        """The distances that chunks must travel."""
        return Reach.of(self.topology, self.table, self.collective.combining)

    @property
    def least_steps(self) -> int:
        """The distance bound on S."""
        return self.reach.least_steps

    def again(self, deadline: Deadline) -> None:
        """Begins again with a new deadline; late bounds may prove more."""
        self.deadline = deadline
        self._hurried |= self._late
        self._late.clear()

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Within this context only known bounds and cuts are used; no long computation begins.  The
        omitted bounds may still be proved later."""
        usual, skipped = self.deadline, set(self.skipped)
        self.deadline = NEVER.sooner(0.0)
        try:
            yield
        finally:
            self.deadline, self.skipped = usual, skipped

    def found(self, steps: int, bandwidth: Fraction, point: Point | None = None) -> None:
        """Enters an algorithm: no bound exceeds its cost, and a bound that meets it is sufficient.
        The trees of its `point` are a warm start of bounds."""
        self._found.append((steps, bandwidth))
        if point is not None:
            self._points[steps] = point

    @property
    def load(self) -> Fraction:
        """A lower bound on R/C, if no switch copies: one send for each node that needs a chunk and
        does not have it, over all links together; 0 for collectives that combine."""
        if self.collective.combining:
            return Fraction(0)
        sends = int(self.table.ends.sizes.sum()) - int(self.table.starts.sizes.sum())
        room = sum(bound.chunks_per_round for bound in self.topology.bounds)
        return max(sends, 0) / room / self._chunks if room else Fraction(0)

    @property
    def cut(self) -> Fraction:
        """A lower bound on R/C for any number of steps that is found at once."""
        return self._cut.rounds / self.shape.chunks

    def _met(self, bound: RoundsBound, steps: int | None) -> bool:
        """Whether an algorithm of at most `steps` steps costs no more than the bound."""
        cheapest = self._cheapest(steps)
        return cheapest is not None and cheapest <= bound.rounds

    def _cheapest(self, steps: int | None) -> Fraction | None:
        """R of the cheapest algorithm known of at most `steps` steps."""
        costs = (cost for known, cost in self._found if steps is None or known <= steps)
        return min((cost * self.shape.chunks for cost in costs), default=None)

    def bandwidth(self, steps: int | None = None) -> Fraction:
        """A lower bound on R/C for at most `steps` steps (None: any number).  The quick one, until
        `tighten` was called for the same steps."""
        return self.certificate(steps).bandwidth

    def known(self, steps: int) -> Fraction:
        """As `bandwidth`, without computing anything for this number of steps."""
        return self.bandwidth(steps) if steps in self._bounds else self._best(steps).bandwidth

    def certificate(self, steps: int | None = None) -> Certificate:
        """The best certificate known for at most `steps` steps; the more general of equals."""
        if steps is None:
            return self._best(None)
        if steps in self._bounds or not self.deadline.passed:
            return self._best(steps, self._bound(steps))
        self.skipped.add(steps)
        return self._best(steps)

    def _best(self, steps: int | None, *own: RoundsBound) -> Certificate:
        """The best of the bounds for any number of steps, for more steps, and the given ones."""
        bounds = [self._cut, self._bound(None)]
        if steps is not None:
            # A bound for more steps holds for these too; under a short deadline it may prove more.
            more = (s for s in self._bounds if s is not None and s > steps)
            bounds += [self._bounds[s] for s in sorted(more, reverse=True)]
        return Certificate(self.shape, max([*bounds, *own], key=lambda bound: bound.rounds))

    def tighten(self, steps: int | None, seconds: float = THOROUGH_SECONDS) -> Fraction:
        """The same bound after spending up to about `seconds` on the larger relaxation."""
        far = steps is not None and self.is_far(steps)
        if not far and seconds >= MORE * self._thorough.get(steps, 0.0):
            self._rounds(steps, seconds, thorough=True)
            self._thorough[steps] = seconds if steps in self.late else math.inf
        return self.bandwidth(steps)

    def is_far(self, steps: int) -> bool:
        """Whether S has no bound of its own: it would hardly exceed the bound for any number of
        steps, and its linear program grows with S."""
        near, times = (of[self.collective.combining] for of in (_NEAR_STEPS, _NEAR_MULTIPLES))
        return steps > max(near, times * self.least_steps)

    def _bound(self, steps: int | None) -> RoundsBound:
        if steps is not None and self.is_far(steps):
            steps = None
        seconds = min(THOROUGH_SECONDS, self.deadline.left() * _SHARE)
        if steps not in self._bounds or seconds > MORE * self._hurried.get(steps, math.inf):
            if self.deadline.passed:
                self.skipped.add(steps)
                return self._cut
            if self._met(self._known, steps):
                self._bounds[steps] = self._known
                return self._known
            found = self._rounds(steps, seconds, thorough=False)
            if steps in self.late:
                proves_nothing = steps is not None and found.steps is None
                (self._hurried if proves_nothing else self._late)[steps] = seconds
        return self._bounds[steps]

    @property
    def _known(self) -> RoundsBound:
        """The best bound so far for any number of steps; the earlier one among equals."""
        return max(self._cut, self._bounds.get(None, self._cut), key=lambda one: one.rounds)

    @cached_property
    def _cut(self) -> RoundsBound:
        """The quick bound for any number of steps."""
        return bound_at_once(self.topology, self.shape)

    def _rounds(self, steps: int | None, seconds: float, *, thorough: bool) -> RoundsBound:
        """A bound within a time limit, kept unless a better one is known.  Its S is late if more
        time may prove more."""
        began = now()
        self.late.discard(steps)
        own = seconds if self.further is None else seconds * (1 - _SHARE)
        found = self._proved(steps, own, thorough)
        spent = now() - began
        if spent >= own:
            self.late.add(steps)
        if self.further is not None and not self._met(found, steps):
            enough, until = self._cheapest(steps), Deadline.after(seconds - spent)
            found = self.further(
                self.topology, self.collective, self.shape, steps, found, enough, until
            )
        before = self._bounds.get(steps, found)
        self._bounds[steps] = max(found, before, key=lambda bound: bound.rounds)
        self._hurried.pop(steps, None)
        self.skipped.discard(steps)
        return found

    def _proved(self, steps: int | None, seconds: float, thorough: bool) -> RoundsBound:
        shape = self.shape
        left_out = partial(self.late.add, steps)
        prove = partial(self.prove, left_out=left_out)
        where, reading = self.topology, DemandView.MOVING
        if not shape.combining:
            demands = shape.demands(reading)
            bound = prove(
                where, demands, steps, thorough=thorough, seconds=seconds, memory=self._memory
            )
        else:
            # Two linear programs for every node.  Case splits are only for an S for which an
            # algorithm is known.
            bound = combining_rounds_bound(
                where,
                shape,
                steps,
                thorough=thorough,
                seconds=seconds,
                prove=prove,
                known=None if steps is None else self._known,
                enough=self._cheapest(steps) if thorough else None,
                left_out=left_out,
                memory=self._memory,
            )
            if not shape.ends_alone:
                return bound
            where, reading = where.reversed(), DemandView.INVERSE
            demands = shape.demands(reading)
        if thorough:
            share = seconds * _SHARE
            known = (
                (point.instance.table, point.algorithm)
                for point in self._points.values()
                if where is self.topology and point.steps <= (steps or 0)
            )
            bound = with_trees(where, demands, bound, steps, share, known)
        return with_cut(where, demands, bound, self.deadline.seconds)


def in_turn(steps: Iterable[int]) -> list[int]:
    """Numbers of steps in the order in which they are bounded when there may not be time for all.

    The fewest steps come first, because they take the least time.  A bound also holds for fewer
    steps, so the others follow from widely spaced to dense.
    """
    every = sorted(steps)
    found, parts = every[:_FEWEST], [every[_FEWEST:]]
    while len(found) < len(every):
        parts.sort(key=len)
        part = parts.pop()
        place = len(part) // 3
        found.append(part[place])
        parts += part[:place], part[place + 1 :]
    return found
