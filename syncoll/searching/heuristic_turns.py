"""The turns of a search's seeds, and their lengths.

Seeds come first: their points are reported at once, bound the solver's candidates from above, and
where they meet a proved bound no question is left.  They come again when the solver finds its
questions hard, for as long as it had.  They also have the remaining time in the end, for as long as
a gap to a bound is open.

On a small network a solver is often as fast as a seed, so slow seeds wait until it is stuck.  On a
large network the seeds that improve with time work in the background, on a core of their own.
"""

import math
from collections.abc import Callable, Iterator
from itertools import chain

from syncoll.clock import now
from syncoll.deadline import NEVER, Deadline
from syncoll.ledger.candidates import budgets_of
from syncoll.ledger.events import Event
from syncoll.ledger.incumbents import shows_families
from syncoll.ledger.ledger import Ledger
from syncoll.ledger.request import Observer, SearchRequest, Size, size_of
from syncoll.plugins import SeedLimits
from syncoll.searching.heuristics import BUSY, Heuristics
from syncoll.searching.shares import LONG_SECONDS, SHORT_SECONDS, shares_of

_IDLE = 0.1
"""Seeds that use only this share of a turn, and find nothing, have ended."""


class HeuristicTurns:
    """The engine of the seeds in one search.

    Args:
        request: the limits on their algorithms.
        deadline: of the whole search.
        alone: whether there is no solver.
        proving: whether claims are proved or candidates asked of a solver; if not, the seeds have
            all the time.
        asked: returns the seconds that the solver has used so far.

    Attributes:
        exhausted: whether more time would not give more points.
        waited: whether the solver's turn has come, see `wait`.
    """

    def __init__(
        self,
        seeds: Heuristics,
        request: SearchRequest,
        deadline: Deadline,
        *,
        alone: bool,
        proving: bool = True,
        asked: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self.seeds, self._request, self._deadline = seeds, request, deadline
        self._alone, self._proving, self._asked = alone, proving, asked
        self._shares = shares_of(request)
        self._claims = deadline.before(min(SHORT_SECONDS, deadline.left() * self._shares.claims))
        self._asked_before, self._round_seconds = 0.0, LONG_SECONDS
        self.exhausted = self.waited = False
        seeds.shows_families = shows_families(request)

    @property
    def are_due(self) -> bool:
        """Whether the solver had time without settling an S since the seeds' last turn."""
        return bool(self.seeds.waiting) and self._asked() - self._asked_before >= SHORT_SECONDS

    def first(self, ledger: Ledger, until: Deadline) -> Iterator[Event]:
        """The seeds' points before the first question to a solver."""
        request, ends, shares, seeds = self._request, self._deadline, self._shares, self.seeds
        alone, size, combining = (
            self._alone,
            size_of(request.topology),
            request.collective.combining,
        )
        small, left = size <= Size.SMALL, max(0.0, until.left())
        begins = 2 * SHORT_SECONDS  # with less time a process would come too late
        timed = begins < ends.left() < math.inf
        part = shares.alone if alone else shares.before_solver
        within = until.share(part if self._proving else shares.unproved)
        work, slowest = within.seconds, math.inf
        if not alone and (self._proving or until.is_never):
            work = shares.seed_seconds
            if small:
                slowest = shares.seed_seconds  # a solver is faster
            if not until.is_never:
                low, high = shares.seeds_combining if combining else shares.seeds
                work = min(max(work, low * left), high * left)
        soon = not alone and small
        most = shares.seed_seconds if soon else LONG_SECONDS
        patience = min(most, left * shares.patience)
        hard = (combining or size > Size.TINY) and LONG_SECONDS <= ends.left() < math.inf
        background, wait = None, 0.0
        possible = seeds.in_background or ends.left() >= begins
        useful = not soon or hard or (bool(seeds.warm_starts) and timed)
        if not alone and self._proving and possible and useful:
            background = ends.before(SHORT_SECONDS)
            if not seeds.in_background and (hard or not soon):
                most = shares.seed_seconds if soon and not combining else LONG_SECONDS
                wait = min(most, until.left(), ends.left() * shares.waiting)
        limits = self._limits(ledger, work, within)
        ledger.log.tell(Observer.seeding, self.seeds.waiting)
        if background is not None and ledger.bounds.has_many_sets:  # even quick seeds take seconds
            seeds.go_to_background(limits, background)
            slowest = 0.0 if seeds.in_background else slowest
        return seeds.turn(limits, patience, slowest, background=background, wait=wait)

    def again(self, ledger: Ledger, until: Deadline) -> Iterator[Event]:
        """A turn as long as the solver had.  The solver's questions are hard, so the seeds continue
        in the background if they can."""
        seconds = self._asked() - self._asked_before
        self._asked_before += seconds
        ledger.log.tell(Observer.seeding, self.seeds.waiting)
        return self._next(ledger, seconds, until.sooner(BUSY * seconds))

    def more(self, ledger: Ledger, until: Deadline) -> Iterator[Event]:
        """Another turn with all the time until the deadline."""
        ledger.log.tell(Observer.seeding, self.seeds.waiting)
        return self._next(ledger, until.left(), until)

    def arrivals(self, ledger: Ledger, until: Deadline) -> Iterator[Event]:
        """The proposals that have come from the background by now."""
        return self.seeds.arrivals(self._limits(ledger), 0.0)

    def wait(self, ledger: Ledger, until: Deadline) -> Iterator[Event]:
        """A turn in the background before the first question to a solver, which would seldom find
        more.  Raises `OutOfTimeError` if too little time is left for the solver."""
        known = ledger.points
        yield from self.go_on(ledger, until)
        if ledger.points is known:
            self._claims.check()
            self.exhausted, self.waited, self._round_seconds = False, True, LONG_SECONDS
            if ledger.gaps_are_open():
                self._deadline.before(SHORT_SECONDS).check()

    def go_on(self, ledger: Ledger, until: Deadline) -> Iterator[Event]:
        """A turn with the remaining time, if there is any, twice as long as the one before."""
        return chain.from_iterable(self._rounds(ledger))

    def _rounds(self, ledger: Ledger) -> Iterator[Iterator[Event]]:
        """The parts of a turn, which ends with the first improvement."""
        self._claims.check()
        ledger.log.tell(Observer.seeding, self.seeds.waiting)
        began, known, seconds = now(), ledger.points, self._round_seconds
        until, ends = self._claims.sooner(BUSY * seconds), Deadline.after(seconds)
        self._round_seconds *= 2
        while True:
            yield self._next(ledger, seconds, until, max(0.0, ends.left()))
            if ledger.points is not known:
                return
            # A useless proposal from the background ends no turn.
            if not self.seeds.in_background or ends.passed or until.passed:
                break
        idle = now() - began < _IDLE * min(seconds, until.seconds or seconds)
        self.exhausted = self._deadline.is_never or idle

    def _next(
        self, ledger: Ledger, work: float, until: Deadline, wait: float = 0.0
    ) -> Iterator[Event]:
        """Another turn of `work` seconds, in the background where that is possible."""
        limits = self._limits(ledger, work, until)
        self.seeds.go_to_background(limits, self._deadline.before(SHORT_SECONDS))
        return self.seeds.turn(limits, wait=wait)

    def _limits(
        self, ledger: Ledger, seconds: float | None = None, until: Deadline = NEVER
    ) -> SeedLimits:
        request = self._request
        most = request.max_steps, request.max_rounds, request.max_chunks
        budgets = budgets_of(ledger.source.least_chunks, request.max_chunks)
        return SeedLimits(*most, seconds, until, is_part=request.is_part, budgets=budgets)
