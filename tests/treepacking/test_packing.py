"""Packings are exact: against brute force over all partitions, and the figures of the paper."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, pairwise, product

import networkx as nx
import pytest

from syncoll.deadline import NEVER
from syncoll.errors import ModelError
from syncoll.model import Topology
from syncoll.model.fabric import Fabric
from syncoll.plugins import PluginManager
from syncoll.spec import SpecLibrary
from syncoll_treepacking.links import LinkSystem
from syncoll_treepacking.oracle import ArborescenceOracle, SpanningTreeOracle
from syncoll_treepacking.search import ExactPacking, pack


@pytest.fixture(scope="module")
def library() -> SpecLibrary:
    records = PluginManager.discover().spec_libraries.values()
    return SpecLibrary.load([record.folder for record in records])


def undirected(topology: Topology) -> SpanningTreeOracle:
    return SpanningTreeOracle(LinkSystem.undirected(topology))


def spread(topology: Topology, roots: list[int]) -> ArborescenceOracle:
    shares = {root: Fraction(1, len(roots)) for root in roots}
    return ArborescenceOracle(LinkSystem.rooted(topology, roots), shares)


def partitions(items: list[int]) -> Iterator[list[list[int]]]:
    if not items:
        yield []
        return
    first, *rest = items
    for smaller in partitions(rest):
        for i in range(len(smaller)):
            yield [*smaller[:i], [first, *smaller[i]], *smaller[i + 1 :]]
        yield [[first], *smaller]


def least_by_partitions(nodes: int, capacity: dict[tuple[int, int], Fraction]) -> Fraction:
    """C by Nash-Williams and Tutte: the worst partition."""
    worst = Fraction(0)
    for parts in partitions(list(range(nodes))):
        if len(parts) < 2:
            continue
        part = {node: i for i, members in enumerate(parts) for node in members}
        crossing = sum((c for (u, v), c in capacity.items() if part[u] != part[v]), Fraction(0))
        worst = max(worst, Fraction(len(parts) - 1) / crossing)
    return worst


def random_graph(seed: int) -> tuple[int, dict[tuple[int, int], Fraction]]:
    chance = random.Random(seed)
    nodes = chance.randint(2, 7)
    density = chance.random()
    capacity = {
        (u, v): Fraction(chance.randint(1, 9), chance.randint(1, 4))
        for u, v in combinations(range(nodes), 2)
        if chance.random() < density
    }
    for v in range(1, nodes):  # a tree, so that it is connected
        capacity.setdefault((chance.randrange(v), v), Fraction(chance.randint(1, 5)))
    return nodes, capacity


def both_ways(nodes: int, capacity: dict[tuple[int, int], Fraction]) -> Topology:
    doubled = {**capacity, **{(v, u): c for (u, v), c in capacity.items()}}
    return Topology.from_links("random", nodes, doubled)


@pytest.mark.parametrize("seed", range(120))
def test_random_graphs_meet_the_worst_partition(seed: int) -> None:
    nodes, capacity = random_graph(seed)
    packing = pack(undirected(both_ways(nodes, capacity)))
    assert packing.is_optimal
    assert packing.cost == least_by_partitions(nodes, capacity)


def rooted_cost_by_cuts(topology: Topology, roots: list[int]) -> Fraction:
    """Every root's data must leave each set of nodes that contains it and not all others."""
    worst = Fraction(0)
    for bits in range(1, 2**topology.num_nodes - 1):
        inside = {n for n in range(topology.num_nodes) if bits >> n & 1}
        data = Fraction(len(inside & set(roots)), len(roots))
        exit_capacity = sum(
            (
                bound.chunks_per_round
                for bound in topology.bounds
                if bound.links[0][0] in inside and bound.links[0][1] not in inside
            ),
            Fraction(0),
        )
        if data:
            worst = max(worst, data / exit_capacity)
    return worst


@pytest.mark.parametrize("seed", range(60))
def test_random_directed_networks_meet_the_worst_cut(seed: int) -> None:
    chance = random.Random(seed)
    nodes = chance.randint(2, 6)
    links = {
        (u, v): Fraction(chance.randint(1, 6), chance.randint(1, 3))
        for u, v in product(range(nodes), repeat=2)
        if u != v and (v == (u + 1) % nodes or chance.random() < 0.5)
    }
    topology = Topology.from_links("directed", nodes, links)
    roots = sorted(chance.sample(range(nodes), chance.randint(1, nodes)))
    packing = pack(spread(topology, roots))
    assert packing.is_optimal
    assert packing.cost == rooted_cost_by_cuts(topology, roots)


def test_the_figures_for_p3(library: SpecLibrary) -> None:
    whole = pack(undirected(library.topology("p3_16xlarge")))
    assert (whole.cost, whole.bound) == (Fraction(7, 24), Fraction(7, 24))
    assert set(whole.loads) == {Fraction(7, 24), Fraction(7, 12)}  # one NVLink, two of them
    half = {(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)}
    dual = {(0, 1), (0, 2), (2, 3)}
    big = library.topology("p3_16xlarge")
    capacity = {
        bound.links[0]: bound.chunks_per_round
        for bound in big.bounds
        if len(bound.links) == 1 and max(bound.links[0]) < 4
    }
    assert {(min(link), max(link)) for link in capacity} == half
    assert {link for link, b in capacity.items() if b == 2 and link[0] < link[1]} == dual
    small = pack(undirected(Topology.from_links("p3_8xlarge", 4, capacity)))
    assert (small.cost, small.bound) == (Fraction(1, 3), Fraction(1, 3))


def test_chains_of_dual_links_share_the_load_of_p3() -> None:
    """Eight chains, each without one of the ring's links: 7/8 of the time of one chain, 1/2."""
    chain = [7, 6, 3, 2, 0, 1, 4, 5]
    ring = {(min(pair), max(pair)): Fraction(2) for pair in pairwise([*chain, 7])}
    assert pack(undirected(both_ways(8, ring))).cost == Fraction(7, 8) * Fraction(1, 2)


def p2(cards: int, halves: int) -> Fabric:
    """K80 cards of two GPUs behind a bridge; four cards to a central bridge."""
    gpus = 2 * cards
    links: list[tuple[int, int, int]] = []
    for card in range(cards):
        bridge = gpus + card
        centre = gpus + cards + card * halves // cards
        links += [(2 * card, bridge, 1), (2 * card + 1, bridge, 1), (bridge, centre, 1)]
    if halves == 2:
        links.append((gpus + cards, gpus + cards + 1, 1))
    return Fabric.from_links("p2", gpus, cards + halves, links, both_ways=True)


def carried(packing: ExactPacking, gpus: int, cards: int) -> list[Fraction]:
    """Mean loads: within the cards, between cards, between the halves."""
    kinds: list[list[Fraction]] = [[], [], []]
    for (lower, _), load in zip(packing.oracle.system.ends, packing.loads, strict=True):
        kinds[0 if lower < gpus else 1 if lower < gpus + cards else 2].append(load)
    return [sum(kind, Fraction(0)) / len(kind) for kind in kinds if kind]


def test_p2_16xlarge_carries_15_to_14_to_8() -> None:
    packing = pack(SpanningTreeOracle(LinkSystem.physical(p2(8, 2))))
    assert packing.is_optimal
    assert packing.cost == Fraction(15, 8)
    assert carried(packing, 16, 8) == [Fraction(15, 8), Fraction(14, 8), Fraction(8, 8)]


def test_p2_8xlarge_carries_7_to_6() -> None:
    packing = pack(SpanningTreeOracle(LinkSystem.physical(p2(4, 1))))
    assert packing.is_optimal
    within, between = carried(packing, 8, 4)
    assert (within, between) == (Fraction(7, 4), Fraction(6, 4))


@pytest.mark.parametrize("seed", range(30))
def test_switches_against_all_trees(seed: int) -> None:
    """The bound's prices, checked against every tree of shortest routes by other code."""
    chance = random.Random(seed)
    nodes, switches = chance.randint(2, 5), chance.randint(1, 3)
    total = nodes + switches
    links = {
        (u, v): chance.randint(1, 5)
        for u, v in combinations(range(total), 2)
        if chance.random() < 0.4
    }
    for v in range(1, total):
        links.setdefault((chance.randrange(v), v), chance.randint(1, 5))
    fabric = Fabric.from_links(
        "random", nodes, switches, [(u, v, b) for (u, v), b in links.items()], both_ways=True
    )
    packing = pack(SpanningTreeOracle(LinkSystem.physical(fabric)))
    assert packing.is_optimal
    system = packing.oracle.system
    price = packing.prices
    graph: nx.Graph[int] = nx.Graph()
    for ends, use in zip(system.ends, system.uses, strict=True):
        graph.add_edge(*ends, weight=price[use[0][0]])
    distance = dict(nx.all_pairs_dijkstra_path_length(graph))
    pairs = list(combinations(range(nodes), 2))
    least = min(
        sum(distance[u][v] for u, v in tree)
        for tree in combinations(pairs, nodes - 1)
        if len(nx.Graph(tree)) == nodes and nx.is_connected(nx.Graph(tree))
    )
    spent = sum(p * c for p, c in zip(price, system.capacities, strict=True))
    assert Fraction(least) / spent == packing.bound


@pytest.mark.parametrize("seed", range(30))
def test_shared_bounds_against_all_arborescences(seed: int) -> None:
    """Links that share bandwidth: the prices prove the cost, by the trees of another library."""
    chance = random.Random(seed)
    nodes = chance.randint(3, 6)
    links = {
        (u, v): Fraction(chance.randint(1, 9), chance.randint(1, 4))
        for u, v in product(range(nodes), repeat=2)
        if u != v and (v == (u + 1) % nodes or chance.random() < 0.6)
    }
    shared = [
        (chance.sample(list(links), 3), Fraction(chance.randint(2, 12), chance.randint(1, 3)))
        for _ in range(nodes)
    ]
    topology = Topology.from_links("shared", nodes, links, shared)
    roots = sorted(chance.sample(range(nodes), chance.randint(1, nodes)))
    packing = pack(spread(topology, roots))
    assert packing.is_optimal
    system, prices = packing.oracle.system, packing.prices
    graph: nx.DiGraph[int] = nx.DiGraph()
    for (u, v), use in zip(system.ends, system.uses, strict=True):
        graph.add_edge(u, v, weight=sum(times * prices[row] for row, times in use))
    paid = Fraction(0)
    for root in roots:
        from_root = graph.copy()
        from_root.remove_edges_from(list(graph.in_edges(root)))
        tree = nx.minimum_spanning_arborescence(from_root)
        paid += Fraction(int(tree.size(weight="weight")), len(roots))
    assert paid == packing.cost * sum(p * c for p, c in zip(prices, system.capacities, strict=True))


def test_bandwidths_with_large_denominators() -> None:
    """No common denominator of them fits a machine word."""
    primes = (1009, 1013, 1019, 1021, 1031, 1033, 1039, 1049, 1051, 1061)
    capacity = {
        pair: Fraction(prime + 7, prime)
        for pair, prime in zip(combinations(range(5), 2), primes, strict=True)
    }
    packing = pack(undirected(both_ways(5, capacity)))
    assert packing.cost == packing.bound == least_by_partitions(5, capacity)


def test_shared_bounds_count_both_directions() -> None:
    """On a bus of n nodes that carries one chunk a round a tree's links all take turns."""
    links = [(a, b) for a in range(4) for b in range(4) if a != b]
    bus = Topology.from_links("bus", 4, {}, [(links, 1)], unbounded=links)
    assert pack(undirected(bus)).cost == 6  # three links, up and down


def test_a_time_limit_leaves_a_valid_interval() -> None:
    graph: nx.Graph[int] = nx.gnp_random_graph(40, 0.4, seed=3)
    packing = pack(undirected(Topology.from_networkx(graph, "gnp")), NEVER.sooner(0.0))
    assert 0 < packing.bound <= packing.cost
    full = pack(undirected(Topology.from_networkx(graph, "gnp")))
    assert packing.bound <= full.cost <= packing.cost
    assert full.is_optimal


def test_unsuitable_networks_are_refused_with_a_reason() -> None:
    one_way = Topology.from_links("one way", 3, {(0, 1): 1, (1, 2): 1, (2, 0): 1})
    with pytest.raises(ModelError, match="no path leads from node 0 to node 1") as refused:
        LinkSystem.undirected(one_way)
    assert "links in both directions" in refused.value.expected
    assert pack(spread(one_way, [0, 1, 2])).cost == Fraction(2, 3)
    apart = Topology.from_links("apart", 3, {(0, 1): 1, (1, 0): 1})
    with pytest.raises(ModelError, match="no path leads from node 0 to node 2"):
        LinkSystem.rooted(apart, [0])
    with pytest.raises(ModelError, match="1 node"):
        LinkSystem.undirected(Topology.from_links("alone", 1, {}))
