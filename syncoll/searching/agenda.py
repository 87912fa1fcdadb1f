"""The agenda of a search: one table of engines, and one loop over it.

An engine is an oracle: given the ledger and a deadline, it yields events (`syncoll.ledger.events`):
points, families, bounds, refutations and undecided candidates.  The agenda alone decides which
engine works next, for how long, and when results are reported.  The rows of the table are in order
of priority: the first that is ready has a turn, and is suspended at any of its events for as long
as a row above it is ready.

Each event is entered in the ledger before anything else is done with it, so Ctrl-C loses no result.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial

from syncoll.clock import limit_in_words, now
from syncoll.deadline import Deadline, OutOfTimeError
from syncoll.ledger.events import BOUNDS, Event
from syncoll.ledger.ledger import INTERRUPTED, Ledger
from syncoll.results import Family, Point
from syncoll.searching.shares import SHORT_SECONDS

OUT_OF_MEMORY = "out of memory"
"""The reason in an open claim if memory ended the search."""

SEEDS = "seeds"
"""The name of the rows of seeds."""

SAVE_SECONDS, SELDOM = 5.0, 10.0
"""Seconds between two reports while an engine with many points has its turn; and the least ratio of
this interval to the time of a report (torus(16,16) in `benchmarks/exchanges.py`)."""

Engine = Callable[[Ledger, Deadline], Iterable[Event]]
"""Works until a deadline, and yields its events as they come."""


@dataclass(eq=False)
class Work:
    """A row of the table: an engine, when it has turns, and its gain so far.

    Args:
        name: of the engine, in the log.
        run: the engine; it may resume where its last turn ended.
        ready: whether it may have a turn now.
        share: the share of the remaining time that a turn may take at most; None for all.
        seconds: the most that a turn may take.
        once: whether it has one turn at most; otherwise it has a turn whenever it is ready.
        solves: whether its points answer candidates: they come one by one, each is reported at
            once, and they keep the limits.  Points of other engines may exceed them.
        quiet: whether another row reports its points.
        thorough: whether its points have bounds of their own when they are reported, which takes
            time; otherwise these come when the same S comes up for a bound.
        lists: whether members of few steps of its families become points.
        enough: whether a new point ends its turn.

    Attributes:
        had: number of turns so far.
        spent: seconds in these, without the turns of rows above it.
        gained: number of its events that improved the ledger.
    """

    name: str
    run: Engine
    ready: Callable[[], bool] = lambda: True
    share: float | None = None
    seconds: float | None = None
    once: bool = True
    solves: bool = False
    quiet: bool = False
    thorough: bool = False
    lists: bool = False
    enough: Callable[[Point], bool] = lambda _: False
    had: int = field(default=0, init=False)
    spent: float = field(default=0.0, init=False)
    gained: int = field(default=0, init=False)

    @property
    def is_ready(self) -> bool:
        """Whether it is ready and has a turn left."""
        return not (self.once and self.had) and self.ready()


@dataclass(eq=False)
class Agenda:
    """The loop over the engines of one search.

    Args:
        on_point: is called when a point was found.
        on_stop: is called when the search ends early.
        lost: is given the reason when memory is exhausted.

    Attributes:
        table: all rows that were ever on the agenda, with their gain.
        next_report: when points of an engine that has its turn are reported again.
    """

    ledger: Ledger
    deadline: Deadline
    on_point: Callable[[], None] = lambda: None
    on_stop: Callable[[], None] = lambda: None
    lost: Callable[[str], None] = lambda _: None
    table: list[Work] = field(default_factory=list)
    _rows: Sequence[Work] = ()
    _unreported: bool = False
    next_report: Deadline = field(default_factory=partial(Deadline.after, SAVE_SECONDS))

    def spent(self, *names: str) -> float:
        """Seconds that these engines have used so far."""
        return sum(row.spent for row in self.table if row.name in names)

    def gained(self, name: str) -> int:
        """Number of improvements of the ledger by this engine."""
        return sum(row.gained for row in self.table if row.name == name)

    def next(self, above: Work | None = None) -> Work | None:
        """The first row that is ready, of all or of those above one."""
        if above is not None and above not in self._rows:
            return None
        for row in self._rows:
            if row is above:
                break
            if row.is_ready:
                return row
        return None

    def run(self, rows: Sequence[Work]) -> None:
        """Gives the engines of a table turns until none is ready, or the search is stopped.

        Ctrl-C (`KeyboardInterrupt`), exhausted memory and the end of the time stop it; the ledger
        has the reason.
        """
        self._rows = rows
        self.table += rows
        try:
            while not self.ledger.stopped and (work := self.next()) is not None:
                self.turn(work)
        except OutOfTimeError:
            self.ledger.stopped = limit_in_words()
        except KeyboardInterrupt:
            self.stop(INTERRUPTED)
        except MemoryError as error:
            self.lost(f"{OUT_OF_MEMORY}: {error}")
            self.stop(OUT_OF_MEMORY)

    def stop(self, why: str) -> None:
        """Ends the search: no engine has another turn, and no long computation begins."""
        self.ledger.stopped = why
        self.on_stop()
        # After an interrupt, a composition still composes its parts and proves its claims.
        seconds = SHORT_SECONDS if self.ledger.composed else 0.0
        self.ledger.bounds.deadline = self.ledger.bounds.deadline.sooner(seconds)

    def turn(self, work: Work) -> None:
        """One turn of an engine, suspended for the rows above it."""
        work.had += 1
        ledger, until = self.ledger, self.deadline.sooner(work.seconds)
        if work.share is not None:
            until = self.deadline.share(work.share).sooner(work.seconds)
        usual, shorter = ledger.bounds.deadline, work.name == BOUNDS and work.share is not None
        if shorter:  # no bound is begun after its end
            ledger.bounds.deadline = min(until, usual, key=Deadline.left)
        # Seeds have turns of their own in the log.
        with nullcontext() if work.name == SEEDS else ledger.log.turn(work.name):
            began = now()
            events = iter(work.run(ledger, until))
            try:
                for event in events:
                    work.spent += now() - began
                    engine = ""
                    if work.name == SEEDS:  # from the background, in the turn of another engine
                        match event:
                            case Point():
                                engine = event.backend
                            case Family():
                                engine = event.found_by
                    new = ledger.record(event, engine, limited=not work.solves)
                    over = new and self._is_enough(event, work)
                    while not ledger.stopped and (other := self.next(above=work)) is not None:
                        self.turn(other)
                    began = now()
                    if over or ledger.stopped:
                        break
                work.spent += now() - began
            finally:
                # Closed here, because a Ctrl-C during Python's own finalization may be lost.
                close = getattr(events, "close", None)
                if close is not None:
                    close()
                del events
                if shorter:
                    ledger.bounds.deadline = usual
        if work.lists and self.ledger.list_members():
            work.gained += 1
            self._unreported = True
        if self._unreported and not work.quiet:
            self.report(at_once=not work.thorough)

    def _is_enough(self, event: Event, work: Work) -> bool:
        """Reports an improvement of the ledger if it is due; returns whether it ends the turn."""
        work.gained += 1
        if not isinstance(event, Point):
            return False
        self._unreported = True
        self.on_point()
        if work.solves or (self.ledger.on_points and self.next_report.passed):
            self.report(at_once=True)
        return work.enough(event)

    def report(self, *, at_once: bool) -> None:
        """Reports and saves the state of the search; `at_once` without bounds that take time."""
        began = now()
        with self.ledger.bounds.at_once() if at_once else nullcontext():
            self.ledger.report()
        self._unreported = False
        self.next_report = Deadline.after(max(SAVE_SECONDS, SELDOM * (now() - began)))
