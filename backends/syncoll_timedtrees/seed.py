"""Algorithms from packings of timed trees: S from few to many, then the S with the largest gap.

Every S has its own packing (`program`), which begins with trees of other S, and is rounded to whole
chunks (`rounding`) when it has converged or its time is over.  The fewest steps come first, then S
grows in growing strides until R/C is near that of trees without steps.  Then the S with the largest
gap between the known and the possible R/C is solved, for the first time or again (`schedule`).
Small C have a search of their own (`few_chunks`), for each limit on C that the search asks for.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import ceil, isinf

from syncoll.deadline import Deadline
from syncoll.model import Collective, Topology
from syncoll.packing.arrivals import MOST_CELLS
from syncoll.packing.column_generation import Packing
from syncoll.packing.expand_orbits import algorithm_of
from syncoll.packing.few_chunks import FewChunks
from syncoll.packing.problem import PackingProblem
from syncoll.packing.send_programs import TreeRepair
from syncoll.packing.small_budgets import SmallBudgets
from syncoll.packing.step_order import NEAR_LEAST, NEARLY_THERE, STRIDES, StepOrder
from syncoll.packing.timed_packing import TimedPacking
from syncoll.packing.trees import TimedTree
from syncoll.packing.whole_chunks import (
    FINE,
    WHOLE,
    ChunkRounding,
    DealtChunks,
    column_choice,
    kindest,
    promising,
)
from syncoll.plugins import Answer, Proposal
from syncoll.plugins.turns import Proposals, Question, ResumingSeed, Turn
from syncoll.scheduling import MOST_SENDS
from syncoll_timedtrees.known import known_trees

_MOST_IMAGES, _MOST_CELLS, _MOST_KINDS = 4, MOST_CELLS << 6, 1 << 14
"""Most sends of an algorithm with its images, in multiples of `MOST_SENDS`; largest tables of the
search for trees, links times nodes, and steps times pairs of nodes; and most kinds of chunks that
go to sets of nodes, which have trees of their own.  Limits memory and work."""

_FIRST_SECONDS = 0.3
"""Seconds for the first packing, and again to round it, for an early answer.  Limits work."""

_LEAST_SECONDS = 1.0
"""Seconds for an S, if there is time; quick rounding and reading known algorithms take twice,
thorough rounding six times as long.  Limits work."""

_SHARE, _SMALL_SHARE = 0.25, 0.1
"""Parts of the remaining time: for the next S and its whole chunks; and for trees without steps and
the first whole chunks.  Row torus(8,8) allgather of benchmarks/results/scale.md."""

_LINKS_MORE, _MULTIPLES = 6, 4
"""Most levels of trees without steps, beyond the fewest steps; and multiples that are tried
together of a C that may reach the packing's value.  Limits work."""

_BEGUN_WITH, _FEW_TREES, _LOWERED = 200, 400, 8
"""Trees of other S that a packing begins with, beyond the trees with a share; known trees that a
solution with a small C may begin with; and most chunks of a solution, one of each orbit, for which
programs choose all rounds.  Limits work."""

_FEW_GAIN = 0.05
"""See `StepOrder`.  Rows mi250(boxes=1) and dgx_h100(boxes=4) allgather of
benchmarks/results/deployable.md."""

_FEW_SHARE, _ANY_SHARE = 0.3, 0.1
"""The part of the remaining time for small C, with a limit on C and without."""


class TimedTreeSeed(ResumingSeed):
    """Proposes packings of timed trees."""

    turn_seconds = "seconds"

    @staticmethod
    def fits(topology: Topology, collective: Collective) -> Answer:
        """Whether the collective has no sums, and the tables are small enough."""
        if collective.combining:
            reason = "the collective combines; the search reverses broadcasts of this seed instead"
            return Answer(False, reason)
        if topology.num_nodes < 2:
            return Answer(False, "a collective needs at least two nodes")
        if len(topology.links) * topology.num_nodes > _MOST_CELLS:
            return Answer(False, "the tables of links and nodes would be too large")
        least = collective.least_chunks(topology.num_nodes)
        if least is not None:
            kinds = len(collective.tabulate(topology.num_nodes, least).kinds[2])
            if kinds > max(_MOST_KINDS, topology.num_nodes**2):
                return Answer(False, f"{kinds} kinds of chunks would each have trees of their own")
        return Answer(True)

    def proposals(self, asked: Question) -> Proposals:
        """See `ResumingSeed`."""
        topology, collective, turn = asked.topology, asked.collective, asked.turn
        problem, limits = PackingProblem(topology, collective, turn.until), turn.limits
        if not problem.demands:
            return
        least = problem.least_chunks
        fewest = problem.group.order * sum(d.count * len(d.destinations) for d in problem.demands)
        sends = MOST_SENDS * min(_MOST_IMAGES, problem.group.order)
        most = least * min(int(asked.options["chunks"]), max(1, sends // fewest))
        most = min(most, limits.max_chunks or most)
        known = known_trees(problem, limits.known, turn.until.working(2 * _LEAST_SECONDS))
        yield from _Run(problem, turn, most, known).proposals()


class _Run:
    def __init__(
        self, problem: PackingProblem, turn: Turn, most_chunks: int, known: list[list[TimedTree]]
    ) -> None:
        self.problem, self.turn = problem, turn
        self.most_chunks, self.known = most_chunks, known
        self.best: dict[int, Fraction] = {}
        each = sum(demand.count for demand in problem.demands)
        self.small = SmallBudgets(self._few_chunks, problem.least_chunks, each, lowered=_LOWERED)
        most = turn.limits.max_steps or problem.num_nodes * 4
        most = min(most, 2 * _MOST_CELLS // problem.num_nodes**2 - 1)
        first, strides = max(1, problem.least_steps), STRIDES // 2 if any(known) else STRIDES
        self.few = 0 < (turn.limits.max_chunks or 0) <= self.small.most_searched
        self.schedule = StepOrder(first, most, problem.into_nodes, strides, self.few * _FEW_GAIN)
        self.timeless: TimedPacking | None = None

    def proposals(self) -> Proposals:
        """All algorithms, until none becomes better."""
        while (steps := self.schedule.following(self.best)) is not None:
            if self.turn.is_over:
                yield None
            packing = self.schedule.packings.get(steps)
            if packing is None:
                prices = None if self.timeless is None else self.timeless.prices
                packing = TimedPacking(self.problem, steps, self._begun_with(steps), prices=prices)
                self.schedule.packings[steps] = packing
            yield from self._pack(packing, self.turn.part(_SHARE, _LEAST_SECONDS))
            self.schedule.tried(steps)
            if not packing.feasible:
                return
            yield from self._deal_few(packing)
            near = packing.rested or packing.value <= packing.estimate * NEARLY_THERE
            if (
                self.timeless is None
                and near
                and packing.value > self.schedule.least * NEARLY_THERE
            ):
                self._pack_without_steps(steps)
        self.small.tight = True
        while any(
            self.small.open(packing, self._budgets) for packing in self.schedule.packings.values()
        ):
            for packing in list(self.schedule.packings.values()):
                if self.turn.is_over:
                    yield None
                yield from self._deal_few(packing)

    @property
    def _budgets(self) -> Sequence[int]:
        """The limits on C of the search."""
        limits = self.turn.limits
        budgets = limits.budgets or ((limits.max_chunks,) if limits.max_chunks else ())
        return [min(chunks, self.most_chunks) for chunks in budgets]

    def _few_chunks(self, packing: Packing[TimedTree]) -> FewChunks[TimedTree]:
        choice = column_choice(self.schedule.packings[packing.steps], _FEW_TREES)
        trees = self.schedule.packings[packing.steps].trees_of_use(0)
        repair = TreeRepair(self.problem, packing.steps, trees)
        return FewChunks(packing, choice, repair, self.problem.least_chunks)

    def _deal_few(self, packing: TimedPacking) -> Proposals:
        """Improves solutions with small C, each once."""
        share = _FEW_SHARE if self.turn.limits.max_chunks else _ANY_SHARE
        until = self.turn.part(share, _LEAST_SECONDS)
        for dealt in self.small.improved(packing, self._budgets, until):
            yield self._proposal(dealt, packing.steps)

    def _proposal(self, dealt: DealtChunks[TimedTree], steps: int) -> Proposal:
        """The algorithm of dealt chunks, which is noted."""
        self.small.note(steps, dealt)
        self.best[steps] = min(dealt.bandwidth, self.best.get(steps, dealt.bandwidth))
        note = f"{sum(len(trees) for trees in dealt.columns)} timed trees"
        if self.problem.group.order > 1:
            note += f", carried round by {self.problem.group.order} automorphisms"
        return Proposal(dealt.chunks, algorithm_of(self.problem, dealt), note)

    def _begun_with(self, steps: int) -> list[list[TimedTree]]:
        """Trees of packings with fewer steps, more steps, and without steps."""
        known = self.schedule.around(steps)
        if self.timeless is not None:
            known.append(self.timeless)
        trees = [list(some) for some in self.known]
        for packing in known:
            for own, found in zip(trees, packing.trees_of_use(_BEGUN_WITH), strict=True):
                own += found
        return trees

    def _pack_without_steps(self, steps: int) -> None:
        """Packs trees without steps; their R/C is taken as the limit for any number of steps."""
        links = min(self.schedule.most, steps + _LINKS_MORE)
        self.timeless = TimedPacking(self.problem, links, self._begun_with(steps), timeless=True)
        self._improve(self.timeless, self.turn.part(_SMALL_SHARE, _LEAST_SECONDS))
        if self.timeless.value <= self.timeless.estimate * NEARLY_THERE:
            self.schedule.least = max(self.schedule.least, self.timeless.estimate)

    def _pack(self, packing: TimedPacking, until: Deadline) -> Proposals:
        """Improves a packing and rounds it: early, and when it has converged or time is over."""
        was_at_rest = packing.rested
        if not self.best and (self.few or not any(self.known)):
            self._improve(packing, until.working(_FIRST_SECONDS))
            yield from self._deal(packing, until.sooner(_FIRST_SECONDS), small=True)
        self._improve(packing, until.working(max(0.0, until.left()) * (1 - _SHARE)))
        if was_at_rest:
            yield from self._deal(
                packing, self.turn.until.sooner(6 * _LEAST_SECONDS), thorough=True
            )
        else:
            near = packing.value <= self.schedule.least * NEARLY_THERE
            seconds = 6 * _LEAST_SECONDS if near else 2 * _LEAST_SECONDS
            yield from self._deal(packing, self.turn.until.share(_SMALL_SHARE).sooner(seconds))

    def _improve(self, packing: TimedPacking, until: Deadline) -> None:
        while not packing.rested and packing.feasible and not until.passed:
            packing.improve(self.turn.until)  # an unsolved program has no shares

    def _deal(
        self, packing: TimedPacking, until: Deadline, *, small: bool = False, thorough: bool = False
    ) -> Proposals:
        """The whole chunks of a packing, if they are better than the known algorithms.  A `small` C
        is used, or several C are tried (`thorough`), as far as time allows."""
        steps = packing.steps
        known = min((b for s, b in self.best.items() if s <= steps), default=None)
        if isinf(packing.value) or not packing.feasible:
            return  # no time
        dives = self.few and not small
        if known is not None and (dives or packing.value >= known * (1 - WHOLE)):
            return
        dealer = ChunkRounding(packing)
        for choice in self._choices(packing, known, small=small, thorough=thorough):
            dealt: DealtChunks[TimedTree] | None = None
            for chunks in choice:
                if dealt is not None and until.passed:
                    break
                other = dealer.deal(chunks, until.share(0.5), thorough=thorough)
                if dealt is None or other.bandwidth < dealt.bandwidth:
                    dealt = other
            if dealt is None or (known is not None and dealt.bandwidth >= known):
                continue
            known = dealt.bandwidth
            yield self._proposal(dealt, steps)
            if known <= packing.value * (1 + WHOLE):
                return

    def _choices(
        self, packing: TimedPacking, known: Fraction | None, *, small: bool, thorough: bool
    ) -> Iterator[list[int]]:
        """Groups of C; the best C of a group is used; see `_deal`."""
        # If only the loss by rounding remains, C may be larger.
        near = packing.value <= self.schedule.least * NEAR_LEAST
        finer = (FINE // 2 if self.turn.limits.is_part else FINE) if near else 1
        choice = promised = promising(packing, self.most_chunks, known, finer=finer)
        if small or not promised:
            yield choice[:1]
            return
        if not thorough:
            # A value with a small denominator may be reached by few C, perhaps small ones.
            exact = min(choice, key=lambda c: (ceil(packing.value * c - WHOLE) / c, c))
            met = ceil(packing.value * exact - WHOLE) <= packing.value * exact + WHOLE
            choice = [exact * times for times in range(1, 1 + met * _MULTIPLES)]
            choice = [chunks for chunks in choice if chunks <= self.most_chunks]
        for chunks in choice:
            yield [chunks]
        yield kindest(packing, max(promised))
