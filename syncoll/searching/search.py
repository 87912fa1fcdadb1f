"""The table of engines of a search, and the search of one collective as it stands.

Bounds, seeds, symmetric algorithms, large neighbourhoods and solvers have their rows here; rows of
sums and compositions come before them (`sum_search`, `composition_search`).
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial

from syncoll.deadline import NEVER, Deadline
from syncoll.ledger import CandidateSource, Size, Strategy, size_of
from syncoll.ledger.bounds_table import in_turn
from syncoll.ledger.events import BOUNDS, Event
from syncoll.ledger.ledger import INTERRUPTED, Ledger
from syncoll.results.frontier import Frontier, Point
from syncoll.searching.agenda import SEEDS, Agenda, Work
from syncoll.searching.answers import AnswerSource
from syncoll.searching.candidate_solver import MANY_SENDS, CandidateSolver
from syncoll.searching.heuristic_turns import HeuristicTurns
from syncoll.searching.heuristics import Heuristics
from syncoll.searching.large_neighbourhood import LargeNeighbourhoods
from syncoll.searching.shares import FAR, LONG_SECONDS, NEAR, shares_of
from syncoll.searching.symmetric import SymmetricSearch

NEIGHBOURHOODS, SYMMETRIC = "large neighbourhoods", "symmetric"
"""The names of their rows."""

_NEIGHBOUR_SECONDS = 120.0
"""The most for symmetric algorithms and for large neighbourhoods, before the solver is asked for
all algorithms (torus(8,8) alltoall in `benchmarks/scale.py`)."""

_FIRST_SECONDS = 30.0
"""Until the first report of points with many sets of destinations."""

_SLOW_SENDS = 1 << 20
"""A point of more sends takes seconds to verify on a busy machine."""


class Search:
    """The engines of one search on their agenda.

    Args:
        ledger: the state at the beginning, which records the events.
        seeds: at work on the collective.
        proving: whether proofs for each S matter.  If not, and the network is so large that a
            solver is seldom as fast as seeds, the seeds have all the time.
    """

    def __init__(
        self,
        ledger: Ledger,
        answers: AnswerSource,
        seeds: Heuristics,
        deadline: Deadline,
        *,
        proving: bool = True,
    ) -> None:
        self.ledger, self.answers, self.seeds, self.deadline = ledger, answers, seeds, deadline
        topology = ledger.request.topology
        self.size, self.shares = size_of(topology), shares_of(ledger.request)
        self.alone, self.small = answers.solver is None, self.size <= Size.SMALL
        self.proving = proving or self.small
        self.agenda = Agenda(ledger, deadline, answers.begin, answers.cancel_all, answers.lost)
        self.bounds, self._claimed = PointBounds(ledger), 0
        ledger.bounds.again(deadline)
        if ledger.bounds.has_many_sets:  # reports would take the time of better points
            self.agenda.next_report = Deadline.after(_FIRST_SECONDS)
        seeds.log_turn = ledger.log.turn

    def frontier(self, rows: Sequence[Work]) -> Frontier:
        """The frontier when no row is ready any more, or the search was stopped.  A second Ctrl-C
        ends the bounds that were begun."""
        agenda, ledger = self.agenda, self.ledger
        with closing(self.seeds):
            agenda.run(rows)
            try:
                lists = bool(rows) or not ledger.composed
                large = any(p.algorithm.num_listed > _SLOW_SENDS for p in ledger.points)
                if not (large and self.deadline.passed):
                    agenda.turn(Work(SEEDS, self.turns().arrivals, lists=lists))
                return ledger.frontier()
            except KeyboardInterrupt:
                agenda.stop(INTERRUPTED)
                return ledger.frontier()

    def turns(self) -> HeuristicTurns:
        """Turns of the seeds, within the remaining time."""
        names = self.answers.backend_name, SYMMETRIC, NEIGHBOURHOODS
        return HeuristicTurns(
            self.seeds,
            self.ledger.request,
            self.deadline,
            alone=self.alone,
            proving=self.proving,
            asked=lambda: self.agenda.spent(*names),
        )

    def background_row(self, turns: HeuristicTurns, *, lists: bool) -> Work:
        """The row of highest priority: proposals of seeds that have arrived from the background."""
        run, seeds = turns.arrivals, self.seeds
        return Work(SEEDS, run, lambda: seeds.have_arrived, once=False, lists=lists, quiet=True)

    def rows(self, source: CandidateSource | None = None, *, begun: bool = False) -> list[Work]:
        """The table of engines for a collective as it stands.

        Args:
            source: the candidates that solvers are asked for; None for the ledger's.
            begun: whether seeds had a turn before.
        """
        ledger, seeds = self.ledger, self.seeds
        source = source or ledger.source
        request, turns = source.request, self.turns()
        certified = request.strategy is Strategy.CERTIFIED
        asks = self.proving and not self.alone
        solver = CandidateSolver(ledger, source, self.answers, self.deadline)
        solving = Work(self.answers.backend_name, solver.run, solves=True)
        # The solver decides most candidates before the slower seeds have any algorithm.
        soon = asks and self.size is Size.TINY and self.deadline.is_never
        soon = soon and not request.collective.combining

        wanted = partial(ledger.gaps_are_open, source)

        def enough(_: Point) -> bool:
            """Whether no point is better in either cost within the limits, or the solver soon finds
            it."""
            fewest, bounds = ledger.best(source.least_steps), ledger.bounds
            if bounds.has_many_sets:  # a cut takes the time of better points
                return False
            if (
                fewest is not None
                and fewest <= (1 if solving.had or not soon else FAR) * bounds.cut
            ):
                return True
            limited = certified and self.proving and request.max_steps is not None
            return limited and self.small and not wanted()

        of_seeds = partial(Work, SEEDS, lists=True, quiet=True, enough=enough)
        rows = [self.background_row(turns, lists=True)]
        # On a small network a solver may be as fast, once seeds have had their time.
        had = begun and not (self.shares.seeds_go_on or self.alone)
        first = turns.arrivals if had else turns.first
        # Points of sub-networks may already meet all bounds.
        rows.append(of_seeds(first, lambda: not ledger.points or wanted()))
        if not self.small:  # claims rest on this bound, so it must come early
            rows.insert(2 if ledger.bounds.has_many_sets else 1, Work(BOUNDS, _cut))
        if self.alone:
            rows.append(Work(BOUNDS, self.limit_bounds))
        rows += [*self._claim_rows(solving), Work(BOUNDS, self.any_steps)]
        if asks:
            for_seeds = self.size > (Size.TINY if seeds.warm_starts else Size.WIDE)
            rows.append(
                of_seeds(
                    turns.wait,
                    lambda: for_seeds and seeds.in_background and not turns.waited and wanted(),
                    once=False,
                )
            )
            if soon:  # seeds before which the solver was asked
                rows.append(of_seeds(turns.first, lambda: solver.is_stuck))
            if certified:
                rows += self._stuck_rows(solver, source, turns, seeds_first=soon)
            rows.append(solving)
        if certified:
            rows += self._claim_rows()
            rows.append(
                of_seeds(
                    turns.go_on,
                    lambda: bool(seeds.waiting) and not turns.exhausted and wanted(),
                    once=False,
                )
            )
        return rows

    def _claim_rows(self, solving: Work | None = None) -> list[Work]:
        """The rows after a turn of seeds: bounds of their points while they continue in the
        background, and a report."""

        def due() -> bool:
            before = solving is None or solving.had == 0
            return before and self.agenda.gained(SEEDS) > self._claimed

        def aside() -> bool:
            wanted = solving is None or (solving.had == 0 and not self.small)
            return wanted and self.seeds.in_background and self.proving and self.bounds.is_ready

        return [
            Work(BOUNDS, self.bounds.run, aside, once=False),
            Work(BOUNDS, self._claim, due, once=False),
        ]

    def _claim(self, ledger: Ledger, until: Deadline) -> Iterator[Event]:
        """Reports the points of seeds, with bounds of their own unless better points come soon."""
        soon = not self.proving or (self.small and not self.alone)
        if self._claimed:
            soon = bool(self.seeds.warm_starts)
        self._claimed = self.agenda.gained(SEEDS)
        self.agenda.report(at_once=soon)
        return iter(())

    def _stuck_rows(
        self,
        solver: CandidateSolver,
        source: CandidateSource,
        turns: HeuristicTurns,
        *,
        seeds_first: bool,
    ) -> list[Work]:
        """The engines that take over from a solver that leaves a candidate undecided."""
        again = Work(
            SEEDS,
            turns.again,
            lambda: solver.is_stuck and turns.are_due,
            share=self.shares.again,
            once=False,
            lists=True,
            thorough=True,
        )
        if not source.request.symmetric:
            return [again]
        symmetric = SymmetricSearch(self.ledger, source, self.answers)
        neighbourhoods = LargeNeighbourhoods(self.ledger, source, self.answers)
        large = source.bounds.num_sends(source.least_chunks, source.least_steps) >= MANY_SENDS
        shares, combining = self.shares, source.request.collective.combining
        table = [
            (NEIGHBOURHOODS, neighbourhoods.run, shares.neighbourhoods),
            (
                SYMMETRIC,
                symmetric.run,
                shares.symmetric_combining if combining else shares.symmetric,
            ),
            (NEIGHBOURHOODS, neighbourhoods.run, shares.neighbourhoods),
        ]
        rows = [
            Work(
                name,
                run,
                lambda: large or solver.is_stuck,
                share=share,
                seconds=_NEIGHBOUR_SECONDS,
                solves=True,
            )
            for name, run, share in table
        ]
        return [again, *rows] if seeds_first else [*rows, again]

    def any_steps(self, ledger: Ledger, until: Deadline) -> Iterator[Event]:
        """The bound for any number of steps; others follow only where they matter."""
        yield ledger.bound(None)
        if not self.proving:
            ledger.bounds.deadline = NEVER.sooner(0.0)

    def limit_bounds(self, ledger: Ledger, until: Deadline) -> Iterator[Event]:
        """Limits the time of all further bounds, which save no solver's time."""
        ledger.bounds.deadline = self.deadline.sooner(LONG_SECONDS)
        return iter(())


def _cut(ledger: Ledger, until: Deadline) -> Iterator[Event]:
    """The quick bound for any number of steps."""
    with ledger.bounds.at_once():
        bound = ledger.bound(None)
    yield bound


@dataclass
class PointBounds:
    """The engine that bounds the S of the incumbents, the farthest from their bounds first."""

    ledger: Ledger
    _bounded: set[int] = field(default_factory=set)

    @property
    def is_ready(self) -> bool:
        """Whether some S has no bound of its own yet, and there is time for it."""
        left = any(point.steps not in self._bounded for point in self.ledger.points)
        return left and not self.ledger.bounds.deadline.passed

    def run(self, ledger: Ledger, until: Deadline) -> Iterator[Event]:
        """Bounds for one S after the other."""
        while self.is_ready:
            waiting = [point for point in ledger.points if point.steps not in self._bounded]
            known = ledger.bounds.known
            far = [p for p in waiting if p.bandwidth > known(p.steps) * NEAR]
            among = {point.steps for point in far or waiting}
            steps = next(s for s in in_turn(p.steps for p in ledger.points) if s in among)
            self._bounded.add(steps)
            yield ledger.bound(steps)
