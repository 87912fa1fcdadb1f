"""Lower bounds on rounds: the best of the affordable relaxations."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import inf
from typing import TypeVar

import numpy as np

from syncoll.bounding.at_once import least_cut
from syncoll.bounding.cuts import find_cut
from syncoll.bounding.network import QUICK, THOROUGH, TimeExpandedNetwork
from syncoll.bounding.quotient import Quotient, eager_rounds
from syncoll.bounding.rationals import NEAR, TOLERANCE
from syncoll.bounding.relaxation import Relaxation, RelaxationKind
from syncoll.bounding.representative_destinations import payers
from syncoll.bounding.timed_cuts import TimedCut, TimedCuts
from syncoll.bounding.trees import find_tree_prices, trees_of
from syncoll.certificates.certificate import RoundsBound
from syncoll.certificates.chunk_classes import Demand, DemandList, DemandView
from syncoll.certificates.priced import Priced
from syncoll.deadline import Deadline, OutOfTimeError, interrupted_at
from syncoll.memory import budget, on_refusal
from syncoll.model import Algorithm, RelationTable, Topology

_Found = TypeVar("_Found")

_FEW_FLOWS = (2_000, 20_000)
"""With more variables than this, cuts replace flows to each destination: for one demand, where cuts
are fast, and for several."""

_BUILT_PER_SECOND = 100_000
"""The number of variables that are built and reduced in a second."""


@dataclass(eq=False)
class BoundsMemory:
    """Results of a search's bounds that serve bounds for other S: where nothing more can be proved.

    Attributes:
        ratings: the share of the best bound that a reading of a node proved last.
        late_gossip: the least S for which gossip had no time, and the seconds of a turn.
    """

    ratings: dict[tuple[DemandView, int | None], float] = field(default_factory=dict)
    late_gossip: tuple[int, float] | None = None
    _flows: "dict[tuple[int, DemandList], FlowBounds]" = field(default_factory=dict)

    def flows(self, topology: Topology, demands: Sequence[Demand]) -> "FlowBounds":
        """The bounds of some demands, with results for other S."""
        key = id(topology), DemandList.of(demands)  # the bounds keep the topology alive
        if key not in self._flows:
            self._flows[key] = FlowBounds(topology, key[1])
        return self._flows[key]


def rounds_bound(
    topology: Topology,
    demands: Sequence[Demand],
    steps: int | None = None,
    *,
    thorough: bool = True,
    seconds: float | None = 20.0,
    reading: DemandView = DemandView.MOVING,
    node: int | None = None,
    more_than: Fraction = Fraction(0),
    left_out: Callable[[], None] = lambda: None,
    memory: BoundsMemory | None = None,
) -> RoundsBound:
    """The best bound on R that cuts and relaxations prove in the time, exact and certified.

    Args:
        demands: sources and destinations of chunks; every destination must be within reach.
        steps: S, or None for any number of steps.  The bound may hold for more steps than that.
        thorough: whether to solve the larger relaxation also where it may take many seconds.
        seconds: time limit of all of it; None for no limit.  Bounds proved by then count.
        reading: the kind of the demands, for the record.
        node: the node of the reading, for the record.
        more_than: bounds up to this are not looked for.
        left_out: called when a program is skipped that more time would solve.
        memory: results of bounds for other S; it is added to.
    """
    if not demands:
        return RoundsBound(Fraction(0), steps, None, reading, node)
    known = (memory or BoundsMemory()).flows(topology, demands)
    known.left_out = left_out
    bound = known.bound(steps, thorough=thorough, seconds=seconds, more_than=more_than)
    return replace(bound, reading=reading, node=node)


class FlowBounds:
    """Bounds for some demands; each S uses the results of others, and of `any_steps`."""

    def __init__(self, topology: Topology, demands: DemandList) -> None:
        self.topology, self.demands = topology, demands
        self.single = bool((demands.first_node >= 0).all())
        self.several = bool((demands.second_node < 0).any())
        self.separate = all(len(members) == 1 for members in topology.bound_links)
        self.any_steps = RoundsBound(Fraction(0), None, None)
        self.left_out: Callable[[], None] = lambda: None
        self._began = False
        self._quotient: Quotient | None = None
        self._ceilings: list[tuple[int, float]] = []
        """(S, R): from S steps on no relaxation proves more than R."""
        self._together: dict[int, float] = {}
        """For each S the optimum of flows together."""
        self._copied: dict[int, float] = {}
        """For each S the optimum of copies."""
        self._cuts: dict[int, tuple[TimedCut, ...]] = {}
        """For each S the tight cuts of its bound, if cuts proved it."""
        self._given_up: list[tuple[int, float, float]] = []
        """S for which copies took longer than these seconds, or left more than these variables."""

    def bound(
        self, steps: int | None, *, thorough: bool, seconds: float | None, more_than: Fraction
    ) -> RoundsBound:
        """The best bound in the time."""
        deadline = Deadline.after(seconds)
        best = RoundsBound(Fraction(0), steps, None)
        try:
            with interrupted_at(deadline):
                deadline.check()
                self._begin(deadline)
                best = max(best, self.any_steps, key=_rounds)
                known = max(best, RoundsBound(more_than, None, None), key=_rounds)
                for bound in self._proved(steps, known, thorough, deadline):
                    best = max(best, bound, key=_rounds)
                    if self._settled(steps, best):
                        break
        except OutOfTimeError:
            self.left_out()  # bounds proved so far hold
        except MemoryError:
            on_refusal(
                f"no memory was left for the bound on R for {_of(steps)}: a weaker one is used"
            )
        if best.steps is None and best.rounds > self.any_steps.rounds:
            self.any_steps = best
        return best

    def _begin(self, deadline: Deadline) -> None:
        """Prepares quick results: symmetry, cuts around nodes and the eager schedule."""
        if self._began:
            return
        if self.any_steps.certificate is None:  # a call that ran out of time may have it
            self.any_steps = least_cut(self.topology, self.demands)
        if not self.topology.counts_copies:  # otherwise one node pays for each demand
            self._quotient = Quotient.of(self.topology, self.demands, deadline.share(0.3))
            if self.several and self.single:
                seconds = deadline.share(0.3).seconds
                eager = eager_rounds(self.topology, self.demands, self._quotient, seconds)
                self._ceilings += [] if eager is None else [eager]
        self._began = True

    def ceiling(self, steps: int | None) -> float:
        """The most that relaxations can prove for S steps."""
        reached = [value for s, value in self._ceilings if steps is None or s <= steps]
        return min(reached, default=inf)

    def copies_prove(self, steps: int) -> tuple[int, float] | None:
        """The ratio of the larger relaxation to the smaller one, and its S: the largest below
        `steps` for which both were solved."""
        both = [s for s in self._copied if s < steps and self._together.get(s)]
        last = max(both, default=None)
        return None if last is None else (last, self._copied[last] / self._together[last])

    def _settled(self, steps: int | None, best: RoundsBound) -> bool:
        return float(best.rounds) >= self.ceiling(steps) * (1 - NEAR)

    def _proved(
        self, steps: int | None, best: RoundsBound, thorough: bool, deadline: Deadline
    ) -> Iterator[RoundsBound]:
        """Bounds, one after the other."""
        if self._settled(steps, best):
            return
        network = TimeExpandedNetwork.of(self.topology, steps)
        built, solved_columns = THOROUGH if thorough else QUICK
        if self.several:
            for bound in self._flows_together(network, best, deadline):
                best = bound
                yield bound
            if self.topology.counts_copies:
                return  # copies of a chunk may count as one
            if self.separate and len(self.demands) == 1 and steps in self._together:
                # All copies are of one demand: a link has as many as its largest flow.
                self._ceilings.append((steps, self._together[steps]))
                return
            if steps is None and self.single and self.separate and self._spans:
                return  # trees can be packed up to the least cut (Edmonds 1973)
            if self._quotient is not None and not Relaxation(
                network, self.demands, RelaxationKind.COPIES
            ).fits(built, deadline):
                built = min(built, 2 * QUICK[0])  # only symmetry makes it small
        limits = (built, solved_columns) if self.several else (THOROUGH[0], inf)
        left = deadline.left()
        if steps is not None and any(
            s <= steps and left <= seconds and limits[1] <= columns
            for s, seconds, columns in self._given_up
        ):
            self.left_out()
            return  # a smaller one was too large
        relaxation = Relaxation(network, self.demands, RelaxationKind.COPIES, self._quotient)
        solved = self._solved(relaxation, limits, best, deadline)
        if solved is not None:
            value, bound = solved
            if steps is not None:
                self._ceilings.append((steps, value))
                self._copied[steps] = value
            if bound.rounds > best.rounds:
                yield bound

    @property
    def _spans(self) -> bool:
        """Whether every demand must reach all nodes."""
        others = self.topology.num_nodes - 1
        ends = np.unique(self.demands.second).tolist()
        return all(len(self.demands.sets[j]) == others for j in ends)

    def _flows_together(
        self, network: TimeExpandedNetwork, best: RoundsBound, deadline: Deadline
    ) -> Iterator[RoundsBound]:
        ends = np.unique(self.demands.second).tolist()
        destinations = sorted({d for j in ends for d in self.demands.sets[j]})
        if self._quotient is not None:
            destinations = [d for d in destinations if self._quotient.stands_for(d)]
        steps = network.steps
        if steps is not None and any(
            s <= steps and value <= float(best.rounds) * (1 + TOLERANCE)
            for s, value in self._together.items()
        ):
            return  # more steps do not need more rounds
        asked: Iterable[tuple[Relaxation, Callable[[Priced], Priced]]]
        if self.topology.counts_copies:  # one node pays for each demand
            asked = (
                (Relaxation(network, one.demands, RelaxationKind.COPIES), one.of_all)
                for one in payers(self.topology, self.demands)
            )
        else:
            # Without time each destination has its own program.
            parts = [[d] for d in destinations] if steps is None else [destinations]
            whole = self.demands, RelaxationKind.TOGETHER, self._quotient
            relaxations = [Relaxation(network, *whole, frozenset(part)) for part in parts]
            few = _FEW_FLOWS[len(self.demands) > 1]
            alone = self.single and self.separate
            if alone and not all(one.fits(few, deadline) for one in relaxations):
                yield from self._by_cuts(network, destinations, best, deadline)
                return
            asked = ((one, lambda proof: proof) for one in relaxations)
        values = []
        for relaxation, of_all in asked:
            deadline.check()
            solved = self._solved(relaxation, (THOROUGH[0], inf), best, deadline)
            values.append(None if solved is None else solved[0])
            if solved is not None and solved[1].rounds > best.rounds:
                assert solved[1].certificate is not None
                best = replace(solved[1], certificate=of_all(solved[1].certificate))
                yield best
        known = [value for value in values if value is not None]
        if steps is not None and known and len(known) == len(values):
            self._together[steps] = max(known)

    def _by_cuts(
        self,
        network: TimeExpandedNetwork,
        destinations: Sequence[int],
        best: RoundsBound,
        deadline: Deadline,
    ) -> Iterator[RoundsBound]:
        """Bounds by cuts instead of flows; the tight ones of fewer steps are a warm start."""
        steps = network.steps
        fewer = [s for s in self._cuts if steps is not None and s <= steps]
        known = self._cuts[max(fewer)] if fewer else ()
        cuts = TimedCuts(network, self.demands, destinations, known)
        found, value = cuts.solve(deadline, float(best.rounds))
        if steps is not None and value is not None:
            self._together[steps] = value
        if steps is not None and cuts.tight:
            self._cuts[steps] = cuts.tight
        if found is not None:
            yield RoundsBound(found.check(self.topology, self.demands), steps, found)

    def _solved(
        self,
        relaxation: Relaxation,
        limits: tuple[int, float],
        best: RoundsBound,
        deadline: Deadline,
    ) -> tuple[float, RoundsBound] | None:
        """The value of a relaxation, and its bound; None if it has more variables than `limits`."""
        steps, (built, columns) = relaxation.network.steps, limits
        # Skips a program that cannot even be built in the time.
        seconds = deadline.seconds
        in_time = built if seconds is None else min(built, seconds * _BUILT_PER_SECOND)
        if not relaxation.fits(in_time, deadline):
            if in_time < built and relaxation.fits(built, deadline):
                self.left_out()
            return None
        if why := budget().lacks(relaxation.needed_bytes, f"the bound on R for {_of(steps)}"):
            on_refusal(f"{why}: skipped; weaker bounds take its place")
            return None
        solved, left = None, deadline.left()
        copies = relaxation.kind is RelaxationKind.COPIES and relaxation.demands is self.demands
        most = None if columns == inf else int(columns)
        try:
            solved = relaxation.solve(deadline.seconds, most, float(best.rounds))
        finally:
            if solved is None and steps is not None and copies:
                self._given_up.append((steps, left, columns))
        if solved is None:
            return None
        bound = RoundsBound(solved.proved, steps, solved.certificate)
        return max(solved.value, float(solved.proved)), bound


def _rounds(bound: RoundsBound) -> Fraction:
    return bound.rounds


def _of(steps: int | None) -> str:
    return "any number of steps" if steps is None else f"S = {steps}"


def with_cut(
    topology: Topology, demands: Sequence[Demand], bound: RoundsBound, seconds: float | None = None
) -> RoundsBound:
    """Replaces a bound for any number of steps by an equal cut, if there is one: it is easier to
    read."""
    if bound.method != "prices" or bound.steps is not None:
        return bound
    until = Deadline.after(seconds)
    cut = in_time(until, lambda: find_cut(topology, demands, bound.rounds, bound.certificate))
    if cut is None:
        return bound
    return replace(bound, rounds=cut.check(topology, demands), certificate=cut)


def with_trees(
    topology: Topology,
    demands: Sequence[Demand],
    bound: RoundsBound,
    steps: int | None,
    seconds: float,
    known: Iterable[tuple[RelationTable, Algorithm]] = (),
) -> RoundsBound:
    """A bound, or a better one for S steps that trees prove within the time.  Trees of `known`
    algorithms of at most S steps, with their tables, are a warm start."""
    if steps is None or topology.counts_copies:
        return bound
    until = Deadline.after(seconds)

    def find() -> tuple[Fraction, Priced] | None:
        trees = (
            one
            for table, algorithm in known
            for one in trees_of(algorithm, table, topology, demands)
        )
        return find_tree_prices(topology, demands, steps, until, bound.rounds, trees)

    found = in_time(until, find)
    if found is None:
        return bound
    return replace(bound, rounds=found[0], steps=steps, certificate=found[1])


def in_time(until: Deadline, find: Callable[[], _Found | None]) -> _Found | None:
    """The result of a function; None if it takes longer."""
    with suppress(OutOfTimeError), interrupted_at(until):
        return find()
    return None
