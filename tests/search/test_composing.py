"""Compositions of parts: during the search of the parts, after an interrupt, and cut anew."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from syncoll.bounding import rounds_bound
from syncoll.certificates import RoundsBound
from syncoll.clock import counting
from syncoll.deadline import NEVER, Deadline, OutOfTimeError
from syncoll.ledger import BoundsTable, Observer, SearchRequest
from syncoll.ledger.events import Log
from syncoll.ledger.ledger import Ledger
from syncoll.model import Algorithm, Instance, Topology, inverse_of, sequence_of
from syncoll.results import Frontier, OpenClaim, Point, Solution
from syncoll.searching import AnswerSource, search
from syncoll.searching.composition_search import CompositionSearch
from syncoll.searching.compositions import Compositions, Room
from syncoll.searching.parts import Part, SearchTask
from syncoll.searching.passes import in_passes
from syncoll.searching.search import Search
from syncoll.searching.shares import SHORT_SECONDS
from syncoll.solving import Solver
from syncoll.trust import require_valid
from tests.oracles.classics import allgather, broadcast, ring

ALLGATHER = allgather()
REDUCESCATTER = inverse_of(ALLGATHER, "reducescatter")
ALLREDUCE = sequence_of([[REDUCESCATTER, ALLGATHER]], "allreduce")


def _on_a_ring(nodes: int, shares: Sequence[int]) -> Point:
    """An allgather that sends these numbers of chunks of each node in either direction."""
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


def _composed(parts: list[Part], room: Room | None = None) -> tuple[list[Point], list[str]]:
    lost: list[str] = []
    made = Compositions(ALLREDUCE, lambda *_: True, lost.append, room=room)
    found = list(made.points(parts, NEVER))
    assert not list(made.points(parts, NEVER))  # each is made once
    return found, lost


def test_parts_without_a_small_common_multiple_are_cut_alike() -> None:
    one, two = _on_a_ring(4, (2, 1)), _on_a_ring(4, (3, 4))
    (exact,), lost = _composed(_parts([one], [two]))
    assert exact.chunks == 4 * 3 * 7
    assert exact.bandwidth == (one.bandwidth + two.bandwidth) / 4
    (coarse,), more = _composed(_parts([one], [two]), Room(refined=960))
    require_valid(coarse.instance, coarse.algorithm)
    assert coarse.chunks == 4 * 7
    assert exact.bandwidth <= coarse.bandwidth <= exact.bandwidth + Fraction(3, 28)
    assert lost == more == []
    # The same C needs no cutting, however many sends that makes.
    (same,), _ = _composed(_parts([two], [two]), Room(refined=960))
    assert same.bandwidth == 2 * two.bandwidth / 4


def test_the_best_and_the_simplest_composition_are_made() -> None:
    dear, cheap = _on_a_ring(4, (2, 1)), _on_a_ring(4, (3, 4))
    (best, simple), lost = _composed(_parts([dear, cheap], [dear, cheap]))
    assert best.bandwidth == 2 * cheap.bandwidth / 4
    assert simple.chunks == 4 * dear.chunks < best.chunks
    assert lost == []


def test_a_composition_beyond_the_limits_does_not_block_others() -> None:
    dear, cheap = _on_a_ring(4, (2, 1)), _on_a_ring(4, (3, 4))
    made = Compositions(
        ALLREDUCE, lambda *_: True, lambda _: None, lambda point: point.chunks <= 4 * 3
    )
    (only,) = made.points(_parts([dear, cheap], [dear, cheap]), NEVER)
    assert only.bandwidth == 2 * dear.bandwidth / 4


def test_a_composition_that_costs_more_does_not_block_others() -> None:
    """Two parts that were cut anew cost more than an exact composition."""
    one, two, even = _on_a_ring(4, (1, 2)), _on_a_ring(4, (10, 11)), _on_a_ring(4, (5, 6))
    found, _ = _composed(_parts([one, even], [two, even]), Room(refined=960))
    assert found[0].bandwidth > even.bandwidth * 2 / 4
    assert even.bandwidth * 2 / 4 in [point.bandwidth for point in found[1:]]


def test_a_composition_without_time_is_not_begun() -> None:
    few = _on_a_ring(4, (1, 0))
    made = Compositions(ALLREDUCE, lambda *_: True, lambda _: None)
    assert len(list(made.points(_parts([few], [few]), NEVER))) == 1
    many = _on_a_ring(4, (1000, 1000))
    parts = _watched(_parts([few, many], [few, many]), lambda _: pytest.fail("it was begun"))
    with pytest.raises(OutOfTimeError):
        list(made.points(parts, NEVER.sooner(1e-6)))


class _Uncut(Part):
    """A part whose points cannot be cut into other numbers of chunks."""

    def solved(self, point: Point, chunks: int) -> None:
        return None


def test_parts_that_cannot_be_cut_alike_are_reported() -> None:
    (one, two), points = _parts([_on_a_ring(4, (2, 1))], [_on_a_ring(4, (3, 4))]), []
    for part in (one, two):
        uncut = _Uncut(part.request)
        uncut.points = part.points
        points.append(uncut)
    found, lost = _composed(points)
    assert not found
    assert set(lost) == {"a composition was left out: its parts could not be cut into equal chunks"}


def _watched(parts: list[Part], watch: Callable[[int], object]) -> list[Part]:
    """Parts that record the numbers of chunks of their questions."""

    class Watched(Part):
        def solved(self, point: Point, chunks: int) -> tuple[Instance, Algorithm] | None:
            watch(point.chunks)
            return super().solved(point, chunks)

    watched = [Watched(part.request) for part in parts]
    for one, part in zip(watched, parts, strict=True):
        one.points = part.points
    return list(watched)


def test_only_composed_points_are_inverted() -> None:
    turned: list[int] = []
    cheap, dear = _on_a_ring(4, (1, 1)), _on_a_ring(4, (5, 0))
    known: list[Point] = []

    def is_useful(steps: int, bandwidth: Fraction, _: int) -> bool:
        return not any(p.steps <= steps and p.bandwidth <= bandwidth for p in known)

    made = Compositions(ALLREDUCE, is_useful, lambda _: None)
    parts = _watched(_parts([dear, cheap], [dear, cheap]), turned.append)
    for point in made.points(parts, NEVER):
        known.append(point)
    assert turned == [2, 2]


def _stopped_at(
    solver: Solver,
    monkeypatch: pytest.MonkeyPatch,
    question: int,
    then: Callable[[], None] = lambda: None,
) -> None:
    """Presses Ctrl-C at a question."""
    ask, asked = solver.solve, list[Instance]()

    def interrupt(instance: Instance, **options: object) -> Solution:
        asked.append(instance)
        if len(asked) == question:
            then()
            raise KeyboardInterrupt
        return ask(instance, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(solver, "solve", interrupt)


def test_an_interrupt_composes_the_points_of_parts(
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


def test_an_interrupt_does_not_wait_for_bounds(
    monkeypatch: pytest.MonkeyPatch, solver: Solver
) -> None:
    stopped: list[bool] = []
    given: list[float] = []

    def bound(*args: Any, seconds: float | None = None, **more: Any) -> RoundsBound:
        if stopped:
            given.append(math.inf if seconds is None else seconds)
        return rounds_bound(*args, seconds=seconds, **more)

    with monkeypatch.context() as patch:
        _stopped_at(solver, patch, 3, lambda: stopped.append(True))
        frontier = search(SearchRequest(ring(4), ALLREDUCE), AnswerSource(solver, prove=bound))
    assert frontier.interrupted
    assert all(seconds <= SHORT_SECONDS for seconds in given)


def _frontier(*shares: int) -> Frontier:
    """A frontier of an allgather in three steps, with a bandwidth cost of at least 3/2."""
    gap = OpenClaim(3, None, Fraction(3, 2), None, "time limit")
    points = (_on_a_ring(4, shares),)
    low = Fraction(3, 2)
    return Frontier(
        ring(4), "allgather", points, (gap,), "", {}, least_steps=3, least_bandwidth=low
    )


def test_an_interrupted_pass_keeps_the_points_of_earlier_ones() -> None:
    found = _frontier(2, 1)

    def one_pass(seconds: float) -> Frontier:
        if seconds > 5.0:
            raise KeyboardInterrupt
        return found

    kept = in_passes(one_pass, None, {}, 5.0)
    assert kept.interrupted
    assert not kept.complete
    assert kept.points == found.points
    with pytest.raises(KeyboardInterrupt):
        in_passes(one_pass, None, {}, 6.0)


def test_passes_continue_until_one_gains_nothing() -> None:
    """Each pass has twice the time of the one before; one without any point is not the last."""
    found = [_frontier(3, 1), _frontier(2, 1)]
    left, seconds, reported = iter([*found, found[-1]]), list[float](), list[Frontier]()

    def one_pass(own: float) -> Frontier:
        seconds.append(own)
        if len(seconds) == 1:
            raise OutOfTimeError
        return next(left)

    last = in_passes(one_pass, reported.append, {}, 0.5)
    assert seconds == [0.5, 1.0, 2.0, 4.0]
    assert [one.points for one in reported] == [one.points for one in (*found, found[-1])]
    assert last.complete
    assert last.points == found[-1].points


def test_compositions_are_reported_while_parts_are_searched(solver: Solver) -> None:
    known: list[Frontier] = []
    request = SearchRequest(ring(4), ALLREDUCE, max_steps=5)
    answers, bounds = AnswerSource(solver), BoundsTable(request.topology, request.collective)
    ledger = Ledger(request, answers.asked, bounds, Log(), on_points=known.append, composed=True)
    seeds = answers.seeding.run(request.topology, request.collective)
    whole = Search(ledger, answers, seeds, Deadline.after(60.0))

    class Parts:
        """Parts that are interrupted once their points were reported."""

        def search(self, task: SearchTask) -> Frontier:
            found = search(task.request, answers)
            assert task.on_points is not None
            task.on_points(found)
            return replace(found, interrupted=len(known) > 0)

        def knows(self, _: SearchRequest) -> bool:
            return False

    composition = CompositionSearch(whole, Parts(), save_seconds=0.0)
    frontier = composition.frontier()
    assert frontier.interrupted
    assert known[0].points
    assert not known[0].complete
    assert "reducescatter then allgather" in known[0].scope


def test_a_way_without_possible_gain_is_not_searched(solver: Solver) -> None:
    """Both ways have at least four steps on ring(4), in which the first meets the bound."""
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


def test_a_composition_with_too_many_sends_is_not_made() -> None:
    parts = _parts([_on_a_ring(4, (2, 1))], [_on_a_ring(4, (3, 4))])
    found, lost = _composed(parts, Room(refined=960, listed=100))
    assert not found
    assert lost


@pytest.mark.parametrize(
    ("seeds_alone", "begins"),
    [(True, "searched: no points: no seed fits"), (False, "only these were searched: composition")],
)
def test_open_claims_name_the_searched_algorithms(
    seeds_alone: bool, begins: str, solver: Solver
) -> None:
    request = SearchRequest(ring(4), ALLREDUCE, max_steps=2)
    answers = AnswerSource(None if seeds_alone else solver)
    bounds = BoundsTable(request.topology, request.collective)
    ledger = Ledger(request, answers.asked, bounds, Log(), composed=True)
    ledger.scope = "" if seeds_alone else "compositions (reducescatter then allgather)"
    reasons = [claim.reason for claim in ledger.frontier().open]
    assert reasons
    assert all(reason.startswith(begins) for reason in reasons)
