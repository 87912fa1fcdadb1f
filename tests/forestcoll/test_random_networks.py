"""Random switch networks: the throughput is that of the worst of all cuts, and trees attain it."""

from __future__ import annotations

from math import gcd
from random import Random

import pytest

from syncoll.routing import cut_ratio
from syncoll.routing.optimality import bottleneck
from syncoll.trust.forest import verify_forest
from syncoll_forestcoll.collectives import best_scale, weighted_broadcast
from tests.oracles.fabrics import random_fabric
from tests.oracles.forests import broadcast, reducescatter


@pytest.mark.parametrize("guess", [True, False], ids=["guessing", "exact"])
@pytest.mark.parametrize("irregular", [False, True], ids=["regular", "irregular"])
@pytest.mark.parametrize("block", range(4))
def test_forests_attain_the_worst_cut(brute_force, block, irregular, guess) -> None:
    for seed in range(25):
        random = Random(1000 * block + seed)
        fabric = random_fabric(random, irregular=irregular)
        weights = [1] * fabric.num_nodes
        if seed % 3 == 0:
            weights = [random.choice((0, 1, 1, 2, 3)) for _ in weights]
            weights[0] = weights[0] or not any(weights)
        plan = weighted_broadcast(fabric, weights, guess=guess)
        common = gcd(*weights)
        time = brute_force(fabric, weights).time()
        assert plan.bottleneck.time * common == time
        assert cut_ratio(fabric, weights, plan.bottleneck.cut) == time
        assert verify_forest(plan.forest) * common == time
        assert plan.algbw == sum(weights) / time
        assert plan.is_optimal


def test_reducescatter_is_bound_by_the_reversed_networks_cuts(brute_force) -> None:
    for seed in range(40):
        fabric = random_fabric(Random(seed), irregular=True)
        plan = reducescatter(fabric)
        assert plan.forest.fabric == fabric
        assert plan.forest.inward
        assert plan.bottleneck.time == brute_force(fabric.reversed(), [1] * fabric.num_nodes).time()
        assert verify_forest(plan.forest) == plan.bottleneck.time


def test_broadcast_is_the_narrowest_cut_from_its_root(brute_force) -> None:
    for seed in range(40):
        fabric = random_fabric(Random(seed), irregular=bool(seed % 2))
        weights = [0] * fabric.num_nodes
        weights[seed % fabric.num_nodes] = 1
        plan = broadcast(fabric, seed % fabric.num_nodes)
        assert plan.algbw == 1 / brute_force(fabric, weights).time()
        assert set(plan.forest.roots.tolist()) == {seed % fabric.num_nodes}


def test_fixed_k_is_the_least_scale(brute_force) -> None:
    """At U* all cuts carry their trees; at the next smaller value of a floor they do not."""
    for seed in range(60):
        fabric = random_fabric(Random(seed), irregular=False)
        weights = [1] * fabric.num_nodes
        truth = brute_force(fabric, weights)
        k = 1 + seed % 4
        optimum = bottleneck(fabric)
        scale = best_scale(fabric, optimum, k)
        assert truth.scale_suffices(k, scale)
        # Between two multiples of some 1/b no floor changes.
        smaller = max(
            (-(-(scale * link.bandwidth) // 1) - 1) / link.bandwidth for link in fabric.links
        )
        assert not truth.scale_suffices(k, smaller)
        plan = weighted_broadcast(fabric, weights, fixed_k=k)
        assert plan.forest.k == k
        assert plan.algbw == fabric.num_nodes * k / scale
        assert plan.algbw <= plan.bottleneck.algbw


def test_compute_nodes_may_be_unbalanced(brute_force) -> None:
    """Only switches need as much in as out; extra links between nodes break the balance there."""
    for seed in range(60):
        random = Random(seed)
        fabric = random_fabric(random, irregular=bool(seed % 2))
        extra = dict(fabric.bandwidths)
        for _ in range(3):
            u, v = random.sample(range(fabric.num_nodes), 2)
            extra[u, v] = extra.get((u, v), 0) + random.randint(1, 5)
        lopsided = fabric.from_bandwidths("lopsided", fabric.num_nodes, fabric.num_switches, extra)
        plan = weighted_broadcast(lopsided, [1] * fabric.num_nodes, guess=bool(seed % 4))
        assert plan.bottleneck.time == brute_force(lopsided, [1] * fabric.num_nodes).time()
