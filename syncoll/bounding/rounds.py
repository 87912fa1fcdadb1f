"""Lower bounds on rounds: the best that the affordable relaxations prove."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from syncoll.bounding.at_once import least_cut
from syncoll.bounding.bfs_upper_bound import eager_rounds
from syncoll.bounding.cuts import find_cut
from syncoll.bounding.network import TimeExpandedNetwork
from syncoll.bounding.quotient import Quotient
from syncoll.bounding.relaxation import Relaxation, RelaxationKind
from syncoll.bounding.representative_destinations import payers
from syncoll.bounding.timed_cuts import TimedCut, TimedCuts
from syncoll.bounding.trees import find_tree_prices
from syncoll.certificates.certificate import RoundsBound
from syncoll.certificates.chunk_classes import Demand, DemandList, DemandView
from syncoll.clock import remembered
from syncoll.deadline import Deadline, OutOfTimeError, interrupted_at
from syncoll.memory import budget, on_refusal
from syncoll.model import Topology

__all__ = [
    "ceiling",
    "copies_prove",
    "rounds_bound",
    "with_cut",
    "with_trees",
]

QUICK = (60_000, 3_000)
"""The larger relaxation takes tenths of a second with at most so many variables when it is built,
and so many left for the solver after the reduction."""

THOROUGH = (1_500_000, 40_000)
"""With more variables than this it takes minutes, and more than a GiB of memory."""

_MOST_ON_ORBITS = 120_000
"""Variables of the larger relaxation where it is tried only because symmetry makes it small."""

_FEW_FLOWS = (2_000, 20_000)
"""With more variables than this cuts take the place of flows to each destination: for one demand,
where cuts are fast, and for several."""

_REMEMBERED, _REMEMBERED_NODES = 4, 1024
"""Problems whose bounds are kept at hand: at least so many, and more of small
machines, where every node's contribution is a problem of its own."""

_LOST = 1e-6
"""What prices lose as rationals that can be read: a program that has no more to give is not solved
again."""

_BUILT_PER_SECOND = 100_000
"""The number of variables that are built and reduced in a second."""


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
) -> RoundsBound:
    """The best bound on R that cuts and relaxations prove in the time, exact and certified.

    Args:
        demands: what must get where; every destination must be within reach.
        steps: S, or None for any number of steps.  The bound may hold for more steps than that.
        thorough: whether to solve the larger relaxation also where it may take many seconds.
        seconds: time limit of all of it; None for none.  What is proved by then counts.
        reading: what the demands are, for the record.
        node: what the demands are about, for the record.
        more_than: only a bound above this is of use: others are not looked for.
        left_out: called when a program is skipped that more time would solve.
    """
    if not demands:
        return RoundsBound(Fraction(0), steps, None, reading, node)
    known = _FlowBounds.of(topology, DemandList.of(demands))
    known.left_out = left_out
    bound = known.bound(steps, thorough=thorough, seconds=seconds, more_than=more_than)
    return replace(bound, reading=reading, node=node)


def ceiling(topology: Topology, demands: Sequence[Demand], steps: int | None) -> float:
    """More than this `rounds_bound` proves for no so many steps, as far as it was asked lately."""
    return _FlowBounds.of(topology, DemandList.of(demands)).ceiling(steps)


def copies_prove(
    topology: Topology, demands: Sequence[Demand], steps: int
) -> tuple[int, float] | None:
    """How many times as much the larger relaxation proved as the smaller one, after the S of which
    that is said: the largest below so many for which both were solved lately; None for none."""
    return _FlowBounds.of(topology, DemandList.of(demands)).copies_prove(steps)


class _FlowBounds:
    """Bounds for some demands, each step with what is known from those before.

    Attributes:
        any_steps: the best bound for any number of steps so far.
    """

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
        """From so many steps on no relaxation proves more than this."""
        self._together: dict[int, float] = {}
        """For each S what flows together need."""
        self._copied: dict[int, float] = {}
        """For each S what they need where copies are counted."""
        self._of_parts: list[float] = []
        self._parts = 1
        """What those parts of them need that were solved for one S, and of how many."""
        self._cuts: dict[int, tuple[TimedCut, ...]] = {}
        """For each S what its bound rests on, where that was found by cuts."""
        self._given_up: list[tuple[int, float, float]] = []
        """For which S copies had more than so many variables left, or took longer than so many
        seconds."""

    @classmethod
    def of(cls, topology: Topology, demands: DemandList) -> _FlowBounds:
        """Those of one of the last problems, or new ones."""
        recent: list[_FlowBounds] = remembered("recent bounds", list)
        for one in recent:
            if (one.topology is topology or one.topology == topology) and (
                one.demands is demands or one.demands == demands
            ):
                return one
        made = cls(topology, demands)
        kept = max(_REMEMBERED, _REMEMBERED_NODES // topology.num_nodes)
        recent[:] = [made, *recent[: kept - 1]]
        return made

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
                f"no memory was left for the bound on R for {_of(steps)}: a weaker one stands in"
            )
        if best.steps is None and best.rounds > self.any_steps.rounds:
            self.any_steps = best
        return best

    def _begin(self, deadline: Deadline) -> None:
        """What costs next to nothing: symmetry, cuts around nodes, what eager sends reach."""
        if self._began:
            return
        if self.any_steps.certificate is None:  # a call that ran out of time may have found it
            self.any_steps = least_cut(self.topology, self.demands)
        if not self.topology.counts_copies:  # where they do, one node pays for each demand
            self._quotient = Quotient.of(self.topology, self.demands, deadline.share(0.3))
        if self.several and self.single and not self.topology.counts_copies:
            eager = eager_rounds(
                self.topology, self.demands, self._quotient, deadline.share(0.3).seconds
            )
            if eager is not None:
                self._ceilings.append(eager)
        self._began = True

    def ceiling(self, steps: int | None) -> float:
        """Above this no relaxation proves anything for so many steps."""
        reached = [value for s, value in self._ceilings if steps is None or s <= steps]
        return min(reached, default=float("inf"))

    def copies_prove(self, steps: int) -> tuple[int, float] | None:
        """See the function."""
        both = [s for s in self._copied if s < steps and self._together.get(s)]
        last = max(both, default=None)
        return None if last is None else (last, self._copied[last] / self._together[last])

    def _settled(self, steps: int | None, best: RoundsBound) -> bool:
        return float(best.rounds) >= self.ceiling(steps) * (1 - 1e-9)

    def _proved(
        self, steps: int | None, best: RoundsBound, thorough: bool, deadline: Deadline
    ) -> Iterator[RoundsBound]:
        """Bounds, one after the other."""
        if self._settled(steps, best):
            return
        network = TimeExpandedNetwork.of(self.topology, steps)
        built, solved_columns = THOROUGH if thorough else QUICK
        first = THOROUGH[0]
        if self.several:
            for bound in self._flows_together(network, best, first, deadline):
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
                built = min(built, _MOST_ON_ORBITS)
        relaxation = Relaxation(network, self.demands, RelaxationKind.COPIES, self._quotient)
        limits = (built, solved_columns) if self.several else (first, None)
        yield from self._solved(relaxation, limits, best, deadline)

    @property
    def _spans(self) -> bool:
        """Whether every demand must reach all nodes."""
        others = self.topology.num_nodes - 1
        ends = np.unique(self.demands.second).tolist()
        return all(len(self.demands.sets[j]) == others for j in ends)

    def _flows_together(
        self, network: TimeExpandedNetwork, best: RoundsBound, most: int, deadline: Deadline
    ) -> Iterator[RoundsBound]:
        ends = np.unique(self.demands.second).tolist()
        destinations = sorted({d for j in ends for d in self.demands.sets[j]})
        if self._quotient is not None:
            destinations = [d for d in destinations if self._quotient.stands_for(d)]
        steps = network.steps
        if steps is not None and any(
            s <= steps and value <= float(best.rounds) * (1 + _LOST)
            for s, value in self._together.items()
        ):
            return  # more steps do not need more rounds
        if self.topology.counts_copies:
            yield from self._flows_of_payers(network, best, most, deadline)
            return
        # Without time each destination has its own program.
        parts = [[d] for d in destinations] if steps is None else [destinations]
        relaxations = [
            Relaxation(
                network, self.demands, RelaxationKind.TOGETHER, self._quotient, frozenset(part)
            )
            for part in parts
        ]
        few = _FEW_FLOWS[len(self.demands) > 1]
        if (
            self.single
            and self.separate
            and not all(one.fits(few, deadline) for one in relaxations)
        ):
            cuts = TimedCuts(network, self.demands, destinations, self._cuts_for_fewer(steps))
            found, value = cuts.solve(deadline, float(best.rounds))
            if steps is not None and value is not None:
                self._together[steps] = value
            if steps is not None and cuts.tight:
                self._cuts[steps] = cuts.tight
            if found is not None:
                yield RoundsBound(found.check(self.topology, self.demands), steps, found)
            return
        self._of_parts, self._parts = [], len(relaxations)
        for relaxation in relaxations:
            for bound in self._solved(relaxation, (most, None), best, deadline):
                best = bound
                yield bound

    def _flows_of_payers(
        self, network: TimeExpandedNetwork, best: RoundsBound, most: int, deadline: Deadline
    ) -> Iterator[RoundsBound]:
        """With one node for each demand, since copies to several may count as one."""
        self._of_parts, self._parts = [], 0  # they are as many as they turn out to be
        asked = 0
        for one in payers(self.topology, self.demands):
            deadline.check()
            asked += 1
            relaxation = Relaxation(network, one.demands, RelaxationKind.COPIES)
            for bound in self._solved(relaxation, (most, None), best, deadline, of_part=True):
                assert bound.certificate is not None
                best = replace(bound, certificate=one.of_all(bound.certificate))
                yield best
        if network.steps is not None and len(self._of_parts) == asked:
            self._together[network.steps] = max(self._of_parts)

    def _cuts_for_fewer(self, steps: int | None) -> tuple[TimedCut, ...]:
        """Those of the most steps up to so many."""
        if steps is None:
            return ()
        fewer = [s for s in self._cuts if s <= steps]
        return self._cuts[max(fewer)] if fewer else ()

    def _solved(
        self,
        relaxation: Relaxation,
        limits: tuple[int, int | None],
        best: RoundsBound,
        deadline: Deadline,
        *,
        of_part: bool = False,
    ) -> Iterator[RoundsBound]:
        steps = relaxation.network.steps
        copies = relaxation.kind is RelaxationKind.COPIES and not of_part
        left = float("inf") if deadline.seconds is None else deadline.seconds
        most = float("inf") if limits[1] is None else limits[1]
        if (
            steps is not None
            and copies
            and any(s <= steps and left <= 2 * t and most <= n for s, t, n in self._given_up)
        ):
            self.left_out()
            return  # a smaller one was too large
        # Skip a program that cannot even be built in the time.
        in_time = min(limits[0], left * _BUILT_PER_SECOND)
        if not relaxation.fits(in_time, deadline):
            if in_time < limits[0] and relaxation.fits(limits[0], deadline):
                self.left_out()
            return
        if why := budget().lacks(relaxation.needed_bytes, f"the bound on R for {_of(steps)}"):
            on_refusal(f"{why}: skipped; weaker bounds take its place")
            return
        solved = None
        try:
            solved = relaxation.solve(deadline.seconds, limits[1], float(best.rounds))
        finally:
            if solved is None and steps is not None and copies:
                self._given_up.append((steps, left, most))
        if solved is None:
            return
        if steps is not None:
            value = max(solved.value, float(solved.proved))
            if copies:
                self._ceilings.append((steps, value))
                self._copied[steps] = value
            else:
                self._of_parts.append(value)
                if len(self._of_parts) == self._parts:
                    self._together[steps] = max(self._of_parts)
        if solved.proved > best.rounds:
            yield RoundsBound(solved.proved, steps, solved.certificate)


def _rounds(bound: RoundsBound) -> Fraction:
    return bound.rounds


def _of(steps: int | None) -> str:
    return "any number of steps" if steps is None else f"S = {steps}"


def with_cut(
    topology: Topology,
    demands: Sequence[Demand],
    bound: RoundsBound,
    seconds: float | None = None,
) -> RoundsBound:
    """A bound for any number of steps as a cut, where one proves as much: it is easier to read."""
    if bound.method != "prices" or bound.steps is not None:
        return bound
    try:
        with interrupted_at(Deadline.after(seconds)):
            cut = find_cut(topology, demands, bound.rounds, bound.certificate)
            if cut is None:
                return bound
            return replace(bound, rounds=cut.check(topology, demands), certificate=cut)
    except OutOfTimeError:
        return bound


def with_trees(
    topology: Topology,
    demands: Sequence[Demand],
    bound: RoundsBound,
    steps: int | None,
    seconds: float,
) -> RoundsBound:
    """A bound, or a better one for so many steps that trees prove within the time."""
    if steps is None or topology.counts_copies:
        return bound
    try:
        with interrupted_at(Deadline.after(seconds)):
            until = Deadline.after(seconds)
            found = find_tree_prices(topology, demands, steps, until, bound.rounds)
    except OutOfTimeError:
        return bound
    if found is None:
        return bound
    return replace(bound, rounds=found[0], steps=steps, certificate=found[1])
