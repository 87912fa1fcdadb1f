"""Figures of the ForestColl paper, exactly."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest

from syncoll.routing import bottleneck, cut_ratio
from syncoll.trust.forest import verify_forest
from syncoll_forestcoll.allreduce_program import allreduce_bounds
from tests.oracles.fabrics import (
    a100,
    bigraph,
    dgx1,
    fat_tree,
    leaf_spine,
    mi250,
    p2_16xlarge,
    torus,
)
from tests.oracles.forests import allgather, allreduce, broadcast, pack_allreduce, reduce


def test_a100_two_boxes() -> None:
    plan = allgather(a100(2))
    # Section 5.3: M/16 * 15 / 325 GB/s = M / 346.67 GB/s, bound by the links into one GPU.
    assert plan.algbw == Fraction(16 * 325, 15) == Fraction(1040, 3)
    assert plan.forest.k == 13
    assert sum(v < 16 for v in plan.bottleneck.cut) == 15


def test_mi250_two_boxes() -> None:
    plan = allgather(mi250(2))
    assert plan.forest.k == 83
    assert plan.algbw == Fraction(5312, 15)
    assert round(float(plan.algbw), 2) == 354.13


def test_mi250_two_boxes_with_two_trees() -> None:
    plan = allgather(mi250(2), fixed_k=2)
    assert plan.algbw == Fraction(1024, 3)
    assert round(float(plan.algbw), 2) == 341.33
    assert not plan.is_optimal


def test_mi250_eight_of_sixteen() -> None:
    """GPUs 0 and 1 have 182 GB/s of links to the rest: 14/182 is the worst cut."""
    fabric = mi250(2, gpus=8)
    plan = allgather(fabric)
    assert plan.algbw == 208
    assert cut_ratio(fabric, [1] * 16, set(range(17)) - {0, 1}) == Fraction(1, 13)


@pytest.mark.parametrize(
    ("fabric", "algbw"),
    [
        (torus(4, 4), Fraction(64, 15)),  # four links enter a node, 15/16 of the data comes in
        (dgx1(), Fraction(8 * 150, 7)),  # six NVLinks of 25 GB/s a GPU
        (a100(1), Fraction(8 * 300, 7)),
        (fat_tree(8, 8), Fraction(64 * 16, 63)),
        (bigraph(4, 8), Fraction(32 * 16, 31)),
        (p2_16xlarge(), Fraction(16, 15)),
    ],
    ids=lambda x: getattr(x, "name", ""),
)
def test_networks_bound_by_links_into_a_node(fabric, algbw) -> None:
    assert allgather(fabric).algbw == algbw


def test_allreduce_is_two_halves() -> None:
    plan = allreduce(a100(2))
    assert plan.algbw == Fraction(1040, 6)
    assert plan.reducescatter.forest.inward
    assert verify_forest(plan.reducescatter.forest) == plan.allgather.bottleneck.time


def test_broadcast_and_reduce() -> None:
    """One root can send no faster than its own links, or than the slowest way to another node."""
    assert broadcast(a100(2), 0).algbw == 200
    # Two GPUs that share four of their seven xGMI links have six of 50 GB/s to all others.
    assert broadcast(mi250(1), 0).algbw == reduce(mi250(1), 0).algbw == 300
    assert reduce(dgx1(), 3).algbw == 150


@pytest.mark.parametrize("fabric", [torus(3, 3), dgx1(), mi250(2), a100(2)], ids=lambda f: f.name)
def test_no_choice_of_roots_beats_two_halves(fabric) -> None:
    """Section 4.6: the linear program's bound is the throughput of reducescatter and allgather."""
    bounds = allreduce_bounds(fabric)
    assert bounds.at_least == bounds.at_most
    assert bounds.at_most == allreduce(fabric).algbw


def test_where_a_choice_of_roots_beats_two_halves() -> None:
    """On the 8+8 setting reducescatter then allgather reaches 104 GB/s, both at once 128.

    GPUs 0 and 1 have links of 182 GB/s to the rest, in either direction.  14/16 of the data leaves
    them in the first half and comes in during the second one; concurrently both fit.  The remaining
    bound is the cut between the boxes: all data crosses it each way, reduced or as a result, over 8
    cards of 16 GB/s.
    """
    fabric = mi250(2, gpus=8)
    bounds = allreduce_bounds(fabric)
    assert allreduce(fabric).algbw == 104
    assert bounds.at_least == bounds.at_most == 8 * 16 == 128
    reduction, onward = pack_allreduce(fabric, bounds)
    assert reduction.forest.weights == onward.forest.weights
    seconds = dict.fromkeys(fabric.bandwidths, Fraction(0))  # for one unit of data
    for plan in (reduction, onward):
        forest = plan.forest
        reached = 0
        for tree in forest.trees():
            share = Fraction(tree.weight, forest.k * sum(forest.weights))
            reached += tree.weight
            seen = {tree.root}
            for sender, receiver, path in tree.edges:
                near, far = (receiver, sender) if forest.inward else (sender, receiver)
                assert near in seen
                assert far not in seen
                seen.add(far)
                assert (path[0], path[-1]) == (sender, receiver)
                for hop in pairwise(path):
                    seconds[hop] += share / fabric.bandwidths[hop]
            assert seen == set(range(16))
        assert reached == forest.k * sum(forest.weights)
    assert max(seconds.values()) == Fraction(1, 128)


def test_cuts_of_the_allreduce_program_prove_its_bound() -> None:
    """The multipliers, added up anew: no shares and no split of the links exceed the bound."""
    for fabric in (mi250(2, gpus=8), dgx1(), torus(3, 3)):
        bounds = allreduce_bounds(fabric)
        covered = [Fraction(0)] * fabric.num_nodes
        price = dict.fromkeys(fabric.bandwidths, Fraction(0))
        for direction in ("broadcast", "reduce"):
            load = dict.fromkeys(fabric.bandwidths, Fraction(0))
            for of, cut, multiplier in bounds.cuts:
                if of != direction:
                    continue
                assert multiplier > 0
                for v in range(fabric.num_nodes):
                    covered[v] += multiplier * (v in cut)
                for u, v in load:
                    tail, head = (u, v) if direction == "broadcast" else (v, u)
                    load[u, v] += multiplier * (tail in cut and head not in cut)
            price = {ends: max(price[ends], load[ends]) for ends in price}
        assert min(covered) >= 1
        # Prices of switches can only lower the sum; without them it is a bound as well.
        total = sum(price[ends] * b for ends, b in fabric.bandwidths.items())
        assert bounds.at_most <= total
        assert fabric.num_switches or bounds.at_most == total


def test_an_irregular_leaf_spine() -> None:
    fabric = leaf_spine(
        [[8, 4], [8], [4, 4, 1], [16]],
        [25, 50, 25, 100],
        [[100, 50], [200, 0], [50, 50], [400, 100]],
    )
    plan = allgather(fabric)
    assert plan.is_optimal
    assert plan.bottleneck == bottleneck(fabric)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fabric", "algbw"),
    [
        (a100(32), Fraction(256 * 200, 248)),  # eight cards a box
        (mi250(64), Fraction(1024 * 256, 1008)),  # sixteen shares of the switch a box
        (torus(16, 16), Fraction(256 * 4, 255)),
    ],
    ids=lambda x: getattr(x, "name", ""),
)
def test_up_to_a_thousand_nodes(fabric, algbw) -> None:
    plan = allgather(fabric)
    assert plan.algbw == algbw
    assert plan.is_optimal
