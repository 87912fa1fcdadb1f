"""Bounds by flows over time: none is above the least time of all schedules."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest

import syncoll
from syncoll.bounding.flows_over_time import flows_over_time
from syncoll.certificates import ChunkClasses, DemandView
from syncoll.certificates.flows_over_time import FlowsOverTime, TimedNetwork
from syncoll.documents import StoredAlgorithm
from syncoll.errors import VerificationError
from syncoll.model import Algorithm, Topology
from syncoll.simulating import Semantics, Sharing, SimulatedSeconds, physical_network, timed_network
from syncoll.simulating.floors import floors
from syncoll.simulating.network import Lane, PhysicalNetwork, Strand
from syncoll.simulating.runtime_files import runtime
from syncoll.trust import require_valid
from tests.oracles.timed_schedules import least_time

BYTES = 6
"""Of a chunk; on links of 1 to 3 chunks for each time unit of 6 it takes 2 to 6."""


def tiny(random: Random) -> PhysicalNetwork:
    """Three nodes with latencies of 0 to 3 s and chunks of 1 to 3 s."""
    links = [(0, 1), (1, 2), (2, 0)]
    links += random.sample([(1, 0), (2, 1), (0, 2)], random.randint(0, 3))
    rate = {link: Fraction(6, random.randint(1, 3)) for link in sorted(links)}
    topology = Topology.from_links("tiny", 3, rate)
    lanes = tuple(
        Lane(f"{a} -> {b}", rate[a, b], Fraction(random.randint(0, 3)), ends=(a, b))
        for a, b in topology.links
    )
    routes = tuple((Strand(Fraction(1), (i,)),) for i in range(len(lanes)))
    return PhysicalNetwork(topology, lanes, routes, Fraction(0), Fraction(1))


def require_no_floor_above(seed: int) -> float:
    """The floor over the least time, which it must not exceed."""
    random = Random(seed)
    network = tiny(random)
    known = [("allgather", 1), ("broadcast(root=0)", 2), ("broadcast(root=0)", 3)]
    known += [("scatter(root=0)", 1), ("gather(root=0)", 1), ("reduce(root=0)", 1)]
    known += [("allreduce", 1)] * 2
    name, chunks = random.choice(known)
    instance = syncoll.Session().collective(name)
    topology = network.topology
    least = instance.least_chunks(3) or 1
    made = instance.instantiate(topology, chunks=least * chunks, steps=4, rounds=4)
    lanes = dict(zip(topology.links, network.lanes, strict=True))
    latency = {link: int(lane.latency) for link, lane in lanes.items()}
    takes = {link: int(BYTES / lane.bandwidth) for link, lane in lanes.items()}
    best = least_time(made, latency, takes)
    floor = floors(made, network, [BYTES * made.chunks])[0]
    assert floor <= best * (1 + 1e-9), (seed, name)
    return floor / best if best else 1.0


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_no_schedule_of_a_tiny_machine_beats_the_floor(first: int) -> None:
    ratios = [require_no_floor_above(seed) for seed in range(first, first + 20)]
    assert max(ratios) > 0.9


def test_two_hops_pipeline_their_bytes() -> None:
    """1 s to the middle, then 2 s and 3 bytes at 1 byte/s: nothing is faster than 6 s."""
    links = {(0, 1): 2, (1, 2): 1}
    topology = Topology.from_links("line", 3, links)
    lanes = (
        Lane("0 -> 1", Fraction(2), Fraction(1), ends=(0, 1)),
        Lane("1 -> 2", Fraction(1), Fraction(2), ends=(1, 2)),
    )
    routes = tuple((Strand(Fraction(1), (i,)),) for i in range(2))
    network = PhysicalNetwork(topology, lanes, routes, Fraction(0), Fraction(1))
    broadcast = syncoll.Session().collective("broadcast(root=0)")
    instance = broadcast.instantiate(topology, chunks=1, steps=2, rounds=2)
    assert floors(instance, network, [3], flows=False)[0] == pytest.approx(4)
    assert 5.9 < floors(instance, network, [3])[0] <= 6


@pytest.mark.parametrize(
    ("collective", "fair"),
    [("reduce(root=0) within [[1, 3]]", False), ("broadcast(root=1) within [[1, 3]]", True)],
)
def test_ways_of_unequal_latencies_share_a_lane(collective: str, fair: bool) -> None:
    """Half of the data leaves on the last lane while the other half is on its way to it."""
    links = {(0, 1): 1, (2, 1): 1, (3, 0): 1000, (3, 2): 1000}
    topology = Topology.from_links("two ways", 4, links)
    names = {"fast": (1000, 0), "late": (1000, 5), "long": (1000, 5), "last": (1, 0)}
    lanes = tuple(Lane(x, Fraction(y), Fraction(z)) for x, (y, z) in names.items())
    ways = {(0, 1): (2, 3) if fair else (3,), (2, 1): (3,), (3, 0): (0,), (3, 2): (1,)}
    routes = tuple((Strand(Fraction(1), ways[link]),) for link in topology.links)
    extra = tuple(Fraction(5 if link == (0, 1) and not fair else 0) for link in topology.links)
    network = PhysicalNetwork(topology, lanes, routes, Fraction(0), Fraction(1), extra=extra)
    asked = syncoll.Session().collective(collective)
    instance = asked.instantiate(topology, chunks=10, steps=3, rounds=11)
    sends = [(i, 3, 0, 0) for i in range(5)] + [(i, 3, 2, 0) for i in range(5, 10)]
    sends += [(i, 0, 1, 1) for i in range(5)] + [(i, 2, 1, 2) for i in range(5, 10)]
    carried = np.tile(np.arange(4) == 3, (20, 1)) if instance.combining else None
    algorithm = Algorithm((1, 5, 5), np.array(sends), carried)
    require_valid(instance, algorithm)
    semantics = Semantics(sharing=Sharing.FAIR if fair else Sharing.IN_TURN)
    stored = StoredAlgorithm(instance, algorithm, "")
    (seconds,) = SimulatedSeconds(network, semantics)(stored, [10])
    assert 0.99 * seconds < floors(instance, network, [10], fair=fair)[0] <= seconds


@pytest.mark.parametrize(("collective", "seed"), [("allgather", "bfb"), ("alltoall", "timedtrees")])
def test_floors_of_two_boxes_are_near_the_simulated_times(collective: str, seed: str) -> None:
    """Small messages wait for latencies, large ones for the cards between the boxes."""
    found = syncoll.pareto("dgx_h100(boxes=2)", collective, progress="none", backend=seed)
    compared = syncoll.simulate(found, sizes=["64KiB", "1MiB"], progress="none", classics=False)
    for number in range(2):
        best = float(compared.best(number).seconds[number])
        floor = compared.floor(number)
        assert floor is not None
        assert best / 2 < floor <= best


@pytest.mark.parametrize(
    ("copies", "sums", "size"), [("broadcast", "reduce", 1), ("allgather", "reducescatter", 4)]
)
def test_sums_through_switches_have_the_floor_of_copies(copies: str, sums: str, size: int) -> None:
    """No switch copies or adds up, and all sends between the leaves share one lane."""
    leaves = "leaf_spine([[2], [2]], spines=1, cards=[10, 10], uplinks=[[4], [4]])"
    network = physical_network(syncoll.topology(leaves), Fraction(1), Fraction(1))
    found = []
    for name, amount in ((copies, Fraction(1, 2)), (sums, Fraction(size, 2))):
        asked = syncoll.Session().collective(name)
        least = asked.least_chunks(4) or 1
        instance = asked.instantiate(network.topology, chunks=least, steps=4, rounds=4)
        found.append(floors(instance, network, [amount])[0])
        assert found[-1] > 1.2 * floors(instance, network, [amount], flows=False)[0]
    assert found[1] == pytest.approx(found[0], rel=0.01)


def test_data_do_not_change_to_sends_of_less_latency() -> None:
    """Sends within a box, over lanes of the network, take half as long as others over the lanes."""
    network = physical_network(syncoll.topology("mi250(boxes=2, gpus=8)"))
    packets = runtime("mscclpp").settings(network)[0].network
    assert len({*packets.added}) > 1
    for collective, chunks in ("allgather", 1), ("reducescatter", 16):
        asked, size = syncoll.Session().collective(collective), chunks << 14
        instance = asked.instantiate(network.topology, chunks=chunks, steps=1, rounds=16)
        floor = floors(instance, packets, [size])[0]
        assert floor > 1.05 * floors(instance, packets, [size], flows=False)[0]
        sends = [(b if instance.combining else a, a, b, 0) for a, b in packets.topology.links]
        carried = np.eye(16, dtype=bool)[[a for _, a, _, _ in sends]]
        algorithm = Algorithm((16,), np.array(sends), carried if instance.combining else None)
        require_valid(instance, algorithm)
        stored = StoredAlgorithm(instance, algorithm, "")
        assert floor <= SimulatedSeconds(packets, Semantics())(stored, [size])[0]


def test_destinations_that_seem_alike_need_one_flow() -> None:
    """Each of 64 nodes gets an equal part from each other one."""
    network = physical_network(syncoll.topology("torus(8,8)"), Fraction(1), Fraction(25))
    alltoall = syncoll.Session().collective("alltoall")
    instance = alltoall.instantiate(network.topology, chunks=64, steps=8, rounds=8)
    small, large = floors(instance, network, [256, 512])
    assert 1.2 * floors(instance, network, [256], flows=False)[0] < small < large


def proof() -> tuple[FlowsOverTime, TimedNetwork, ChunkClasses]:
    """A proof for an allgather on a ring."""
    network = physical_network(syncoll.topology("ring(4)"), Fraction(1), Fraction(1))
    allgather = syncoll.Session().collective("allgather")
    instance = allgather.instantiate(network.topology, chunks=1, steps=4, rounds=4)
    shape, timed = ChunkClasses.of(instance, 1), timed_network(network)
    (found,) = flows_over_time(timed, shape, [Fraction(1)], [Fraction(2)])
    assert found is not None
    assert found.deadline > Fraction(12, 5)
    assert found.most_bytes(timed, shape) < 1
    return found, timed, shape


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"times": (Fraction(0),)}, "intervals"),
        ({"times": (Fraction(1), Fraction(2))}, "ascend from 0"),
        ({"times": (Fraction(0), Fraction(2), Fraction(2))}, "ascend"),
        ({"prices": {(99, 0): 1}}, "price of 1 for lane 99"),
        ({"prices": {(0, 0): -1}}, "price of -1"),
        ({"payments": ((1, (0, 0)),)}, "prices twice"),
        ({"payments": ((1, (9,)),)}, "does not exist"),
        ({"shares": ({}, {})}, "2 shares for 1"),
        ({"shares": ({(0, 0): 0},)}, "a share of 0"),
        ({"shares": ({(0, 0): 10**9 + 1},)}, "above the price"),
        ({"payments": ((9, (0,)),)}, "node that does not exist"),
        ({"payments": ((0, (0,)),)}, "does not need node 0"),
        ({"payments": ()}, "no demand pays"),
        ({"node": 1}, "names node 1"),
        ({"reading": DemandView.SPREAD, "node": 1}, "combines nothing"),
    ],
)
def test_proofs_that_break_a_rule_are_refused(changed: dict[str, Any], message: str) -> None:
    found, network, shape = proof()
    with pytest.raises(VerificationError, match=message):
        replace(found, **changed).most_bytes(network, shape)


def test_prices_of_any_size_prove_the_same() -> None:
    found, network, shape = proof()
    doubled = {at: 2 * price for at, price in found.prices.items()}
    most = found.most_bytes(network, shape)
    assert replace(found, prices=doubled).most_bytes(network, shape) == most
    large = {at: price << 80 for at, price in found.prices.items()}
    assert replace(found, prices=large).most_bytes(network, shape) == most
    later = replace(found, times=(*found.times[:-1], found.deadline + Fraction(1, 10)))
    with pytest.raises(VerificationError, match="no demand pays"):
        later.most_bytes(network, shape)
