"""BoundsTable: a collective's lower bounds on a topology, shared between values of C.

A larger C cuts every chunk of the least one, so that one linear program serves every C.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import partial

from syncoll.bounding import (
    BoundsMemory,
    bound_at_once,
    combining_rounds_bound,
    rounds_bound,
    with_cut,
    with_trees,
)
from syncoll.certificates import Certificate, ChunkClasses, DemandView, RoundsBound
from syncoll.clock import now
from syncoll.deadline import NEVER, Deadline
from syncoll.errors import LocatedError
from syncoll.model import Collective, Instance, Topology
from syncoll.model.derived import require_sense
from syncoll.model.node_sets import MOST_DENSE_CELLS
from syncoll.model.reach import Reach
from syncoll.results import Point

__all__ = ["BoundsTable", "in_turn"]

_THOROUGH_SECONDS = 20.0

_SHARE_OF_REST = 0.4
"""The part of the time that is left which one bound may take."""

_HURRY, _MORE = 0.5, 4
"""A bound that had fewer seconds, and proves nothing of its S, is looked for again where there are
so many times as many."""

_LATE = 0.8
"""One that took this part of its seconds may prove more in a search that begins again."""

_NEAR_STEPS, _NEAR_MULTIPLES = (64, 24), (3, 5)
"""Up to so many steps (of collectives that move data, and of those that combine it), and so many
times the least, each has a bound of its own."""

_FEWEST = 6
"""So many S are bounded in their order."""

_SHARE_OF_TREES = 0.5
"""The part of the time that goes to trees, which prove more than flows where few steps are left."""


class BoundsTable:
    """Lower bounds on steps and rounds; of an irregular collective those of one C.

    Args:
        prove: computes bounds, as `syncoll.bounding.rounds_bound` does.
        deadline: after it no linear program is started; quick bounds for any number of steps are
            used instead.
    """

    def __init__(
        self,
        topology: Topology,
        collective: Collective,
        prove: Callable[..., RoundsBound] = rounds_bound,
        deadline: Deadline = NEVER,
    ) -> None:
        self.topology, self.collective, self._prove = topology, collective, prove
        self.deadline = deadline
        self.skipped: set[int | None] = set()
        self.left_out: dict[int, LocatedError] = {}
        """C for which the collective is said to be defined, but of which nothing can be made."""
        self._admits: dict[int, bool] = {}
        self._made_sense = False
        self._shape: ChunkClasses | None = None
        self._least_steps: int | None = None
        self._bounds: dict[tuple[int, int | None], RoundsBound] = {}
        self._hurried: dict[tuple[int, int | None], float] = {}
        """For which of them there were only so many seconds, in which nothing was proved of S."""
        self._late: dict[tuple[int, int | None], float] = {}
        """Which of them took all of so many seconds."""
        self.late: set[int | None] = set()
        """Of which S `tighten` may prove more in more time."""
        self._thorough: set[tuple[int, int | None]] = set()
        self._cuts: dict[int, RoundsBound] = {}
        self._found: list[tuple[int, Fraction]] = []
        self._points: dict[int, Point] = {}
        self._memory = BoundsMemory()

    def instance(self, chunks: int, steps: int, rounds: int) -> Instance:
        """The instance for these numbers; raises `ModelError` where the collective makes none."""
        return self.collective.instantiate(self.topology, chunks=chunks, steps=steps, rounds=rounds)

    def is_writable(self, chunks: int) -> bool:
        """Whether the chunks are not too many for the tables of an instance."""
        shape = self.shape(chunks)
        total = int(shape.classes.counts.sum()) * chunks // shape.chunks
        return total * self.topology.num_nodes <= MOST_DENSE_CELLS

    def admits(self, chunks: int) -> bool:
        """Whether there are algorithms to look for with C = `chunks`.

        The collective must be defined for it here, and make sense: its parts fit together, and
        what must get somewhere can.  Where the second fails, `left_out` has the reason.
        """
        if chunks not in self._admits:
            try:
                admitted = self.collective.admits(self.topology.num_nodes, chunks)
                if admitted and not self._made_sense:  # one stands for all
                    require_sense(self.collective, self.topology, chunks)
                    self._made_sense = True
            except LocatedError as error:
                admitted, self.left_out[chunks] = False, error
            self._admits[chunks] = admitted
        return self._admits[chunks]

    def least_steps(self, chunks: int) -> int:
        """The distance bound on S, the same for every C; computed for C = `chunks`."""
        if self._least_steps is None:
            self._least_steps = self.reach(chunks).least_steps
        return self._least_steps

    def reach(self, chunks: int) -> Reach:
        """How far what is asked for with C = `chunks` is."""
        table = self.collective.table_on(self.topology, chunks)
        return Reach.of(self.topology, table, self.collective.combining)

    def until(self, deadline: Deadline) -> None:
        """From now on bounds are begun until then."""
        self.deadline = deadline

    def again(self, deadline: Deadline) -> None:
        """The same for a search that begins again, with more time: what was late may prove more."""
        self.until(deadline)
        self._hurried |= self._late
        self._late.clear()

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """While it lasts, bounds are those that are known, or cuts: none is begun that takes long.

        What is left out so may still be proved later.
        """
        usual, skipped = self.deadline, set(self.skipped)
        self.deadline = NEVER.sooner(0.0)
        try:
            yield
        finally:
            self.deadline, self.skipped = usual, skipped

    def found(self, steps: int, bandwidth: Fraction, point: Point | None = None) -> None:
        """Tells of an algorithm: no bound is above what it costs, and what meets it is enough.

        Args:
            point: the algorithm, whose trees are a warm start of bounds.
        """
        self._found.append((steps, bandwidth))
        if point is not None:
            self._points[steps] = point

    def is_met(self, chunks: int) -> bool:
        """Whether a cut, found at once, proves that nothing beats an algorithm of fewest steps."""
        shape = self.shape(chunks)
        return self._met(self._cut(shape), shape.chunks, self.least_steps(chunks))

    def _met(self, bound: RoundsBound, chunks: int, steps: int | None) -> bool:
        """Whether an algorithm of at most so many steps costs no more than the bound."""
        return any(
            cost * chunks <= bound.rounds
            for known, cost in self._found
            if steps is None or known <= steps
        )

    def bandwidth(self, chunks: int, steps: int | None = None) -> Fraction:
        """A lower bound on R/C for C = `chunks` and at most `steps` steps (None: any number).

        The quick one, until `tighten` was called for the same steps.
        """
        return self.certificate(self.shape(chunks), steps).bandwidth

    def known(self, chunks: int, steps: int) -> Fraction:
        """The same, without computing anything for this number of steps."""
        shape = self.shape(chunks)
        own = steps if (shape.chunks, steps) in self._bounds else None
        return self.certificate(shape, own).bandwidth

    def certificate(self, shape: ChunkClasses, steps: int | None = None) -> Certificate:
        """The best one known for a shape and at most `steps` steps; the more general of equals."""
        bounds = [self._cut(shape), self._bound(shape, None)]
        if steps is not None:
            # What holds for more steps holds for these; with little time more may prove more.
            more = [s for c, s in self._bounds if c == shape.chunks and s is not None and s > steps]
            bounds += [self._bounds[shape.chunks, s] for s in sorted(more, reverse=True)]
            if (shape.chunks, steps) in self._bounds or not self.deadline.passed:
                bounds.append(self._bound(shape, steps))
            else:
                self.skipped.add(steps)
        return Certificate(shape, max(bounds, key=lambda bound: bound.rounds))

    def certificates(self, chunks: int, steps: int | None) -> tuple[Certificate, ...]:
        """The best certificate for C = `chunks`; none where distances rule so few steps out."""
        if steps is not None and self.least_steps(chunks) > steps:
            return ()
        return (self.certificate(self.shape(chunks), steps),)

    def tighten(
        self, chunks: int, steps: int | None, seconds: float | None = _THOROUGH_SECONDS
    ) -> Fraction:
        """The same bound after spending up to about `seconds` on the larger relaxation."""
        shape = self.shape(chunks)
        if steps is not None and self.is_far(shape.chunks, steps):
            return self.bandwidth(chunks, steps)
        key = shape.chunks, steps
        if key not in self._thorough or steps in self.late:
            self._thorough.add(key)
            self.late.discard(steps)
            began = now()
            self._keep(key, self._rounds(shape, steps, seconds=seconds))
            if seconds is not None and now() - began >= seconds:
                self.late.add(steps)
        return self.bandwidth(chunks, steps)

    def _left(self) -> float:
        """Seconds for the next bound."""
        return min(_THOROUGH_SECONDS, self.deadline.left() * _SHARE_OF_REST)

    def _cheapest(self, chunks: int, steps: int | None) -> Fraction | None:
        """R of the cheapest algorithm known of at most so many steps."""
        costs = (cost for known, cost in self._found if steps is not None and known <= steps)
        return min((cost * chunks for cost in costs), default=None)

    def is_far(self, chunks: int, steps: int) -> bool:
        """Whether so many steps have no bound of their own: it would say next to nothing more than
        that for any number of steps, and its linear program grows with them."""
        near, times = (of[self.collective.combining] for of in (_NEAR_STEPS, _NEAR_MULTIPLES))
        return steps > max(near, times * self.least_steps(chunks))

    def _bound(self, shape: ChunkClasses, steps: int | None) -> RoundsBound:
        if steps is not None and self.is_far(shape.chunks, steps):
            steps = None
        key = shape.chunks, steps
        if key not in self._bounds or self._left() > _MORE * self._hurried.get(key, math.inf):
            if self.deadline.passed:
                self.skipped.add(steps)
                return self._cut(shape)
            known = self._known(shape)
            if self._met(known, shape.chunks, steps):
                self._bounds[key] = known
                return known
            seconds, began = self._left(), now()
            found = self._rounds(shape, steps, thorough=False, seconds=seconds)
            self._keep(key, found)
            if steps is not None and found.steps is None and seconds < _HURRY:
                self._hurried[key] = seconds
            elif now() - began > _LATE * seconds:
                self._late[key] = seconds
        return self._bounds[key]

    def _keep(self, key: tuple[int, int | None], found: RoundsBound) -> None:
        """Remembers a bound unless a better one is known, and that nothing hurried it."""
        before = self._bounds.get(key, found)
        self._bounds[key] = max(found, before, key=lambda bound: bound.rounds)
        self._hurried.pop(key, None)
        self.skipped.discard(key[1])

    def _known(self, shape: ChunkClasses) -> RoundsBound:
        """The best bound so far for any number of steps; the earlier one among equals."""
        cut = self._cut(shape)
        return max(cut, self._bounds.get((shape.chunks, None), cut), key=lambda one: one.rounds)

    def _cut(self, shape: ChunkClasses) -> RoundsBound:
        """The quick bound for any number of steps."""
        if shape.chunks not in self._cuts:
            self._cuts[shape.chunks] = bound_at_once(self.topology, shape)
        return self._cuts[shape.chunks]

    def _rounds(
        self,
        shape: ChunkClasses,
        steps: int | None,
        *,
        thorough: bool = True,
        seconds: float | None = _THOROUGH_SECONDS,
    ) -> RoundsBound:
        prove = self._prove
        if thorough:
            prove = partial(prove, left_out=lambda: self.late.add(steps))
        where, reading = self.topology, DemandView.MOVING
        if not shape.combining:
            demands = shape.demands(reading)
            bound = prove(
                where, demands, steps, thorough=thorough, seconds=seconds, memory=self._memory
            )
        else:
            # Two linear programs for every node; the larger relaxation is for one of them alone,
            # and dividing cases for where an algorithm is known.
            bound = combining_rounds_bound(
                where,
                shape,
                steps,
                thorough=thorough and shape.ends_alone,
                seconds=seconds,
                prove=prove,
                known=None if steps is None else self._known(shape),
                enough=self._cheapest(shape.chunks, steps) if thorough else None,
                memory=self._memory,
            )
            if not shape.ends_alone:
                return bound
            where, reading = where.reversed(), DemandView.INVERSE
            demands = shape.demands(reading)
        if thorough:
            share = (_THOROUGH_SECONDS if seconds is None else seconds) * _SHARE_OF_TREES
            known = (
                (point.instance.table, point.algorithm)
                for point in self._points.values()
                if where is self.topology and point.steps <= (steps or 0)
            )
            bound = with_trees(where, demands, bound, steps, share, known)
        return with_cut(where, demands, bound, self.deadline.seconds)

    def shape(self, chunks: int) -> ChunkClasses:
        """The shape that stands for every C: that of the first `chunks` that was asked for."""
        if self._shape is None:
            table = self.collective.tabulate(self.topology.num_nodes, chunks)
            self._shape = ChunkClasses.of(table, chunks, combining=self.collective.combining)
        return self._shape


def in_turn(steps: Iterable[int]) -> list[int]:
    """Numbers of steps in the order in which they are bounded where there may not be time for all.

    The fewest come first, which take the least time.  A bound holds for fewer steps too, so then
    those that have some below them, from far apart to near.
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
