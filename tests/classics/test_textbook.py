"""Steps, rounds and chunks as in the textbooks and in the papers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, log2

import pytest

from syncoll.model import compose, invert
from syncoll.plugins import Proposal, SeedLimits
from syncoll.spec import SpecLibrary
from syncoll.trust import require_valid

Costs = Callable[..., list[tuple[int, int, int]]]


def test_nccl_allgather_and_allreduce_on_dgx1(
    propose: Callable[..., list[Proposal]], specs: SpecLibrary
) -> None:
    """SCCL paper, Table 3: allgather and reducescatter (6, 7, 7), allreduce (48, 14, 14)."""
    topology, allgather = specs.topology("dgx1"), specs.collective("allgather")
    proposal = propose("ring", topology, allgather)[0]
    algorithm = proposal.algorithm
    assert (proposal.chunks, algorithm.steps, algorithm.rounds) == (6, 7, 7)
    instance = allgather.instantiate(topology, chunks=6, steps=7, rounds=7)
    reducescatter = invert(instance, algorithm, "reducescatter")
    first = reducescatter[0]
    # "For Reducescatter C should be multiplied by 8."
    assert (first.chunks, first.steps, first.rounds) == (48, 7, 7)
    allreduce, whole = compose(reducescatter, (instance, algorithm), "allreduce")
    assert (allreduce.chunks, allreduce.steps, allreduce.rounds) == (48, 14, 14)
    require_valid(allreduce, whole)


@pytest.mark.parametrize("segments", range(1, 9))
def test_nccl_broadcast_on_dgx1(segments: int, costs: Costs) -> None:
    """SCCL paper, Table 3: broadcast (6 m, 6 + m, 6 + m)."""
    found = costs("ring", "dgx1", "broadcast", segments=segments)
    assert (6 + segments, 6 + segments, 6 * segments) in found


@pytest.mark.parametrize("nodes", [2, 3, 5, 8, 13])
def test_ring(nodes: int, costs: Costs) -> None:
    links = 1 if nodes == 2 else 2
    assert costs("ring", f"ring({nodes})", "allgather")[0] == (nodes - 1, nodes - 1, links)
    assert costs("ring", f"hub({nodes})", "allgather")[0] == (nodes - 1, nodes - 1, 1)


@pytest.mark.parametrize("nodes", [3, 5, 8, 13])
def test_both_ways_round_a_ring_is_optimal_in_steps_and_rounds(nodes: int, costs: Costs) -> None:
    assert (nodes // 2, nodes - 1, 2) in costs("ring", f"ring({nodes})", "allgather")


def test_a_scatter_leaves_the_farthest_first(costs: Costs) -> None:
    assert costs("ring", "hub(6)", "scatter") == [(5, 5, 6)]


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_recursive_doubling_on_a_hypercube(dimension: int, costs: Costs) -> None:
    network, nodes = f"hypercube({dimension})", 1 << dimension
    found = costs("recursive_doubling", network, "allgather")
    assert found[0] == (dimension, nodes - 1, 1)
    # All dimensions at once: every port is busy all the time.
    assert (dimension, nodes - 1, dimension) in found
    assert costs("recursive_doubling", network, "alltoall")[0] == (
        dimension, dimension * nodes // 2, nodes,
    )  # fmt: skip
    assert costs("recursive_doubling", network, "broadcast")[0] == (dimension, dimension, 1)
    assert costs("recursive_doubling", network, "allreduce")[0] == (dimension, dimension, 1)
    halving = costs("halving_doubling", network, "allreduce")
    assert halving[0] == (2 * dimension, 2 * (nodes - 1), nodes)


@pytest.mark.parametrize("digits", [1, 2, 3, 4, 5])
def test_swing_where_a_message_passes_many_links_in_a_step(digits: int, costs: Costs) -> None:
    ring, nodes = f"routed ring({1 << digits})", 1 << digits
    away = [abs(1 - (-2) ** (t + 1)) // 3 for t in range(digits)]
    # Partners d links apart, one way and the other in turn: (d + 1) / 2 messages on a link.
    fullest = [(d + 1) // 2 for d in away]
    assert costs("swing", ring, "allreduce")[0] == (digits, sum(fullest), 1)
    halves = sum(load << (digits - 1 - t) for t, load in enumerate(fullest))
    assert costs("swing", ring, "allgather")[0] == (digits, halves, 1)
    assert (2 * digits, 2 * halves, nodes) in costs("swing", ring, "allreduce")
    if digits > 2:  # partners in recursive doubling are farther apart
        assert costs("recursive_doubling", ring, "allreduce")[0][1] > sum(fullest)


def test_swing_on_a_torus(costs: Costs) -> None:
    # Four exchanges at once: the bandwidth optimum of the allgather, as in the paper for 4 x 4.
    assert costs("swing", "routed torus(4,4)", "allgather")[-1] == (4, 15, 4)
    assert costs("swing", "routed torus(2,8)", "alltoall")[0][0] == 4


@pytest.mark.parametrize("nodes", [2, 3, 5, 6, 7, 8, 12, 16])
def test_bruck(nodes: int, costs: Costs) -> None:
    steps = ceil(log2(nodes))
    assert costs("bruck", f"fully_connected({nodes})", "allgather")[0] == (steps, nodes - 1, 1)
    # In step t of the alltoall go the blocks whose offset has a 1 in place t.
    blocks = [sum(offset >> t & 1 for offset in range(nodes)) for t in range(steps)]
    assert costs("bruck", f"hub({nodes})", "alltoall")[0] == (steps, sum(blocks), nodes)


@pytest.mark.parametrize("nodes", [2, 5, 8])
def test_all_pairs(nodes: int, costs: Costs) -> None:
    for collective, chunks in (("allgather", 1), ("alltoall", nodes), ("allreduce", 1)):
        found = costs("all_pairs", f"fully_connected({nodes})", collective)
        assert found == [(1, 1, chunks)]
        found = costs("all_pairs", f"hub({nodes})", collective)
        assert found == [(1, nodes - 1, chunks)]


@pytest.mark.parametrize("nodes", [2, 3, 6, 8, 11, 16])
def test_binomial_tree(nodes: int, costs: Costs) -> None:
    hub, steps = f"hub({nodes})", ceil(log2(nodes))
    assert costs("binomial", hub, "broadcast(1)") == [(steps, steps, 1)]
    # The root sends, or receives, the piece of every other node.
    assert costs("binomial", hub, "scatter(1)") == [(steps, nodes - 1, nodes)]
    assert costs("binomial", hub, "gather(1)") == [(steps, nodes - 1, 1)]


@pytest.mark.parametrize("segments", [1, 2, 7])
@pytest.mark.parametrize("nodes", [4, 7, 8, 15, 16])
def test_double_binary_tree(nodes: int, segments: int, costs: Costs) -> None:
    """Each piece moves a level a step, and no port carries more than two chunks a step."""
    whole = f"fully_connected({nodes})"
    height = ceil(log2(nodes))
    steps, _, chunks = costs("double_binary_tree", whole, "broadcast(2)", segments=segments)[-1]
    assert (steps, chunks) == (height + segments - 1, 2 * segments)
    found = costs("double_binary_tree", whole, "allreduce", segments=segments)[-1]
    assert (found[0], found[2]) == (2 * height + segments - 1, 2 * segments)
    on_hub = costs("double_binary_tree", f"hub({nodes})", "allreduce", segments=segments)[-1]
    assert on_hub[1] <= 3 * on_hub[0]


def test_many_segments_approach_the_bandwidth(costs: Costs) -> None:
    found = costs("double_binary_tree", "hub(7)", "broadcast", segments=64)
    ratios = [Fraction(rounds, chunks) for _, rounds, chunks in found]
    assert ratios == sorted(ratios, reverse=True)
    assert ratios[-1] < Fraction(11, 10)  # 1 is the least: every node must receive all data


@pytest.mark.parametrize("side", [3, 4, 5])
def test_ring2d_on_a_torus(side: int, costs: Costs) -> None:
    """MultiTree paper, section II-C: 2N(N - 1) where a bandwidth-optimal algorithm has N^2 - 1."""
    torus = f"torus({side},{side})"
    found = costs("ring2d", torus, "allgather")
    assert found == [(2 * (side - 1), side**2 - 1, 4)]
    ((steps, rounds, chunks),) = costs("ring2d", torus, "allreduce")
    assert steps == 4 * (side - 1)
    optimal = Fraction(2 * (side**2 - 1), 4 * side**2)  # both phases over four links a node
    assert Fraction(rounds, chunks) / optimal == Fraction(2 * side * (side - 1), side**2 - 1)


def test_ring2d_on_a_mesh_folds_or_routes(costs: Costs) -> None:
    """Folded, neighbours on a ring are two links apart; closed, the ends are three apart."""
    assert costs("ring2d", "mesh(4,4)", "allreduce")[0][0] == 2 * 12
    assert costs("ring2d", "mesh(4,4)", "allreduce", closing="route")[0][0] == 3 * 12


def test_rings_do_not_beat_optima_of_the_sccl_paper(costs: Costs) -> None:
    """SCCL paper, Table 4: 7/6 and 2 steps are least for dgx1's allgather."""
    for name in ("ring", "bruck", "recursive_doubling", "all_pairs"):
        for steps, rounds, chunks in costs(name, "dgx1", "allgather", SeedLimits(max_chunks=12)):
            assert steps >= 2
            assert Fraction(rounds, chunks) >= Fraction(7, 6)
