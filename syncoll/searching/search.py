"""The table of engines of a search, and the search of one collective as it stands.

Bounds, seeds, symmetric algorithms, large neighbourhoods and solvers have their rows here; those of
sums and compositions come before them (`sum_search`, `composition_search`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager

from syncoll.deadline import NEVER, Deadline
from syncoll.ledger.bounds_table import BoundsTable, in_turn
from syncoll.ledger.candidates import CandidateSource
from syncoll.ledger.events import BOUNDS, Bound, Event
from syncoll.ledger.incumbents import unbeaten
from syncoll.ledger.ledger import INTERRUPTED, Ledger
from syncoll.ledger.proof_state import gaps_are_open
from syncoll.ledger.request import Strategy
from syncoll.ledger.sizes import Size, size_of
from syncoll.results.frontier import Frontier, Point
from syncoll.searching.agenda import SEEDS, Agenda, Work
from syncoll.searching.answers import AnswerSource
from syncoll.searching.candidate_solver import CandidateSolver
from syncoll.searching.heuristic_turns import HeuristicTurns
from syncoll.searching.heuristics import Heuristics
from syncoll.searching.large_neighbourhood import LargeNeighbourhoods
from syncoll.searching.shares import LONG_SECONDS, NEAR, shares_of
from syncoll.searching.symmetric import SymmetricSearch

__all__ = ["PointBounds", "Search", "bounds_until"]

NEIGHBOURHOODS, SYMMETRIC = "large neighbourhoods", "symmetric"
"""The names of their rows."""

_NEIGHBOUR_SECONDS = 120.0
"""For symmetric algorithms and for large neighbourhoods at most, before all algorithms are asked
for (torus(8,8) alltoall in `benchmarks/scale.py`)."""


class Search:
    """The engines of one search on their agenda.

    Args:
        ledger: what is known to begin with, and where events are entered.
        seeds: at work on the collective.
        proving: whether it matters what is proved for each S.  Where it does not, and the network
            is so large that a solver is seldom as fast as seeds, all the time is theirs.
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
        self.size, self.shares = size_of(topology), shares_of(topology)
        self.alone, self.small = answers.solver is None, self.size <= Size.SMALL
        self.proving = proving or self.small
        self.agenda = Agenda(ledger, deadline, answers.begin, answers.cancel_all, answers.lost)
        self.bounds = PointBounds(ledger)
        self._claimed, self._limited = 0, False
        ledger.bounds.again(deadline)
        seeds.log_turn = ledger.log.turn

    def frontier(self, rows: Sequence[Work]) -> Frontier:
        """The frontier when no row is ready any more, or the search was stopped.

        A second Ctrl-C ends the bounds that were begun.
        """
        agenda, ledger = self.agenda, self.ledger
        with closing(self.seeds):
            agenda.run(rows)
            try:
                lists = bool(rows) or not ledger.composed
                agenda.turn(Work(SEEDS, self.turns().arrivals, lists=lists))
                return ledger.frontier()
            except KeyboardInterrupt:
                agenda.stop(INTERRUPTED)
                return ledger.frontier()

    def turns(self) -> HeuristicTurns:
        """Turns of the seeds, within what is left of the time."""
        names = self.answers.backend_name, SYMMETRIC, NEIGHBOURHOODS
        return HeuristicTurns(
            self.seeds,
            self.ledger.limits,
            self.deadline,
            alone=self.alone,
            proving=self.proving,
            asked=lambda: self.agenda.spent(*names),
        )

    def background_rows(self, turns: HeuristicTurns, *, lists: bool) -> list[Work]:
        """First of all: the seeds' proposals that have come meanwhile."""
        return [
            Work(
                SEEDS,
                turns.arrivals,
                lambda: self.seeds.have_arrived,
                turns=None,
                lists=lists,
                quiet=True,
            )
        ]

    def rows(self, source: CandidateSource | None = None, *, begun: bool = False) -> list[Work]:
        """The table of engines for a collective as it stands.

        Args:
            source: the candidates that solvers are asked for; None for those of the ledger.
            begun: whether seeds had a turn before.
        """
        ledger, seeds = self.ledger, self.seeds
        source = source or ledger.source
        turns, certified = self.turns(), source.request.strategy is Strategy.CERTIFIED
        asks = self.proving and not self.alone
        solver = CandidateSolver(ledger, source, self.answers, self.deadline)
        solving = Work(self.answers.backend_name, solver.run, solves=True)

        def wanted() -> bool:
            families = ledger.families
            return gaps_are_open(unbeaten(ledger.points, families), source, families)

        def enough(point: Point) -> bool:
            """Whether nothing is better in either cost or within the limits."""
            fewest = point.steps <= source.least_steps
            if fewest and ledger.bounds.is_met:
                return True
            limited = certified and self.proving and source.request.max_steps is not None
            return limited and self.small and not wanted()

        rows = self.background_rows(turns, lists=True)
        if not self.small:  # claims rest on this slow bound; the end is too late
            rows.append(Work(BOUNDS, lambda *_: [self.cut()]))
        # On a small network a solver may be as fast once they had their time.
        first = turns.arrivals if begun and self.small and not self.alone else turns.first
        rows.append(Work(SEEDS, first, lists=True, quiet=True, enough=enough))

        def before() -> bool:
            return solving.had == 0

        rows += self._claim_rows(lambda: before() and not self.small, before)
        rows.append(Work(BOUNDS, self._any_steps))
        if asks:
            for_seeds = self.size > (Size.TINY if seeds.warm_starts else Size.WIDE)
            rows.append(
                Work(
                    SEEDS,
                    turns.wait,
                    lambda: for_seeds and seeds.in_background and not turns.waited and wanted(),
                    turns=None,
                    lists=True,
                    quiet=True,
                    enough=enough,
                )
            )
            if certified:
                rows += self._stuck_rows(solver, source, turns)
            rows.append(solving)
        if certified:
            rows += self._claim_rows(lambda: True, lambda: True)
            rows.append(
                Work(
                    SEEDS,
                    turns.go_on,
                    lambda: bool(seeds.waiting) and not turns.exhausted and wanted(),
                    turns=None,
                    lists=True,
                    quiet=True,
                    enough=enough,
                )
            )
        return rows

    def _claim_rows(self, bounds: Callable[[], bool], claims: Callable[[], bool]) -> list[Work]:
        """What follows a turn of seeds: bounds of their points while they go on in the background,
        and a report.

        Args:
            bounds: whether such bounds are wanted now, and `claims` whether a report is.
        """

        def aside() -> bool:
            return bounds() and self.seeds.in_background and self.proving and self.bounds.is_ready

        def due() -> bool:
            return claims() and self.agenda.gained(SEEDS) > self._claimed

        return [
            Work(BOUNDS, self.bounds.run, aside, turns=None),
            Work(BOUNDS, self._claim, due, turns=None),
        ]

    def _claim(self, ledger: Ledger, until: Deadline) -> Iterator[Event]:
        """Reports the points of seeds, with bounds of their own unless better points come soon."""
        soon = not self.proving or (self.small and not self.alone)
        if self._claimed:
            soon = bool(self.seeds.warm_starts)
        self._claimed = self.agenda.gained(SEEDS)
        self.proofs(ledger, until)
        self.agenda.report(at_once=soon)
        return iter(())

    def _stuck_rows(
        self, solver: CandidateSolver, source: CandidateSource, turns: HeuristicTurns
    ) -> list[Work]:
        """The engines that take over from a solver that leaves a candidate undecided."""
        again = Work(
            SEEDS,
            turns.again,
            lambda: solver.is_stuck and turns.are_due,
            share=self.shares.again,
            turns=None,
            lists=True,
            thorough=True,
        )
        if not source.request.symmetric:
            return [again]
        symmetric = SymmetricSearch(self.ledger, source, self.answers)
        neighbourhoods = LargeNeighbourhoods(self.ledger, source, self.answers)
        shares, combining = self.shares, source.request.collective.combining
        return [
            Work(
                name,
                run,
                lambda: symmetric.is_large or solver.is_stuck,
                share=share,
                seconds=_NEIGHBOUR_SECONDS,
                solves=True,
            )
            for name, run, share in (
                (NEIGHBOURHOODS, neighbourhoods.run, shares.neighbourhoods),
                (
                    SYMMETRIC,
                    symmetric.run,
                    shares.symmetric_combining if combining else shares.symmetric,
                ),
                (NEIGHBOURHOODS, neighbourhoods.run, shares.neighbourhoods),
            )
        ] + [again]

    def cut(self) -> Bound:
        """The bound for any number of steps that is found at once."""
        with self.ledger.bounds.at_once():
            return self.ledger.bound(None)

    def _any_steps(self, ledger: Ledger, until: Deadline) -> Iterator[Event]:
        self.proofs(ledger, until)
        yield ledger.bound(None)
        if not self.proving:
            ledger.bounds.until(NEVER.sooner(0.0))

    def proofs(self, ledger: Ledger, until: Deadline) -> Iterator[Event]:
        """Limits the time of all further bounds, once, where no solver's time is saved by them."""
        if self.alone and not self._limited:
            self._limited = True
            ledger.bounds.until(self.deadline.sooner(LONG_SECONDS))
        return iter(())


@contextmanager
def bounds_until(bounds: BoundsTable, until: Deadline) -> Iterator[None]:
    """While it lasts, no bound is begun later."""
    usual = bounds.deadline
    bounds.until(min(until, usual, key=Deadline.left))
    try:
        yield
    finally:
        bounds.until(usual)


class PointBounds:
    """The engine that bounds the S of the incumbents, those far from what is proved first."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._bounded: set[int] = set()

    @property
    def is_ready(self) -> bool:
        """Whether some S has no bound of its own yet, and there is time for it."""
        left = any(point.steps not in self._bounded for point in self._ledger.points)
        return left and not self._ledger.bounds.deadline.passed

    def run(self, ledger: Ledger, until: Deadline) -> Iterator[Event]:
        """Bounds for one S after the other."""
        with bounds_until(ledger.bounds, until):
            while self.is_ready:
                steps = self._next(ledger)
                self._bounded.add(steps)
                yield ledger.bound(steps)

    def _next(self, ledger: Ledger) -> int:
        waiting = [point for point in ledger.points if point.steps not in self._bounded]
        known = ledger.bounds.known
        far = [p for p in waiting if p.bandwidth > known(p.steps) * NEAR]
        among = {point.steps for point in far or waiting}
        return next(s for s in in_turn(p.steps for p in ledger.points) if s in among)
