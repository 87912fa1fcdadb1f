"""All proposals are valid: the fixture `propose` replays them in the verifier."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

import syncoll_classics
from syncoll.model import Algorithm, Collective, Instance, Topology, compose, invert
from syncoll.plugins import Proposal, SeedLimits
from syncoll.spec import SpecLibrary
from syncoll.trust import require_valid

Propose = Callable[..., list[Proposal]]

NAMES = [record.name for record in syncoll_classics.RECORDS]
TOPOLOGIES = (
    "ring(2)", "ring(5)", "line(5)", "dgx1", "torus(3,4)", "mesh(3,3)", "star(5)", "hub(6)",
    "bus(4)", "fully_connected(4)",
)  # fmt: skip
COLLECTIVES = (
    "allgather", "broadcast(1)", "alltoall", "gather(1)", "scatter(1)", "allreduce",
    "multi_broadcast(0, 1)", "multi_scatter(1, 0)", "multi_gather(0, 1)",
)  # fmt: skip


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("name", NAMES)
def test_every_proposal_is_valid(name: str, topology: str, propose: Propose) -> None:
    options = {"segments": 3} if name in ("ring", "double_binary_tree") else {}
    found = [propose(name, topology, collective, **options) for collective in COLLECTIVES]
    if name in ("all_pairs", "bruck"):  # these fit every collective without sums
        assert all(found[:5])


@pytest.mark.parametrize("seed", range(6))
def test_random_networks(
    seed: int, propose: Propose, random_topology: Callable[..., Topology]
) -> None:
    topology = random_topology(4 + seed % 5, seed)
    for name in NAMES:
        for collective in ("allgather", "broadcast(2)", "alltoall", "allreduce"):
            propose(name, topology, collective, SeedLimits(max_chunks=64))


@pytest.mark.parametrize("seed", range(5))
def test_shared_and_fractional_bandwidths(
    seed: int, propose: Propose, random_topology: Callable[..., Topology]
) -> None:
    rng = np.random.default_rng(seed)
    plain = random_topology(5, 100 + seed)
    links = list(plain.links)
    groups = [[links[i] for i in rng.choice(len(links), 3, replace=False)] for _ in range(3)]
    topology = Topology.from_links(
        "shared",
        5,
        {link: Fraction(int(rng.integers(3, 25)), 10) for link in links},
        [(group, Fraction(int(rng.integers(1, 6)), 2)) for group in groups],
    )
    for name in NAMES:
        for collective in ("allgather", "scatter", "allreduce"):
            propose(name, topology, collective, SeedLimits(max_chunks=32))


def made_of_allgathers(
    name: str, topology: Topology, allgather: Collective, propose: Propose
) -> list[tuple[Instance, Algorithm]]:
    """Reducescatters, and allreduces made with them, as a search makes them."""
    made = []
    turned = topology.reversed()
    for back, forth in zip(
        propose(name, turned, allgather), propose(name, topology, allgather), strict=True
    ):
        instances = [
            allgather.instantiate(
                network, chunks=p.chunks, steps=p.algorithm.steps, rounds=p.algorithm.rounds
            )
            for network, p in ((turned, back), (topology, forth))
        ]
        made.append(invert(instances[0], back.algorithm, "reducescatter"))
        made.append(compose(made[-1], (instances[1], forth.algorithm), "allreduce"))
    return made


@pytest.mark.parametrize("topology", ["ring(5)", "line(4)", "dgx1", "mesh(3,3)", "hub(4)"])
@pytest.mark.parametrize("name", NAMES)
def test_allgathers_can_be_inverted(
    name: str, topology: str, propose: Propose, specs: SpecLibrary
) -> None:
    """Inversion needs algorithms in which no node receives a chunk twice."""
    network = specs.topology(topology)
    for instance, algorithm in made_of_allgathers(
        name, network, specs.collective("allgather"), propose
    ):
        require_valid(instance, algorithm)


def test_one_way_networks_too(propose: Propose, specs: SpecLibrary) -> None:
    links = {(i, (i + 1) % 5): 1 for i in range(5)}
    topology = Topology.from_links("one way", 5, links)
    made = made_of_allgathers("ring", topology, specs.collective("allgather"), propose)
    assert [(i.steps, i.rounds, i.chunks) for i, _ in made] == [(4, 4, 5), (8, 8, 5)]


def test_demand_is_read_off_the_table(propose: Propose) -> None:
    """Chunk 1 starts at node 2 and is needed at nodes 0 and 3."""
    pre = np.eye(4, dtype=bool)[[0, 2, 2, 3]]
    post = np.array([[0, 1, 0, 0], [1, 0, 0, 1], [1, 1, 1, 1], [0, 0, 1, 0]], dtype=bool)
    collective = Collective.from_arrays("of my own", pre, post)
    for topology in ("ring(4)", "line(4)", "hub(4)"):
        for name in ("bruck", "all_pairs", "recursive_doubling"):
            assert propose(name, topology, collective)


def test_limits_are_kept(propose: Propose) -> None:
    whole = propose("ring", "dgx1", "broadcast")
    limits = SeedLimits(max_steps=8, max_rounds=8, max_chunks=9)
    limited = propose("ring", "dgx1", "broadcast", limits)
    assert whole
    assert limited
    for p in limited:
        assert p.algorithm.steps <= 8
        assert p.algorithm.rounds <= 8
        assert p.chunks <= 9
    assert propose("ring", "dgx1", "broadcast", SeedLimits(max_steps=3)) == []


def test_fewer_rings_where_chunks_are_few(propose: Propose) -> None:
    found = propose("ring", "dgx1", "allgather", SeedLimits(max_chunks=4))
    assert {p.chunks for p in found} == {4}


def test_no_time_no_proposals(propose: Propose) -> None:
    assert propose("all_pairs", "torus(4,4)", "allgather", SeedLimits(seconds=0.0)) == []
