"""Numbers of chunks by urgency: the same algorithm, never slower, and often faster."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import syncoll
from syncoll.deadline import NEVER
from syncoll.documents import StoredAlgorithm
from syncoll.model import Algorithm, Instance
from syncoll.model.messages import contiguous, equal_trees
from syncoll.model.rows import RelationTable
from syncoll.results import Frontier, Point
from syncoll.simulating import Semantics, SimulatedSeconds, by_urgency, physical_network, urgency
from syncoll.trust import require_valid
from tests.simulating.test_against_others import ALPHA, BETA, case

SIZES = (1000, 30_000, 1 << 20)


@pytest.mark.parametrize("seed", range(30))
def test_it_is_the_same_algorithm_and_never_slower(seed: int) -> None:
    _, stored, network, _ = case(seed)
    found = by_urgency(stored, network, Semantics(), SIZES)
    if found is None:
        return
    require_valid(stored.instance, found)
    assert found.rounds_per_step == stored.algorithm.rounds_per_step
    assert found.num_sends == stored.algorithm.num_sends
    before, after = (
        np.prod([float(x) for x in SimulatedSeconds(network, Semantics())(one, SIZES)])
        for one in (stored, replace(stored, algorithm=found))
    )
    assert after < before


def test_chunks_with_a_long_way_leave_first() -> None:
    """Four chunks from node 0: two go to both other nodes, two to node 1 and from there on."""
    topology = syncoll.Topology.from_links("way round", 3, {(0, 1): 1, (0, 2): 1, (1, 2): 1})
    pre = np.zeros((4, 3), dtype=bool)
    pre[:, 0] = True
    sends = [(c, 0, 1, 0) for c in range(4)] + [(c, 0, 2, 0) for c in (0, 1)]
    sends += [(c, 1, 2, 1) for c in (2, 3)]
    instance = Instance(topology, "broadcast", 4, 2, 6, pre, np.ones_like(pre))
    stored = StoredAlgorithm(instance, Algorithm((4, 2), np.array(sends)), "one")
    network = physical_network(topology, ALPHA, BETA)
    size = 1 << 20
    found = by_urgency(stored, network, Semantics(), [size])
    assert found is not None
    before, after = (
        float(SimulatedSeconds(network, Semantics())(one, [size])[0])
        for one in (stored, replace(stored, algorithm=found))
    )
    chunk = float((size // 4) / BETA)
    assert before == pytest.approx(float(2 * ALPHA) + 5 * chunk)
    assert after == pytest.approx(float(ALPHA) + 4 * chunk)


def test_chunks_that_differ_are_not_exchanged() -> None:
    found = syncoll.pareto("ring(3)", "allgather", max_chunks=1, seeds="none", progress="none")
    point = found.points[0]
    network = physical_network(point.instance.topology, ALPHA, BETA)
    stored = StoredAlgorithm(point.instance, point.algorithm, "one")
    assert by_urgency(stored, network, Semantics(), SIZES) is None


def test_chunks_with_equal_sends_stay_neighbours() -> None:
    changed = 0
    for seed in range(40):
        _, stored, network, _ = case(seed)
        table = stored.instance.table
        algorithm = contiguous(stored.instance, stored.algorithm)

        def runs(one: Algorithm, table: RelationTable = table) -> int:
            trees = equal_trees(one, table.kind)[table.by_kind()]
            return int((np.diff(trees) != 0).sum())

        found = by_urgency(replace(stored, algorithm=algorithm), network, Semantics(), SIZES)
        if found is not None:
            assert runs(found) <= runs(algorithm)
            changed += 1
    assert changed


@pytest.mark.parametrize(("most", "left"), [(None, [40]), (4, [40, 41])])
def test_points_with_other_messages_are_chosen_again(
    most: int | None, left: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both points have four chunks; one has fewer rounds, the other fewer messages at first."""
    topology = syncoll.Topology.from_links("way round", 3, {(0, 1): 1, (0, 2): 1, (1, 2): 1})
    pre = np.zeros((4, 3), dtype=bool)
    pre[:, 0] = True
    table = pre, np.ones_like(pre)

    def point(rounds: int, far: tuple[int, ...], near: tuple[int, ...]) -> Point:
        sends = [(c, 0, 1, 0) for c in range(4)] + [(c, 0, 2, 0) for c in near]
        sends += [(c, 1, 2, 1) for c in far]
        algorithm = Algorithm((20, rounds - 20), np.array(sends))
        instance = Instance(topology, "broadcast", 4, 2, rounds, *table)
        return Point(instance, algorithm, "step", "cpsat", 0.0)

    together, apart = point(41, (2, 3), (0, 1)), point(40, (1, 3), (0, 2))
    assert (together.messages, apart.messages) == (3, 5)
    frontier = Frontier(topology, "broadcast", (apart, together), (), "C <= 4")
    other = point(41, (1, 3), (0, 2)).algorithm
    answers = {40: None, 41: other}
    monkeypatch.setattr(
        urgency, "by_urgency", lambda stored, *_: answers[int(stored.algorithm.rounds)]
    )
    network = physical_network(topology, ALPHA, BETA)
    found = urgency.points_by_urgency(frontier, network, 1, 1, NEVER, max_messages=most)
    assert [one.rounds for one in found.points] == left
    assert not any(a.dominates(b) for a in found.points for b in found.points if a is not b)
