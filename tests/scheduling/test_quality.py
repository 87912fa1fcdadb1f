"""The quality of schedules: against proved bounds, and against optimal algorithms."""

from __future__ import annotations

from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

from syncoll.bounding import rounds_bound
from syncoll.certificates import demands
from syncoll.model import Collective, Topology, invert
from syncoll.plugins import SeedLimits
from syncoll.scheduling import StepTree, assignment, schedule_trees
from syncoll.trust import require_valid
from tests.oracles.classics import allgather, broadcast, dgx1, ring

from .conftest import height_of, optimal_trees, packed_trees, path


def torus(*sides: int) -> Topology:
    return Topology.from_networkx(nx.grid_graph(sides, periodic=True), "torus")


def hypercube(dimension: int) -> Topology:
    return Topology.from_networkx(nx.hypercube_graph(dimension), "hypercube")


def costs(
    topology: Topology, collective: Collective, trees: list[StepTree], segments: tuple[int, ...]
) -> dict[int, Fraction]:
    """The least R/C for each S that is worth it; everything is verified."""
    best: dict[int, Fraction] = {}
    for made in schedule_trees(topology, collective, trees, SeedLimits(), segments):
        steps, rounds = made.algorithm.steps, made.algorithm.rounds
        instance = collective.instantiate(topology, chunks=made.chunks, steps=steps, rounds=rounds)
        require_valid(instance, made.algorithm)
        best[steps] = min(best.get(steps, Fraction(1 << 40)), Fraction(rounds, made.chunks))
    return best


def bound(topology: Topology, collective: Collective, steps: int | None) -> Fraction:
    """The bound of `syncoll bounds` for C = 1, before cuts."""
    instance = collective.instantiate(topology, chunks=1, steps=0, rounds=0)
    return rounds_bound(topology, demands(instance), steps).rounds


NETWORKS = [(ring(8), 2), (torus(4, 4), 4), (hypercube(3), 3), (dgx1(), 6)]
"""Each with the number of trees for a root in a packing of full bandwidth."""


def name(value: object) -> str:
    return value.name if isinstance(value, Topology) else str(value)


@pytest.mark.parametrize(("topology", "trees"), NETWORKS, ids=name)
def test_allgather_reaches_the_bandwidth_bound_without_segments(
    topology: Topology, trees: int
) -> None:
    """R = C times the bound exactly, in at most one step more than the trees are high, or two."""
    packing = optimal_trees(topology, list(range(topology.num_nodes)), trees)
    tallest = max(map(height_of, packing))
    found = costs(topology, allgather(), packing, (1,))
    least = bound(topology, allgather(), None)
    assert min(found.values()) == least
    assert min(s for s, cost in found.items() if cost == least) <= tallest + 2


@pytest.mark.parametrize(
    ("topology", "trees"),
    [*NETWORKS[:3], pytest.param(*NETWORKS[3], marks=pytest.mark.slow)],
    ids=name,
)
def test_broadcast_is_pipelined_down_to_the_tallest_tree(topology: Topology, trees: int) -> None:
    """Where k trees fit together, m segments and height h: R = S = h + m - 1 and C = k m."""
    packing = optimal_trees(topology, [0], trees)
    tallest = max(map(height_of, packing))
    found = costs(topology, broadcast(), packing, (1, 2, 4, 8))
    assert bound(topology, broadcast(), None) == Fraction(1, trees)
    for segments in (1, 2, 4, 8):
        steps = tallest + segments - 1
        best = min(cost for s, cost in found.items() if s <= steps)
        assert best <= Fraction(steps, trees * segments)
        assert best >= bound(topology, broadcast(), steps)


def test_relaxed_pipelines_are_met_exactly() -> None:
    """A path of h links in S steps: R/C = S / (S - h + 1), with S - h + 1 segments."""
    height = 5
    topology = Topology.from_links("line", 6, {(i, i + 1): 1 for i in range(height)})
    found = costs(topology, broadcast(), [path(*range(6))], tuple(range(1, 9)))
    for steps in range(height, height + 8):
        assert found[steps] == Fraction(steps, steps - height + 1)


def test_programs_find_plans_that_list_scheduling_misses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four trees of each node of a 4 x 4 torus fit into five steps without a round too many."""
    monkeypatch.setattr(assignment, "_MOST_SECONDS", 60.0)  # however busy the machine is
    trees = optimal_trees(torus(4, 4), list(range(16)), 4)
    assert costs(torus(4, 4), allgather(), trees, (1,))[5] == Fraction(15, 4)


@pytest.mark.parametrize("collective", [allgather(), broadcast(2)], ids=lambda c: c.name)
@pytest.mark.parametrize("topology", [ring(5), torus(3, 3), dgx1()], ids=lambda t: t.name)
def test_schedules_turn_round_into_reductions(topology: Topology, collective: Collective) -> None:
    nodes = topology.num_nodes
    roots = list(range(nodes)) if collective.name == "allgather" else [2]
    reverse = topology.reversed()
    trees = packed_trees(reverse, roots, 2, 1)
    count = 0
    for made in schedule_trees(reverse, collective, trees, SeedLimits(), (1, 3)):
        steps, rounds = made.algorithm.steps, made.algorithm.rounds
        instance = collective.instantiate(reverse, chunks=made.chunks, steps=steps, rounds=rounds)
        combined, algorithm = invert(instance, made.algorithm, "reduction")
        assert combined.combining
        assert np.array_equal(combined.pre, instance.post)
        require_valid(combined, algorithm)
        count += 1
    assert count
