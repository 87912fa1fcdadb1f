"""Agreement with a simulator without arrays, with textbooks, and with general laws."""

from __future__ import annotations

import os
import random
from dataclasses import replace
from fractions import Fraction
from itertools import count, pairwise

import numpy as np
import pytest

import syncoll
from syncoll.documents import StoredAlgorithm
from syncoll.model import Topology
from syncoll.plugins import SeedLimits
from syncoll.routing import as_topology
from syncoll.simulating import (
    Late,
    PhysicalNetwork,
    Semantics,
    Sharing,
    SimulatedSeconds,
    Switching,
    Timing,
    parse_slow,
    physical_network,
    simulate_algorithm,
)
from syncoll.simulating.fair import max_min_rates
from syncoll_classics.seed import HALVING_DOUBLING
from tests.oracles.algorithms import connected_topology, random_algorithm
from tests.oracles.fabrics import random_fabric
from tests.oracles.lane_by_lane import LaneByLane

CASES = int(os.environ.get("SYNCOLL_SIMULATION_CASES", "60"))
"""`benchmarks/simulation.py --cases` asks for more."""

ALPHA, BETA = Fraction(1, 10**6), Fraction(25 * 10**9)


def timed(rng: random.Random, network: PhysicalNetwork) -> PhysicalNetwork:
    """The same with latencies of lanes, and with one cable each."""
    return replace(
        network,
        lanes=tuple(
            replace(lane, latency=Fraction(rng.randint(0, 2000), 10**9), cables=1)
            for lane in network.lanes
        ),
    )


def case(seed: int) -> tuple[random.Random, StoredAlgorithm, PhysicalNetwork, Semantics]:
    rng = random.Random(seed)
    fabric = random_fabric(rng, irregular=False) if rng.random() < 0.4 else None
    topology = connected_topology(rng) if fabric is None else as_topology(fabric)
    stored = random_algorithm(rng, topology, rng.randint(1, 2))
    network = timed(rng, physical_network(topology, ALPHA, BETA))
    plain = all(lane.ends is not None for lane in network.lanes)
    plain = plain and network.strand_lanes.shape[1] == 1
    semantics = Semantics(
        switching=rng.choice(list(Switching)),
        packet=rng.choice((None, 256, 4096)),
        header=rng.choice((0, 16)),
        depth=rng.choice((None, 1, 2)) if plain else None,
        reduction=Fraction(rng.choice((0, 1)), 10**11),
        late=tuple(
            Late(node, Fraction(rng.randint(0, 50), 10**6))
            for node in rng.sample(range(topology.num_nodes), rng.randint(0, 1))
        ),
    )
    return rng, stored, network, semantics


@pytest.mark.parametrize("seed", range(CASES))
def test_it_agrees_with_a_simulator_without_arrays(seed: int) -> None:
    rng, stored, network, semantics = case(seed)
    size = rng.choice((1, 3000, 1 << 20))
    found = simulate_algorithm(stored, network, semantics, size)
    other = LaneByLane(stored, network, semantics, size).run()
    assert found.left == pytest.approx(other.left, rel=1e-12, abs=1e-18)
    arrived = [other.arrived[i] for i in range(len(found.sends))]
    assert found.arrived == pytest.approx(arrived, rel=1e-12)


@pytest.mark.parametrize("seed", range(CASES // 2))
def test_a_slower_network_makes_no_send_earlier(seed: int) -> None:
    rng, stored, network, semantics = case(seed)
    if network.strand_lanes.shape[1] > 1:  # sends may overtake each other at switches
        network = timed(rng, physical_network(connected_topology(rng), ALPHA, BETA))
        stored = random_algorithm(rng, network.topology)
        if network.strand_lanes.shape[1] > 1:
            return
        semantics = Semantics()
    sizes = [1, 3000, 1 << 20]
    before = SimulatedSeconds(network, semantics)(stored, sizes)
    which = rng.randrange(len(network.lanes))
    lane = network.lanes[which]
    if rng.random() < 0.5:
        lane = replace(lane, bandwidth=lane.bandwidth / 3)
    else:
        lane = replace(lane, latency=lane.latency + ALPHA)
    slower = replace(network, lanes=(*network.lanes[:which], lane, *network.lanes[which + 1 :]))
    after = SimulatedSeconds(slower, semantics)(stored, sizes)
    assert all(b >= a for a, b in zip(before, after, strict=True))
    assert list(before) == sorted(before)  # more bytes take no less time


def filled(lanes: list[list[int]], room: list[Fraction]) -> list[Fraction]:
    """Max-min fair rates by definition: raises all rates until a lane is full, repeatedly."""
    rates = [Fraction(0)] * len(lanes)
    going = set(range(len(lanes)))
    left = dict(enumerate(room))
    while going:
        users = {i: [f for f in going if i in lanes[f]] for i in left}
        step = min(left[i] / len(users[i]) for i in left if users[i])
        for f in going:
            rates[f] += step
        for i, these in users.items():
            left[i] -= step * len(these)
        full = {i for i in left if users[i] and not left[i]}
        going -= {f for f in going if full.intersection(lanes[f])}
    return rates


@pytest.mark.parametrize("seed", range(CASES))
def test_fair_rates_match_the_definition(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randint(1, 6)
    flows = [
        rng.sample(range(count), rng.randint(1, min(3, count))) for _ in range(rng.randint(1, 9))
    ]
    room = [Fraction(rng.randint(1, 9)) for _ in range(count)]
    padded = np.full((len(flows), 3), count)
    for row, lanes in zip(padded, flows, strict=True):
        row[: len(lanes)] = lanes
    found = max_min_rates(padded, np.array([*map(float, room), np.inf]))
    assert found == pytest.approx([float(x) for x in filled(flows, room)])


@pytest.mark.parametrize("seed", range(CASES // 3))
def test_each_send_flows_at_its_fair_rate_all_the_time(seed: int) -> None:
    for one in count(1000 * seed):
        _, stored, network, _ = case(one)
        found = simulate_algorithm(stored, network, Semantics(sharing=Sharing.FAIR), 1 << 20)
        links = stored.instance.topology.links_of(found.sends[:, 1], found.sends[:, 2])
        lanes = network.strand_lanes
        meet = lanes.shape[1] > 1 or len(np.unique(lanes)) < len(lanes)
        # The parts of a send over several ways end at different times.
        if meet and all(len(network.routes[link]) == 1 for link in links.tolist()):
            break
    ways = [list(network.routes[link][0].lanes) for link in links.tolist()]
    ends, sizes = np.zeros((2, len(ways)))
    ends[found.passages.send], sizes[found.passages.send] = found.passages.end, found.passages.size
    carried, room = np.zeros(len(ways)), [lane.bandwidth for lane in network.lanes]
    for low, high in pairwise(sorted({*found.left.tolist(), *ends.tolist()})):
        going = np.flatnonzero((found.left <= low) & (ends >= high))
        rates = filled([ways[i] for i in going.tolist()], room)
        carried[going] += np.array(list(map(float, rates))) * (high - low)
    assert carried == pytest.approx(sizes, rel=1e-6)


@pytest.mark.parametrize("seed", range(CASES // 3))
def test_fair_sharing_carries_all_bytes_and_no_lane_too_many(seed: int) -> None:
    rng, stored, network, _ = case(seed)
    found = simulate_algorithm(stored, network, Semantics(sharing=Sharing.FAIR), 1 << 20)
    passages = found.passages
    rates = np.array([float(lane.bandwidth) for lane in network.lanes])
    # Between any two moments a lane carries the bytes of sends that began and ended between them,
    # within its capacity.
    for lane in range(len(network.lanes)):
        mine = passages.lane == lane
        for begin in set(passages.start[mine].tolist()):
            for end in set(passages.end[mine].tolist()):
                inside = mine & (passages.start >= begin) & (passages.end <= end)
                if inside.any():
                    assert passages.size[inside].sum() <= rates[lane] * (end - begin) * (1 + 1e-6)
    if all(lane.ends for lane in network.lanes) and network.strand_lanes.shape[1] == 1:
        # Without sharing it is the other simulation.
        alone = simulate_algorithm(stored, network, Semantics(), 1 << 20)
        assert float(found.seconds) == pytest.approx(float(alone.seconds), rel=1e-6)
    del rng


def classic(name: str, topology: str, collective: str) -> list[StoredAlgorithm]:
    session = syncoll.Session()
    where = session.topology(topology)
    found, _ = session.classics(where, session.collective(collective), [name])
    return found[name]


@pytest.mark.parametrize("nodes", [4, 7])
def test_a_ring_takes_the_textbook_time(nodes: int) -> None:
    """Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH
    (2005), section 4: (P - 1) alpha + (P - 1) n beta for n bytes of each node."""
    ring = Topology.from_links("one way", nodes, {(i, (i + 1) % nodes): 1 for i in range(nodes)})
    session = syncoll.Session()
    found, _ = session.classics(ring, session.collective("allgather"), ["ring"])
    (one,) = found["ring"]
    network = physical_network(ring, ALPHA, BETA)
    (seconds,) = SimulatedSeconds(network, Semantics())(one, [1000])
    assert float(seconds) == pytest.approx(float((nodes - 1) * (ALPHA + 1000 / BETA)), rel=1e-12)


def test_a_binomial_tree_takes_the_textbook_time() -> None:
    """The same, section 4.3: log2 P (alpha + n beta)."""
    (one,) = classic("binomial", "hypercube(3)", "broadcast")
    network = physical_network(one.instance.topology, ALPHA, BETA)
    (seconds,) = SimulatedSeconds(network, Semantics())(one, [1 << 20])
    assert float(seconds) == pytest.approx(float(3 * (ALPHA + (1 << 20) / BETA)), rel=1e-12)


def test_halving_and_doubling_take_the_textbook_time() -> None:
    """The same, section 4.5: 2 log2 P alpha + 2 (P - 1)/P n beta, in lockstep."""
    topology = syncoll.topology("hypercube(3)")
    collective = syncoll.collective("allreduce")
    seed = HALVING_DOUBLING
    proposal = next(seed.propose(topology, collective, SeedLimits(), {"bigraph": ""}))
    algorithm = proposal.algorithm.tightened(topology)
    instance = collective.instantiate(
        topology, chunks=proposal.chunks, steps=algorithm.steps, rounds=algorithm.rounds
    )
    network, stored = (
        physical_network(topology, ALPHA, BETA),
        StoredAlgorithm(instance, algorithm, ""),
    )
    sizes = [8, 8000, 1 << 20]
    textbook = [6 * ALPHA + Fraction(14, 8) * size / BETA for size in sizes]
    lockstep = SimulatedSeconds(network, Semantics(timing=Timing.LOCKSTEP))(stored, sizes)
    assert list(lockstep) == textbook
    # Asynchronously, chunks that arrived first continue while others of the step arrive.
    free = SimulatedSeconds(network, Semantics())(stored, sizes)
    assert all(one < other for one, other in zip(free, textbook, strict=True))
    assert float(free[0]) == pytest.approx(float(6 * ALPHA), rel=1e-3)


def test_lockstep_with_a_slow_lane_waits_for_its_bytes() -> None:
    topology = Topology.from_links("pair", 2, {(0, 1): 1, (1, 0): 1})
    session = syncoll.Session()
    found, _ = session.classics(topology, session.collective("allgather"), ["ring"])
    network = physical_network(topology, ALPHA, BETA)
    slow = Semantics(timing=Timing.LOCKSTEP, slow=(parse_slow("0->1 by 3"),))
    assert SimulatedSeconds(network, slow)(found["ring"][0], [1000]) == (ALPHA + 3 * 1000 / BETA,)
