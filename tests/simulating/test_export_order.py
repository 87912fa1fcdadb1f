"""Simulations follow exports: ranks send in the order that exporters write."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import syncoll
from syncoll.documents import StoredAlgorithm
from syncoll.model import Algorithm, Topology
from syncoll.plugins import ExportRequest
from syncoll.runtime import Action, lower
from syncoll.simulating import Semantics, Sharing, SimulatedSeconds, physical_network
from syncoll.simulating.simulation import simulate_algorithm

NODES = 6
RATE, LATENCY = Fraction(50 * 10**9), Fraction(3, 10**7)
SIZES = (1 << 20, 1 << 26)


@pytest.fixture
def star(tmp_path: Path) -> Topology:
    """Six nodes on one switch, 50 GB/s and 300 ns a cable."""
    path = tmp_path / "star.syncoll"
    path.write_text(
        f"topology star {{ nodes {NODES} switches 1 link (g, switch(0)) both ways for g in nodes "
        "bandwidth 50 GB/s latency 300 ns }"
    )
    return syncoll.topology(f"{path}:star")


def at_once(topology: Topology, name: str, chunks: int) -> StoredAlgorithm:
    """Every chunk goes directly to all its destinations, in one step."""
    collective = syncoll.collective(name)
    table = collective.tabulate(topology.num_nodes, chunks)
    rounds = int((table.post & ~table.pre).sum()) // topology.num_nodes
    instance = collective.instantiate(topology, chunks=chunks, steps=1, rounds=rounds)
    sends = [
        (chunk, source, node, 0)
        for chunk, source in np.argwhere(instance.pre).tolist()
        for node in np.flatnonzero(instance.post[chunk] & ~instance.pre[chunk]).tolist()
    ]
    return StoredAlgorithm(instance, Algorithm((rounds,), np.array(sends)), "at once")


@pytest.mark.parametrize("sharing", Sharing)
@pytest.mark.parametrize(("name", "chunks"), [("alltoall", NODES), ("allgather", 2)])
def test_an_optimal_step_through_a_switch_takes_its_load(
    star: Topology, name: str, chunks: int, sharing: Sharing
) -> None:
    one, network = at_once(star, name, chunks), physical_network(star)
    semantics = Semantics(sharing=sharing)
    times = SimulatedSeconds(network, semantics)(one, SIZES)
    for size, seconds in zip(SIZES, times, strict=True):
        loads = one.bandwidth * size / RATE + 2 * LATENCY
        assert float(seconds) == pytest.approx(float(loads), rel=0.01)
    rings, _ = syncoll.Session().classics(star, syncoll.collective(name), ["ring"])
    assert rings
    for ring in rings["ring"]:
        others = SimulatedSeconds(network, semantics)(ring, SIZES)
        assert all(mine <= other for mine, other in zip(times, others, strict=True))


def test_each_rank_sends_in_the_order_of_its_export(star: Topology) -> None:
    rng = random.Random(3)
    whole = at_once(star, "allgather", 3)
    # In two steps, so that ranks send different numbers of chunks in each.
    sends = []
    for chunk, source, node, _ in whole.algorithm.sends.tolist():
        late = rng.random() < 0.4
        sends.append((chunk, source, node, int(late)))
    algorithm = Algorithm((30, 30), np.array(sends))
    instance = syncoll.collective("allgather").instantiate(star, chunks=3, steps=2, rounds=60)
    found = simulate_algorithm(
        StoredAlgorithm(instance, algorithm, ""), physical_network(star), Semantics(), 1 << 20
    )
    exported = lower(ExportRequest("x", "allgather", instance, algorithm, False))
    for rank in exported.ranks:
        wanted = [(x.chunk, x.peer) for x in rank.operations if x.action is Action.SEND]
        mine = np.flatnonzero(found.sends[:, 1] == rank.rank)
        mine = mine[np.argsort(found.left[mine], kind="stable")]
        assert [(c, to) for c, _, to, _ in found.sends[mine].tolist()] == wanted
