"""Simulated: a copy passes its source's cable once, and a sum its destination's."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import syncoll
from syncoll.documents import StoredAlgorithm
from syncoll.errors import UsageError
from syncoll.model import Algorithm, Counting, Instance
from syncoll.routing import route
from syncoll.simulating.floors import floors
from syncoll.simulating.network import physical_network
from syncoll.simulating.semantics import Semantics, Sharing, Timing
from syncoll.simulating.simulation import SimulatedSeconds, simulate_algorithm
from tests.oracles.counted import box

from .test_counting import reduction, summed

ALPHA, UNIT = Fraction(1, 10**6), Fraction(10**9)


def stored(instance: Instance, algorithm: Algorithm) -> StoredAlgorithm:
    return StoredAlgorithm(instance, algorithm, "here")


def both(one: StoredAlgorithm) -> list[float]:
    """Lockstep and asynchronous, in rounds of a chunk of 1 MB after one latency a step."""
    network = physical_network(one.instance.topology, ALPHA, UNIT)
    return [
        float(SimulatedSeconds(network, Semantics(timing=timing))(one, [10**6])[0])
        for timing in (Timing.LOCKSTEP, Timing.ASYNCHRONOUS)
    ]


def moving(multicast: bool, rounds: int) -> StoredAlgorithm:
    pre = np.eye(1, 4, dtype=bool)
    instance = Instance(box(4, multicast=multicast), "broadcast", 1, 1, rounds, pre, ~pre)
    return stored(instance, Algorithm((rounds,), [(0, 0, n, 0) for n in (1, 2, 3)]))


def adding(reduce: bool, rounds: int) -> StoredAlgorithm:
    sends = [(0, n, 0, 0, [n]) for n in (1, 2, 3)]
    return stored(reduction(box(4, reduce=reduce), 1, rounds, [0]), summed((rounds,), sends, 4))


@pytest.mark.parametrize("make", [moving, adding])
def test_sends_counted_as_one_take_the_time_of_one(make) -> None:  # type: ignore[no-untyped-def]
    assert both(make(True, 1)) == pytest.approx([1e-6 + 1e-3] * 2)
    assert both(make(False, 3)) == pytest.approx([1e-6 + 3e-3] * 2)


def test_a_sum_waits_for_its_last_part() -> None:
    """The second chunk waits for the first on both cables, so that its sum comes a round later."""
    sends = [(0, 1, 0, 0, [1]), (0, 2, 0, 0, [2]), (1, 1, 0, 0, [1]), (1, 2, 0, 0, [2])]
    one = stored(reduction(box(3), 1, 2, [0], chunks=2), summed((2,), sends, 3))
    network = physical_network(one.instance.topology, ALPHA, UNIT)
    found = simulate_algorithm(one, network, Semantics(timing=Timing.ASYNCHRONOUS), 2 * 10**6)
    assert sorted(found.arrived.tolist()) == pytest.approx([1.001e-3] * 2 + [2.001e-3] * 2)
    lanes = [network.lanes[i].name for i in found.passages.lane.tolist()]
    assert sorted(lanes) == ["cable 0 1"] * 2 + ["cable 1 0"] * 2 + ["cable 2 0"] * 2


def test_a_slow_cable_carries_a_copy_once() -> None:
    network = physical_network(box(4), ALPHA, UNIT)
    slow = next(lane.name for lane in network.lanes if lane.name == "cable 0 0")
    semantics = Semantics(timing=Timing.LOCKSTEP)
    one = moving(True, 1)
    lane = [x.name for x in network.lanes].index(slow)
    from syncoll.simulating.lockstep import step_seconds
    from syncoll.simulating.workload import workload_of

    slower = network.slowed([lane], Fraction(2))
    work = workload_of(one.instance, one.algorithm, slower, symmetric=False)
    seconds = step_seconds(work, (1,), network, semantics, Fraction(10**6))
    assert seconds == [ALPHA + Fraction(2, 1000)]


def test_fair_sharing_counts_every_send() -> None:
    network = physical_network(box(4), ALPHA, UNIT)
    semantics = Semantics(timing=Timing.ASYNCHRONOUS, sharing=Sharing.FAIR)
    with pytest.raises(UsageError, match="copy or reduce"):
        SimulatedSeconds(network, semantics)(moving(True, 1), [10**6])


@pytest.mark.parametrize("network", ["bigraph(4,8)", "a100(boxes=2)", "dgx_h100(boxes=2)"])
def test_lanes_only_merge_sends_that_bounds_count_as_one(network: str) -> None:
    """Otherwise a floor from proved rounds could exceed the simulated time."""
    fabric = syncoll.fabric(network)
    every = tuple(range(fabric.num_nodes, fabric.num_vertices))
    routing = route(replace(fabric, multicast=every, reduce=every))
    found = physical_network(routing.topology, ALPHA, UNIT)
    shared: dict[int, set[int]] = {}
    for link, strands in enumerate(found.routes):
        for lane in {lane for strand in strands for lane in strand.lanes}:
            shared.setdefault(lane, set()).add(link)
    counted = [
        {*members.tolist()}
        for bound, members in zip(
            routing.topology.bounds, routing.topology.bound_links, strict=True
        )
        if bound.counts is not Counting.SENDS
    ]
    assert bool(counted) == (network != "bigraph(4,8)")
    for lane, links in shared.items():
        if len(links) > 1 and found.lanes[lane].counts is not Counting.SENDS:
            assert not routing.removed
            assert not routing.bypassed
    if not counted:
        assert {lane.counts for lane in found.lanes} == {Counting.SENDS}


def test_floors_never_exceed_simulated_times() -> None:
    network = physical_network(box(4), ALPHA, UNIT)
    for one, cost in ((moving(True, 1), 1), (adding(True, 1), 1)):
        (least,) = floors(one.instance, network, [10**6], least_steps=1, least_cost=Fraction(cost))
        assert 1e-3 < least <= min(both(one)) * (1 + 1e-9)
