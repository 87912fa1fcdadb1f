"""Every shipped topology against one that was built independently."""

from __future__ import annotations

import itertools
from fractions import Fraction

import networkx as nx
import pytest

from syncoll.model import Topology
from syncoll.spec import SpecLibrary

from .test_low_diameter import NAMES as LOW_DIAMETER
from .test_servers import NAMES as SERVERS
from .test_switches import NETWORKS


def from_graph(name: str, graph: nx.Graph, bandwidth: int | Fraction = 1) -> Topology:
    """Both directions of every edge; nodes numbered in sorted order."""
    number = {node: i for i, node in enumerate(sorted(graph))}
    rates = {
        (number[x], number[y]): graph.edges[a, b].get("bandwidth", bandwidth)
        for a, b in graph.edges
        for x, y in ((a, b), (b, a))
    }
    return Topology.from_links(name, len(graph), rates)


def grid(*sizes: int, periodic: bool = False) -> nx.Graph:
    """Written with coordinates, row-major numbering by sorting."""
    graph = nx.Graph()
    for place in itertools.product(*map(range, sizes)):
        graph.add_node(place)
        for d, size in enumerate(sizes):
            up = place[d] + 1
            if up < size or (periodic and size > 1):
                graph.add_edge(place, (*place[:d], up % size, *place[d + 1 :]))
    return graph


def hybrid_cube(double: list[tuple[int, int]], single: list[tuple[int, int]]) -> nx.Graph:
    graph = nx.Graph()
    graph.add_edges_from(double, bandwidth=2)
    graph.add_edges_from(single, bandwidth=1)
    return graph


DGX1 = hybrid_cube(
    [(0, 1), (1, 4), (4, 5), (5, 6), (6, 7), (7, 2), (2, 3), (3, 0)],
    [(0, 2), (2, 1), (1, 3), (3, 6), (6, 4), (4, 7), (7, 5), (5, 0)],
)

SHAPES: dict[str, nx.Graph] = {
    "dgx1": DGX1,
    "amd_z52": nx.cycle_graph(8),
    "ring(1)": nx.empty_graph(1),
    "ring(2)": nx.path_graph(2),
    "ring(3)": nx.cycle_graph(3),
    "ring(8)": nx.cycle_graph(8),
    "line(1)": nx.empty_graph(1),
    "line(6)": nx.path_graph(6),
    "star(1)": nx.empty_graph(1),
    "star(5)": nx.star_graph(4),
    "fully_connected(1)": nx.empty_graph(1),
    "fully_connected(6)": nx.complete_graph(6),
    "mesh(5)": grid(5),
    "mesh(4,4)": grid(4, 4),
    "mesh(2,1,3)": grid(2, 1, 3),
    "mesh(2,3,2,2)": grid(2, 3, 2, 2),
    "torus(6)": grid(6, periodic=True),
    "torus(2,2)": grid(2, 2, periodic=True),
    "torus(4,4)": grid(4, 4, periodic=True),
    "torus(1,5)": grid(1, 5, periodic=True),
    "torus(2,3,4)": grid(2, 3, 4, periodic=True),
    "hypercube(0)": nx.empty_graph(1),
    "hypercube(4)": grid(2, 2, 2, 2),
}


@pytest.mark.parametrize("reference", SHAPES)
def test_shapes(reference: str, library: SpecLibrary) -> None:
    assert library.topology(reference) == from_graph(reference, SHAPES[reference])


def test_grids_agree_with_networkx(library: SpecLibrary) -> None:
    for sizes in ((3, 4), (4, 4, 3)):
        for periodic, name in ((False, "mesh"), (True, "torus")):
            graph = nx.grid_graph(sizes[::-1], periodic=periodic)  # it takes the sizes reversed
            reference = f"{name}({','.join(map(str, sizes))})"
            assert library.topology(reference) == from_graph(reference, graph)


@pytest.mark.parametrize("shape", ["ring", "line", "star", "fully_connected", "mesh", "torus"])
def test_bandwidth_is_a_parameter(shape: str, library: SpecLibrary) -> None:
    plain, scaled = (library.topology(f"{shape}({a})") for a in ("5", "5, bandwidth = 3/2"))
    assert scaled.name == f"{shape}(5,bandwidth=3/2)"
    assert scaled.links == plain.links
    assert {bound.chunks_per_round for bound in scaled.bounds} == {Fraction(3, 2)}


def switch(name: str, nodes: int, bandwidth: int) -> Topology:
    links = [(a, b) for a in range(nodes) for b in range(nodes) if a != b]
    shared = [([link for link in links if link[0] == a], bandwidth) for a in range(nodes)]
    shared += [([link for link in links if link[1] == a], bandwidth) for a in range(nodes)]
    return Topology.from_links(name, nodes, {}, shared, unbounded=links)


@pytest.mark.parametrize(
    ("reference", "nodes", "bandwidth"),
    [("hub(4)", 4, 1), ("hub(3,bandwidth=2)", 3, 2), ("dgx2", 16, 6), ("dgx_a100", 8, 12)],
)
def test_switches(reference: str, nodes: int, bandwidth: int, library: SpecLibrary) -> None:
    topology = library.topology(reference)
    assert topology == switch(reference, nodes, bandwidth)
    assert all(bound.label for bound in topology.bounds)


def test_hub_of_one_node_has_no_bounds(library: SpecLibrary) -> None:
    assert library.topology("hub(1)") == Topology("hub(1)", 1, (), ())


def test_bus(library: SpecLibrary) -> None:
    links = [(a, b) for a in range(4) for b in range(4) if a != b]
    expected = Topology.from_links("bus(4)", 4, {}, [(links, 1)], unbounded=links)
    assert library.topology("bus(4)") == expected


def test_p3_16xlarge_is_a_dgx1_with_other_numbers(library: SpecLibrary) -> None:
    topology = library.topology("p3_16xlarge")
    graph = nx.Graph()
    for bound in topology.bounds:
        (link,) = bound.links
        graph.add_edge(*link, bandwidth=int(bound.chunks_per_round))
    assert topology == from_graph("p3_16xlarge", graph)
    same = nx.algorithms.isomorphism.numerical_edge_match("bandwidth", 0)
    assert nx.is_isomorphic(graph, DGX1, edge_match=same)
    # The paper's best single tree uses dual links only, and leaves out (5, 7), which is dual too.
    chain = [7, 6, 3, 2, 0, 1, 4, 5, 7]
    assert all(graph.edges[a, b]["bandwidth"] == 2 for a, b in itertools.pairwise(chain))
    assert graph.edges[0, 3]["bandwidth"] == 1


def test_every_node_of_a_v100_machine_has_six_nvlinks(library: SpecLibrary) -> None:
    for name in ("dgx1", "p3_16xlarge", "dgx2"):
        topology = library.topology(name)
        for node in range(topology.num_nodes):
            leaving = {link for link in topology.links if link[0] == node}
            total = sum(b.chunks_per_round for b in topology.bounds if set(b.links) <= leaving)
            assert total == 6


def test_every_shipped_topology_is_tested_here(library: SpecLibrary) -> None:
    tested = {reference.partition("(")[0] for reference in SHAPES}
    tested |= {"hub", "bus", "dgx2", "dgx_a100", "p3_16xlarge"}
    tested |= {reference.partition("(")[0] for reference in NETWORKS} | LOW_DIAMETER | SERVERS
    assert {summary.name for summary in library.names("topology")} == tested


def test_large_machines_expand(library: SpecLibrary) -> None:
    assert len(library.topology("torus(32,32)").links) == 4096
    assert len(library.topology("hypercube(10)").links) == 10240
