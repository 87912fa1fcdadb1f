"""The five kinds of events of a search, and the log that records each with its engine.

* `Point`: a verified algorithm; `Family`: verified algorithms for every m.
* `Bound`: no algorithm of at most S steps costs less.
* `Refuted`: a solver proved that a candidate has no algorithm.
* `Undecided`: a solver did not decide a candidate.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from functools import partial
from typing import Concatenate, ParamSpec

from syncoll.ledger.request import Candidate, Observer
from syncoll.model.grains import Rounds, in_rounds
from syncoll.results import Family, Frontier, Point, Refuted
from syncoll.wording import nearness

_P = ParamSpec("_P")

BOUNDS = "bounds"
"""The engine that proves bounds."""


@dataclass(frozen=True)
class Bound:
    """No algorithm of at most `steps` steps (None: any number) costs less than `bandwidth`."""

    steps: int | None
    bandwidth: Fraction


@dataclass(frozen=True)
class Undecided:
    """A candidate that a solver did not decide, and why, in words."""

    candidate: Candidate
    why: str


Event = Point | Family | Bound | Refuted | Undecided


class Kind(StrEnum):
    """The kind of an event."""

    FOUND = "found"
    FAMILY = "family"
    PROVED = "proved"
    REFUTED = "refuted"
    UNDECIDED = "undecided"


_KINDS = dict(zip((Point, Family, Bound, Refuted, Undecided), Kind, strict=True))


@dataclass(frozen=True)
class Entry:
    """An event in the log of a search.

    Args:
        seconds: since the search began.
        engine: the seed, solver or other part of the search that found or proved it.
        collective: the searched collective: the requested one or a part of it; with the name of
            the machine, if that is another one.
        steps: S; for a family the S of its first member; None for any number.
        bandwidth: R/C; for a family the limit of its members.
        rounds: R, as C where the event is about one.
        chunks: C.
        gap: the least R/C found with at most S steps over the largest lower bound; 1 for an optimal
            point, None where either is missing.
        why: the reason, of an undecided candidate.
    """

    seconds: float
    engine: str
    collective: str
    kind: Kind
    steps: int | None
    bandwidth: Fraction
    rounds: Rounds | None = None
    chunks: int | None = None
    gap: Fraction | None = None
    why: str = ""

    def __str__(self) -> str:
        """The event in a line, without the time."""
        gap = "" if self.gap is None else f", {nearness(self.gap, Fraction(1))}"
        if self.kind is Kind.PROVED:
            where = "any steps" if self.steps is None else f"S <= {self.steps}"
            text = f"proved     R/C >= {self.bandwidth} with {where}{gap}"
        elif self.kind is Kind.FAMILY:
            text = f"family     from S = {self.steps} on, R/C towards {self.bandwidth}"
        else:
            costs = f"S={self.steps} R={self.rounds} C={self.chunks}"
            shown = gap if self.kind is Kind.FOUND else ""
            why = f": {self.why}" if self.why else ""
            text = f"{self.kind:<10} {costs} (R/C {self.bandwidth}{shown}){why}"
        return f"{self.collective}: {text}, by {self.engine}"


@dataclass(frozen=True)
class EngineRecord:
    """Statistics of one engine in a search.

    Args:
        turns: number of turns.
        seconds: in all turns together.
        found: points that were new when it found them.
        kept: the part of `found` that is on the frontier in the end.
        proved: number of bounds.
        refuted: number of candidates.
        undecided: number of candidates.
    """

    engine: str
    turns: int
    seconds: float
    found: int
    kept: int
    proved: int
    refuted: int
    undecided: int


@dataclass(eq=False)
class Log:
    """The events of a whole search and of its parts, in order of time.

    It passes each event on to an observer, as `Observer.logged`.

    Attributes:
        entries: the events so far.
        collective: the one that is being searched.
    """

    observer: Observer | None = None
    entries: list[Entry] = field(default_factory=list)
    collective: str = ""
    _engine: str = ""
    _began: float = field(default_factory=time.perf_counter)
    _turns: Counter[str] = field(default_factory=Counter)
    _seconds: defaultdict[str, float] = field(default_factory=partial(defaultdict, float))
    _grains: int = 1
    _machine: str = ""
    _point: Callable[[Point], Point] = field(default=lambda point: point)

    @contextmanager
    def in_rounds(self, grains: int, point: Callable[[Point], Point]) -> Iterator[None]:
        """In this context events count grains, and entries and observers get rounds.

        Args:
            grains: in a round.
            point: converts a point to rounds.
        """
        before = self._grains, self._point
        self._grains, self._point = grains, point
        try:
            yield
        finally:
            self._grains, self._point = before

    @contextmanager
    def apart(self, machine: str, grains: int) -> Iterator[None]:
        """In this context another machine is searched, on which other bounds hold: entries name it
        after the collective, and observers get no points and no bounds.

        Args:
            machine: a name.
            grains: in a round.
        """
        before = self._grains, self._machine
        self._grains, self._machine = grains, f"{self._machine}, {machine}"
        try:
            yield
        finally:
            self._grains, self._machine = before

    def _shown(self, given: object) -> object:
        """An argument of an observer, in rounds."""
        match given:
            case Candidate(steps, rounds, chunks):
                return Candidate(steps, in_rounds(rounds, self._grains), chunks)
            case Fraction():
                return given / self._grains
            case tuple():
                return tuple(self._point(one) if isinstance(one, Point) else one for one in given)
        return given

    def tell(
        self, method: Callable[Concatenate[Observer, _P], None], *given: _P.args, **named: _P.kwargs
    ) -> None:
        """Reports to the observer, if there is one: ``log.tell(Observer.trying, candidate)``."""
        if self.observer is not None:
            getattr(self.observer, method.__name__)(*map(self._shown, given), **named)

    @contextmanager
    def turn(self, engine: str) -> Iterator[None]:
        """A turn of an engine: its time is counted, and events without an engine are its own.
        Turns may be nested; the time of the inner one does not count for the outer one."""
        before, self._engine = self._engine, engine
        self._turns[engine] += engine != before
        began = time.perf_counter()
        try:
            yield
        finally:
            self._engine, spent = before, time.perf_counter() - began
            self._seconds[engine] += spent
            self._seconds[before] -= spent

    def enter(
        self,
        collective: str,
        event: Event,
        engine: str,
        points: tuple[Point, ...],
        gap: Fraction | None,
    ) -> None:
        """Enters an event.

        Args:
            engine: empty for the engine whose turn it is; bounds have an engine of their own.
            points: the frontier with it.
            gap: see `Entry`.
        """
        engine, kind, why = engine or self._engine, _KINDS[type(event)], ""
        costs: Point | Candidate | None = None
        match event:
            case Point():
                engine, costs = engine or event.backend, event
            case Family():
                engine, steps = engine or event.found_by, event.steps.at(event.first)
                bandwidth = event.limit
            case Bound(steps, bandwidth):
                engine = BOUNDS
            case Refuted():
                engine = engine or event.backend
                costs = Candidate(event.steps, event.rounds, event.chunks)
            case Undecided(costs, why):
                pass
        rounds = chunks = None
        if costs is not None:
            steps, rounds, chunks = costs.steps, costs.rounds, costs.chunks
            bandwidth = costs.bandwidth
        if self._grains > 1:
            bandwidth /= self._grains
            rounds = None if rounds is None else in_rounds(rounds, self._grains)
        seconds, collective = time.perf_counter() - self._began, collective + self._machine
        entry = Entry(seconds, engine, collective, kind, steps, bandwidth, rounds, chunks, gap, why)
        self.entries.append(entry)
        if self.observer is None:
            return
        self.observer.logged(entry)
        if entry.collective == self.collective:
            if kind is Kind.FOUND:
                self.tell(Observer.found, points)
            elif kind is Kind.PROVED:
                self.observer.bounded(steps, bandwidth)

    def end(self, frontier: Frontier) -> tuple[EngineRecord, ...]:
        """Ends the search and returns the records of the engines, in the order in which they began.
        Each point of the frontier counts for the engine that found it first."""
        names = dict.fromkeys([*self._turns, *(entry.engine for entry in self.entries)])
        count = Counter((entry.engine, entry.kind) for entry in self.entries)
        ends = {(point.steps, point.bandwidth): point.backend for point in frontier.points}
        for entry in reversed(self.entries):  # the first finder of a point has the last word
            costs = entry.steps or 0, entry.bandwidth
            found = entry.kind is Kind.FOUND and entry.collective == frontier.collective
            if found and costs in ends:
                ends[costs] = entry.engine
        kept = Counter(ends.values())
        engines = tuple(
            EngineRecord(
                name,
                self._turns[name],
                self._seconds[name],
                count[name, Kind.FOUND] + count[name, Kind.FAMILY],
                kept[name],
                *(count[name, kind] for kind in (Kind.PROVED, Kind.REFUTED, Kind.UNDECIDED)),
            )
            for name in dict.fromkeys([*names, *kept])
        )
        self.tell(Observer.ended, engines)
        return engines

    def began(self, collective: str) -> None:
        """Records that the search for this collective begins, see `Observer.began`."""
        self.collective = collective.removesuffix(", directly")
        self.tell(Observer.began, collective + self._machine)
