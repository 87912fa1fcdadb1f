"""Floors: no algorithm on any network is faster, for any semantics."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest

import syncoll
from syncoll.model import BandwidthBound, Counting, Topology
from syncoll.wording import gap
from tests.oracles.fabrics import random_fabric

QUICK = {"progress": "none", "backend": "all_pairs"}


def require_slower(found: syncoll.FrontierResult, random: Random) -> None:
    """Every point and classic is no faster than the floor, and none of the floors is 0."""
    for how in (
        {"timing": "lockstep"},
        {"switching": random.choice(["cut-through", "store-and-forward"])},
        {"sharing": "fair", "late": ["rank 0 by 3us"]},
        {"packet": 512, "header": 32, "overhead": "1us", "depth": 1},
    ):
        alpha = "0us" if random.random() < 0.3 else "2us"
        compared = syncoll.simulate(
            found, alpha=alpha, beta="25GB/s", sizes=["1KiB", "64KiB", "16MiB"], **how
        )  # type: ignore[arg-type]
        for number in range(3):
            floor = compared.floor(number)
            assert floor is not None
            assert floor > 0
            for one in (*compared.algorithms, *compared.classics):
                assert one.seconds[number] >= floor


@pytest.mark.parametrize("seed", range(5))
def test_random_networks_with_switches(seed: int) -> None:
    random = Random(seed)
    fabric = random_fabric(random, irregular=bool(seed % 2))
    named = ("allgather", "reducescatter", "alltoall", "broadcast(root=0)", "allreduce")
    collective = named[seed]
    require_slower(syncoll.pareto(fabric, collective, **QUICK), random)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["hub(4)", "routed ring(5)"])
def test_links_and_ports(name: str) -> None:
    require_slower(syncoll.pareto(name, "reducescatter", **QUICK), Random(1))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("end", "counts", "collective"),
    [
        (0, Counting.SOURCES, "allgather"),
        (0, Counting.SOURCES, "broadcast(root=0)"),
        (1, Counting.DESTINATIONS, "reducescatter"),
        (1, Counting.DESTINATIONS, "reduce(root=0)"),
    ],
)
def test_ports_that_count_once(end: int, counts: Counting, collective: str) -> None:
    links = [(a, b) for a in range(4) for b in range(4) if a != b]
    ports = [tuple(link for link in links if link[end] == node) for node in range(4)]
    bounds = tuple(BandwidthBound(port, Fraction(1), "port", counts) for port in ports)
    topology = Topology("ports", 4, tuple(links), bounds)
    found = syncoll.pareto(topology, collective, **QUICK)  # type: ignore[arg-type]
    sizes = ["4KiB", "64KiB"]
    compared = syncoll.simulate(found, alpha="1us", beta="1GB/s", sizes=sizes, classics=False)
    for number in range(2):
        floor = compared.floor(number)
        assert floor is not None
        assert min(one.seconds[number] for one in compared.algorithms) >= floor > 0


def test_a_ring_reaches_the_floor() -> None:
    """The ring's time is the floor except for its latencies."""
    ring = Topology.from_links("one way", 4, {(i, (i + 1) % 4): 1 for i in range(4)})
    found = syncoll.pareto(ring, "allgather", progress="none")
    compared = syncoll.simulate(found, alpha="1us", beta="1GB/s", sizes=["4MiB"], classics=False)
    floor, size = compared.floor(0), 1 << 20
    assert floor == pytest.approx(1e-6 + 3 * size / 1e9)
    assert compared.best(0).seconds[0] == pytest.approx(Fraction(3 * (1000 + size), 10**9))


def test_small_messages_take_their_way() -> None:
    found = syncoll.pareto("line(5)", "broadcast(root=1)", progress="none", max_steps=4)
    compared = syncoll.simulate(found, alpha="1us", beta="1GB/s", sizes=[4], classics=False)
    assert compared.floor(0) == pytest.approx(3e-6)
    assert compared.document()["best"][0]["floor"] == compared.floor(0)


def test_one_node_alone_takes_no_time() -> None:
    alone = Topology.from_links("alone", 1, {})
    found = syncoll.pareto(alone, "allgather", progress="none")
    compared = syncoll.simulate(found, alpha="1us", beta="1GB/s", sizes=[4], classics=False)
    assert compared.floor(0) == 0


@pytest.mark.parametrize("timing", ["asynchronous", "lockstep"])
def test_an_algorithm_without_a_frontier_is_bounded_by_cuts(timing: str, tmp_path: Path) -> None:
    """Each node of a ring must get three parts through its two incoming links."""
    one = tmp_path / "one.json"
    syncoll.solve("ring(4)", "allgather", chunks=2, steps=2, rounds=3).save(one)
    frontier = syncoll.pareto("ring(4)", "allgather", progress="none", max_chunks=2)
    unproved = replace(frontier, evidence=None, least_bandwidth=Fraction(0), least_steps=0)
    for source in (one, unproved):
        found = syncoll.simulate(
            source, alpha="1us", beta="1GB/s", sizes=["4MiB"], classics=False, timing=timing
        )  # type: ignore[call-overload]
        assert found.floor(0) == pytest.approx(1e-6 + Fraction(3, 2) * (1 << 20) / 1e9)


def test_in_lockstep_the_bounds_for_each_number_of_steps_count() -> None:
    """On two triangles that share a node every point is optimal for its S, so no algorithm is
    faster at any size than the best point.
    """
    edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2)]
    links = {ends: 1 for a, b in edges for ends in ((a, b), (b, a))}
    found = syncoll.pareto(
        Topology.from_links("bow tie", 5, links), "broadcast(root=0)", progress="none", max_steps=4
    )
    proofs = [found.proof(point) for point in found]
    assert all(proof is not None and proof.bound == proof.best for proof in proofs)
    how = {"alpha": "1us", "beta": "1GB/s", "classics": False, "timing": "lockstep"}
    compared = syncoll.simulate(found, sizes=[1, 1000, 2000], **how)  # type: ignore[arg-type]
    for number in range(3):
        assert compared.floor(number) == pytest.approx(float(compared.best(number).seconds[number]))


def test_a_large_gap_is_a_factor() -> None:
    assert [gap(one, 2.0) for one in (2, 2 + 4e-9, 2.2, 3.98, 4, 9, 2e6)] == [
        *("optimal", "optimal", "10 %", "99 %", "2x", "4.5x", "1000000x")
    ]
    found = syncoll.pareto("hub(6)", "allreduce", progress="none", backend="all_pairs")
    slow = replace(found, points=found.points[1:])  # of two steps instead of one
    shown = str(slow.simulate(alpha="1us", beta="25GB/s", sizes=[1], classics=False))
    assert re.search(r"points\[0\] +2.00 +1.00 +2x\n", shown)
