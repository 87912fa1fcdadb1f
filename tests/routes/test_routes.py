"""Routes of least congestion: whole, balanced, and valid algorithms."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import syncoll
from syncoll.bounding import rounds_bound
from syncoll.certificates.chunk_classes import ChunkClasses, DemandView
from syncoll.deadline import Deadline
from syncoll.model import Collective, Topology
from syncoll.plugins import SeedLimits
from syncoll.testing.instances import random_topology
from syncoll.trust import violations
from syncoll.trust.claims import check_claims
from syncoll.trust.families import require_family
from syncoll_routes.congestion import CongestionRouter
from syncoll_routes.seed import RouteSeed
from tests.oracles.classics import alltoall, broadcast, hub, ring

OPTIONS = {"parts": 24, "passes": 6}


def uneven(nodes: int, seed: int) -> Collective:
    rng = np.random.default_rng(seed)
    return syncoll.collective("alltoallv", rng.integers(0, 4, (nodes, nodes)))


def connected(rng: random.Random) -> Topology:
    while True:
        topology = random_topology(rng, least_nodes=3, most_nodes=6)
        if topology.distances.max() < topology.num_nodes:
            return topology


def test_every_amount_is_routed_from_its_start_to_its_end() -> None:
    rng = random.Random(3)
    for _ in range(30):
        topology = connected(rng)
        nodes = topology.num_nodes
        pairs = np.array([(a, b) for a in range(nodes) for b in range(nodes) if a != b])
        amounts = np.array([rng.randint(1, 9) for _ in pairs])
        found = CongestionRouter(topology, pairs).routes(amounts, 5, 3, Deadline.after(5))
        routed, load = Counter[int](), Counter[tuple[int, int]]()
        for pair, amount, row in zip(found.pair, found.amount, found.links, strict=True):
            way = [topology.links[i] for i in row[row >= 0]]
            assert [a for a, _ in way] + [way[-1][1]] == [pairs[pair, 0]] + [b for _, b in way]
            assert way[-1][1] == pairs[pair, 1]
            assert len({a for a, _ in way}) == len(way)
            routed[pair] += amount
            for link in way:
                load[link] += amount
        assert [routed[i] for i in range(len(pairs))] == amounts.tolist()
        fullest = max(
            Fraction(sum(load[link] for link in bound.links)) / bound.chunks_per_round
            for bound in topology.bounds
        )
        assert float(fullest) == pytest.approx(found.rounds)


def test_proposals_are_valid_and_improve() -> None:
    rng = random.Random(5)
    for seed in range(4):
        topology = connected(rng)
        collective = uneven(topology.num_nodes, seed)
        best: list[tuple[int, Fraction]] = []
        limits: list[Fraction] = []
        for made in RouteSeed().propose(topology, collective, SeedLimits(seconds=2), OPTIONS):
            assert made is not None
            algorithm = made.algorithm
            instance = collective.instantiate(
                topology, chunks=made.chunks, steps=algorithm.steps, rounds=algorithm.rounds
            )
            assert not violations(instance, algorithm)
            steps, cost = algorithm.steps, Fraction(algorithm.rounds, made.chunks)
            if made.family is not None:
                require_family(made.family)
                assert made.family.has(steps, cost)
                assert all(made.family.limit < other for other in limits)
                limits.append(made.family.limit)
                continue
            assert all(s > steps or c > cost for s, c in best)
            best.append((steps, cost))
        assert best
        needs = ChunkClasses.of(collective.table_on(topology, 1), 1).demands(DemandView.MOVING)
        bound = rounds_bound(topology, needs, seconds=5).rounds
        # For thousands of rounds whole chunks cost almost nothing more, and waves nothing.
        assert bound <= min(limits) <= bound * Fraction(1005, 1000)


def test_waves_are_chunks_of_the_collective_for_any_number() -> None:
    """Chunks are numbered wave by wave, which an exchange has in another order.

    From 0 to 2 two ways have room for one chunk each in a round, and 1 needs one of them.
    """
    topology = syncoll.topology("ring(4)")
    sizes = [[0, 0, 3, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    sizes[3][1] = 2
    collective = syncoll.collective("alltoallv", sizes)
    found = syncoll.pareto(topology, collective, backend="routes", work=9)
    check_claims(found, topology=topology, collective=collective)
    (family,) = found.families
    assert family.limit == found.least_bandwidth


def test_limits_are_kept() -> None:
    topology, collective = ring(5), uneven(5, 1)
    limits = SeedLimits(seconds=2, max_steps=3, max_chunks=2)
    for made in RouteSeed().propose(topology, collective, limits, OPTIONS):
        assert made.algorithm.steps <= 3
        assert made.chunks <= 2
    none = SeedLimits(seconds=2, max_steps=1)
    assert not list(RouteSeed().propose(topology, collective, none, OPTIONS))


def test_unfit_collectives_are_refused() -> None:
    assert "the exchange is even" in RouteSeed.fits(hub(4), alltoall()).reason
    assert "go to the same nodes" in RouteSeed.fits(hub(4), broadcast()).reason
    assert "combines" in RouteSeed.fits(hub(4), syncoll.collective("reducescatter")).reason
    one_root = syncoll.collective("scatterv", [1, 2, 0, 1])
    assert "at one node" in RouteSeed.fits(hub(4), one_root).reason
    assert RouteSeed.fits(hub(4), uneven(4, 2)).ok
