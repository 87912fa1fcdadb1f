"""Seeds in a process of their own: their proposals are verified here."""

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
from tests.search import background_seeds


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
    messages: list[str] = []
    return Heuristics([seed], *where, messages.append), messages


def test_proposals_are_verified_where_they_arrive(line: tuple[Topology, Collective]) -> None:
    seeds, messages = run(line, background_seeds.of(background_seeds.wrong))
    found = list(seeds.turn(SeedLimits(), background=NEVER, wait=60.0))
    assert [(p.backend, p.steps, p.rounds) for p in found] == [("wrong", 3, 3)]
    while seeds.in_background:
        assert not list(seeds.arrivals(SeedLimits(), 60.0))
    assert len(messages) == 1
    assert "seed wrong proposed an invalid algorithm" in messages[0]
    assert list(seeds.waiting) == []
    assert not workers()


@pytest.mark.parametrize("background", [None, NEVER])
def test_seeds_begin_with_warm_starts(
    line: tuple[Topology, Collective], background: Deadline | None
) -> None:
    known = Proposal(1, Algorithm((1, 1, 1), np.array(background_seeds.AROUND)))
    messages: list[Collective] = []

    def knows(topology: Topology, collective: Collective) -> list[Proposal]:
        messages.append(collective)
        return [known] if topology is line[0] else []

    none = SeedRecord("none", "", background_seeds.begun, fits=lambda *_: Answer(False, "no"))
    seeds = [background_seeds.of(background_seeds.begun), ChosenSeed(none, {}, known=knows)]
    run = Seeding(seeds).run(*line)
    found = list(run.turn(SeedLimits(), background=background, wait=60.0))
    assert [(p.backend, p.steps, p.rounds) for p in found] == [("begun", 3, 3)]
    assert messages == [line[1]]


def test_a_process_that_is_lost_ends_no_search(line: tuple[Topology, Collective]) -> None:
    seeds, messages = run(line, background_seeds.of(background_seeds.lost))
    found = list(seeds.turn(SeedLimits(), background=NEVER, wait=60.0))
    while seeds.in_background:
        found += seeds.arrivals(SeedLimits(), 60.0)
    assert len(found) == 1
    assert list(seeds.waiting) == []
    assert messages == [
        "the process of the seed lost failed: ended with exit code 3; going on without it"
    ]


def test_a_background_seed_never_delays_the_end_of_a_search(
    line: tuple[Topology, Collective],
) -> None:
    seeds, messages = run(line, background_seeds.of(background_seeds.endless))
    assert len(list(seeds.turn(SeedLimits(), background=Deadline.after(300.0), wait=60.0))) == 1
    assert list(seeds.waiting) == ["endless"]
    assert len(workers()) == 1
    assert not list(seeds.arrivals(SeedLimits(), 0.0))
    assert not list(seeds.turn(SeedLimits()))  # it has no turns here
    seeds.close()
    assert list(seeds.waiting) == []
    assert not workers()
    assert not messages


def test_without_a_core_or_picklable_seeds_there_are_turns(
    line: tuple[Topology, Collective], monkeypatch: pytest.MonkeyPatch
) -> None:
    lambdas = line[0], classics.broadcast()
    seeds, _ = run(lambdas, background_seeds.of(background_seeds.wrong))
    assert len(list(seeds.turn(SeedLimits(), background=NEVER, wait=60.0))) == 1
    assert not seeds.in_background
    assert not workers()
    monkeypatch.setattr("syncoll.searching.seed_process.available_cores", lambda: 1)
    monkeypatch.setattr(SeedProcess, "__init__", lambda *_: pytest.fail("a process was started"))
    seeds, _ = run(line, background_seeds.of(background_seeds.wrong))
    assert len(list(seeds.turn(SeedLimits(), background=NEVER, wait=60.0))) == 1


def test_a_turn_does_not_interrupt_a_background_seed(line: tuple[Topology, Collective]) -> None:
    begun: list[str] = []

    def slow(name: str) -> ChosenSeed:
        def then() -> None:
            begun.append(name)
            time.sleep(0.3)

        made = SeedRecord(name, "", lambda: background_seeds.Made(then), resumes=True)
        return ChosenSeed(made, {})

    limits = SeedLimits(until=Deadline.after(60.0))
    messages: list[object] = []
    request = SeedRequest((slow("one"), slow("other")), *line, limits)
    seed_worker.construct(request, messages.append, 0.01)
    assert sorted(begun) == ["one", "other"]
    assert sum(isinstance(message, Proposed) for message in messages) == 4
