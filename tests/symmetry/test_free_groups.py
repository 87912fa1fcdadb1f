"""Free groups of automorphisms: large where they are known, automorphisms everywhere."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

from syncoll.deadline import NEVER
from syncoll.model import BandwidthBound, Collective, RelationTable, Topology
from syncoll.plugins import PluginManager
from syncoll.routing import as_topology
from syncoll.spec import SpecLibrary
from syncoll.symmetry import FreeGroup, LinkOrbits, find_symmetry, free_symmetry, small_symmetry
from syncoll.symmetry.candidates import (
    automorphism_generators,
    collective_generators,
    collective_graph,
)
from syncoll.symmetry.structure import Structure

_LIBRARIES = PluginManager.discover().spec_libraries.values()
SPECS = SpecLibrary([record.folder for record in _LIBRARIES])


def topology(name: str) -> Topology:
    return as_topology(SPECS.topology(name))


def table(name: str, nodes: int) -> RelationTable:
    collective: Collective = SPECS.collective(name)
    least = next(c for c in range(1, 100) if collective.admits(nodes, c))
    return collective.tabulate(nodes, least)


def relabelled(network: Topology, images: list[int]) -> Topology:
    """The same network with its nodes numbered in another way."""
    bounds = tuple(
        BandwidthBound(
            tuple(sorted((images[a], images[b]) for a, b in bound.links)), bound.chunks_per_round
        )
        for bound in network.bounds
    )
    links = tuple(sorted((images[a], images[b]) for a, b in network.links))
    return Topology(f"{network.name}, relabelled", network.num_nodes, links, bounds)


def require_automorphisms(group: FreeGroup, network: Topology) -> None:
    """Every element keeps links and bounds, and all but the identity move every node."""
    links = set(network.links)
    bounds = sorted((sorted(b.links), b.chunks_per_round) for b in network.bounds)
    nodes = np.arange(network.num_nodes)
    for i, images in enumerate(group.elements.tolist()):
        assert {(images[a], images[b]) for a, b in links} == links
        moved = [
            (sorted((images[a], images[b]) for a, b in bound.links), bound.chunks_per_round)
            for bound in network.bounds
        ]
        assert sorted(moved) == bounds
        assert (np.array(images) != nodes).all() == (i > 0)


@pytest.mark.parametrize(
    ("name", "order"),
    [
        ("torus(4,4)", 16),
        ("torus(3,5)", 15),
        ("hypercube(4)", 16),
        ("ring(9)", 9),
        ("mesh(4,4)", 4),
        ("line(5)", 1),
        ("dgx1", 4),
        ("a100(boxes=2)", 16),
        ("dgx_h100(boxes=2)", 16),
        ("mi250(boxes=2)", 8),
        ("circulant(10, 1, 3)", 10),
    ],
)
def test_known_orders(name: str, order: int) -> None:
    network = topology(name)
    group = free_symmetry(network, thorough=True)
    assert group.order == order
    require_automorphisms(group, network)
    assert len(group.representatives) * order == network.num_nodes
    carried = group.elements[group.carriers, _home(group)]
    assert np.array_equal(carried, np.arange(network.num_nodes))


def _home(group: FreeGroup) -> np.ndarray:
    """The representative of each node."""
    home = np.zeros(group.num_nodes, dtype=np.int64)
    for node in group.representatives.tolist():
        home[group.elements[:, node]] = node
    return home


@pytest.mark.parametrize("name", ["torus(4,4)", "hypercube(3)", "mesh(4,4)", "a100(boxes=2)"])
def test_numbers_of_nodes_do_not_matter(name: str) -> None:
    """If nodes are numbered at random, igraph finds automorphisms that digits do not show."""
    network = topology(name)
    order = free_symmetry(network, thorough=True).order
    images = np.random.default_rng(7).permutation(network.num_nodes).tolist()
    group = free_symmetry(relabelled(network, images), thorough=True)
    assert group.order == order
    require_automorphisms(group, relabelled(network, images))


def test_small_machines_are_not_worth_the_import_of_igraph() -> None:
    assert free_symmetry(topology("mesh(4,4)")).order == 1
    assert free_symmetry(topology("torus(4,4)")).order == 16  # the numbers of its nodes show it


def test_a_collective_is_kept_as_well() -> None:
    ring = topology("ring(6)")
    assert free_symmetry(ring, table("allgather", 6)).order == 6
    assert free_symmetry(ring, table("alltoall", 6)).order == 6
    # Its root has to stay where it is.
    assert free_symmetry(ring, table("broadcast", 6)).order == 1
    opposite = free_symmetry(ring, table("multi_broadcast(0, 3)", 6))
    assert opposite.elements.tolist() in ([[0, 1, 2, 3, 4, 5], [3, 4, 5, 0, 1, 2]],)


@pytest.mark.parametrize(
    ("name", "groups", "order", "keeping"),
    [
        ("torus(4,4)", 4, 16, 64),  # its rows
        ("ring(8)", 2, 4, 4),  # two arcs
        ("a100(boxes=2)", 2, 16, 1_327_104),  # its boxes, which every automorphism keeps
    ],
)
def test_products_keep_a_collective_that_no_generator_keeps(
    name: str, groups: int, order: int, keeping: int
) -> None:
    """Numbered at random, no generator of the machine keeps the collective, but products do."""
    network = topology(name)
    nodes = network.num_nodes
    images = np.random.default_rng(7).permutation(nodes)
    network = relabelled(network, images.tolist())
    within = np.zeros((nodes, nodes), dtype=bool)
    for group in images.reshape(groups, -1).tolist():
        within[np.ix_(group, group)] = True
    found = find_symmetry(network, "within", RelationTable(np.eye(nodes, dtype=bool), within))
    assert found.group.order == order
    require_automorphisms(found.group, network)
    assert found.keeping == keeping


def test_kept_collectives_agree_with_brute_force() -> None:
    random = np.random.default_rng(5)
    larger = 0
    for _ in range(40):
        nodes = int(random.integers(3, 6))
        images = random.permutation(nodes).tolist()
        network = relabelled(
            topology(f"{random.choice(['ring', 'fully_connected'])}({nodes})"), images
        )
        # Few kinds of sets, and some chunks twice, so that there is something to keep.
        sets = np.concatenate([np.eye(nodes, dtype=bool), random.random((2, nodes)) < 0.5])
        chunks = random.integers(len(sets), size=(2, int(random.integers(1, 7))))
        if random.random() < 0.5:  # every way round
            chunks = (chunks[:, :1] + np.arange(nodes)) % nodes
        demand = RelationTable(sets[chunks[0]], sets[chunks[1]])
        alone, structure = Structure(network), Structure(network, demand)
        expected = {
            one
            for one in itertools.permutations(range(nodes))
            if alone.keeps(np.array(one)) and _keeps(one, demand)
        }
        graph = collective_graph(structure)
        assert graph is not None
        assert graph.order == len(expected)
        group = {tuple(range(nodes))}
        generators = collective_generators(structure)
        while more := {tuple(g[list(one)].tolist()) for g in generators for one in group} - group:
            group |= more
        assert group == expected
        larger += len(expected) > 1
    assert larger > 10


def _keeps(images: tuple[int, ...], demand: RelationTable) -> bool:
    """Whether chunks map to chunks, with the same number of each kind."""
    pairs = list(zip(demand.pre.tolist(), demand.post.tolist(), strict=True))
    moved = [
        tuple([one[images.index(n)] for n in range(len(images))] for one in pair) for pair in pairs
    ]
    return sorted(moved) == sorted(map(tuple, pairs))


def test_random_networks_and_bounds() -> None:
    """On random networks with shared bounds, every result is a group of automorphisms."""
    random = np.random.default_rng(3)
    for _ in range(40):
        nodes = int(random.integers(3, 9))
        graph = nx.random_regular_graph(2, nodes, seed=int(random.integers(1000)))
        links = tuple(sorted({(a, b) for u, v in graph.edges for a, b in ((u, v), (v, u))}))
        bounds = [BandwidthBound((link,), Fraction(int(random.integers(1, 3)))) for link in links]
        for _ in range(int(random.integers(3))):
            some = random.choice(len(links), 2, replace=False).tolist()
            bounds.append(BandwidthBound(tuple(links[i] for i in sorted(some)), Fraction(2)))
        network = Topology("random", nodes, links, tuple(bounds))
        require_automorphisms(free_symmetry(network, thorough=True), network)


def test_generators_of_groups_that_are_not_free_are_refused() -> None:
    nodes = np.arange(4)
    group = FreeGroup.trivial(4)
    assert group.with_generator(np.array([1, 0, 2, 3])) is None  # it leaves nodes 2 and 3
    shift = group.with_generator((nodes + 1) % 4)
    assert shift is not None
    assert shift.order == 4
    assert shift.with_generator((nodes + 2) % 4) is shift
    assert shift.with_generator(np.array([1, 0, 3, 2])) is None  # together they fix a node


@pytest.mark.parametrize(
    "name", ["torus(3,4)", "a100(boxes=2)", "mi250(boxes=1)", "dgx1", "line(4)"]
)
def test_loads_on_orbits_equal_the_loads_of_all_images(name: str) -> None:
    network = topology(name)
    group = free_symmetry(network, thorough=True)
    orbits = LinkOrbits.of(network, group)
    assert orbits.members.shape[0] == orbits.link.max() + 1
    assert len(network.links) == group.order * orbits.members.shape[0]
    held = [set(members.tolist()) for members in network.bound_links]
    loads = set()
    for orbit in range(orbits.members.shape[0]):
        images = np.flatnonzero(orbits.link == orbit)
        for i, bound in enumerate(orbits.bounds.tolist()):
            assert orbits.members[orbit, i] == sum(link in held[bound] for link in images.tolist())
    # No omitted bound would allow less than the remaining ones.
    for bound, members in enumerate(held):
        row = np.bincount(orbits.link[sorted(members)], minlength=orbits.members.shape[0])
        kept = [
            network.bounds[b].chunks_per_round
            for b, column in zip(orbits.bounds.tolist(), orbits.members.T, strict=True)
            if np.array_equal(column, row)
        ]
        loads.add(bool(kept) and min(kept) <= network.bounds[bound].chunks_per_round)
    assert loads == {True}


def test_a_small_group_keeps_bandwidths_hidden_by_cables() -> None:
    """Bandwidth that is dealt out to pairs of nodes may differ where the cables are alike."""
    even = topology("a100(boxes=2)")
    first, *others = even.bounds
    slower = replace(first, chunks_per_round=first.chunks_per_round / 2)
    structure = Structure(replace(even, bounds=(slower, *others)))
    assert not all(map(structure.keeps, automorphism_generators(structure)))
    assert all(map(structure.keeps, small_symmetry(structure.topology, NEVER).generators))
