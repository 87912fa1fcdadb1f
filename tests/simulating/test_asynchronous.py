"""Asynchronous sends: no lane is overloaded, and nodes only send data that they have."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import syncoll
from syncoll.documents import StoredAlgorithm
from syncoll.plugins import SeedLimits
from syncoll.routing import as_topology
from syncoll.session import Session
from syncoll.simulating import (
    Semantics,
    SimulatedSeconds,
    Simulation,
    Switching,
    Timing,
    physical_network,
    simulate_algorithm,
)
from tests.oracles.algorithms import connected_topology, random_algorithm
from tests.oracles.fabrics import random_fabric
from tests.oracles.orbits import random_orbit

ALPHA, BETA = Fraction(1, 10**6), Fraction(25 * 10**9)
SIZE = 1 << 20


def random_simulation(seed: int, semantics: Semantics) -> Simulation:
    rng = random.Random(seed)
    if seed % 2:
        topology = connected_topology(rng)
    else:
        topology = as_topology(random_fabric(rng, irregular=False))
    stored = random_algorithm(rng, topology, rng.randint(1, 2))
    return simulate_algorithm(stored, physical_network(topology, ALPHA, BETA), semantics, SIZE)


def require_consistent(found: Simulation) -> None:
    """Cables carry one send at a time at their rate, all bytes pass, and data has arrived."""
    passages, lanes = found.passages, found.network.lanes
    cables = np.array([lane.cables for lane in lanes])
    assert (passages.cable < cables[passages.lane]).all()
    slot = passages.lane * cables.max() + passages.cable
    order = np.lexsort((passages.start, slot))
    slots, start, end = slot[order], passages.start[order], passages.end[order]
    same = slots[1:] == slots[:-1]
    assert (start[1:][same] >= end[:-1][same]).all()
    rate = np.array([float(lane.cable_bandwidth) for lane in lanes])[passages.lane]
    assert (passages.size <= rate * (passages.end - passages.start) * (1 + 1e-9)).all()
    index, chunk = found.network.topology.link_index, Fraction(SIZE, found.algorithm.chunks)
    wanted: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    for send, (_, source, destination, _) in enumerate(found.sends.tolist()):
        for strand in found.network.routes[index[source, destination]]:
            for lane in strand.lanes:
                wanted[send, lane] += strand.share * chunk
    carried_bytes: dict[tuple[int, int], float] = defaultdict(float)
    for send, lane, size in zip(passages.send, passages.lane, passages.size, strict=True):
        carried_bytes[send, lane] += size
    assert carried_bytes == {key: pytest.approx(float(size)) for key, size in wanted.items()}
    instance, carried = found.algorithm.instance, found.algorithm.algorithm.contributions
    for number, (chunk_number, source, _, step) in enumerate(found.sends.tolist()):
        before = found.sends[:, 3] < step
        came = np.flatnonzero(
            before & (found.sends[:, 0] == chunk_number) & (found.sends[:, 2] == source)
        )
        if carried is None:
            there = 0.0 if instance.pre[chunk_number, source] else found.arrived[came].min()
        else:
            parts = [i for i in came if not (carried[i] & ~carried[number]).any()]
            there = max((found.arrived[i] for i in parts), default=0.0)
        assert found.left[number] >= there


@pytest.mark.parametrize("switching", Switching)
@pytest.mark.parametrize("seed", range(12))
def test_simulations_are_consistent(seed: int, switching: Switching) -> None:
    require_consistent(random_simulation(seed, Semantics(switching=switching)))


@pytest.mark.parametrize("seed", range(20))
def test_without_shared_links_no_send_is_later_than_lockstep(seed: int) -> None:
    rng = random.Random(seed)
    topology = connected_topology(rng)
    if any(len(bound.links) > 1 for bound in topology.bounds):
        topology = type(topology).from_links(
            "plain", topology.num_nodes, dict.fromkeys(topology.links, 1)
        )
    stored = random_algorithm(rng, topology, 2)
    network = physical_network(topology, ALPHA, BETA)
    sizes = [1, 1000, SIZE]
    free = SimulatedSeconds(network, Semantics())(stored, sizes)
    steps = SimulatedSeconds(network, Semantics(timing=Timing.LOCKSTEP))(stored, sizes)
    assert all(
        one <= other * (1 + Fraction(1, 10**12)) for one, other in zip(free, steps, strict=True)
    )


@pytest.mark.parametrize("seed", range(30))
def test_representative_sends_are_consistent_for_all_images(seed: int) -> None:
    """The images of simulated sends at all nodes are consistent."""
    instance, algorithm = random_orbit(seed)
    network = physical_network(instance.topology, ALPHA, BETA)
    stored = StoredAlgorithm(instance, algorithm, "")
    found = simulate_algorithm(stored, network, Semantics(), SIZE)
    nodes = instance.topology.num_nodes
    assert found.copies == nodes
    number = {lane.ends: i for i, lane in enumerate(network.lanes)}
    turned = [
        ((source + turn) % nodes, (destination + turn) % nodes, step)
        for _, source, destination, step in found.sends.tolist()
        for turn in range(nodes)
    ]
    assert sorted(turned) == sorted(map(tuple, algorithm.expanded().sends[:, 1:].tolist()))
    free: dict[int, list[tuple[float, float]]] = defaultdict(list)
    columns = (found.passages.lane, found.passages.start, found.passages.end)
    for lane, start, end in zip(*(column.tolist() for column in columns), strict=True):
        ends = network.lanes[lane].ends
        assert ends is not None
        for turn in range(nodes):
            image = number[(ends[0] + turn) % nodes, (ends[1] + turn) % nodes]
            free[image].append((start, end))
    for times in free.values():
        times.sort()
        assert all(two[0] >= one[1] for one, two in pairwise(times))


def test_routed_steps_take_the_cables_of_their_way(tmp_path: Path) -> None:
    path = tmp_path / "line.syncoll"
    path.write_text(
        "topology line { nodes 4 link (i, i + 1) both ways for i in range(3) bandwidth 1 "
        "latency 1 us }"
    )
    topology = syncoll.topology(f"routed {path}:line")
    network = physical_network(topology, bandwidth=BETA)
    names = [lane.name for lane in network.lanes]
    assert sorted(names) == ["0 -> 1", "1 -> 0", "1 -> 2", "2 -> 1", "2 -> 3", "3 -> 2"]
    strands = dict(zip(topology.links, network.routes, strict=True))
    assert [names[i] for i in strands[0, 3][0].lanes] == ["0 -> 1", "1 -> 2", "2 -> 3"]
    assert [names[i] for i in strands[2, 0][0].lanes] == ["2 -> 1", "1 -> 0"]
    assert network.greatest_latency == 3 * ALPHA


def test_order_at_a_switch_does_not_depend_on_the_time_scale() -> None:
    session = Session()
    topology, allgather = session.topology("a100(boxes=2)"), session.collective("allgather")
    seed = session.plugins.seeds["ring"].load()
    made = next(seed.propose(topology, allgather, SeedLimits(), {"seconds": 1.0}))
    steps, rounds = made.algorithm.steps, made.algorithm.rounds
    instance = allgather.instantiate(topology, chunks=made.chunks, steps=steps, rounds=rounds)
    ring, network = (
        StoredAlgorithm(instance, made.algorithm, "ring"),
        physical_network(topology, ALPHA),
    )

    def seconds(alpha: Fraction, slower: Fraction) -> float:
        tuned = replace(network.slowed(range(len(network.lanes)), slower), alpha=alpha)
        return float(SimulatedSeconds(tuned, Semantics())(ring, [1 << 16])[0])

    # A few hundred microseconds, and minutes, with larger rounding errors.
    for part in (0.796998, 0.796991, 0.796980):
        quick = seconds(20 * ALPHA, 1 / Fraction(part))
        slow = seconds(Fraction(20e-6 * 5e4), 1 / Fraction(part / 5e4))
        assert slow == pytest.approx(5e4 * quick, rel=1e-11)
