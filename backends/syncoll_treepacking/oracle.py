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
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np

from syncoll.arrays import IntArray
from syncoll.scheduling.arborescence import cheapest_arborescence
from syncoll_treepacking.links import Costs, LinkSystem

__all__ = ["ArborescenceOracle", "Oracle", "SpanningTreeOracle", "TreeColumn"]


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
    def cheapest(self, costs: Costs) -> list[TreeColumn]:
        """A cheapest tree of each group, by nonnegative costs of one use of each link."""


class SpanningTreeOracle(Oracle):
    """Minimum spanning trees of an undirected network, with or without switches."""

    def __init__(self, system: LinkSystem) -> None:
        super().__init__(system, {None: Fraction(1)})

    def cheapest(self, costs: Costs) -> list[TreeColumn]:
        """See `Oracle`."""
        system, ends = self.system, self.system.ends
        if system.num_vertices == system.num_nodes:
            chosen = tuple(sorted(self._kruskal(costs, range(system.num_nodes))))
            return [TreeColumn(0, chosen, tuple(ends[link] for link in chosen))]
        price: Sequence[Any] = costs.tolist() if isinstance(costs, np.ndarray) else costs
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

    def _kruskal(self, costs: Costs, region: Sequence[int]) -> list[int]:
        """The cheapest links that join all regions."""
        if isinstance(costs, np.ndarray):
            order: list[int] = np.argsort(costs, kind="stable").tolist()
        else:
            order = sorted(range(len(costs)), key=costs.__getitem__)
        leader = list(range(self.system.num_nodes))

        def first(node: int) -> int:
            while leader[node] != node:
                leader[node] = node = leader[leader[node]]
            return node

        chosen: list[int] = []
        for link in order:
            a, b = (first(region[end]) for end in self.system.ends[link])
            if a != b:
                leader[a] = b
                chosen.append(link)
                if len(chosen) == self.system.num_nodes - 1:
                    break
        return chosen


class ArborescenceOracle(Oracle):
    """Cheapest trees that lead from each root to all nodes of a directed network."""

    def cheapest(self, costs: Costs) -> list[TreeColumn]:
        """See `Oracle`."""
        ends, nodes = self.system.ends, self.system.num_nodes
        numbers: list[Any] = costs.tolist() if isinstance(costs, np.ndarray) else list(costs)
        columns = []
        for group, root in enumerate(self.roots):
            assert root is not None
            edges = [(u, v, numbers[i], i) for i, (u, v) in enumerate(ends)]
            chosen = sorted(cheapest_arborescence(nodes, root, edges))
            tree: nx.DiGraph[int] = nx.DiGraph([ends[link] for link in chosen])
            columns.append(TreeColumn(group, tuple(chosen), tuple(nx.bfs_edges(tree, root))))
        return columns
