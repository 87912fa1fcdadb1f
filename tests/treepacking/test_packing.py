"""Packings are optimal: against brute force over all partitions and cuts; the paper's figures."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import combinations, pairwise, product

import pytest

from syncoll.deadline import NEVER
from syncoll.model import Topology
from syncoll.packing.column_generation import TINY, Packing, Tuning
from syncoll.plugins import PluginManager
from syncoll.spec import SpecLibrary
from syncoll.symmetry import FreeGroup, free_symmetry
from syncoll_treepacking.oracle import SpanningTrees


@pytest.fixture(scope="module")
def library() -> SpecLibrary:
    records = PluginManager.discover().spec_libraries.values()
    return SpecLibrary([record.folder for record in records])


def cost(topology: Topology, sources: Mapping[int, int], group: FreeGroup | None = None) -> float:
    """C: the time for one unit of data of all sources; without sources for an allreduce."""
    some = group or FreeGroup.trivial(topology.num_nodes)
    oracle = SpanningTrees(topology, sources, some, low=False)
    tuning = Tuning(kept=0.0, gain=0.0, patience=40, near=TINY)
    packing = Packing(oracle.network, oracle.counts, 1, oracle, tuning, timeless=True)
    while not packing.rested:
        packing.improve(NEVER)
    return packing.value / (sum(sources.values()) or 1)


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


@pytest.mark.parametrize("seed", range(60))
def test_random_graphs_meet_the_worst_partition(seed: int) -> None:
    nodes, capacity = random_graph(seed)
    expected = least_by_partitions(nodes, capacity)
    assert cost(both_ways(nodes, capacity), {}) == pytest.approx(float(expected))


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


@pytest.mark.parametrize("seed", range(30))
def test_random_directed_networks_meet_the_worst_cut(seed: int) -> None:
    chance = random.Random(seed)
    nodes = chance.randint(2, 6)
    links = {
        (u, v): Fraction(chance.randint(1, 9), chance.randint(1, 4))
        for u, v in product(range(nodes), repeat=2)
        if u != v and (v == (u + 1) % nodes or chance.random() < 0.5)
    }
    topology = Topology.from_links("random", nodes, links)
    roots = sorted(chance.sample(range(nodes), chance.randint(1, nodes)))
    expected = rooted_cost_by_cuts(topology, roots)
    assert cost(topology, dict.fromkeys(roots, 1)) == pytest.approx(float(expected))


def test_the_figures_for_p3(library: SpecLibrary) -> None:
    """Section 3 of the paper: 7/24, and 1/3 for the half of four GPUs."""
    whole = library.topology("p3_16xlarge")
    assert cost(whole, {}) == pytest.approx(7 / 24)
    capacity = {
        bound.links[0]: bound.chunks_per_round
        for bound in whole.bounds
        if len(bound.links) == 1 and max(bound.links[0]) < 4
    }
    half = Topology.from_links("p3_8xlarge", 4, capacity)
    assert cost(half, {}) == pytest.approx(1 / 3)


def test_chains_over_the_dual_links() -> None:
    """Eight chains over a ring take 7/8 of the time of one."""
    chain = [7, 6, 3, 2, 0, 1, 4, 5]
    ring = {(min(pair), max(pair)): Fraction(2) for pair in pairwise([*chain, 7])}
    assert cost(both_ways(8, ring), {}) == pytest.approx(7 / 8 / 2)


def test_shared_bounds_count_both_directions() -> None:
    """On a bus of n nodes that carries one chunk a round a tree's links all take turns."""
    links = [(a, b) for a in range(4) for b in range(4) if a != b]
    bus = Topology.from_links("bus", 4, {}, [(links, 1)], unbounded=links)
    assert cost(bus, {}) == pytest.approx(6)  # three links, up and down


def test_symmetry_does_not_change_the_cost(library: SpecLibrary) -> None:
    torus = library.topology("torus(3,3)")
    table = library.collective("allgather").tabulate(9, 9)
    group = free_symmetry(torus, table)
    assert group.order == 9
    sources = dict.fromkeys(range(9), 1)
    assert cost(torus, sources, group) == pytest.approx(cost(torus, sources))
