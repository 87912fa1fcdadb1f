"""Seeds in a process of their own: what they propose is looked at here, and trusted no more."""

from __future__ import annotations

import time

import numpy as np
import psutil
import pytest

from syncoll.api import Session
from syncoll.deadline import NEVER, Deadline
from syncoll.model import Algorithm, Collective, Topology
from syncoll.plugins import Answer, Proposal, SeedLimits, SeedRecord
from syncoll.searching import Seeding, seed_worker
from syncoll.searching.chosen_seed import ChosenSeed
from syncoll.searching.heuristics import Heuristics
from syncoll.searching.seed_process import Proposed, SeedProcess, SeedRequest
from tests.oracles import classics
from tests.search import seeds_aside


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """On one core seeds would work in the process of the tests, which some of them end."""
    monkeypatch.setattr("syncoll.searching.seed_process.available_cores", lambda: 2)


@pytest.fixture(scope="module")
def line() -> tuple[Topology, Collective]:
    session = Session()
    return session.topology("line(4)"), session.collective("broadcast")


def workers() -> list[psutil.Process]:
    return [p for p in psutil.Process().children() if "seed_worker" in " ".join(p.cmdline())]


def run(where: tuple[Topology, Collective], seed: ChosenSeed) -> tuple[Heuristics, list[str]]:
    told: list[str] = []
    return Heuristics([seed], *where, told.append), told


def test_proposals_are_verified_where_they_arrive(line: tuple[Topology, Collective]) -> None:
    seeds, told = run(line, seeds_aside.of(seeds_aside.wrong))
    found = list(seeds.turn(SeedLimits(), background=NEVER, wait=60.0))
    assert [(p.backend, p.steps, p.rounds) for p in found] == [("wrong", 3, 3)]
    while seeds.in_background:
        assert not list(seeds.arrivals(SeedLimits(), 60.0))
    assert len(told) == 1
    assert "seed wrong proposed an invalid algorithm" in told[0]
    assert list(seeds.waiting) == []
    assert not workers()


@pytest.mark.parametrize("aside", [None, NEVER])
def test_seeds_begin_with_what_is_known(
    line: tuple[Topology, Collective], aside: Deadline | None
) -> None:
    known = Proposal(1, Algorithm((1, 1, 1), np.array(seeds_aside.AROUND)))
    told: list[Collective] = []

    def knows(topology: Topology, collective: Collective) -> list[Proposal]:
        told.append(collective)
        return [known] if topology is line[0] else []

    none = SeedRecord("none", "", seeds_aside.begun, fits=lambda *_: Answer(False, "no"))
    seeds = [seeds_aside.of(seeds_aside.begun), ChosenSeed(none, {}, known=knows)]
    run = Seeding(seeds).run(*line)
    found = list(run.turn(SeedLimits(), background=aside, wait=60.0))
    assert [(p.backend, p.steps, p.rounds) for p in found] == [("begun", 3, 3)]
    assert told == [line[1]]


def test_a_process_that_is_lost_ends_no_search(line: tuple[Topology, Collective]) -> None:
    seeds, told = run(line, seeds_aside.of(seeds_aside.lost))
    found = list(seeds.turn(SeedLimits(), background=NEVER, wait=60.0))
    while seeds.in_background:
        found += seeds.arrivals(SeedLimits(), 60.0)
    assert len(found) == 1
    assert list(seeds.waiting) == []
    assert told == ["the process of lost failed: ended with exit code 3; going on without them"]


def test_what_works_aside_is_not_waited_for_and_ends_with_the_search(
    line: tuple[Topology, Collective],
) -> None:
    seeds, told = run(line, seeds_aside.of(seeds_aside.endless))
    assert len(list(seeds.turn(SeedLimits(), background=Deadline.after(300.0), wait=60.0))) == 1
    assert list(seeds.waiting) == ["endless"]
    assert len(workers()) == 1
    assert not list(seeds.arrivals(SeedLimits(), 0.0))
    assert not list(seeds.turn(SeedLimits()))  # it has no turns here
    seeds.close()
    assert list(seeds.waiting) == []
    assert not workers()
    assert not told


def test_without_a_core_or_what_can_be_passed_on_there_are_turns(
    line: tuple[Topology, Collective], monkeypatch: pytest.MonkeyPatch
) -> None:
    lambdas = line[0], classics.broadcast()
    seeds, _ = run(lambdas, seeds_aside.of(seeds_aside.wrong))
    assert len(list(seeds.turn(SeedLimits(), background=NEVER, wait=60.0))) == 1
    assert not seeds.in_background
    assert not workers()
    monkeypatch.setattr("syncoll.searching.seed_process.available_cores", lambda: 1)
    monkeypatch.setattr(SeedProcess, "__init__", lambda *_: pytest.fail("a process was started"))
    seeds, _ = run(line, seeds_aside.of(seeds_aside.wrong))
    assert len(list(seeds.turn(SeedLimits(), background=NEVER, wait=60.0))) == 1


def test_no_round_ends_what_a_seed_aside_is_at(
    line: tuple[Topology, Collective],
) -> None:
    begun: list[str] = []

    def slow(name: str) -> ChosenSeed:
        def then() -> None:
            begun.append(name)
            time.sleep(0.3)

        made = SeedRecord(name, "", lambda: seeds_aside.Made(then), resumes=True)
        return ChosenSeed(made, {})

    limits = SeedLimits(until=Deadline.after(60.0))
    told: list[object] = []
    request = SeedRequest((slow("one"), slow("other")), *line, limits)
    seed_worker.construct(request, told.append, 0.01)
    assert sorted(begun) == ["one", "other"]
    assert sum(isinstance(message, Proposed) for message in told) == 4
