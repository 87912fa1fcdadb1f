"""Networks with short paths, and twisted tori, against graphs that were built in another way."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import networkx as nx
import pytest

from syncoll.model import Topology
from syncoll.spec import SpecLibrary

from .test_errors import ask

Map = Callable[[int], int]


def digraph(topology: Topology) -> nx.DiGraph:
    graph = nx.DiGraph(topology.links)
    graph.add_nodes_from(range(topology.num_nodes))
    assert graph.number_of_edges() == len(topology.links)
    assert graph.number_of_nodes() == topology.num_nodes
    return graph


def logical(library: SpecLibrary, reference: str) -> Topology:
    topology = library.topology(reference)
    assert isinstance(topology, Topology)
    return topology


def read(library: SpecLibrary, reference: str) -> nx.DiGraph:
    """The graph of a topology whose links all carry a chunk per round."""
    topology = logical(library, reference)
    assert all(b.chunks_per_round == 1 and len(b.links) == 1 for b in topology.bounds)
    assert len(topology.bounds) == len(topology.links)
    return digraph(topology)


def both_ways(graph: nx.Graph, number: Callable[..., int]) -> set[tuple[int, int]]:
    edges = {(number(a), number(b)) for a, b in graph.edges}
    return edges | {(b, a) for a, b in edges}


def degrees(graph: nx.DiGraph) -> set[int]:
    assert {d for _, d in graph.in_degree()} == {d for _, d in graph.out_degree()}
    return {d for _, d in graph.out_degree()}


def one_orbit(graph: nx.DiGraph, maps: Iterable[Map]) -> bool:
    """Whether maps, which must all be automorphisms, lead from any node to any other."""
    nodes, edges = set(graph), set(graph.edges)
    moves = nx.Graph()
    moves.add_nodes_from(nodes)
    for move in maps:
        assert {move(a) for a in nodes} == nodes
        assert {(move(a), move(b)) for a, b in edges} == edges
        moves.add_edges_from((a, move(a)) for a in nodes)
    return nx.is_connected(moves)


# Twisted tori -------------------------------------------------------------------------------------


class Lattice:
    """The points of a grid modulo a lattice, whose rows are sizes[d] e_d - twists[d]."""

    def __init__(self, sizes: Sequence[int], twists: Sequence[Sequence[int]]) -> None:
        self.sizes, self.twists = tuple(sizes), twists
        self.places = list(itertools.product(*map(range, sizes)))  # numbered row by row

    def number(self, place: Sequence[int]) -> int:
        rest = list(place)
        for _ in range(2):  # dimensions that are shifted shift no others
            for d, size in enumerate(self.sizes):
                turns, rest[d] = divmod(rest[d], size)
                for e, shift in enumerate(self.twists[d]):
                    rest[e] += turns * shift
        return self.places.index(tuple(rest))

    def moved(self, node: int, d: int, by: int = 1) -> int:
        return self.number([x + by * (e == d) for e, x in enumerate(self.places[node])])

    def links(self) -> set[tuple[int, int]]:
        return {
            link
            for n, d in itertools.product(range(len(self.places)), range(len(self.sizes)))
            for link in ((n, self.moved(n, d)), (n, self.moved(n, d, -1)))
            if link[0] != link[1]
        }


TWISTED = {
    "twisted_torus(4,8)": ((4, 8), [[0, 4], [0, 0]]),
    "twisted_torus(8,4)": ((8, 4), [[0, 0], [4, 0]]),
    "twisted_torus(1,2)": ((1, 2), [[0, 1], [0, 0]]),
    "twisted_torus(5,10)": ((5, 10), [[0, 5], [0, 0]]),
    "twisted_torus(4,4,8)": ((4, 4, 8), [[0, 0, 4], [0, 0, 4], [0, 0, 0]]),
    "twisted_torus(3,6,6)": ((3, 6, 6), [[0, 3, 3], [0, 0, 0], [0, 0, 0]]),
    "twisted_torus(2,3,4)": ((2, 3, 4), [[0, 0, 2], [0, 0, 0], [0, 0, 0]]),
    "twisted_torus(3,5,twists=[[0,2],[0,0]])": ((3, 5), [[0, 2], [0, 0]]),
    "twisted_torus(3,5,twists=[[0,0],[1,0]])": ((3, 5), [[0, 0], [1, 0]]),
    "twisted_torus(1,9,twists=[[0,2],[0,0]])": ((1, 9), [[0, 2], [0, 0]]),
    "twisted_torus(2,2,4,twists=[[0,1,3],[0,0,0],[0,0,0]])": (
        (2, 2, 4),
        [[0, 1, 3], [0, 0, 0], [0, 0, 0]],
    ),
}


@pytest.mark.parametrize("reference", TWISTED)
def test_twisted_tori(reference: str, library: SpecLibrary) -> None:
    lattice = Lattice(*TWISTED[reference])
    graph = read(library, reference)
    assert set(graph.edges) == lattice.links()
    moves: list[Map] = [
        lambda n, d=d: lattice.moved(n, d)  # type: ignore[misc]
        for d in range(len(lattice.sizes))
    ]
    assert one_orbit(graph, moves)


def test_twisting_shortens_the_ways(library: SpecLibrary) -> None:
    twisted, straight = (read(library, f"{name}(4,8)") for name in ("twisted_torus", "torus"))
    assert (nx.diameter(twisted), nx.diameter(straight)) == (4, 6)
    assert degrees(twisted) == {4}
    assert len(twisted) == 32
    assert twisted.number_of_edges() == 128


@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_diameters_of_twisted_tori(k: int, library: SpecLibrary) -> None:
    """The diameters in the papers: k for 2k x k, and the integer part of 3k/2 in three
    dimensions."""
    for sizes, diameter in (((k, 2 * k), k), ((k, k, 2 * k), 3 * k // 2)):
        graph = read(library, f"twisted_torus({','.join(map(str, sizes))})")
        assert nx.diameter(graph) == diameter, sizes
    if k <= 4:
        assert nx.diameter(read(library, f"twisted_torus({k},{2 * k},{2 * k})")) == 3 * k // 2


def test_twisted_4_by_8_is_the_torus_of_two_diagonals(library: SpecLibrary) -> None:
    """The plane modulo (4, 4) and (4, -4), where both dimensions are alike."""
    plane = nx.Graph()

    def place(x: int, y: int) -> tuple[int, int]:
        return (x + y) % 8, (x - y) % 8

    for x, y in itertools.product(range(8), repeat=2):
        plane.add_edges_from((place(x, y), end) for end in (place(x + 1, y), place(x, y + 1)))
    assert nx.is_isomorphic(plane, read(library, "twisted_torus(4,8)").to_undirected())


# The others ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(4, 4), (2, 2, 2), (5,), (3, 1, 4), (8, 8)])
def test_hyperx(sizes: tuple[int, ...], library: SpecLibrary) -> None:
    places = list(itertools.product(*map(range, sizes)))
    expected = nx.Graph(
        (a, b)
        for a, b in itertools.combinations(places, 2)
        if sum(x != y for x, y in zip(a, b, strict=True)) == 1
    )
    graph = read(library, f"hyperx({','.join(map(str, sizes))})")
    assert set(graph.edges) == both_ways(expected, places.index)
    assert degrees(graph) == {sum(size - 1 for size in sizes)}
    assert nx.diameter(graph) == sum(size > 1 for size in sizes)
    lattice = Lattice(sizes, [[0] * len(sizes)] * len(sizes))
    moves: list[Map] = [
        lambda n, d=d: lattice.moved(n, d)  # type: ignore[misc]
        for d in range(len(sizes))
    ]
    assert one_orbit(graph, moves)


def test_hyperx_is_a_family(library: SpecLibrary) -> None:
    for name, other in (("hyperx(7)", "fully_connected(7)"), ("hyperx(2,2,2,2)", "hypercube(4)")):
        assert logical(library, name).bounds == logical(library, other).bounds


DRAGONFLIES = [(4, 2, 9), (4, 2, 5), (4, 2, 3), (2, 1, 3), (3, 3, 10), (1, 4, 5), (6, 1, 7)]


@pytest.mark.parametrize(("routers", "global_links", "groups"), DRAGONFLIES)
def test_dragonfly(routers: int, global_links: int, groups: int, library: SpecLibrary) -> None:
    graph = read(library, f"dragonfly({routers},{global_links},{groups})")
    assert len(graph) == routers * groups
    assert degrees(graph) == {routers - 1 + global_links}
    assert all(graph.has_edge(b, a) for a, b in graph.edges)
    between = nx.MultiDiGraph((a // routers, b // routers) for a, b in graph.edges)
    for a, b in itertools.product(range(groups), repeat=2):
        inside = routers * (routers - 1)
        expected = inside if a == b else routers * global_links // (groups - 1)
        assert between.number_of_edges(a, b) == expected
    # The palmtree: link k of router r in group i leads to group i - (r h + k) - 1.
    for a in graph:
        group, router = divmod(a, routers)
        found = sorted(b // routers for b in graph[a] if b // routers != group)
        ports = range(router * global_links, (router + 1) * global_links)
        assert found == sorted((group - p % (groups - 1) - 1) % groups for p in ports)
    turned = {((a + routers) % len(graph), (b + routers) % len(graph)) for a, b in graph.edges}
    assert turned == set(graph.edges), "all groups are alike"


def test_the_largest_dragonfly_is_the_default(library: SpecLibrary) -> None:
    topology = logical(library, "dragonfly(4, 2)")
    assert set(topology.links) == set(logical(library, "dragonfly(4, 2, 9)").links)
    graph = digraph(topology)
    assert (len(graph), graph.number_of_edges(), nx.diameter(graph)) == (36, 36 * 5, 3)


def test_global_links_may_be_wider(library: SpecLibrary) -> None:
    topology = logical(library, "dragonfly(4, 2, bandwidth=2, global_bandwidth=3)")
    for bound in topology.bounds:
        ((a, b),) = bound.links
        assert bound.chunks_per_round == (2 if a // 4 == b // 4 else 3)


def slim_fly(q: int) -> nx.Graph:
    """Besta and Hoefler, section II-B, with any primitive root."""
    root = next(x for x in range(1, q) if len({pow(x, e, q) for e in range(q - 1)}) == q - 1)
    w = (q + 1) // 4
    exponents = [range(0, q - 1, 2), range(1, q - 1, 2)]
    if q % 4 == 3:
        exponents = [
            [*range(0, 2 * w - 1, 2), *range(2 * w - 1, 4 * w - 2, 2)],
            [*range(1, 2 * w, 2), *range(2 * w, 4 * w - 1, 2)],
        ]
    sets = [{pow(root, e, q) for e in chosen} for chosen in exponents]
    graph = nx.Graph()
    for x, y, z in itertools.product(range(q), repeat=3):
        for side in (0, 1):
            if (y - z) % q in sets[side]:
                graph.add_edge((side, x, y), (side, x, z))
        graph.add_edge((0, x, (y * x + z) % q), (1, y, z))
    return graph


# q, routers, degree: the paper's tables of balanced networks have them for 5, 7, 11 ... 19.
SLIM_FLIES = [(3, 18, 5), (5, 50, 7), (7, 98, 11), (11, 242, 17), (13, 338, 19), (19, 722, 29)]


@pytest.mark.parametrize(("q", "nodes", "degree"), SLIM_FLIES)
def test_slim_fly(q: int, nodes: int, degree: int, library: SpecLibrary) -> None:
    graph = read(library, f"slim_fly({q})")
    assert len(graph) == nodes
    assert degrees(graph) == {degree}
    # All distances are at most 2: each node sees all others over its neighbours.
    for node in graph:
        seen = {node, *graph[node]}
        assert len(seen.union(*(graph[other] for other in graph[node]))) == nodes
    expected = both_ways(slim_fly(q), lambda at: (at[0] * q + at[1]) * q + at[2])
    assert set(graph.edges) == expected


def test_slim_fly_5_is_the_graph_of_hoffman_and_singleton(library: SpecLibrary) -> None:
    """Girth 5, degree 7, diameter 2: only one graph is like that."""
    graph = read(library, "slim_fly(5)").to_undirected()
    assert nx.girth(graph) == 5
    assert nx.degree_histogram(graph) == nx.degree_histogram(nx.hoffman_singleton_graph())


@pytest.mark.parametrize("q", [5, 13])
def test_slim_flies_of_4w_plus_1_are_transitive(q: int, library: SpecLibrary) -> None:
    """Hafner, Geometric realisation of the graphs of McKay-Miller-Siran, 2004."""
    odd = next(x for x in range(2, q) if pow(x, (q - 1) // 2, q) != 1)  # no square

    def on_places(move: Callable[[int, int, int], tuple[int, int, int]]) -> Map:
        def moved(node: int) -> int:
            side, x, y = move(node // q**2, node // q % q, node % q)
            return (side * q + x % q) * q + y % q

        return moved

    moves = [
        on_places(lambda side, x, y: (side, x, y + 1)),
        on_places(lambda side, x, y: (side, x + 1 - side, y - side * x)),
        on_places(lambda side, x, y: (side, x + side, y + (1 - side) * x)),
        on_places(lambda side, x, y: (1 - side, x if side == 0 else -odd * x, odd * y)),
    ]
    assert one_orbit(read(library, f"slim_fly({q})"), moves)


@pytest.mark.parametrize("offsets", [(1,), (1, 4), (2, 3, 8), (8,), (1, 2, 3, 4, 5, 6, 7, 8)])
def test_circulant(offsets: tuple[int, ...], library: SpecLibrary) -> None:
    graph = read(library, f"circulant(16,{','.join(map(str, offsets))})")
    expected = nx.circulant_graph(16, offsets)
    assert set(graph.edges) == both_ways(expected, lambda node: node)
    assert degrees(graph) == {sum(1 if offset == 8 else 2 for offset in offsets)}
    assert one_orbit(graph, [lambda node: (node + 1) % 16])


@pytest.mark.parametrize(("n", "degree"), [(100, 4), (12, 3), (13, 3), (64, 4), (5, 4), (7, 1)])
def test_generalised_kautz(n: int, degree: int, library: SpecLibrary) -> None:
    graph = read(library, f"generalised_kautz({n},{degree})")
    expected = {(i, -(degree * i + j) % n) for i in range(n) for j in range(1, degree + 1)}
    assert set(graph.edges) == {(a, b) for a, b in expected if a != b}
    if n % (degree + 1) == 0:
        assert degrees(graph) == {degree}
    if degree > 1:
        assert nx.diameter(graph) <= math.ceil(round(math.log(n, degree), 9))


def words(degree: int, length: int, *, letters: int, repeat: bool) -> nx.DiGraph:
    """Words, each joined to the words that result when a letter is pushed in."""
    graph = nx.DiGraph()
    for word in itertools.product(range(letters), repeat=length + 1):
        if repeat or all(a != b for a, b in itertools.pairwise(word)):
            graph.add_edge(word[:-1], word[1:])
    assert {d for _, d in graph.out_degree()} == {degree}
    return graph


@pytest.mark.parametrize(("degree", "diameter"), [(2, 2), (2, 3), (3, 2), (2, 4)])
def test_kautz_graphs(degree: int, diameter: int, library: SpecLibrary) -> None:
    n = degree**diameter + degree ** (diameter - 1)
    graph = read(library, f"generalised_kautz({n},{degree})")
    assert nx.diameter(graph) == diameter
    expected = words(degree, diameter, letters=degree + 1, repeat=False)
    assert nx.is_isomorphic(graph, expected)


@pytest.mark.parametrize(("degree", "length"), [(2, 1), (2, 3), (2, 6), (3, 2), (4, 3)])
def test_de_bruijn(degree: int, length: int, library: SpecLibrary) -> None:
    graph = read(library, f"de_bruijn({degree},{length})")
    expected = words(degree, length, letters=degree, repeat=True)
    loops = list(nx.selfloop_edges(expected))
    expected.remove_edges_from(loops)
    number = {word: i for i, word in enumerate(sorted(expected))}
    assert set(graph.edges) == {(number[a], number[b]) for a, b in expected.edges}
    assert len(loops) == degree
    assert nx.diameter(graph) == length
    general = logical(library, f"generalised_de_bruijn({degree**length},{degree})")
    assert set(general.links) == set(graph.edges)


@pytest.mark.parametrize(("n", "degree"), [(10, 3), (100, 4), (7, 2), (5, 4)])
def test_generalised_de_bruijn(n: int, degree: int, library: SpecLibrary) -> None:
    graph = read(library, f"generalised_de_bruijn({n},{degree})")
    expected = {(i, (degree * i + j) % n) for i in range(n) for j in range(degree)}
    assert set(graph.edges) == {(a, b) for a, b in expected if a != b}
    assert nx.diameter(graph) <= math.ceil(round(math.log(n, degree), 9))


NAMES = {
    "twisted_torus", "hyperx", "dragonfly", "slim_fly", "circulant", "generalised_kautz",
    "generalised_de_bruijn", "de_bruijn",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(NAMES))
def test_bandwidth_is_a_parameter(name: str, library: SpecLibrary) -> None:
    arguments = {"slim_fly": "5", "de_bruijn": "2,3", "twisted_torus": "2,4"}.get(name, "8,2")
    plain, scaled = (
        logical(library, f"{name}({arguments}{more})") for more in ("", ",bandwidth=5/2")
    )
    assert scaled.links == plain.links
    assert {bound.chunks_per_round for bound in scaled.bounds} == {5 / 2}


WRONG = {
    "twisted_torus()": "the size of at least one dimension",
    "twisted_torus(0,2)": "sizes of at least 1",
    "twisted_torus(4,4)": "one side twice as long as another, or twists that are not all 0",
    "twisted_torus(4,8,twists=[[0,0],[0,0]])": "twists that are not all 0",
    "twisted_torus(4,8,twists=[4])": "list",
    "twisted_torus(4,8,twists=[[0,4]])": "for each dimension a list with the shift in every",
    "twisted_torus(4,8,twists=[[0,8],[0,0]])": "less than the size of the dimension",
    "twisted_torus(4,8,twists=[[0,-1],[0,0]])": "shifts of at least 0",
    "twisted_torus(4,8,twists=[[0,4],[2,0]])": "no shifts of a dimension that shifts others",
    "twisted_torus(4,8,twists=[[1,0],[0,0]])": "no shifts of a dimension that shifts others",
    "hyperx()": "the size of at least one dimension, as in hyperx(4,4)",
    "hyperx(3,0)": "sizes of at least 1",
    "dragonfly(0,1)": "at least 1 router",
    "dragonfly(2,0)": "at least 1 global link",
    "dragonfly(4,2,1)": "at least 2 groups",
    "dragonfly(4,2,6)": "as many links from each group as to share out evenly",
    "dragonfly(4,2,10)": "as many links from each group as to share out evenly",
    "dragonfly(4,2,2)": "no two links from one router to the same group",
    "slim_fly(2)": "an odd prime below 64",
    "slim_fly(4)": "an odd prime below 64: graphs of other prime powers exist, but",
    "slim_fly(9)": "an odd prime below 64",
    "slim_fly(49)": "an odd prime below 64",
    "slim_fly(67)": "an odd prime below 64",
    "circulant(8)": "at least one offset",
    "circulant(8,5)": "offsets between 1 and half",
    "circulant(8,0)": "offsets between 1 and half",
    "circulant(8,2,2)": "each offset once",
    "circulant(0,1)": "at least 1 node",
    "generalised_kautz(4,4)": "more nodes than the degree",
    "generalised_kautz(4,0)": "a degree of at least 1",
    "generalised_de_bruijn(3,4)": "at least as many nodes as the degree",
    "generalised_de_bruijn(3,0)": "a degree of at least 1",
    "de_bruijn(1,3)": "at least 2 digits",
    "de_bruijn(2,0)": "words of at least 1 digit",
}


@pytest.mark.parametrize("reference", WRONG)
def test_wrong_arguments(reference: str, library: SpecLibrary) -> None:
    error = ask(library, reference)
    assert WRONG[reference] in f"{error.message} {error.expected}"


def test_large_ones_expand(library: SpecLibrary) -> None:
    for reference, nodes, links in (
        ("twisted_torus(32,64)", 2048, 8192),
        ("hyperx(16,16,4)", 1024, 1024 * 33),
        ("dragonfly(8,4)", 264, 264 * 11),
        ("slim_fly(29)", 1682, 1682 * 43),
        ("circulant(4096,1,64)", 4096, 16384),
        ("generalised_kautz(5000,4)", 5000, 20000),
        ("de_bruijn(2,12)", 4096, 8190),
    ):
        topology = logical(library, reference)
        assert (topology.num_nodes, len(topology.links)) == (nodes, links)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_random_regular_graphs_of_the_benchmarks(seed: int, library: SpecLibrary) -> None:
    file = Path(__file__).parents[2] / "benchmarks" / "topologies"
    graph = read(library, str(file / f"random_regular_64_{seed}.syncoll"))
    assert (len(graph), degrees(graph)) == (64, {4})
    assert all(graph.has_edge(b, a) for a, b in graph.edges)
    assert nx.is_strongly_connected(graph)
    assert (
        f"diameter {nx.diameter(graph)}:"
        in library.definition("topology", str(file / f"random_regular_64_{seed}.syncoll")).doc
    )
