"""What is composed of parts: while they are searched, when a person stops that, and cut anew."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from syncoll.clock import counting
from syncoll.deadline import NEVER, OutOfTimeError
from syncoll.ledger import Observer, SearchRequest
from syncoll.ledger.candidates import CandidateSource
from syncoll.model import Algorithm, Instance, Topology, inverse_of, sequence_of
from syncoll.results import Frontier, Point, Solution
from syncoll.searching import composing, compositions, frontiers, search
from syncoll.searching.compositions import Compositions
from syncoll.searching.parts import Part
from syncoll.solving import Solver
from syncoll.trust import require_valid
from tests.oracles.classics import allgather, broadcast, ring

ALLGATHER = allgather()
REDUCESCATTER = inverse_of(ALLGATHER, "reducescatter")
ALLREDUCE = sequence_of([[REDUCESCATTER, ALLGATHER]], "allreduce")


def _on_a_ring(nodes: int, shares: Sequence[int]) -> Point:
    """An allgather that sends so many chunks of each node one way round, and the other way."""
    pre = np.tile(np.eye(nodes, dtype=bool), (sum(shares), 1))
    sends = [
        (root + nodes * i, (root + way * s) % nodes, (root + way * (s + 1)) % nodes, s)
        for i in range(sum(shares))
        for root in range(nodes)
        for s in range(nodes - 1)
        for way in [1 if i < shares[0] else -1]
    ]
    own = Algorithm((max(shares),) * (nodes - 1), sends)
    costs = sum(shares), own.steps, own.rounds
    instance = Instance(ring(nodes), "allgather", *costs, pre, np.ones_like(pre))
    require_valid(instance, own)
    return Point(instance, own, "test", "test", 0.0)


def _parts(*points: Sequence[Point]) -> list[Part]:
    topology = points[0][0].instance.topology
    parts = [Part(SearchRequest(topology, what)) for what in (REDUCESCATTER, ALLGATHER)]
    for part, found in zip(parts, points, strict=True):
        part.points = found
    return parts


def _composed(parts: list[Part]) -> tuple[list[Point], list[str]]:
    lost: list[str] = []
    made = Compositions(ALLREDUCE, lambda *_: True, lost.append)
    found = list(made.points(parts, NEVER))
    assert not list(made.points(parts, NEVER))  # each is made once
    return found, lost


def test_parts_without_a_small_common_multiple_are_cut_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, two = _on_a_ring(4, (2, 1)), _on_a_ring(4, (3, 4))
    (exact,), lost = _composed(_parts([one], [two]))
    assert exact.chunks == 4 * 3 * 7
    assert exact.bandwidth == (one.bandwidth + two.bandwidth) / 4
    monkeypatch.setattr(compositions, "_MOST_REFINED", 960)
    (coarse,), more = _composed(_parts([one], [two]))
    require_valid(coarse.instance, coarse.algorithm)
    assert coarse.chunks == 4 * 7
    assert exact.bandwidth <= coarse.bandwidth <= exact.bandwidth + Fraction(3, 28)
    assert lost == more == []
    # The same C needs no cutting, however many sends that makes.
    (same,), _ = _composed(_parts([two], [two]))
    assert same.bandwidth == 2 * two.bandwidth / 4


def test_only_what_promises_most_is_made() -> None:
    dear, cheap = _on_a_ring(4, (2, 1)), _on_a_ring(4, (3, 4))
    (only,), lost = _composed(_parts([dear, cheap], [dear, cheap]))
    assert only.bandwidth == 2 * cheap.bandwidth / 4
    assert lost == []


def test_what_is_beyond_the_limits_keeps_nothing_else_from_being_made() -> None:
    dear, cheap = _on_a_ring(4, (2, 1)), _on_a_ring(4, (3, 4))
    made = Compositions(
        ALLREDUCE, lambda *_: True, lambda _: None, lambda point: point.chunks <= 4 * 3
    )
    (only,) = made.points(_parts([dear, cheap], [dear, cheap]), NEVER)
    assert only.bandwidth == 2 * dear.bandwidth / 4


def test_what_is_dearer_than_it_promised_keeps_cheaper_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two parts that were cut anew lose what an exact composition has."""
    one, two, even = _on_a_ring(4, (1, 2)), _on_a_ring(4, (10, 11)), _on_a_ring(4, (5, 6))
    monkeypatch.setattr(compositions, "_MOST_REFINED", 960)
    found, _ = _composed(_parts([one, even], [two, even]))
    assert found[0].bandwidth > even.bandwidth * 2 / 4
    assert found[-1].bandwidth == even.bandwidth * 2 / 4


def test_what_there_is_no_time_for_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    few = _on_a_ring(4, (1, 0))
    made = Compositions(ALLREDUCE, lambda *_: True, lambda _: None)
    assert len(list(made.points(_parts([few], [few]), NEVER))) == 1
    monkeypatch.setattr(Compositions, "_solved", lambda *_: pytest.fail("it was begun"))
    many = _on_a_ring(4, (1000, 1000))
    with pytest.raises(OutOfTimeError):
        list(made.points(_parts([few, many], [few, many]), NEVER.sooner(1e-6)))


def test_what_cannot_be_cut_alike_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compositions, "_MOST_REFINED", 960)
    monkeypatch.setattr("syncoll.searching.parts.recut", lambda *_: None)
    found, lost = _composed(_parts([_on_a_ring(4, (2, 1))], [_on_a_ring(4, (3, 4))]))
    assert not found
    assert lost == ["a composition was not made whose parts could not be cut alike"]


def test_only_what_is_composed_is_turned_round(monkeypatch: pytest.MonkeyPatch) -> None:
    turned: list[int] = []
    invert = compositions.Part.solved

    def solved(self: Part, point: Point, chunks: int) -> tuple[Instance, Algorithm] | None:
        turned.append(point.chunks)
        return invert(self, point, chunks)

    monkeypatch.setattr(Part, "solved", solved)
    cheap, dear = _on_a_ring(4, (1, 1)), _on_a_ring(4, (5, 0))
    known: list[Point] = []

    def is_of_use(steps: int, bandwidth: Fraction) -> bool:
        return not any(p.steps <= steps and p.bandwidth <= bandwidth for p in known)

    made = Compositions(ALLREDUCE, is_of_use, lambda _: None)
    for point in made.points(_parts([dear, cheap], [dear, cheap]), NEVER):
        known.append(point)
    assert turned == [2, 2]


def _stopped_at(solver: Solver, monkeypatch: pytest.MonkeyPatch, question: int) -> None:
    """A person presses Ctrl-C when so many questions were asked."""
    ask, asked = solver.solve, list[Instance]()

    def interrupt(instance: Instance, **options: object) -> Solution:
        asked.append(instance)
        if len(asked) == question:
            raise KeyboardInterrupt
        return ask(instance, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(solver, "solve", interrupt)


def test_what_is_known_of_parts_is_composed_when_a_person_stops_the_search(
    monkeypatch: pytest.MonkeyPatch, solver: Solver
) -> None:
    links = {(0, 1): 1, (1, 2): 1, (2, 3): 1}
    line = Topology.from_links("line", 4, {**links, **{(b, a): 1 for a, b in links}})
    with monkeypatch.context() as patch:
        _stopped_at(solver, patch, 3)
        frontier = search(SearchRequest(line, ALLREDUCE), solver)
    assert frontier.interrupted
    assert frontier.points
    for point in frontier.points:
        require_valid(point.instance, point.algorithm)


def test_a_person_who_stops_the_search_does_not_wait_for_bounds(
    monkeypatch: pytest.MonkeyPatch, solver: Solver
) -> None:
    left: list[float] = []
    claimed = composing.with_claims

    def with_claims(found: Frontier, source: CandidateSource, *rest: Any) -> Frontier:
        left.append(source.bounds.deadline.left())
        return claimed(found, source, *rest)

    monkeypatch.setattr(composing, "with_claims", with_claims)
    with monkeypatch.context() as patch:
        _stopped_at(solver, patch, 3)
        frontier = search(SearchRequest(ring(4), ALLREDUCE), solver)
    assert frontier.interrupted
    assert left[-1] <= composing._STOPPING_SECONDS


def test_ctrl_c_in_a_pass_keeps_what_those_before_it_found(
    monkeypatch: pytest.MonkeyPatch, solver: Solver
) -> None:
    """Wherever it comes: in a bound, and while a pass is put together."""
    passes: list[Frontier] = []
    frontier = composing.Composing._frontier

    def limited(self: composing.Composing) -> Frontier:
        if passes:
            raise KeyboardInterrupt
        passes.append(frontier(self))
        return passes[0]

    monkeypatch.setattr(composing.Composing, "_frontier", limited)
    monkeypatch.setattr(frontiers, "_PASS_SECONDS", 5.0)
    monkeypatch.setattr(frontiers, "_is_near", lambda _: False)
    found = search(SearchRequest(ring(4), ALLREDUCE), solver)
    assert found.interrupted
    assert not found.complete
    costs = [(p.steps, p.bandwidth) for p in found.points]
    assert costs == [(p.steps, p.bandwidth) for p in passes[0].points] != []


def test_without_a_limit_of_time_there_are_passes_until_one_comes_no_nearer(
    monkeypatch: pytest.MonkeyPatch, solver: Solver
) -> None:
    known: list[tuple[int, Fraction]] = []
    frontier, seconds = composing.Composing.frontier, list[float]()

    def limited(self: composing.Composing) -> Frontier:
        seconds.append(self.deadline.left())
        assert {(p.steps, p.bandwidth) for p in self.points} == set(known)
        found = frontier(self)
        known[:] = [(p.steps, p.bandwidth) for p in found.points]
        return found

    monkeypatch.setattr(composing.Composing, "frontier", limited)
    monkeypatch.setattr(frontiers, "_PASS_SECONDS", 0.2)
    found = search(SearchRequest(ring(8), ALLREDUCE), solver)
    assert found.complete
    assert not found.interrupted
    assert len(seconds) >= 2
    assert all(left <= 0.2 * 2**i for i, left in enumerate(seconds))
    assert known == [(p.steps, p.bandwidth) for p in found.points]


def test_compositions_are_passed_on_while_parts_are_searched(
    monkeypatch: pytest.MonkeyPatch, solver: Solver
) -> None:
    monkeypatch.setattr(composing, "_SAVE_SECONDS", 0.0)
    monkeypatch.setattr(composing, "_TIMES_COMPOSING", 0.0)
    known: list[tuple[Frontier, bool]] = []
    done: list[bool] = []
    compose = composing.Composing._compose_all

    def all_composed(self: composing.Composing) -> None:
        compose(self)
        done.append(True)

    monkeypatch.setattr(composing.Composing, "_compose_all", all_composed)
    request = SearchRequest(ring(4), ALLREDUCE, max_steps=5)
    search(request, solver, on_points=lambda found: known.append((found, bool(done))))
    meanwhile = [found for found, over in known if not over]
    assert meanwhile
    assert all(found.points and not found.complete for found in meanwhile)
    assert "reducescatter then allgather" in meanwhile[0].scope
    assert known[-1][0].points


def test_a_way_that_can_gain_nothing_is_not_searched(solver: Solver) -> None:
    """Both ways have four steps at least on ring(4), with which the first meets the bound."""
    reduce = inverse_of(broadcast(), "reduce")
    both = sequence_of([[REDUCESCATTER, ALLGATHER], [reduce, broadcast()]], "allreduce")
    began: list[str] = []

    class Listening(Observer):
        def began(self, collective: str) -> None:
            began.append(collective)

    request = SearchRequest(ring(4), both, max_steps=4, time_limit=3.0)
    with counting():
        frontier = search(request, solver, Listening())
    assert frontier.points[-1].bandwidth == Fraction(3, 4)
    assert began == ["allreduce", "allgather", "allreduce", "allreduce, directly"]


def test_what_would_list_too_many_sends_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compositions, "_MOST_REFINED", 960)
    monkeypatch.setattr(compositions, "_MOST_LISTED", 100)
    found, lost = _composed(_parts([_on_a_ring(4, (2, 1))], [_on_a_ring(4, (3, 4))]))
    assert not found
    assert lost
