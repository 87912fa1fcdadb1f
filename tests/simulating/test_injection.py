"""Network interfaces in lockstep, and connections of small depth, against simulated events."""

from __future__ import annotations

import os
import random
from dataclasses import replace
from fractions import Fraction

import pytest

from syncoll.routing import as_topology
from syncoll.simulating import (
    Injection,
    Late,
    PhysicalNetwork,
    Semantics,
    Switching,
    physical_network,
    simulate_algorithm,
)
from tests.oracles.algorithms import connected_topology, random_algorithm
from tests.oracles.event_by_event import EventByEvent
from tests.oracles.fabrics import random_fabric

CASES = int(os.environ.get("SYNCOLL_SIMULATION_CASES", "60"))
ALPHA, BETA = Fraction(1, 10**6), Fraction(25 * 10**9)


def timed(rng: random.Random, network: PhysicalNetwork) -> PhysicalNetwork:
    """The same with latencies of lanes, and with one cable each."""
    lanes = (
        replace(lane, latency=Fraction(rng.randint(1, 2000), 10**9), cables=1)
        for lane in network.lanes
    )
    return replace(network, lanes=tuple(lanes))


@pytest.mark.parametrize("seed", range(CASES))
def test_it_agrees_with_a_simulator_of_events(seed: int) -> None:
    rng = random.Random(seed)
    fabric = random_fabric(rng, irregular=False) if rng.random() < 0.5 else None
    topology = connected_topology(rng) if fabric is None else as_topology(fabric)
    stored = random_algorithm(rng, topology, rng.randint(1, 3))
    network = timed(rng, physical_network(topology, ALPHA, BETA))
    semantics = Semantics(
        switching=rng.choice(list(Switching)),
        injection=rng.choice(list(Injection)),
        packet=rng.choice((None, 256, 4096)),
        header=rng.choice((0, 16)),
        depth=rng.choice((None, 1, 2, 3)),
        reduction=Fraction(rng.choice((0, 1)), 10**11),
        late=tuple(
            Late(node, Fraction(rng.randint(0, 50), 10**6))
            for node in rng.sample(range(topology.num_nodes), rng.randint(0, 1))
        ),
    )
    size = rng.choice((1, 3000, 1 << 20))
    found = simulate_algorithm(stored, network, semantics, size)
    other = EventByEvent(stored, network, semantics, size).run()
    assert found.left == pytest.approx(other.left, rel=1e-9, abs=1e-15)
    assert found.arrived == pytest.approx(other.arrived, rel=1e-9)
