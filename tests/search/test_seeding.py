"""Seeds in a search: failures and refusals are reported, and the other seeds have turns."""

from __future__ import annotations

import math
import re
import signal
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from syncoll.api import Session
from syncoll.deadline import NEVER, Deadline
from syncoll.errors import PluginError
from syncoll.formula import StopReason
from syncoll.ledger import BoundsTable, SearchRequest
from syncoll.ledger.events import Log
from syncoll.ledger.incumbents import shows_families
from syncoll.ledger.ledger import Ledger
from syncoll.model import Algorithm, Collective, Instance, Topology
from syncoll.plugins import Answer, Options, Proposal, SeedLimits, SeedRecord
from syncoll.results import Family, Part, Point, Solution
from syncoll.results.solution import undecided
from syncoll.scheduling import family_of_waves
from syncoll.searching import AnswerSource, ChosenSeed, Seeding, search
from syncoll.searching.search import Search
from syncoll.solving import Solver
from tests.oracles.classics import allgather, broadcast, line, one_way_ring, ring
from tests.search import background_seeds

Propose = Callable[[Topology, Collective, SeedLimits], Iterator[Proposal]]

AROUND = [(0, 0, 1, 0), (0, 1, 2, 1), (0, 2, 3, 2)]


def around(topology: Topology, collective: Collective, limits: SeedLimits) -> Iterator[Proposal]:
    yield Proposal(1, Algorithm((1, 1, 1), np.array(AROUND)))


def chosen(name: str, propose: Propose, fits: Answer | None = None, **more: Any) -> ChosenSeed:
    class Made:
        def propose(
            self, topology: Topology, collective: Collective, limits: SeedLimits, options: Options
        ) -> Iterator[Proposal]:
            return propose(topology, collective, limits)

    answer = fits or Answer(True)
    return ChosenSeed(SeedRecord(name, "", Made, fits=lambda *_: answer), {}, **more)


def points(*seeds: ChosenSeed, limits: SeedLimits | None = None) -> tuple[list[str], list[str]]:
    messages: list[str] = []
    seeding = Seeding(seeds, messages.append)
    found = seeding.run(ring(4), broadcast()).turn(limits or SeedLimits())
    return [point.backend for point in found if isinstance(point, Point)], messages


def test_a_broken_seed_does_not_end_the_search() -> None:
    def broken(*_: object) -> Iterator[Proposal]:
        raise ZeroDivisionError("oh")

    found, messages = points(chosen("broken", broken), chosen("around", around))
    assert found == ["around"]
    why = "seed broken failed in `propose`: ZeroDivisionError: oh"
    assert messages == [f"{why}; going on without it"]
    with pytest.raises(PluginError, match=re.escape(why)):
        points(chosen("broken", broken, named=True), chosen("around", around))


def test_a_wrong_proposal_is_no_point() -> None:
    def wrong(*_: object) -> Iterator[Proposal]:
        yield Proposal(1, Algorithm((1, 1, 1), np.array(AROUND[1:])))

    found, messages = points(chosen("wrong", wrong), chosen("around", around))
    assert found == ["around"]
    assert len(messages) == 1
    assert messages[0].startswith("seed wrong proposed an invalid algorithm: ")


def test_limits_hold_for_any_seed() -> None:
    for limits in (SeedLimits(max_steps=2), SeedLimits(max_rounds=2), SeedLimits(max_chunks=0)):
        assert points(chosen("around", around), limits=limits)[0] == []


@pytest.mark.parametrize("shown", [False, True])
def test_shown_families_drop_beaten_points(shown: bool) -> None:
    """With the rounds that it needs, not its stated ones."""
    topology, asked = ring(4), broadcast()
    once = Algorithm((1, 1, 1), np.array(AROUND))
    wave = Part(asked.instantiate(topology, chunks=1, steps=3, rounds=3), once)
    family = family_of_waves(wave, 1, (1, 1), (1, 1))
    assert family is not None

    def waves(*starts: int, rounds: tuple[int, ...]) -> Proposal:
        sends = [
            (c, a, b, step + start) for c, start in enumerate(starts) for _, a, b, step in AROUND
        ]
        return Proposal(len(starts), Algorithm(rounds, np.array(sends)))

    def several(*_: object) -> Iterator[Proposal]:
        yield Proposal(1, once, "", family)
        yield waves(0, 3, rounds=(1,) * 6)  # the family has 4 chunks in as many steps
        yield waves(0, 1, 2, 3, rounds=(5, 1, 1, 1, 1, 1))

    run = Seeding([chosen("several", several)], lambda _: None).run(topology, asked)
    run.shows_families = shown
    points = [point for point in run.turn(SeedLimits()) if isinstance(point, Point)]
    found = [(point.steps, point.rounds, point.chunks) for point in points]
    assert found == [(3, 3, 1), *([] if shown else [(6, 6, 2)]), (6, 6, 4)]


def test_families_are_shown_by_searches_without_limits() -> None:
    request = SearchRequest(ring(4), broadcast())
    assert shows_families(request)
    assert not shows_families(replace(request, max_chunks=17))
    assert not shows_families(replace(request, k=0))


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """The clocks on the wall and of this process's work, which only the test moves."""
    now = {"wall": 0.0, "work": 0.0}
    monkeypatch.setattr("syncoll.deadline.time.perf_counter", lambda: now["wall"])
    monkeypatch.setattr("syncoll.deadline.time.thread_time", lambda: now["work"])
    return now


class Spends:
    """Seeds that take some time; records their limits."""

    def __init__(self, clocks: dict[str, float]) -> None:
        self.clocks = clocks
        self.given: dict[str, float | None] = {}

    def seed(
        self,
        name: str,
        work: float,
        load: float = 1.0,
        first_seconds: float = 1.0,
        weight: float = 1.0,
    ) -> ChosenSeed:
        def propose(_: Topology, __: Collective, limits: SeedLimits) -> Iterator[Proposal]:
            self.given[name] = limits.seconds
            self.clocks["work"] += work
            self.clocks["wall"] += work * load
            yield Proposal(1, Algorithm((1, 1, 1), np.array(AROUND)))

        one = chosen(name, propose)
        record = replace(one.record, first_seconds=first_seconds, weight=weight)
        return replace(one, record=record)


def test_each_seed_has_a_share_and_passes_on_unused_time(clocks: dict[str, float]) -> None:
    spends = Spends(clocks)
    seeds = [spends.seed("one", 1.0), spends.seed("two", 5.0), spends.seed("three", 0.0)]
    found, messages = points(*seeds, limits=SeedLimits(seconds=12.0))
    # A seed that is slightly late still counts, at the expense of the seeds after it.
    assert spends.given == {"one": 4.0, "two": 5.5, "three": 6.0}
    assert (found, messages) == (["one", "two", "three"], [])


def test_shares_are_in_proportion_to_weights(clocks: dict[str, float]) -> None:
    spends = Spends(clocks)
    seeds = [spends.seed(name, 0.0, weight=weight) for name, weight in (("one", 1.0), ("two", 5.0))]
    points(*seeds, spends.seed("three", 0.0, weight=6.0), limits=SeedLimits(seconds=12.0))
    assert spends.given == {"one": 1.0, "two": pytest.approx(60 / 11), "three": 12.0}


def searched(
    seeding: Seeding, request: SearchRequest, solver: Solver | None = None, **limits: Any
) -> Search:
    """A search that has not begun."""
    answers = AnswerSource(solver, seeding=seeding)
    bounds = BoundsTable(request.topology, request.collective)
    ledger = Ledger(request, answers.asked, bounds, Log())
    deadline = limits.pop("deadline", NEVER)
    run = seeding.run(request.topology, request.collective)
    return Search(ledger, answers, run, deadline, **limits)


def test_slow_seeds_have_turns_on_large_machines_or_if_named(
    clocks: dict[str, float], solver: Solver
) -> None:
    spends = Spends(clocks)
    slow = spends.seed("slow", 0.0, first_seconds=2.0)
    for named in (False, True):
        seeding = Seeding([replace(slow, named=named), spends.seed("quick", 0.0)])
        search = searched(seeding, SearchRequest(ring(4), broadcast()), solver)
        first = search.turns().first(search.ledger, NEVER)
        assert _backends(first) == (["quick", "slow"] if named else ["quick"])
        assert search.seeds.waiting == (() if named else ("slow",))
        rest = search.seeds.turn(SeedLimits(seconds=1.0))
        assert _backends(rest) == ([] if named else ["slow"])


def along(topology: Topology, collective: Collective, limits: SeedLimits) -> Iterator[Proposal]:
    """A broadcast along a line."""
    nodes = topology.num_nodes
    sends = np.array([(0, i, i + 1, i) for i in range(nodes - 1)])
    yield Proposal(1, Algorithm((1,) * (nodes - 1), sends))


@pytest.mark.parametrize("large", [False, True])
def test_without_proofs_seeds_have_all_time_on_a_large_machine(
    large: bool, monkeypatch: pytest.MonkeyPatch, solver: Solver
) -> None:
    asked: list[int] = []
    ask = solver.solve

    def counted(instance: Instance, **options: Any) -> Solution:
        asked.append(instance.steps)
        return ask(instance, **options)

    monkeypatch.setattr(solver, "solve", counted)
    machine, steps = (line(30), 29) if large else (ring(4), 3)
    request = SearchRequest(machine, broadcast(), max_steps=steps)
    search = searched(Seeding([chosen("along", along)]), request, solver, proving=False)
    found = search.frontier(search.rows())
    assert found.complete
    assert bool(asked) != large
    if large:
        assert [(p.steps, p.bandwidth, p.backend) for p in found.points] == [(29, 29, "along")]


@pytest.mark.parametrize(
    ("machine", "seconds", "background"),
    [("line(21)", 20.0, True), ("line(21)", 9.0, False), ("line(8)", 20.0, False)],
)
def test_seeds_continue_in_the_background_on_large_machines(
    machine: str, seconds: float, background: bool, solver: Solver
) -> None:
    session = Session()
    request = SearchRequest(session.topology(machine), session.collective("broadcast"))
    until = Deadline.after(seconds)
    seeding = Seeding([background_seeds.of(background_seeds.begun)])
    search = searched(seeding, request, solver, deadline=until)
    with closing(search.seeds):
        process: list[bool] = []
        search.seeds.go_to_background = (  # type: ignore[method-assign]
            lambda *_: process.append(True)
        )
        assert not list(search.turns().first(search.ledger, until))
        assert process == [True] * background


def test_seeds_with_warm_starts_precede_a_slow_solver(
    monkeypatch: pytest.MonkeyPatch, solver: Solver
) -> None:
    known = [Proposal(1, Algorithm((1,) * 20, np.array([(0, i, i + 1, i) for i in range(20)])))]
    knows = chosen("knows", around, Answer(False, "no"), known=lambda *_: known)
    seeds, session = [background_seeds.of(background_seeds.slow), knows], Session()
    monkeypatch.setattr(solver, "solve", lambda *_, **__: pytest.fail("a solver was asked"))
    line = session.topology("line(21)"), session.collective("broadcast")
    request = SearchRequest(*line, max_steps=20)
    search = searched(Seeding(seeds), request, solver, deadline=Deadline.after(60.0))
    found = search.frontier(search.rows())
    assert found.complete
    assert [(p.steps, p.bandwidth, p.backend) for p in found.points] == [(20, 20, "slow")]


def _backends(found: Iterator[Point | Family]) -> list[str]:
    return [one.backend for one in found if isinstance(one, Point)]


class TestSeveralTurns:
    """Seeds that pause continue in the next turn."""

    def test_a_paused_seed_is_resumed_with_new_limits(self, clocks: dict[str, float]) -> None:
        given: list[float | None] = []

        def patient(
            _: Topology, __: Collective, limits: SeedLimits
        ) -> Generator[Proposal | None, SeedLimits, None]:
            for _turn in range(3):
                given.append(limits.seconds)
                clocks["work"] += limits.seconds or 0.0
                yield Proposal(1, Algorithm((1, 1, 1), np.array(AROUND)))
                limits = yield None

        other = chosen("other", around)
        run = Seeding([chosen("patient", patient), other]).run(ring(4), broadcast())
        for seconds, names, waiting in (
            (4.0, ["patient", "other"], ("patient",)),
            (6.0, ["patient"], ("patient",)),
            (1.0, ["patient"], ("patient",)),
            (1.0, [], ()),
            (1.0, [], ()),
        ):
            found = _backends(run.turn(SeedLimits(seconds=seconds)))
            assert (found, run.waiting) == (names, waiting)
        assert given == [2.0, 6.0, 1.0]

    def test_a_seed_may_yield_from_a_list(self) -> None:
        """A list accepts no sent values, but a generator stands at ``yield from``."""

        def passing_on(*_: object) -> Iterator[Proposal]:
            yield from [Proposal(1, Algorithm((r, 1, 1), np.array(AROUND))) for r in (1, 2)]

        assert points(chosen("passing on", passing_on)) == (["passing on"] * 2, [])

    def test_a_failed_seed_has_no_further_turn(self) -> None:
        def wrong(*_: object) -> Iterator[Proposal]:
            yield Proposal(1, Algorithm((1, 1, 1), np.array(AROUND[1:])))

        messages: list[str] = []
        run = Seeding([chosen("wrong", wrong)], messages.append).run(ring(4), broadcast())
        assert [list(run.turn(SeedLimits())) for _ in range(2)] == [[], []]
        assert len(messages) == 1
        assert run.waiting == ()


def test_quick_seeds_come_first(clocks: dict[str, float]) -> None:
    spends = Spends(clocks)
    seeds = [spends.seed(name, 0.0, first_seconds=s) for name, s in (("a", 3.0), ("b", 0.1))]
    assert points(*seeds, limits=SeedLimits(seconds=1.0))[0] == ["b", "a"]


def test_shares_do_not_shrink_on_a_busy_machine(clocks: dict[str, float]) -> None:
    """With eight others at work a second takes nine."""
    spends = Spends(clocks)
    seeds = [spends.seed(name, 0.45, load=9.0) for name in ("one", "two", "three", "four")]
    limits = SeedLimits(seconds=2.0, until=Deadline.after(24.0))
    assert points(*seeds, limits=limits)[0] == ["one", "two", "three", "four"]
    assert [round(given or 0.0, 2) for given in spends.given.values()] == [0.5, 0.52, 0.55, 0.65]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no such alarm")
@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("where", ["fits", "propose"])
def test_an_endless_seed_does_not_starve_the_others(where: str, named: bool) -> None:
    def endless(*_: object) -> Any:
        while True:
            math.factorial(100)

    first = chosen("endless", around if where == "fits" else endless, named=named)
    if where == "fits":
        first = replace(first, record=replace(first.record, fits=endless))
    limits = SeedLimits(seconds=0.1, until=Deadline.after(60.0))
    found, messages = points(first, chosen("around", around), limits=limits)
    assert found == ["around"]
    verb = "did not determine" if where == "fits" else "constructed nothing"
    assert [text.split(" in its share")[0] for text in messages] == (
        [f"seed endless {verb}"] if named else []
    )


def test_only_named_seeds_report_why_they_do_not_apply() -> None:
    """A user who named a seed sees why it does not apply, unless it applies to a part."""
    no = Answer(False, "no idea")
    silent = Seeding([chosen("auto", around, no)])
    named = Seeding([chosen("mine", around, no, named=True)])
    for seeding in (silent, named):
        assert list(seeding.run(ring(4), broadcast()).turn(SeedLimits())) == []
    assert silent.refusals == {}
    assert named.refusals == {"mine": "no idea"}


def round_the_ring(*_: object) -> Iterator[Proposal]:
    """An allgather of four nodes: each passes on the chunk that it has just received."""
    sends = [(c, (c + s) % 4, (c + s + 1) % 4, s) for c in range(4) for s in range(3)]
    yield Proposal(1, Algorithm((1, 1, 1), np.array(sends)))


@pytest.mark.parametrize(("machine", "best"), [(one_way_ring, True), (ring, False)])
def test_no_seed_has_a_turn_after_an_unbeatable_point(
    machine: Callable[[int], Topology], best: bool
) -> None:
    asked: list[str] = []

    def later(*_: object) -> Iterator[Proposal]:
        asked.append("later")
        return iter(())

    seeds = Seeding([chosen("first", round_the_ring), chosen("later", later)])
    frontier = search(SearchRequest(machine(4), allgather()), AnswerSource(None, seeding=seeds))
    assert [(p.steps, str(p.bandwidth), p.backend) for p in frontier.points] == [(3, "3", "first")]
    assert asked == ([] if best else ["later"])
    assert bool(frontier.open) is not best


@pytest.mark.parametrize("decides", [True, False])
def test_on_a_tiny_network_slow_seeds_wait_for_a_stuck_solver(
    decides: bool, monkeypatch: pytest.MonkeyPatch, solver: Solver
) -> None:
    asked: list[str] = []

    def both_ways(*_: object) -> Iterator[Proposal]:
        sends = [(c, c, (c + way) % 4, 0) for c in range(4) for way in (1, -1)]
        sends += [(c, (c + 1) % 4, (c + 2) % 4, 1) for c in range(4)]
        yield Proposal(1, Algorithm((1, 1), np.array(sends)))

    def later(*_: object) -> Iterator[Proposal]:
        asked.append("later")
        return iter(())

    def hard(instance: Instance, **_: object) -> Solution:
        return undecided(instance, StopReason.TIME_LIMIT, "", encoding="step", backend="test")

    if not decides:
        monkeypatch.setattr(solver, "solve", hard)
    seeding = Seeding([chosen("first", both_ways), chosen("later", later)])
    request = SearchRequest(ring(4), allgather(), max_steps=2, max_chunks=2)
    found = search(request, AnswerSource(solver, seeding=seeding))
    assert [str(point.bandwidth) for point in found.points] == ["3/2" if decides else "2"]
    assert asked == ([] if decides else ["later"])


@pytest.mark.parametrize("first", [1, 6])
def test_the_cut_does_not_depend_on_the_chunks(first: int) -> None:
    table = BoundsTable(one_way_ring(4), allgather(), chunks=first)
    assert table.cut == 3


def test_seeds_alone_leave_unsearched_regions_open() -> None:
    frontier = search(
        SearchRequest(ring(4), allgather()),
        AnswerSource(None, seeding=Seeding([chosen("slow", round_the_ring)])),
    )
    assert [(p.steps, str(p.bandwidth)) for p in frontier.points] == [(3, "3")]
    assert [(c.least_steps, c.most_steps, str(c.low), c.high) for c in frontier.open] == [
        (2, 2, "3/2", None),
        (3, 3, "3/2", 3),
        (4, None, "3/2", 3),
    ]


def test_seeds_are_given_the_budgets_of_chunks() -> None:
    given: list[tuple[int, ...]] = []

    def noting(_: Topology, __: Collective, limits: SeedLimits) -> Iterator[Proposal]:
        given.append(limits.budgets)
        yield from ()

    answers = AnswerSource(None, seeding=Seeding([chosen("noting", noting)]))
    for most in (5, None):
        search(SearchRequest(ring(3), allgather(), max_chunks=most), answers)
    assert given[0] == (1, 2, 3, 4, 5)
    assert given[1][0] == 1
    assert given[1][-1] > 64
