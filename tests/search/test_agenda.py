"""The loop over engines: scripted engines on a clock that only they move."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from fractions import Fraction
from types import FrameType
from typing import Any

import numpy as np
import pytest

from syncoll.clock import counting, took
from syncoll.deadline import Deadline
from syncoll.errors import OutOfTimeError
from syncoll.ledger import BoundsTable, Candidate, Observer, SearchRequest, Strategy
from syncoll.ledger.events import Bound, Event, Log, Undecided
from syncoll.ledger.ledger import Ledger, StepState
from syncoll.model import Algorithm
from syncoll.plugins import Proposal, SeedRecord
from syncoll.results import Frontier, Point
from syncoll.results.proof import Refuted
from syncoll.searching import AnswerSource, ChosenSeed, Seeding, search
from syncoll.searching.agenda import OUT_OF_MEMORY, Agenda, Work
from syncoll.searching.search import Search
from syncoll.solving import Solver
from tests.oracles.classics import broadcast, ring

REQUEST = SearchRequest(ring(4), broadcast(), max_steps=3)

AROUND = [(0, 0, 1, 0), (0, 1, 2, 1), (0, 2, 3, 2)]


def point(rounds: int = 3, chunks: int = 1) -> Point:
    """A broadcast of three steps around the ring."""
    sends = [(c, a, b, step) for c in range(chunks) for _, a, b, step in AROUND]
    algorithm = Algorithm((rounds - 2 * chunks, chunks, chunks), np.array(sends))
    asked = REQUEST.collective.instantiate(REQUEST.topology, chunks=chunks, steps=3, rounds=rounds)
    return Point(asked, algorithm, "test", "test", 0.0)


class Script:
    """An engine that records its turns: each event comes after some units of time."""

    def __init__(self, diary: list[str], name: str, *events: tuple[float, Event | BaseException]):
        self._diary, self._name, self._events = diary, name, iter(events)
        self.given: list[float] = []

    def run(self, ledger: Ledger, until: Deadline) -> Iterator[Event]:
        self.given.append(round(until.left(), 1))
        for seconds, event in self._events:
            took(seconds)
            self._diary.append(self._name)
            if isinstance(event, BaseException):
                raise event
            yield event
            if until.passed:
                return


class Counted(Ledger):
    """A ledger that records its reports."""

    def __init__(self, **more: Any) -> None:
        bounds = BoundsTable(REQUEST.topology, REQUEST.collective)
        self.reported: list[Frontier] = []
        asked = {"encoding": "step", "backend": "test"}
        super().__init__(REQUEST, asked, bounds, Log(), on_points=self.reported.append, **more)


@pytest.fixture(autouse=True)
def clock() -> Iterator[None]:
    """Time is units of work, which scripts take."""
    with counting():
        yield


CANDIDATE = Candidate(3, 3, 2)
SOON = 1.0, Bound(None, Fraction(1))


def agenda(ledger: Ledger, seconds: float = 100.0) -> Agenda:
    return Agenda(ledger, Deadline.after(seconds))


def test_the_first_row_that_is_ready_has_a_turn() -> None:
    diary: list[str] = []
    rows = [Work(name, Script(diary, name, SOON, SOON).run) for name in "abc"]
    rows[1].ready = lambda: len(diary) >= 3
    one = agenda(Counted())
    one.run(rows)
    assert diary == ["a", "a", "c", "b", "b", "c"]  # b becomes ready, and c is suspended
    assert [row.had for row in rows] == [1, 1, 1]
    assert [round(row.spent) for row in rows] == [2, 2, 2]
    assert round(one.spent("a", "c")) == 4
    assert sum(row.gained for row in rows) == 1  # the same bound is proved once


def test_a_turn_has_its_share_of_the_time_that_is_left() -> None:
    diary: list[str] = []
    one, two = Script(diary, "one", (50.0, SOON[1])), Script(diary, "two", SOON, SOON)
    again = Work("two", two.run, lambda: again.had < 2, share=0.8, seconds=30.0, once=False)
    agenda(Counted()).run([Work("one", one.run, share=0.25), again])
    assert one.given == [25.0]
    assert two.given == [30.0, 30.0]


def test_an_engine_resumes_as_often_as_it_is_ready() -> None:
    diary: list[str] = []
    script = Script(diary, "one", *[(10.0, SOON[1])] * 5)
    row = Work("one", script.run, lambda: len(diary) < 5, seconds=5.0, once=False)
    agenda(Counted()).run([row])
    assert len(diary) == row.had == 5


@pytest.mark.parametrize("solves", [False, True])
def test_points_are_entered_at_once_and_reported_in_time(solves: bool) -> None:
    ledger, diary = Counted(), list[str]()
    seen: list[tuple[int, int]] = []

    def watching(_: Ledger, __: Deadline) -> Iterator[Event]:
        for one in (point(), point(4, 2)):
            yield one
            seen.append((len(ledger.points), len(ledger.reported)))

    row = Work("one", watching, solves=solves)
    agenda(ledger).run([row])
    assert seen == ([(1, 1), (1, 2)] if solves else [(1, 0), (1, 0)])
    assert [p.bandwidth for p in ledger.reported[-1].points] == [2]
    assert len(ledger.reported) == (2 if solves else 1)
    assert row.gained == 2
    assert not diary


def test_a_long_turn_is_reported_now_and_then() -> None:
    ledger = Counted()
    events = (1.0, point()), (6.0, point(4, 2)), (1.0, point(5, 3))
    row = Work("seeds", Script([], "seeds", *events).run)
    agenda(ledger).run([row])
    assert [p.points[0].chunks for p in ledger.reported] == [2, 3]


def test_a_point_that_is_enough_ends_the_turn() -> None:
    diary: list[str] = []
    events = (1.0, point()), (1.0, point(4, 2)), SOON
    script = Script(diary, "seeds", *events)
    agenda(Counted()).run([Work("seeds", script.run, enough=lambda p: p.bandwidth <= 2)])
    assert len(diary) == 2


def test_points_beyond_the_limits_are_warm_starts_alone() -> None:
    request = SearchRequest(ring(4), broadcast(), max_rounds=2)
    bounds = BoundsTable(request.topology, request.collective)
    ledger = Ledger(request, {"encoding": None, "backend": "test"}, bounds, Log())
    agenda(ledger).run([Work("seeds", Script([], "seeds", (1.0, point())).run)])
    assert not ledger.points
    assert [p.steps for p in ledger.warm_starts.points.values()] == [3]


def test_all_kinds_of_events_are_entered() -> None:
    ledger = Counted()
    ledger.steps.append(StepState(3))
    refuted = Refuted(3, 3, 4, "step", "test")
    events = [(1.0, event) for event in (Undecided(CANDIDATE, "hard"), refuted, point(), SOON[1])]
    row = Work("solver", Script([], "solver", *events).run)
    agenda(ledger).run([row])
    assert ledger.steps[0].undecided == {CANDIDATE: "hard"}
    assert ledger.refuted == [refuted]
    assert ledger.points
    assert row.gained == 4


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (KeyboardInterrupt(), "interrupted"),
        (MemoryError("9 GiB"), OUT_OF_MEMORY),
        (OutOfTimeError("over"), "work limit"),
    ],
)
def test_no_end_of_a_search_loses_a_point(error: BaseException, why: str) -> None:
    ledger, diary, lost = Counted(), list[str](), list[str]()
    script = Script(diary, "one", (1.0, point()), (1.0, error))
    never = Work("never", Script(diary, "never", SOON).run)
    Agenda(ledger, Deadline.after(100.0), lost=lost.append).run([Work("one", script.run), never])
    assert ledger.stopped == why
    assert ledger.points
    assert diary.count("never") == 0
    assert lost == ([f"{OUT_OF_MEMORY}: 9 GiB"] if why == OUT_OF_MEMORY else [])
    found = ledger.frontier()
    assert not found.complete
    assert found.interrupted == (why == "interrupted")
    assert found.points


def test_ctrl_c_while_a_point_is_reported_loses_nothing() -> None:
    ledger = Counted()

    def interrupt(_: Frontier) -> None:
        raise KeyboardInterrupt

    ledger.on_points = interrupt
    row = Work("solver", Script([], "solver", (1.0, point())).run, solves=True)
    agenda(ledger).run([row])
    assert ledger.stopped == "interrupted"
    assert [p.steps for p in ledger.frontier().points] == [3]


def test_the_papers_strategy_is_a_fixed_agenda(solver: Solver) -> None:
    """Once the solver was asked nothing follows; it is never suspended for other engines."""
    tables = []
    for strategy in Strategy:
        request = SearchRequest(ring(4), broadcast(), strategy)
        answers = AnswerSource(solver)
        bounds = BoundsTable(request.topology, request.collective)
        ledger = Ledger(request, answers.asked, bounds, Log())
        seeds = answers.seeding.run(request.topology, request.collective)
        rows = Search(ledger, answers, seeds, Deadline.after(10.0)).rows()
        tables.append([row.name for row in rows if row.name not in ("bounds", "seeds")])
    certified, paper = tables
    assert paper == [solver.backend_name]
    stuck = ["large neighbourhoods", "symmetric", "large neighbourhoods"]
    assert certified == [*stuck, solver.backend_name]


def test_the_frames_between_a_seed_and_the_frontier_are_few() -> None:
    """A proposal passes five frames, in three files of the search."""
    stacks: dict[str, list[tuple[str, str, int]]] = {}

    def stack() -> list[tuple[str, str, int]]:
        frame: FrameType | None = sys._getframe(1)
        found = []
        while frame is not None:
            code = frame.f_code
            found.append((code.co_filename, code.co_qualname, id(frame)))
            frame = frame.f_back
        return found

    class Around:
        def propose(self, *_: object) -> Iterator[Proposal]:
            stacks["proposed"] = stack()
            yield Proposal(1, Algorithm((1, 1, 1), np.array(AROUND)))

    class Watching(Observer):
        def found(self, points: tuple[Point, ...]) -> None:
            stacks.setdefault("found", stack()[3:])  # the log reports points on the frontier

    seeding = Seeding([ChosenSeed(SeedRecord("around", "", Around), {})])
    assert search(REQUEST, AnswerSource(None, seeding=seeding), Watching()).points
    both = {one[2] for one in stacks["proposed"]} & {one[2] for one in stacks["found"]}

    def passed(frames: list[tuple[str, str, int]]) -> list[tuple[str, str, int]]:
        """The frames up to the loop, which both have."""
        return frames[: next(i for i, one in enumerate(frames) if one[2] in both) + 1]

    frames = dict.fromkeys(one[:2] for one in passed(stacks["proposed"]) + passed(stacks["found"]))
    names = [name for _, name in frames]
    assert len(names) <= 5, names
    files = {file for file, _ in frames if "/searching/" in file or "/ledger/" in file}
    assert len(files) == 3, files
