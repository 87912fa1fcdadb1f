"""Sends in the order in which their data arrives."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from syncoll import topology as machine
from syncoll.documents import StoredAlgorithm
from syncoll.model import Counting
from syncoll.session import Session
from syncoll.simulating import (
    Order,
    Protocol,
    Runtime,
    Semantics,
    Sharing,
    SimulatedSeconds,
    Timing,
    physical_network,
    runtime,
    simulate_algorithm,
)
from syncoll.simulating.arrivals import by_arrival
from syncoll.simulating.workload import workload_of


def classic(name: str, on: str, collective: str) -> StoredAlgorithm:
    session = Session()
    found, _ = session.classics(machine(on), session.collective(collective), [name], 60.0)
    return replace(found[name][0], where=name)


def test_a_ring_over_one_card_does_not_hold_up_the_others() -> None:
    ring = classic("nccl_ring", "a100(boxes=2)", "allgather")
    network = physical_network(ring.instance.topology)
    far = Fraction(100, 10**6)
    slow = replace(
        network, extra=tuple(far * (x % 8 == y % 8) for x, y in ring.instance.topology.links)
    )
    free, waiting = (
        SimulatedSeconds(slow, Semantics(order=order))(ring, [1])[0]
        for order in (Order.ARRIVALS, Order.EXPORTS)
    )
    # A chunk crosses to the other box once or twice.
    assert 2 * far < free < 3 * far
    assert waiting > 5 * far
    assert free == pytest.approx(
        float(SimulatedSeconds(slow, Semantics(sharing=Sharing.FAIR))(ring, [1])[0]), rel=1e-3
    )


@pytest.mark.parametrize(
    ("name", "on", "collective"),
    [
        ("nccl_tree", "mi300x", "allreduce"),
        ("nvls", "dgx_h100(nvls=true)", "allreduce"),
        ("pairwise", "a100(boxes=2)", "alltoall"),
    ],
)
def test_data_is_there_before_it_is_sent(name: str, on: str, collective: str) -> None:
    stored = classic(name, on, collective)
    network = physical_network(stored.instance.topology)
    work = workload_of(stored.instance, stored.algorithm, network, symmetric=False, messages=True)
    moved = by_arrival(work, Semantics(message=Fraction(1, 10**6)))
    assert sorted(map(tuple, moved.sends.tolist())) == sorted(map(tuple, work.sends.tolist()))
    for low, high in zip(moved.first_step[:-1], moved.first_step[1:], strict=True):
        needs = moved.needs[moved.first_need[low] : moved.first_need[high]]
        assert (needs < low).all()
    if moved.together is not None:  # copies and parts of a sum pass at once
        step = np.searchsorted(moved.first_step, np.arange(len(moved)), side="right")
        for group in moved.together:
            assert len(np.unique(group)) == len(np.unique(np.stack([group, step]), axis=1).T)


def test_libraries_take_the_faster_order() -> None:
    ring = classic("nccl_ring", "a100(boxes=2)", "allgather")
    network = physical_network(ring.instance.topology)
    simple = replace(runtime("nccl:Simple"), name="one")
    found = simulate_algorithm(ring, network, Semantics(), 4096, simple)
    assert found.semantics.order is Order.ARRIVALS
    (setting,) = simple.settings(network)
    by_hand = [
        SimulatedSeconds(setting.network, replace(setting.semantics, order=order))(ring, [4096])[0]
        for order in Order
    ]
    assert found.seconds == min(by_hand) < max(by_hand)


@pytest.mark.parametrize(
    "semantics",
    [Semantics(timing=Timing.LOCKSTEP), Semantics(sharing=Sharing.FAIR), Semantics(depth=2)],
)
def test_other_semantics_have_one_order(semantics: Semantics) -> None:
    network = physical_network(machine("mi300x"))
    tree = classic("nccl_tree", "mi300x", "allreduce")
    times = SimulatedSeconds(network, semantics, runtime=runtime("nccl:Simple"))
    assert [one.semantics.order for one in times.settings(tree)] == [Order.EXPORTS]


def test_flags_of_senders_leave_no_copies_to_switches() -> None:
    nvls = classic("nvls", "dgx_h100(nvls=true)", "allreduce")
    network = physical_network(nvls.instance.topology)
    (packets,) = runtime("mscclpp:LL").protocols
    (simple,) = runtime("mscclpp:Simple").protocols
    wide = replace(simple, name="wide", call=packets.call)

    def seconds(*protocols: Protocol) -> Fraction:
        library = Runtime("library", "a test", protocols)
        return SimulatedSeconds(network, Semantics(), runtime=library)(nvls, [1 << 20])[0]

    copying = replace(packets, in_switches=True)
    assert seconds(packets) > seconds(copying)
    assert not any(lane.counts != Counting.SENDS for lane in packets.network(network).lanes)
    # The first protocol does not decide for later ones.
    assert seconds(packets, wide) == seconds(wide, packets) == seconds(wide)
