"""Topologies whose sends take several links in a step: their routes and their names."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from random import Random

import networkx as nx
import pytest

from syncoll.errors import ModelError, SpecError
from syncoll.model import Topology
from syncoll.plugins import PluginManager
from syncoll.routing import as_topology, routed
from syncoll.simulating import physical_network
from syncoll.spec import SpecLibrary
from tests.oracles.fabrics import random_fabric


@pytest.fixture(scope="module")
def named() -> Callable[[str], Topology]:
    folders = [record.folder for record in PluginManager.discover().spec_libraries.values()]
    specs = SpecLibrary(folders)
    return lambda name: as_topology(specs.topology(name))


def a_graph(seed: int) -> Topology:
    random = Random(seed)
    nodes = random.randint(2, 9)
    pairs = [(a, b) for a in range(nodes) for b in range(nodes) if a != b]
    chosen = random.sample(pairs, random.randint(1, len(pairs)))
    return Topology.from_links(
        f"graph {seed}", nodes, {one: random.randint(1, 3) for one in chosen}
    )


@pytest.mark.parametrize("seed", range(40))
def test_a_pair_takes_the_links_of_one_shortest_path(seed: int) -> None:
    plain = a_graph(seed)
    found = routed(plain)
    graph = nx.DiGraph(plain.links)
    ways = {(a, b) for a in graph for b in graph if a != b and nx.has_path(graph, a, b)}
    assert set(found.links) == ways
    onward: dict[tuple[int, int], int] = {}
    for a, b in found.links:
        taken = {
            bound.links[0]
            for bound in plain.bounds
            for also in found.bounds
            if {(a, b), bound.links[0]} <= set(also.links)
        }
        path, at = [], a
        while at != b:  # the one link of the route that leaves here
            (link,) = [link for link in taken if link[0] == at]
            path.append(link)
            at = link[1]
            assert onward.setdefault((link[0], b), at) == at, "not by destination"
        assert len(path) == len(taken) == plain.distances[a, b]
    assert found.fabric is not None
    assert found.fabric.num_switches == 0


def test_routes_spread_out(named: Callable[[str], Topology]) -> None:
    for name, most in (("ring(8)", 8), ("torus(4,4)", 10), ("hypercube(5)", 20)):
        loads = [len(bound.links) for bound in named(f"routed {name}").bounds]
        average = sum(loads) / len(loads)
        assert average <= max(loads) <= most


@pytest.mark.parametrize("seed", range(12))
def test_bounds_that_are_shared_count_each_pair_once(seed: int) -> None:
    plain = as_topology(random_fabric(Random(seed), irregular=True))
    found = routed(plain)
    assert set(plain.links) <= set(found.links)
    for link in plain.links:  # as it was
        ours = sorted((b.chunks_per_round, b.label) for b in found.bounds if link in b.links)
        theirs = sorted((b.chunks_per_round, b.label) for b in plain.bounds if link in b.links)
        assert ours == theirs
    # The simulator takes its lanes from the bounds unless the fabric has the same routes.
    assert physical_network(found, Fraction(0), Fraction(1)).routes


def test_a_route_that_crosses_a_bound_twice_gives_no_link() -> None:
    line = {(0, 1): 1, (1, 2): 1}
    found = routed(Topology.from_links("cable", 3, line, [(line, 1)]))
    assert found.links == ((0, 1), (1, 2))


def test_names(named: Callable[[str], Topology]) -> None:
    assert named("routed ring(4)").name == "routed ring(4)"
    assert named(" routed   ring(4) ").same_as(routed(named("ring(4)")))
    with pytest.raises(SpecError, match="there is no topology `rnig`; did you mean `ring`"):
        named("routed rnig(4)")
    with pytest.raises(SpecError, match="there is no topology `routed`"):
        named("routed(4)")
    with pytest.raises(ModelError, match="a link for each pair of 600 nodes"):
        named("routed ring(600)")
