"""The trees of the classics, grids under any numbering, ranks on a BiGraph, and routes."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from math import ceil, log2

import networkx as nx
import numpy as np
import pytest

from syncoll.errors import OptionError
from syncoll.model import Topology
from syncoll.plugins import Proposal
from syncoll.routing import as_topology
from syncoll.spec import SpecLibrary
from syncoll_classics import exchanges, grid
from syncoll_classics.bigraph import numbered_bigraph, rank_mapping, recognise_bigraph
from syncoll_classics.demand import read_demand
from syncoll_classics.dissemination import Dissemination
from syncoll_classics.exchanges import swing_peers, torus_shape
from syncoll_classics.routing import Router

Costs = Callable[..., list[tuple[int, int, int]]]


def check_dissemination(family: Dissemination) -> None:
    """Every source reaches all nodes, and parents are reached in earlier steps."""
    nodes = len(family.parents)
    for source in range(nodes):
        parents, steps = family.parents[source], family.steps[source]
        assert parents[source] == steps[source] == -1
        for node in range(nodes):
            if node != source:
                assert parents[node] >= 0
                assert steps[parents[node]] < steps[node]


@pytest.mark.parametrize("nodes", [2, 3, 4, 7, 8, 9, 16])
def test_disseminations_are_trees_with_times(nodes: int) -> None:
    families = [exchanges.bruck(nodes), exchanges.bruck(nodes, mirrored=True)]
    families += [exchanges.all_pairs(nodes), exchanges.binomial(nodes)]
    if nodes & (nodes - 1) == 0:
        digits = nodes.bit_length() - 1
        mapping = np.random.default_rng(nodes).permutation(nodes)
        for order in exchanges.digit_orders(digits):
            peers = [exchanges.doubling_peers(order), exchanges.doubling_peers(order, mapping)]
            families += [exchanges.exchange(one) for one in peers]
        for shape in {(nodes,), (2, nodes // 2), (nodes // 2, 2)} - {(1, 2), (2, 1)}:
            for mirrored in (False, True):
                peers = swing_peers(shape, 1, mirrored=mirrored)
                assert all((peer[peer] == np.arange(nodes)).all() for peer in peers)
                families += [exchanges.exchange(peers), exchanges.exchange(peers[::-1])]
    for family in families:
        check_dissemination(family)
        assert family.num_steps <= ceil(log2(nodes))


@pytest.mark.parametrize("nodes", range(2, 40))
def test_no_node_is_inside_both_binary_trees(nodes: int) -> None:
    root = nodes // 3
    pairs = [(exchanges.broadcast_trees(nodes, root), 1), (exchanges.allreduce_trees(nodes), 0)]
    for trees, above in pairs:
        inside = Counter[int]()
        for parents in trees:
            children = Counter(int(p) for p in parents if p >= 0)
            assert max(children.values()) <= 2
            assert (parents < 0).sum() == 1
            family = exchanges.rooted(parents)
            top = int(np.flatnonzero(parents < 0)[0])
            assert family.below(top)[top].all()
            assert family.num_steps <= ceil(log2(nodes))
            assert not above or top == root
            inside.update(set(children) - ({root} if above else {top}))
        assert max(inside.values(), default=0) <= 1


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("closed", [True, False])
def test_grids_are_recognised_under_any_numbering(seed: int, *, closed: bool) -> None:
    rows, columns = ((3, 5), (4, 4), (2, 6), (8, 8), (4, 3), (5, 5))[seed]
    graph = nx.grid_2d_graph(rows, columns, periodic=closed)
    names = list(graph)
    random.Random(seed).shuffle(names)
    renamed = nx.relabel_nodes(graph, {name: i for i, name in enumerate(names)})
    shuffled: nx.Graph[int] = nx.Graph()
    shuffled.add_nodes_from(range(rows * columns))
    shuffled.add_edges_from(renamed.edges)
    topology = Topology.from_networkx(shuffled, "shuffled")
    found = grid.recognise_grid(topology)
    assert found is not None
    assert sorted(found.nodes.shape) == sorted((rows, columns))
    assert sorted(found.nodes.ravel()) == list(range(rows * columns))
    for lines in (found.nodes, found.nodes.T):
        for line in lines.tolist():
            ends = [(line[-1], line[0])] if found.closed else []
            for link in [*pairwise(line), *ends]:
                assert link in topology.link_index


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("ring(8)", (8,)), ("torus(4,4)", (4, 4)), ("torus(2,8)", (2, 8)),
        ("torus(4,2,8)", (4, 2, 8)), ("hypercube(4)", (2, 2, 2, 2)), ("mesh(4,4)", (16,)),
        ("routed torus(8,4)", (8, 4)), ("hub(8)", (8,)), ("dgx1", (8,)), ("a100(boxes=2)", (16,)),
    ],
)  # fmt: skip
def test_tori_are_recognised(name: str, shape: tuple[int, ...], specs: SpecLibrary) -> None:
    assert torus_shape(as_topology(specs.topology(name))) == shape


def test_near_grids_are_not_recognised(specs: SpecLibrary) -> None:
    twisted = nx.grid_2d_graph(4, 4, periodic=True)
    nx.double_edge_swap(twisted, nswap=2, seed=3)
    one_way = [link for link in as_topology(specs.topology("mesh(3,3)")).links if link != (0, 1)]
    for topology in (
        Topology.from_networkx(twisted, "twisted"),
        Topology.from_links("one way", 9, dict.fromkeys(one_way, 1)),
        *(
            as_topology(specs.topology(name))
            for name in ("ring(6)", "line(4)", "hub(6)", "star(4)", "dgx1")
        ),
    ):
        assert grid.recognise_grid(topology) is None


def bigraph(switches: int, each: int, name: list[int] | None = None) -> Topology:
    """`switches` in two layers, `each` nodes below; cables carry the bandwidth of the nodes.

    Ports carry a chunk a round each way; there are links between layers and below one switch.
    """
    nodes = switches * each
    name = name or list(range(nodes))
    below = [[name[i * each + j] for j in range(each)] for i in range(switches)]
    half = switches // 2
    cables = [(u, w) for u in range(half) for w in range(half, switches)]
    cables += [(w, u) for u, w in cables]
    across = {(u, w): [(a, b) for a in below[u] for b in below[w]] for u, w in cables}
    links = [link for group in across.values() for link in group]
    links += [(a, b) for group in below for a in group for b in group if a != b]
    shared = [(group, Fraction(each, half)) for group in across.values()]
    for end in (0, 1):
        shared += [([x for x in links if x[end] == n], Fraction(1)) for n in range(nodes)]
    return Topology.from_links("bigraph", nodes, {}, shared, unbounded=links)


@pytest.mark.parametrize(("switches", "each"), [(4, 8), (8, 4), (4, 2), (8, 2), (4, 4)])
def test_rank_mapping_on_a_bigraph_avoids_contention(
    switches: int, each: int, costs: Costs
) -> None:
    """No step needs more rounds than a node's port: cables are no bottleneck."""
    nodes = switches * each
    mapping = rank_mapping(numbered_bigraph(f"{switches}x{each}", nodes))
    assert mapping is not None
    assert sorted(mapping) == list(range(nodes))
    for digit in range(nodes.bit_length() - 1):
        load = Counter(
            (int(mapping[r]) // each, int(mapping[r ^ 1 << digit]) // each) for r in range(nodes)
        )
        half = switches // 2
        assert all((a < half) != (b < half) for a, b in load)
        assert max(load.values()) == max(1, each // half)
    if each >= switches // 2:
        digits = nodes.bit_length() - 1
        topology = bigraph(switches, each)
        assert costs("halving_doubling", topology, "allgather")[0] == (digits, nodes - 1, 1)
        assert costs("halving_doubling", topology, "allreduce")[0] == (
            2 * digits, 2 * (nodes - 1), nodes,
        )  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_a_bigraph_is_recognised_by_its_cables(seed: int, costs: Costs) -> None:
    name = random.Random(seed).sample(range(16), 16)
    topology = bigraph(4, 4, name)
    found = recognise_bigraph(topology)
    assert found is not None
    groups = {frozenset(name[i * 4 : i * 4 + 4]) for i in range(4)}
    assert {frozenset(group) for group in (*found.upper, *found.lower)} == groups
    assert costs("halving_doubling", topology, "allgather")[0] == (4, 15, 1)


@pytest.mark.parametrize(("switches", "each"), [(2, 4), (4, 8), (8, 4)])
def test_a_bigraph_is_recognised_by_its_switches(
    switches: int, each: int, specs: SpecLibrary
) -> None:
    topology = as_topology(specs.topology(f"bigraph({switches},{each})"))
    found = recognise_bigraph(topology)
    assert found == numbered_bigraph(f"{switches}x{each}", switches * each)
    assert recognise_bigraph(topology.reversed()) == found


@pytest.mark.parametrize("name", ["fat_tree(4)", "a100(boxes=2)", "p2_16xlarge", "mi250(boxes=2)"])
def test_other_switches_are_no_bigraph(name: str, specs: SpecLibrary) -> None:
    assert recognise_bigraph(as_topology(specs.topology(name))) is None


def test_other_shared_bounds_are_no_bigraph(specs: SpecLibrary) -> None:
    for name in ("hub(8)", "bus(4)", "dgx1", "dgx2"):
        assert recognise_bigraph(as_topology(specs.topology(name))) is None


@pytest.mark.parametrize("text", ["4x", "3x4", "4x8", "0x0", "four"])
def test_a_wrong_bigraph_is_refused(text: str, propose: Callable[..., list[Proposal]]) -> None:
    with pytest.raises(OptionError, match="SWITCHESxNODES"):
        propose("halving_doubling", "hub(16)", "allgather", bigraph=text)


def test_routes_are_shortest_and_spread(specs: SpecLibrary) -> None:
    """From corner to corner of a square both ways are used, and no link twice as much."""
    topology = as_topology(specs.topology("mesh(2,2)"))
    demand = read_demand(specs.collective("scatter"), 4, 32)
    chunks = [c for c in range(32) if demand.destinations[c, 3]]
    logical = np.array([(c, 0, 3, 0) for c in chunks])
    algorithm = Router(topology).routed(logical)[0]
    load = Counter((a, b) for _, a, b, _ in algorithm.tolist())
    assert load == {(0, 1): 4, (0, 2): 4, (1, 3): 4, (2, 3): 4}


@pytest.mark.parametrize("seed", range(10))
def test_routed_sends_are_as_many_as_the_distances(
    seed: int, random_topology: Callable[..., Topology]
) -> None:
    topology = random_topology(7, 200 + seed)
    pairs = [(a, b) for a in range(7) for b in range(7) if a != b]
    logical = np.array([(i, a, b, i % 3) for i, (a, b) in enumerate(pairs)])
    sends, rows = Router(topology).routed(logical)
    for i, (a, b) in enumerate(pairs):
        path = sends[rows == i]
        assert len(path) == topology.distances[a, b]
        assert path[0, 1] == a
        assert path[-1, 2] == b
        assert (np.diff(path[:, 3]) == 1).all()
        assert (path[1:, 1] == path[:-1, 2]).all()


def test_all_pairs_on_a_line_keeps_passing_chunks(propose: Callable[..., list[Proposal]]) -> None:
    """All pairs on a line: every chunk crosses every link of its way once."""
    (proposal,) = propose("all_pairs", "line(5)", "allgather")
    assert len(proposal.algorithm.sends) == 5 * 4
    assert proposal.algorithm.steps == 4
