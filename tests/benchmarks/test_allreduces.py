"""Allreduces on the links of networks take the times of formulas and another simulator."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from benchmarks.papers.multitree.allreduces import (
    BANDWIDTH,
    LATENCY,
    halving_doubling,
    on_links,
    ring,
    segmented_trees,
    trees,
)
from benchmarks.papers.multitree.machines import Machine, bigraph, grid
from syncoll.errors import SyncollError
from syncoll.simulating import Injection, Semantics

SIZES = [1 << 10, 100_000, 1 << 22]
PACKETS = Semantics(injection=Injection.LOCKSTEP, packet=256, header=16)
MESSAGES = Semantics(injection=Injection.LOCKSTEP, header=16)


@pytest.fixture(scope="module")
def torus() -> Machine:
    return grid(4, 4, True)


@pytest.mark.parametrize("semantics", [PACKETS, MESSAGES])
def test_a_ring_takes_the_time_of_its_formula(torus: Machine, semantics: Semantics) -> None:
    """2 (P - 1) times the latency of a link and a P-th of the data, heads included."""
    found = on_links(torus, ring(torus)).seconds(SIZES, semantics)
    heads = [-(-size // 16 // 256) if semantics is PACKETS else 1 for size in SIZES]
    wire = [size / 16 + 16 * count for size, count in zip(SIZES, heads, strict=True)]
    expected = [30 * (float(LATENCY) + one / float(BANDWIDTH)) for one in wire]
    assert found == pytest.approx(expected, rel=1e-12)


def test_multitrees_steps_are_full_for_large_data(torus: Machine) -> None:
    """15 parts of 16 go in, twice, over four links: 15/32 of the data over each."""
    (seconds,) = on_links(torus, trees(torus)).seconds([1 << 30], MESSAGES)
    assert seconds == pytest.approx(8 * (1 << 30) / 16 / float(BANDWIDTH), rel=1e-4)


def test_reserved_ways_are_taken_and_full() -> None:
    """15 parts of 16 go in and out of each node of a BiGraph, twice."""
    machine = bigraph(4, 4)
    made = trees(machine)
    found = on_links(machine, made)
    (seconds,) = found.seconds([1 << 28], MESSAGES)
    assert seconds == pytest.approx(2 * 15 / 16 * (1 << 28) / float(BANDWIDTH), rel=1e-3)
    ends = [lane.ends for lane in found.work.network.lanes]
    ways = {tuple(ends[lane] for lane in strand.lanes) for (strand,) in found.work.network.routes}
    assert ways == {tuple(pairwise(way)) for way in made.ways.values()}


def test_segments_fill_both_trees(torus: Machine) -> None:
    one, eight = (on_links(torus, segmented_trees(torus, n)) for n in (1, 8))
    assert (one.parts, eight.parts) == (2, 16)
    small, large = (x.seconds([1 << 12, 1 << 26], MESSAGES) for x in (one, eight))
    assert small[0] < 1.5 * large[0]
    assert large[1] < small[1]


def test_other_collectives_are_refused(torus: Machine) -> None:
    made = ring(torus)
    sends, carried = made.sends
    keep = np.arange(len(sends)) != 7
    with pytest.raises(SyncollError):
        on_links(torus, replace(made, sends=(sends[keep], carried[keep])))


def test_a_message_waits_for_all_that_it_carries() -> None:
    """Halving and doubling, message by message: in each step a node has one for its peer."""
    machine = bigraph(4, 4)
    work = on_links(machine, halving_doubling(machine)).work
    sends = work.sends
    for number in range(0, len(sends), 7):
        source, step = sends[number, 1], sends[number, 3]
        needs = set(work.needs[work.first_need[number] : work.first_need[number + 1]].tolist())
        came = np.flatnonzero((sends[:, 2] == source) & (sends[:, 3] == step - 1))
        same = (sends[:, 1] == source) & (sends[:, 3] == step)
        carried = set(sends[same, 0].tolist())
        assert {i for i in came if sends[i, 0] in carried} <= needs
        assert all(sends[i, 2] == source and sends[i, 3] < step for i in needs)
