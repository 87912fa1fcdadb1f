"""Signatures are the same under renaming, and different for problems that differ."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

from syncoll.bounding import rounds_bound
from syncoll.bounding.combining import signature
from syncoll.certificates import Demand, demands
from syncoll.model import Topology
from syncoll.testing.instances import random_instance
from tests.oracles.classics import broadcast, dgx1, hub, ring


def renamed(
    topology: Topology, needs: tuple[Demand, ...], order: list[int]
) -> tuple[Topology, tuple[Demand, ...]]:
    links = tuple(sorted((order[a], order[b]) for a, b in topology.links))
    bounds = tuple(
        replace(bound, links=tuple(sorted((order[a], order[b]) for a, b in bound.links)))
        for bound in topology.bounds
    )
    return (
        replace(topology, links=links, bounds=bounds[::-1]),
        tuple(
            replace(
                need,
                sources=tuple(sorted(order[n] for n in need.sources)),
                destinations=tuple(sorted(order[n] for n in need.destinations)),
            )
            for need in reversed(needs)
        ),
    )


def test_names_do_not_matter() -> None:
    rng = random.Random(5)
    signatures = []
    for seed in range(100):
        instance = random_instance(seed)
        needs = demands(instance)
        order = rng.sample(range(instance.topology.num_nodes), instance.topology.num_nodes)
        known = signature(instance.topology, needs)
        assert known == signature(*renamed(instance.topology, needs, order)), seed
        signatures.append(known)
    assert len(set(signatures)) > 80


def half_symmetric(rng: random.Random) -> Topology:
    """A random circulant, and one random link besides."""
    nodes = rng.randint(4, 7)
    links = {
        (i, (i + jump) % nodes): bandwidth
        for jump, bandwidth in ((1, rng.randint(1, 2)), (rng.randint(2, nodes - 1), 1))
        for i in range(nodes)
    }
    a, b = rng.sample(range(nodes), 2)
    links[a, b] = links[b, a] = rng.randint(1, 3)
    return Topology.from_links("random", nodes, links)


def test_equal_signatures_have_equal_bounds() -> None:
    """On random machines with some symmetry, for a broadcast from each node."""
    same = 0
    for seed in range(25):
        topology = half_symmetric(random.Random(seed))
        nodes = topology.num_nodes
        found: dict[int, Fraction] = {}
        for root in range(nodes):
            needs = demands(broadcast(root).tabulate(nodes, 1))
            steps = int(topology.distances.max())
            rounds = rounds_bound(topology, needs, steps).rounds
            known = signature(topology, needs)
            same += known in found
            assert found.setdefault(known, rounds) == rounds, seed
    assert same >= 4


def test_symmetric_machines_have_one() -> None:
    def count(topology: Topology) -> int:
        nodes = topology.num_nodes
        tables = (broadcast(root).tabulate(nodes, 1) for root in range(nodes))
        return len({signature(topology, demands(table)) for table in tables})

    assert count(ring(7)) == count(hub(6)) == 1
    assert count(dgx1()) < 8


def test_what_differs_differs() -> None:
    needs = demands(broadcast().tabulate(6, 1))
    known = signature(ring(6), needs)
    assert known != signature(ring(6, 2), needs)
    assert known != signature(ring(6), demands(broadcast().tabulate(6, 2)))
    assert known != signature(ring(6), needs[:0])
    # Two triangles and a hexagon look alike from within, but not by distances.
    pairs = {(i, j): 1 for k in (0, 3) for i in range(k, k + 3) for j in range(k, k + 3) if i != j}
    assert known != signature(Topology.from_links("triangles", 6, pairs), needs)
