from __future__ import annotations

import dataclasses
import random
from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given

from syncoll.errors import ModelError
from syncoll.model import UNREACHABLE, BandwidthBound, Link, Topology
from syncoll.testing.instances import random_topology
from tests.oracles.classics import bus, dgx1, hub, ring
from tests.oracles.strategies import topology_strategy

ONE = Fraction(1)
PAIR = ((0, 1), (1, 0))


def bound(*links: Link, b: Fraction = ONE) -> BandwidthBound:
    return BandwidthBound(links, b)


@pytest.mark.parametrize(
    ("nodes", "links", "bounds", "message"),
    [
        (0, (), (), r"topology t has 0 nodes\nexpected at least 1 node"),
        (-3, (), (), "has -3 nodes"),
        (2, ((1, 0), (0, 1)), (bound(*PAIR),), "not sorted and distinct"),
        (2, ((0, 1), (0, 1)), (bound((0, 1)),), "not sorted and distinct"),
        (2, ((0, 2),), (bound((0, 2)),), r"link \(0, 2\) names node 2\nexpected nodes 0 to 1"),
        (2, ((-1, 1),), (bound((-1, 1)),), "names node -1"),
        (2, ((1, 1),), (bound((1, 1)),), r"link \(1, 1\) joins a node to itself"),
        (2, PAIR, (bound((0, 1)),), r"no bandwidth bound covers link \(1, 0\)"),
        (2, PAIR, (bound(*PAIR, b=Fraction(0)),), "bandwidth 0 on"),
        (2, PAIR, (bound(*PAIR, b=Fraction(-1, 2)),), "bandwidth -1/2 on"),
        (2, PAIR, (bound(*PAIR), bound()), "a bandwidth bound over no links"),
        (3, PAIR, (bound(*PAIR), bound((1, 2))), r"covers \(1, 2\), which is not a link"),
        (2, PAIR, (bound((0, 1), (0, 1)), bound((1, 0))), "are not sorted and distinct"),
        (2, PAIR, (bound((1, 0), (0, 1)),), "are not sorted and distinct"),
    ],
)
def test_refused(
    nodes: int, links: tuple[Link, ...], bounds: tuple[BandwidthBound, ...], message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        Topology("t", nodes, links, bounds)


def test_a_single_node_without_links_is_a_topology() -> None:
    topology = Topology.from_links("alone", 1, {})
    assert topology.distances.tolist() == [[0]]
    assert topology.reversed().links == ()


class TestFromLinks:
    def test_links_and_shared_bounds(self) -> None:
        topology = Topology.from_links(
            "t", 3, {(1, 0): 2, (0, 1): Fraction(1, 2)}, [([(1, 2), (1, 0)], 3)], unbounded=[(1, 2)]
        )
        assert topology.links == ((0, 1), (1, 0), (1, 2))
        assert [(b.links, b.chunks_per_round) for b in topology.bounds] == [
            (((0, 1),), Fraction(1, 2)),
            (((1, 0),), Fraction(2)),
            (((1, 0), (1, 2)), Fraction(3)),
        ]

    def test_a_repeated_link_in_a_shared_bound_counts_once(self) -> None:
        topology = Topology.from_links("t", 2, {(0, 1): 1}, [([(0, 1), (0, 1)], 1)])
        assert topology.bounds[1].links == ((0, 1),)

    def test_an_unbounded_link_needs_a_shared_bound(self) -> None:
        with pytest.raises(ModelError, match="no bandwidth bound covers"):
            Topology.from_links("t", 2, {}, unbounded=[(0, 1)])

    @pytest.mark.parametrize("bandwidth", [float("nan"), float("inf"), "fast", None, "1/0"])
    def test_a_bandwidth_must_be_a_rational_number(self, bandwidth: Any) -> None:
        with pytest.raises(ModelError, match="topology t: bandwidth"):
            Topology.from_links("t", 2, {(0, 1): bandwidth})
        with pytest.raises(ModelError, match="topology t: bandwidth"):
            Topology.from_links("t", 2, {(0, 1): 1}, [([(0, 1)], bandwidth)])


class TestFromMatrix:
    def test_entries_are_bandwidths(self) -> None:
        topology = Topology.from_matrix("m", [[0, 2, 0], [1, 0, 0], [0, 3, 0]])
        assert topology == Topology.from_links("m", 3, {(0, 1): 2, (1, 0): 1, (2, 1): 3})

    def test_rational_and_decimal_entries_stay_exact(self) -> None:
        matrix = [[0, Fraction(2, 3)], [Fraction(1, 2), 0]]
        bounds = Topology.from_matrix("m", matrix).bounds
        assert [b.chunks_per_round for b in bounds] == [Fraction(2, 3), Fraction(1, 2)]
        for dtype in (np.float64, np.float32):
            array = np.array([[0, 0.1], [0.5, 0]], dtype=dtype)
            bounds = Topology.from_matrix("m", array).bounds
            assert [b.chunks_per_round for b in bounds] == [Fraction(1, 10), Fraction(1, 2)]

    def test_whole_entries_have_no_limit_of_size(self) -> None:
        (bound, _) = Topology.from_matrix("m", np.array([[0, 2], [1, 0]])).bounds
        assert bound.chunks_per_round * 10**30 == 2 * 10**30
        assert type(bound.chunks_per_round.numerator) is int

    @pytest.mark.parametrize("matrix", [[[0, 1]], [0, 1], [[[0]]], 3])
    def test_it_must_be_square(self, matrix: Any) -> None:
        with pytest.raises(ModelError, match="a square matrix"):
            Topology.from_matrix("m", matrix)

    @pytest.mark.parametrize(
        ("matrix", "message"),
        [
            ([[0, -1], [1, 0]], "bandwidth -1"),
            ([[1, 1], [1, 0]], "joins a node to itself"),
            ([[0, float("nan")], [1, 0]], "bandwidth"),
            ([[0, "x"], ["1", 0]], "bandwidth"),
        ],
    )
    def test_bad_entries(self, matrix: Any, message: str) -> None:
        with pytest.raises(ModelError, match=message):
            Topology.from_matrix("m", np.array(matrix, dtype=object))

    def test_it_inverts_writing_a_matrix(self) -> None:
        rng = np.random.default_rng(3)
        for _ in range(20):
            matrix = rng.integers(0, 4, (5, 5)) * ~np.eye(5, dtype=bool)
            topology = Topology.from_matrix("m", matrix)
            again = np.zeros((5, 5), dtype=int)
            for b in topology.bounds:
                again[b.links[0]] = int(b.chunks_per_round)
            assert np.array_equal(again, matrix)


class TestFromNetworkx:
    def test_an_undirected_edge_is_two_links(self) -> None:
        topology = Topology.from_networkx(nx.cycle_graph(5), "ring(5)")
        assert topology == ring(5)

    def test_a_directed_edge_is_one(self) -> None:
        graph: nx.DiGraph[str] = nx.DiGraph(name="pair")
        graph.add_edge("b", "a", bandwidth=Fraction(3, 2))
        topology = Topology.from_networkx(graph)
        assert (topology.name, topology.links) == ("pair", ((0, 1),))
        assert topology.bounds[0].chunks_per_round == Fraction(3, 2)

    def test_parallel_edges_add_up(self) -> None:
        graph: nx.MultiGraph[int] = nx.MultiGraph()
        graph.add_edge(0, 1, bandwidth=2)
        graph.add_edge(1, 0, bandwidth=0.5)
        topology = Topology.from_networkx(graph)
        assert [b.chunks_per_round for b in topology.bounds] == [Fraction(5, 2)] * 2
        directed: nx.MultiDiGraph[int] = nx.MultiDiGraph()
        directed.add_edges_from([(0, 1), (0, 1), (1, 0)])
        topology = Topology.from_networkx(directed)
        assert [b.chunks_per_round for b in topology.bounds] == [Fraction(2), Fraction(1)]

    def test_another_attribute(self) -> None:
        graph: nx.Graph[int] = nx.Graph()
        graph.add_edge(0, 1, lanes=4)
        topology = Topology.from_networkx(graph, bandwidth="lanes")
        assert topology.name == "graph"
        assert topology.bounds[0].chunks_per_round == 4

    @pytest.mark.parametrize("bandwidth", [0, -1, "x", None, float("nan")])
    def test_bad_bandwidths(self, bandwidth: Any) -> None:
        graph: nx.Graph[int] = nx.Graph()
        graph.add_edge(0, 1, bandwidth=bandwidth)
        with pytest.raises(ModelError, match="bandwidth"):
            Topology.from_networkx(graph)

    def test_self_loops_and_no_nodes(self) -> None:
        loop: nx.Graph[int] = nx.Graph([(0, 0)])
        with pytest.raises(ModelError, match="to itself"):
            Topology.from_networkx(loop)
        with pytest.raises(ModelError, match="0 nodes"):
            Topology.from_networkx(nx.Graph())


def test_distances_are_networkx_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    far = 0
    for seed in range(150):
        # From all sources at once, from a few, and from one; by sets, and by the new nodes.
        monkeypatch.setattr("syncoll.model.distances._BLOCK", (1 << 22, 60, 1)[seed % 3])
        monkeypatch.setattr("syncoll.model.distances._MOST_LEVELS", (128, 0)[seed % 2])
        topology = random_topology(seed, most_nodes=9)
        graph: nx.DiGraph[int] = nx.DiGraph()
        graph.add_nodes_from(range(topology.num_nodes))
        graph.add_edges_from(topology.links)
        lengths = dict(nx.all_pairs_shortest_path_length(graph))
        for a in range(topology.num_nodes):
            for b in range(topology.num_nodes):
                expected = lengths[a].get(b, UNREACHABLE)
                assert topology.distances[a, b] == expected
                far += 2 < expected < UNREACHABLE
    assert far > 50


def test_distances_of_many_nodes() -> None:
    nodes = 150
    links = {(v, (v + by) % nodes): 1 for v in range(nodes) for by in (1, 11, 30)}
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_edges_from(links)
    lengths = dict(nx.all_pairs_shortest_path_length(graph))
    found = Topology.from_links("chords", nodes, links).distances
    assert found.tolist() == [[lengths[a][b] for b in range(nodes)] for a in range(nodes)]


@given(topology_strategy(most_nodes=6))
def test_the_reverse_of_the_reverse(topology: Topology) -> None:
    back = topology.reversed().reversed()
    assert dataclasses.replace(back, name=topology.name) == topology
    assert np.array_equal(topology.reversed().distances, topology.distances.T)


@given(topology_strategy(most_nodes=6))
def test_the_reverse_carries_as_much(topology: Topology) -> None:
    for before, after in zip(topology.bounds, topology.reversed().bounds, strict=True):
        assert {(b, a) for a, b in before.links} == set(after.links)
        assert before.chunks_per_round == after.chunks_per_round


def test_the_reverse_keeps_labels() -> None:
    topology = Topology("t", 2, ((0, 1),), (BandwidthBound(((0, 1),), ONE, "cable"),))
    assert [b.label for b in topology.reversed().bounds] == ["cable"]


@given(topology_strategy())
def test_positions_of_links(topology: Topology) -> None:
    assert [topology.links[topology.link_index[link]] for link in topology.links] == list(
        topology.links
    )
    for b, positions in zip(topology.bounds, topology.bound_links, strict=True):
        assert tuple(topology.links[i] for i in positions) == b.links
    for node in range(topology.num_nodes):
        leaving = [topology.links[i] for i in topology.out_links[node]]
        entering = [topology.links[i] for i in topology.in_links[node]]
        assert leaving == [link for link in topology.links if link[0] == node]
        assert entering == [link for link in topology.links if link[1] == node]


def test_capacity_rounds_down() -> None:
    rng = random.Random(1)
    for _ in range(200):
        b = Fraction(rng.randint(1, 9), rng.randint(1, 9))
        rounds, capacity = rng.randint(0, 20), bound((0, 1), b=b).capacity
        assert capacity(rounds) <= b * rounds < capacity(rounds) + 1


def test_arrays_are_read_only() -> None:
    topology = dgx1()
    for field in ("name", "num_nodes", "links", "bounds"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(topology, field, None)
    with pytest.raises(dataclasses.FrozenInstanceError):
        topology.bounds[0].chunks_per_round = ONE  # type: ignore[misc]
    for array in (topology.distances, *topology.bound_links):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7


def test_known_machines() -> None:
    machine = dgx1()
    assert len(machine.links) == 32
    assert machine.distances.max() == 2
    assert [
        sum(b.chunks_per_round for b in machine.bounds if b.links[0][0] == n) for n in range(8)
    ] == [6] * 8
    assert len(hub(4).bounds) == 8
    assert len(bus(4).bounds) == 1
