"""Oracles: the cheapest tree under prices, which is what column generation asks for.

A spanning tree of an undirected network is found by Kruskal's method.  With switches a tree joins
compute nodes by routes, and its links are the routes' links, counted as often as they occur: the
minimum spanning tree of the graph of shortest routes.  That graph is never built: it is enough to
look at the links at which the regions nearest to two compute nodes meet (Mehlhorn 1988).

A tree that leads away from a root is found by the method of Chu & Liu and Edmonds.

The oracles work on any numbers: floats while searching, integers of any size to prove.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from syncoll.arrays import FloatArray
from syncoll.scheduling.arborescence import cheapest_arborescence
from syncoll_treepacking.links import LinkSystem

__all__ = ["ArborescenceOracle", "Column", "Oracle", "SpanningTreeOracle"]


Costs = Sequence[int] | FloatArray
"""Of one use of each link."""


@dataclass(frozen=True)
class Column:
    """A tree, as the linear program sees it.

    Args:
        group: whose data goes down it: a position in the oracle's `shares`.
        links: the links it uses, in order, repeated where used more than once.
        routes: for each edge of the tree the vertices on its way, both ends included; for a tree
            with a root, parents first.
    """

    group: int
    links: tuple[int, ...]
    routes: tuple[tuple[int, ...], ...]


class Oracle(Protocol):
    """Finds cheapest trees."""

    @property
    def system(self) -> LinkSystem:
        """What trees are packed into."""

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """How much of the data each group of trees carries; 1 in all."""

    @property
    def roots(self) -> tuple[int | None, ...]:
        """The root of each group's trees; None where any node may be one."""

    def cheapest(self, costs: Costs) -> list[Column]:
        """A cheapest tree of each group.

        Args:
            costs: of one use of each link, not negative.
        """


class SpanningTreeOracle:
    """Minimum spanning trees of an undirected network, with or without switches."""

    def __init__(self, system: LinkSystem) -> None:
        self.system = system
        self.shares = (Fraction(1),)
        self.roots: tuple[int | None, ...] = (None,)
        self._at: list[list[tuple[int, int]]] = [[] for _ in range(system.num_vertices)]
        for link, (u, v) in enumerate(system.ends):
            self._at[u].append((link, v))
            self._at[v].append((link, u))

    def cheapest(self, costs: Costs) -> list[Column]:
        """See `Oracle`."""
        system = self.system
        if system.num_vertices == system.num_nodes:
            chosen = self._kruskal(costs, range(system.num_nodes))
            links = tuple(sorted(chosen))
            return [Column(0, links, tuple(system.ends[link] for link in links))]
        distance, nearest, before = self._regions(costs)
        ends = system.ends
        met = [distance[u] + costs[link] + distance[v] for link, (u, v) in enumerate(ends)]
        used: list[int] = []
        routes = []
        for link in self._kruskal(met, nearest):
            halves = []
            for end in ends[link]:
                half = [end]
                while before[half[-1]] is not None:
                    back, previous = before[half[-1]] or (0, 0)
                    used.append(back)
                    half.append(previous)
                halves.append(half)
            used.append(link)
            route = (*reversed(halves[0]), *halves[1])
            routes.append(route if route[0] < route[-1] else route[::-1])
        return [Column(0, tuple(sorted(used)), tuple(sorted(routes)))]

    def _kruskal(self, costs: Costs, region: Sequence[int]) -> list[int]:
        """Links that join the regions to one, cheapest in all."""
        if isinstance(costs, np.ndarray):
            order: list[int] = np.argsort(costs, kind="stable").tolist()
        else:
            order = sorted(range(len(costs)), key=costs.__getitem__)
        leader = list(range(self.system.num_nodes))
        ends = self.system.ends
        chosen: list[int] = []
        missing = self.system.num_nodes - 1
        for link in order:
            u, v = ends[link]
            a, b = region[u], region[v]
            while leader[a] != a:
                leader[a] = leader[leader[a]]
                a = leader[a]
            while leader[b] != b:
                leader[b] = leader[leader[b]]
                b = leader[b]
            if a != b:
                leader[a] = b
                chosen.append(link)
                missing -= 1
                if not missing:
                    break
        return chosen

    def _regions(self, costs: Costs) -> tuple[list[Any], list[int], list[tuple[int, int] | None]]:
        """For each vertex the cost to the nearest compute node, which that is, and the way to it.

        The way is the next link and vertex; None at compute nodes.
        """
        system = self.system
        nodes, vertices = system.num_nodes, system.num_vertices
        price: Sequence[Any] = costs.tolist() if isinstance(costs, np.ndarray) else costs
        distance: list[Any] = [0] * vertices
        nearest = list(range(nodes)) + [0] * (vertices - nodes)
        before: list[tuple[int, int] | None] = [None] * vertices
        done = [False] * vertices
        queue: list[tuple[Any, int, int, int]] = []  # cost, vertex, link towards, next vertex
        for node in range(nodes):
            done[node] = True
            for link, other in self._at[node]:
                if other >= nodes:
                    heapq.heappush(queue, (price[link], other, link, node))
        while queue:
            cost, vertex, link, previous = heapq.heappop(queue)
            if done[vertex]:
                continue
            done[vertex] = True
            distance[vertex], nearest[vertex] = cost, nearest[previous]
            before[vertex] = (link, previous)
            for onward, other in self._at[vertex]:
                if not done[other]:
                    heapq.heappush(queue, (cost + price[onward], other, onward, vertex))
        return distance, nearest, before


class ArborescenceOracle:
    """Cheapest trees that lead from each root to all nodes of a directed network.

    Args:
        system: directed, without switches.
        shares: how much of the data starts at each root; 1 in all.
    """

    def __init__(self, system: LinkSystem, shares: dict[int, Fraction]) -> None:
        self.system = system
        self.shares = tuple(shares.values())
        self.roots: tuple[int | None, ...] = tuple(shares)
        self._starts = tuple(shares)

    def cheapest(self, costs: Costs) -> list[Column]:
        """See `Oracle`."""
        ends, nodes = self.system.ends, self.system.num_nodes
        numbers: list[Any] = costs.tolist() if isinstance(costs, np.ndarray) else list(costs)
        columns = []
        for group, root in enumerate(self._starts):
            edges = [(u, v, numbers[i], i) for i, (u, v) in enumerate(ends)]
            chosen = cheapest_arborescence(nodes, root, edges)
            columns.append(Column(group, tuple(sorted(chosen)), _parents_first(root, chosen, ends)))
        return columns


def _parents_first(
    root: int, chosen: Sequence[int], ends: Sequence[tuple[int, int]]
) -> tuple[tuple[int, int], ...]:
    children: dict[int, list[int]] = {}
    for link in sorted(chosen):
        children.setdefault(ends[link][0], []).append(ends[link][1])
    ordered, level = [], [root]
    while level:
        ordered += [(u, v) for u in level for v in children.get(u, ())]
        level = [v for u in level for v in children.get(u, ())]
    return tuple(ordered)
