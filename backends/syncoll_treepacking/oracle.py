"""Oracles of column generation: the cheapest trees for given prices.

A spanning tree of an undirected network is found by Kruskal's method.  With switches a tree joins
compute nodes by routes, and its links are the links of the routes, with repeats: it is the minimum
spanning tree of the graph of shortest routes.  This graph is never built: the links between the
regions nearest to two compute nodes suffice (Mehlhorn 1988).

A tree that leads away from a root is found by the method of Chu & Liu and Edmonds.

The oracles work on any numbers: floats in the search, integers of any size in proofs.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from random import Random
from typing import Any, cast

import networkx as nx
import numpy as np
import numpy.typing as npt

from syncoll.arrays import IntArray
from syncoll.packing.arrivals import MOST_CELLS
from syncoll.scheduling.arborescence import cheapest_arborescence
from syncoll_treepacking.links import LinkSystem


@dataclass(frozen=True)
class TreeColumn:
    """A tree as a column of the linear program.

    Args:
        group: group of its data: a position in the oracle's `shares`.
        used: the links it uses, in order, with repeats.
        routes: for each edge of the tree the vertices on its way, both ends included; for a tree
            with a root, parents first.
    """

    group: int
    used: tuple[int, ...]
    routes: tuple[tuple[int, ...], ...]

    @property
    def links(self) -> IntArray:
        """``[K]``."""
        return np.array(self.used, dtype=np.int64)

    @property
    def steps(self) -> IntArray:
        """``[K]``, all 0: a tree has no steps."""
        return np.zeros(len(self.used), dtype=np.int64)


class Oracle(ABC):
    """Finds cheapest trees.

    Args:
        system: the network of the trees.
        shares: for each group of trees its root (None: any node) and its part of the data; the sum
            is 1.
    """

    def __init__(
        self, system: LinkSystem, shares: Mapping[int, Fraction] | Mapping[None, Fraction]
    ) -> None:
        self.system, self.shares = system, tuple(shares.values())
        self.roots: tuple[int | None, ...] = tuple(shares)

    @abstractmethod
    def cheapest(self, costs: npt.ArrayLike) -> list[TreeColumn]:
        """A cheapest tree of each group, by nonnegative costs of one use of each link."""


class SpanningTreeOracle(Oracle):
    """Minimum spanning trees of an undirected network, with or without switches."""

    def __init__(self, system: LinkSystem) -> None:
        super().__init__(system, {None: Fraction(1)})

    def cheapest(self, costs: npt.ArrayLike) -> list[TreeColumn]:
        """See `Oracle`."""
        system, ends = self.system, self.system.ends
        if system.num_vertices == system.num_nodes:
            chosen = tuple(sorted(self._kruskal(costs, range(system.num_nodes))))
            return [TreeColumn(0, chosen, tuple(ends[link] for link in chosen))]
        price = np.asarray(costs).tolist()
        found: Any = nx.multi_source_dijkstra(
            system.graph, {*range(system.num_nodes)}, weight=lambda u, v, edge: price[edge["link"]]
        )
        far, ways = found
        met = [far[u] + price[link] + far[v] for link, (u, v) in enumerate(ends)]
        used: list[int] = []
        routes = []
        for link in self._kruskal(met, [ways[v][0] for v in range(system.num_vertices)]):
            u, v = ends[link]
            route = (*ways[u], *reversed(ways[v]))
            used += [system.graph.edges[edge]["link"] for edge in pairwise(route)]
            routes.append(route if route[0] < route[-1] else route[::-1])
        return [TreeColumn(0, tuple(sorted(used)), tuple(sorted(routes)))]

    def _kruskal(self, costs: npt.ArrayLike, region: Sequence[int]) -> list[int]:
        """The cheapest links that join all regions."""
        leader = list(range(self.system.num_nodes))

        def first(node: int) -> int:
            while leader[node] != node:
                leader[node] = node = leader[leader[node]]
            return node

        chosen: list[int] = []
        for link in np.argsort(costs, kind="stable").tolist():
            a, b = (first(region[end]) for end in self.system.ends[link])
            if a != b:
                leader[a] = b
                chosen.append(link)
                if len(chosen) == self.system.num_nodes - 1:
                    break
        return chosen


class ArborescenceOracle(Oracle):
    """Cheapest trees that lead from each root to all nodes of a directed network."""

    def cheapest(self, costs: npt.ArrayLike) -> list[TreeColumn]:
        """See `Oracle`."""
        ends, nodes = self.system.ends, self.system.num_nodes
        numbers = np.asarray(costs).tolist()
        columns = []
        for group, root in enumerate(self.roots):
            assert root is not None
            edges = [(u, v, numbers[i], i) for i, (u, v) in enumerate(ends)]
            chosen = sorted(cheapest_arborescence(nodes, root, edges))
            tree: nx.DiGraph[int] = nx.DiGraph([ends[link] for link in chosen])
            columns.append(TreeColumn(group, tuple(chosen), tuple(nx.bfs_edges(tree, root))))
        return columns


_MOST_EDGES = MOST_CELLS >> 7
"""Most edges of all trees; limits work."""

_MOST_ROOTS = 64
"""Most nodes that are tried as centres; limits work."""


def low_trees(oracle: Oracle, count: int, chance: Random | None = None) -> list[list[TreeColumn]]:
    """A tree of least height for each group in every turn; the first W turns are a packing of W
    parts.

    The linear program only sees loads, so its trees may be high, and few steps need low trees.  A
    node with several possible parents takes the least loaded link, or a random one.

    Args:
        oracle: the oracle of a system without switches.
        count: number of trees; fewer in large networks, but at least eight for each group.
        chance: chooses parents at random; None: by load.
    """
    system, graph = oracle.system, cast("Any", oracle.system.graph)
    into = graph.pred if system.directed else graph.adj
    roots = [_centres(system) if root is None else [root] for root in oracle.roots]
    capacities = [float(c) for c in system.capacities]
    load = [0.0] * len(capacities)

    @cache
    def ways(root: int) -> list[tuple[int, list[tuple[int, int]]]]:
        """Each node with its links from nearer ones; nodes of a level with few of them first."""
        far = nx.single_source_shortest_path_length(graph, root)
        near = {
            v: [(u, int(into[v][u]["link"])) for u in sorted(into[v]) if far[u] < far[v]]
            for v in far
        }
        del near[root]
        return sorted(near.items(), key=lambda one: (far[one[0]], len(one[1]), one[0]))

    def rank(link: int, share: float) -> float:
        if chance is not None:
            return chance.random()
        uses = system.uses[link]
        return max((load[row] + times * share) / capacities[row] for row, times in uses)

    turns: list[list[TreeColumn]] = []
    count = min(count, _MOST_EDGES // system.num_nodes)
    for turn in range(max(8, count // len(roots))):
        trees = []
        for group, (choice, exact) in enumerate(zip(roots, oracle.shares, strict=True)):
            share = float(exact)
            links, routes = list[int](), list[tuple[int, int]]()
            for v, choices in ways(choice[turn % len(choice)]):
                u, link = min(choices, key=lambda way: rank(way[1], share))
                for row, times in system.uses[link]:
                    load[row] += times * share
                links.append(link)
                routes.append((u, v))
            if not system.directed:
                routes = sorted((min(u, v), max(u, v)) for u, v in routes)
            trees.append(TreeColumn(group, tuple(sorted(links)), tuple(routes)))
        turns.append(trees)
    return turns


def _centres(system: LinkSystem) -> list[int]:
    """The nodes with the lowest trees, among a sample in large networks."""
    tried = range(0, system.num_nodes, 1 + (system.num_nodes - 1) // _MOST_ROOTS)
    heights = {
        root: max(nx.single_source_shortest_path_length(system.graph, root).values())
        for root in tried
    }
    return [root for root, height in heights.items() if height == min(heights.values())]
