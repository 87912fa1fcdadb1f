"""Trees become algorithms: every one is valid, none is dominated, and known optima are met."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Sequence
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

from syncoll.errors import ModelError
from syncoll.model import Collective, Topology, inverse_of
from syncoll.plugins import SeedLimits
from syncoll.scheduling import SEGMENTS, Scheduled, StepTree, schedule_trees
from syncoll.trust import require_valid
from tests.oracles.classics import (
    allgather,
    alltoall,
    broadcast,
    bus,
    dgx1,
    gather,
    hub,
    line,
    ring,
    scatter,
)

from .conftest import breadth_first_trees, busiest, height_of, packed_trees, path, random_forest


def scheduled(
    topology: Topology,
    collective: Collective,
    trees: list[StepTree],
    limits: SeedLimits | None = None,
    segments: Sequence[int] = SEGMENTS,
) -> list[Scheduled]:
    """All results, verified."""
    results = list(schedule_trees(topology, collective, trees, limits or SeedLimits(), segments))
    for result in results:
        algorithm = result.algorithm
        instance = collective.instantiate(
            topology, chunks=result.chunks, steps=algorithm.steps, rounds=algorithm.rounds
        )
        require_valid(instance, algorithm)
        assert algorithm == algorithm.tightened(topology)  # no round and no step to spare
    return results


def points(results: list[Scheduled]) -> list[tuple[int, int, int]]:
    return [(r.algorithm.steps, r.algorithm.rounds, r.chunks) for r in results]


def ring_paths(nodes: int) -> list[StepTree]:
    return [
        path(*((root + way * i) % nodes for i in range(nodes)))
        for root in range(nodes)
        for way in (1, -1)
    ]


def torus(*sides: int) -> Topology:
    return Topology.from_networkx(nx.grid_graph(sides, periodic=True), "torus")


def test_random_trees_on_random_topologies() -> None:
    count = 0
    for seed in range(30):
        forest = random_forest(seed)
        if forest is None:
            continue
        results = scheduled(forest.topology, forest.collective, forest.trees, segments=(1, 2, 3))
        assert results
        seen: list[tuple[int, Fraction]] = []
        for steps, rounds, chunks in points(results):
            cost = Fraction(rounds, chunks)
            assert not any(s <= steps and c <= cost for s, c in seen)
            seen.append((steps, cost))
        least = busiest(forest.topology, results[-1].algorithm.sends) / results[-1].chunks
        assert min(cost for _, cost in seen) >= least
        count += len(results)
    assert count > 45


def test_the_first_result_has_the_fewest_steps() -> None:
    for seed in range(30):
        forest = random_forest(seed)
        if forest is None:
            continue
        first = scheduled(forest.topology, forest.collective, forest.trees, segments=(1,))[
            0
        ].algorithm
        assert first.steps <= max(map(height_of, forest.trees))


@pytest.mark.parametrize("nodes", [3, 4, 5, 8, 9])
def test_ring_allgather_by_paths_both_ways(nodes: int) -> None:
    results = scheduled(ring(nodes), allgather(), ring_paths(nodes))
    assert points(results) == [(nodes - 1, nodes - 1, 2)]  # R/C = (n - 1) / 2 is optimal


@pytest.mark.parametrize("nodes", [2, 3, 5, 8])
def test_broadcast_down_a_line_is_a_pipeline(nodes: int) -> None:
    height = nodes - 1
    results = scheduled(line(nodes), broadcast(), [path(*range(nodes))], segments=(1, 2, 3, 5, 9))
    found = points(results)
    if height == 1:
        assert found == [(1, 1, 1)]
        return
    for segments in (1, 2, 3, 5, 9):
        assert (height + segments - 1,) * 2 + (segments,) in found


def test_a_star_broadcasts_in_one_step() -> None:
    links = {(0, i): Fraction(i, 2) for i in range(1, 5)}
    topology = Topology.from_links("star", 5, links)
    results = scheduled(topology, broadcast(), [StepTree(0, 1, tuple(links))])
    assert points(results) == [(1, 2, 1)]  # 2 chunks a round would be whole for each link but one


def test_direct_allgather_through_a_switch() -> None:
    trees = [StepTree(r, 1, tuple((r, n) for n in range(6) if n != r)) for r in range(6)]
    assert points(scheduled(hub(6), allgather(), trees)) == [(1, 5, 1)]
    assert points(scheduled(bus(6), allgather(), trees)) == [(1, 30, 1)]


def test_paths_round_a_switch_cost_no_more_than_direct_sends() -> None:
    paths = [path(*((r + i) % 6 for i in range(6))) for r in range(6)]
    assert points(scheduled(hub(6), allgather(), paths)) == [(5, 5, 1)]


def test_dgx1_allgather_is_optimal_with_packed_trees() -> None:
    """SCCL paper, table 4: allgather (6, 7, 7) is bandwidth-optimal, (2, 2, 3) has S = 2."""
    results = scheduled(dgx1(), allgather(), packed_trees(dgx1(), list(range(8)), 6, seed=2))
    assert min(Fraction(rounds, chunks) for _, rounds, chunks in points(results)) == Fraction(7, 6)
    single = scheduled(dgx1(), allgather(), breadth_first_trees(dgx1()))
    assert points(single)[0][0] == 2


@pytest.mark.parametrize("collective", [scatter(), gather(2), alltoall()], ids=lambda c: c.name)
def test_unneeded_branches_are_cut(collective: Collective) -> None:
    topology = torus(3, 3)
    trees = breadth_first_trees(topology)
    for result in scheduled(topology, collective, trees, segments=(1, 2)):
        sends = result.algorithm.sends
        table = collective.tabulate(9, result.chunks)
        chunks, goals = np.nonzero(table.post & ~table.pre)
        starts = table.pre[chunks].argmax(axis=1)
        assert len(sends) == topology.distances[starts, goals].sum()


def test_scatter_sends_the_farthest_chunks_first() -> None:
    links = {(i, i + 1): 1 for i in range(5)}
    results = scheduled(
        Topology.from_links("line", 6, links),
        Collective.from_arrays(
            "scatter",
            [[n == 0 for n in range(6)]] * 5,
            [[n == goal for n in range(6)] for goal in range(1, 6)],
        ),
        [path(*range(6))],
    )
    assert points(results)[-1] == (5, 5, 1)


def test_weights_share_out_the_data() -> None:
    links = {(0, 1): 3, (0, 2): 1, (2, 1): 1}
    topology = Topology.from_links("triangle", 3, links)
    collective = Collective.from_arrays("send", [[True, False, False]], [[False, True, False]])
    trees = [StepTree(0, 3, ((0, 1),)), StepTree(0, 1, ((0, 2), (2, 1)))]
    steps, rounds, chunks = points(scheduled(topology, collective, trees, segments=(1,)))[0]
    assert (steps, rounds, chunks) == (2, 2, 4)
    many = points(scheduled(topology, collective, trees, segments=(1, 8)))
    assert (9, 9, 32) in many
    doubled = [StepTree(t.root, 2 * t.weight, t.edges) for t in trees]
    assert points(scheduled(topology, collective, doubled, segments=(1, 8))) == many


def test_roots_with_different_numbers_of_chunks() -> None:
    """Node 0 has two chunks for every one of node 2; each has trees of its own number."""
    pre = [[True, False, False], [True, False, False], [False, False, True]]
    collective = Collective.from_arrays("uneven", pre, np.ones((3, 3), dtype=bool))
    trees = [path(0, 1, 2), path(0, 2, 1), path(2, 1, 0), path(2, 0, 1), path(2, 1, 0)]
    found = points(scheduled(ring(3), collective, trees, segments=(1, 2)))
    assert found[0][2] == 3  # 3 chunks of node 2, one for each of its trees; 6 of node 0
    assert all(chunks % 3 == 0 for _, _, chunks in found)


def test_c_is_the_least_that_the_collective_admits() -> None:
    odd = Collective.from_relations(
        "odd broadcast",
        lambda _, c: c,
        lambda _c, n, *_: n == 0,
        lambda _c, n, *_: n >= 0,
        admits=lambda _, c: c % 5 == 0,
    )
    trees = [path(0, 1, 2, 3), path(0, 3, 2, 1)]
    found = points(scheduled(ring(4), odd, trees, segments=(1, 3)))
    assert {chunks for _, _, chunks in found} <= {10, 30}
    assert found[0][2] == 10


def test_shares_are_uneven_if_limits_allow_no_whole_ones() -> None:
    topology, trees = ring(8), ring_paths(8)
    results = scheduled(topology, allgather(), trees, SeedLimits(max_chunks=1))
    assert points(results) == [(7, 7, 1)]
    assert "uneven" in results[0].note
    four = packed_trees(torus(4, 4), list(range(16)), 4, 0)
    costs = []
    for chunks in (1, 2, 3, 4):
        found = scheduled(torus(4, 4), allgather(), four, SeedLimits(max_chunks=chunks))
        assert {r.chunks for r in found} == {chunks}
        costs.append(min(Fraction(r.algorithm.rounds, r.chunks) for r in found))
    assert costs[0] <= Fraction(9, 4) * costs[3]


def test_limits_are_kept() -> None:
    trees = [path(*range(6))]
    every = points(scheduled(line(6), broadcast(), trees))
    for limits in (
        SeedLimits(max_steps=8),
        SeedLimits(max_rounds=9),
        SeedLimits(max_chunks=3),
        SeedLimits(max_steps=4),
    ):
        kept = points(scheduled(line(6), broadcast(), trees, limits))
        for steps, rounds, chunks in kept:
            assert steps <= (limits.max_steps or steps)
            assert rounds <= (limits.max_rounds or rounds)
            assert chunks <= (limits.max_chunks or chunks)
        assert len(kept) < len(every)
        assert bool(kept) == (limits.max_steps != 4)
    assert not scheduled(line(6), broadcast(), trees, SeedLimits(seconds=0))


def test_time_limits_end_the_results(counted_work: Callable[[], float]) -> None:
    topology = torus(6, 6)
    trees = packed_trees(topology, [0], 4, 1)
    start = counted_work()
    scheduled(topology, broadcast(), trees, SeedLimits(seconds=0.1), tuple(range(1, 200)))
    assert counted_work() - start < 0.5


def test_nothing_to_do_takes_no_steps() -> None:
    stay = Collective.from_arrays("stay", [[True, False]], [[True, False]])
    assert points(scheduled(line(2), stay, [path(0, 1)])) == [(0, 0, 1)]


def test_results_are_the_same_every_time() -> None:
    forest = random_forest(3)
    assert forest is not None
    one, two = (
        [r.algorithm for r in scheduled(forest.topology, forest.collective, forest.trees)]
        for _ in range(2)
    )
    assert one == two


@pytest.mark.parametrize(
    ("trees", "words"),
    [
        ([path(0, 1, 2)], "no tree carries chunk"),
        ([path(0, 2, 1)], r"uses \(0, 2\), which is not a link"),
        ([path(0, 1, 7)], "names node 7"),
        ([], "no tree carries chunk 0"),
    ],
)
def test_trees_that_do_not_fit(trees: list[StepTree], words: str) -> None:
    with pytest.raises(ModelError, match=words):
        scheduled(line(4), broadcast(), trees)


def test_invalid_requests() -> None:
    with pytest.raises(ModelError, match="only moving data can be scheduled"):
        scheduled(line(3), inverse_of(broadcast(), "reduce"), [path(0, 1, 2)])
    for segments in ((0, 1), ()):
        with pytest.raises(ModelError, match="segments"):
            scheduled(line(3), broadcast(), [path(0, 1, 2)], segments=segments)
    never = Collective.from_relations(
        "never", lambda _, c: c, lambda *_: True, lambda *_: True, admits=lambda *_: False
    )
    with pytest.raises(ModelError, match="defined for no C"):
        scheduled(line(3), never, [path(0, 1, 2)])


def test_too_many_sends_are_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("syncoll.scheduling.schedule.MOST_SENDS", 8)
    trees = [path(*range(6))]
    assert {r.chunks for r in scheduled(line(6), broadcast(), trees)} == {1}  # C = 2: 10 sends
    monkeypatch.setattr("syncoll.scheduling.schedule.MOST_SENDS", 4)
    for segments in ((1,), (2, 3), (3,)):
        with pytest.raises(ModelError, match=r"sends for C = \d of broadcast"):
            scheduled(line(6), broadcast(), trees, segments=segments)


def test_known_points_are_not_made_again() -> None:
    trees = [path(*range(6))]
    every = list(schedule_trees(line(6), broadcast(), trees, SeedLimits()))
    costs = [(r.algorithm.steps, Fraction(r.algorithm.rounds, r.chunks)) for r in every]
    again = schedule_trees(line(6), broadcast(), trees, SeedLimits(), found=costs)
    assert list(again) == []
    fewer = schedule_trees(line(6), broadcast(), trees, SeedLimits(), found=costs[:1])
    steps = [(r.algorithm.steps, Fraction(r.algorithm.rounds, r.chunks)) for r in fewer]
    assert steps == costs[1:]


def test_sixty_four_nodes() -> None:
    topology = torus(8, 8)
    trees = breadth_first_trees(topology)
    first = next(schedule_trees(topology, allgather(), trees, SeedLimits()))
    assert len(first.algorithm.sends) == 64 * 63
    assert first.algorithm.rounds == busiest(topology, first.algorithm.sends)


@pytest.mark.slow
def test_hundreds_of_thousands_of_sends() -> None:
    topology = torus(24, 24)
    trees = breadth_first_trees(topology)
    tracemalloc.start()  # the size of the process depends on earlier tests
    try:
        first = next(schedule_trees(topology, allgather(), trees, SeedLimits(), (1,)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 300 << 20
    algorithm = first.algorithm
    assert len(algorithm.sends) == 576 * 575
    require_valid(
        allgather().instantiate(topology, chunks=1, steps=algorithm.steps, rounds=algorithm.rounds),
        algorithm,
    )
    assert algorithm.steps == 24
    assert algorithm.rounds <= Fraction(11, 10) * busiest(topology, algorithm.sends)
