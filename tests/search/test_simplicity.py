"""The simplest points near the best: the archive, a frontier's points, files and both checkers."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import syncoll
from syncoll import FrontierResult
from syncoll.api import Topology
from syncoll.documents.document import digest
from syncoll.errors import SyncollError, UsageError, VerificationError
from syncoll.ledger import SearchRequest
from syncoll.ledger.incumbents import merged
from syncoll.reporting.subject import state_of
from syncoll.results.frontier import Point, known_cost, thinned
from syncoll.searching import candidate_solver
from syncoll.solving import Solver
from syncoll.values import share_of
from syncoll_check import check
from tests.oracles.classics import allgather, ring
from tests.search.scripted import run, unknown

FIFTH = Fraction(1, 5)


class Made(Point):
    """A point of given costs, without an algorithm."""

    def __init__(self, steps: int, rounds: int, chunks: int, messages: int) -> None:
        self.__dict__.update(costs=(steps, rounds, chunks), messages=messages)

    steps = property(lambda self: self.costs[0])  # type: ignore[assignment]
    rounds = property(lambda self: self.costs[1])  # type: ignore[assignment]
    chunks = property(lambda self: self.costs[2])  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{self.costs}, {self.messages}"  # type: ignore[attr-defined]


def _points(random: Random) -> list[Point]:
    return [
        Made(
            random.randint(2, 5), random.randint(8, 16), random.randint(4, 8), random.randint(1, 9)
        )
        for _ in range(30)
    ]


@pytest.mark.parametrize("seed", range(20))
def test_the_archive_keeps_all_near_and_undominated_points(seed: int) -> None:
    given, archive = _points(Random(seed)), list[Point]()
    for point in given:
        before = archive
        archive = merged(before, point, FIFTH)
        assert (archive is before) == (point not in archive)
    costs = {(p.steps, p.bandwidth, p.chunks, p.messages) for p in archive}
    near = []
    for p in given:
        least = min(o.bandwidth for o in given if o.steps <= p.steps)
        others = [o for o in given if o.dominates(p) and not p.dominates(o)]
        if p.bandwidth <= least * (1 + FIFTH) and not others:
            near.append((p.steps, p.bandwidth, p.chunks, p.messages))
    assert costs == set(near)
    assert len(archive) == len(costs)


@pytest.mark.parametrize("seed", range(20))
def test_each_s_shows_its_best_and_its_simplest_point(seed: int) -> None:
    given = _points(Random(seed))
    shown = thinned(given, FIFTH)
    for steps in {p.steps for p in given}:
        least = min(p.bandwidth for p in given if p.steps <= steps)
        assert known_cost(steps, shown, ()) == least
        assert len([p for p in shown if p.steps == steps]) <= 2
        if any(p.bandwidth == least and p.steps == steps for p in shown):
            near = [p for p in given if p.bandwidth <= least * (1 + FIFTH)]
            fewest = min(p.chunks for p in near if p.steps == steps)
            assert any(p.chunks <= fewest for p in shown if p in near and p.steps <= steps)
    assert not any(a.dominates(b) for a in shown for b in shown if a is not b)


@pytest.fixture(scope="module")
def frontier() -> FrontierResult:
    """Two points of two steps: R/C = 3/2 with C = 2, and 2 with C = 1."""
    return syncoll.pareto("ring(4)", "allgather", tolerance="40%", work=10, progress="none")


def test_one_s_has_a_best_and_a_simple_point(frontier: FrontierResult) -> None:
    assert [(p.steps, p.rounds, p.chunks) for p in frontier] == [(2, 3, 2), (2, 2, 1)]
    best, simple = frontier
    assert frontier.best == frontier.points[:1]
    assert not frontier.is_simple(best)
    assert frontier.is_simple(simple)
    assert simple.messages < best.messages
    text = str(frontier.page())
    assert "messages" in text
    assert "simple; within 33 %" in text
    assert [row["optimal_for"] for row in frontier.records()] == ["all", None]
    assert [state_of(frontier, point) for point in frontier] == ["optimal", "simple"]


def test_a_file_keeps_both_points_of_one_s(frontier: FrontierResult, tmp_path: Path) -> None:
    frontier.save(tmp_path / "f.json")
    document = json.loads((tmp_path / "f.json").read_text())
    assert document["schema"] == "syncoll/frontier/7"
    found = syncoll.load(tmp_path / "f.json")
    assert isinstance(found, FrontierResult)
    assert found.check().unchecked == ()
    assert [p.messages for p in found] == [p.messages for p in frontier]


def _more_messages(points: list[dict[str, Any]]) -> None:
    points[1]["messages"] += 1


def _without_messages(points: list[dict[str, Any]]) -> None:
    del points[0]["messages"]


def _twice(points: list[dict[str, Any]]) -> None:
    points.append(points[1])


def _other_proof(points: list[dict[str, Any]]) -> None:
    points[1]["proof"] = {**points[1]["proof"], "max_chunks": 3}


@pytest.mark.parametrize("change", [_more_messages, _without_messages, _twice, _other_proof])
def test_dominated_points_and_wrong_messages_are_refused(
    frontier: FrontierResult, change: Callable[[list[dict[str, Any]]], None], tmp_path: Path
) -> None:
    """Both checkers refuse them (`tests.both_checkers`)."""
    document = json.loads(json.dumps(frontier.document()))
    change(document["points"])
    document["digest"] = digest(document)
    (tmp_path / "f.json").write_text(json.dumps(document))
    with pytest.raises((VerificationError, SyncollError)):
        syncoll.check(tmp_path / "f.json")


def test_points_of_too_many_messages_are_left_out(frontier: FrontierResult) -> None:
    most = frontier[1].messages
    found = syncoll.pareto("ring(4)", "allgather", max_messages=most, work=10, progress="none")
    assert [p.messages <= most for p in found] == [True]
    assert any("--max-messages" in claim.reason for claim in found.open)
    assert found.scope.endswith(f"at most {most} messages")


@pytest.mark.parametrize("share", ["-1%", "much", True, "1/0"])
def test_a_tolerance_is_a_share(share: str) -> None:
    with pytest.raises(UsageError, match="2%"):
        share_of("tolerance", share)
    assert share_of("tolerance", "2.5 %") == Fraction(1, 40)


def _random_machine(random: Random) -> npt.NDArray[np.int64]:
    """Bandwidths of a ring of 4 nodes with other links."""
    matrix = np.zeros((4, 4), dtype=np.int64)
    for a in range(4):
        matrix[a, (a + 1) % 4] = random.choice([1, 1, 2])
    for _ in range(random.randint(1, 3)):
        a, b = random.sample(range(4), 2)
        matrix[a, b] = random.choice([1, 2])
    return matrix


def _costs(topology: Topology, collective: str, most: int) -> dict[int, Fraction]:
    """The least R/C for each S."""
    found = syncoll.pareto(
        topology, collective, max_chunks=most, max_steps=3, work=1, progress="none"
    )
    every = ((s, known_cost(s, found.points, found.families)) for s in range(1, 4))
    return {s: cost for s, cost in every if cost is not None}


@pytest.mark.slow
@pytest.mark.parametrize("collective", ["allgather", "allreduce", "broadcast"])
def test_wider_limits_and_more_links_never_cost_more(collective: str) -> None:
    random = Random(collective)
    few = _random_machine(random)
    more = few.copy()
    more[tuple(random.sample(range(4), 2))] += 1
    machines = [Topology.from_matrix("made", matrix.tolist()) for matrix in (few, more)]
    best: list[dict[int, Fraction]] = [{}, {}]
    for most in (1, 2, 4, 8):
        before = list(best)
        both = most in (1, 8)
        best[: 1 + both] = [_costs(machine, collective, most) for machine in machines[: 1 + both]]
        pairs = [*zip(before, best, strict=True), *([(best[0], best[1])] if both else [])]
        for worse, better in pairs:
            assert all(better[steps] <= cost for steps, cost in worse.items()), most


def test_an_undecided_simple_candidate_matters_for_no_claim(solver: Solver) -> None:
    request = SearchRequest(ring(4), allgather(), max_steps=2, tolerance=Fraction(2, 5))
    every, _ = run(solver, lambda _: None, request)
    assert [(p.rounds, p.chunks) for p in every.points] == [(3, 2), (2, 1)]
    some, asked = run(solver, lambda i: unknown() if i.chunks == 1 else None, request)
    assert (2, 2, 1) in asked.asked
    assert [(p.rounds, p.chunks) for p in some.points] == [(3, 2)]
    assert some.open == every.open
    assert some.complete


def test_large_formulas_are_not_asked_for_tiny_gains(
    solver: Solver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a limit on time, the gap stays open, with the reason."""
    request = SearchRequest(ring(4), allgather(), max_steps=2, work=50.0)
    monkeypatch.setattr(candidate_solver, "WORTH", Fraction(2))
    for many in (0, 10_000):
        monkeypatch.setattr(candidate_solver, "MANY_SENDS", many)
        found, asked = run(solver, lambda i: unknown() if i.chunks == 2 else None, request)
        # It is asked as long as nothing is known, and later only if its formula is small.
        assert (asked.asked.count((2, 3, 2)) > 1) is bool(many)
        reasons = [claim.reason for claim in found.open if claim.least_steps == 2]
        assert any("less than 0.1 %" in reason for reason in reasons) is not bool(many)


def test_refutations_of_parts_of_a_round_stay_unchecked() -> None:
    topology = Topology.from_matrix("made", [[0, 3, 1], [1, 0, 3], [3, 1, 0]], grains=3)
    limits: dict[str, Any] = {"max_chunks": 3, "max_steps": 3, "work": 1}
    found = syncoll.pareto(topology, "broadcast", progress="none", **limits)
    assert found.evidence is not None
    refuted = {one for proof in found.evidence.proofs for one in proof.refuted}
    assert any(Fraction(one.rounds).denominator > 1 for one in refuted)
    left = dict(check(json.dumps(found.document()).encode()).unchecked())
    assert left["refutations"].startswith(f"refutations ({len(refuted)})")
