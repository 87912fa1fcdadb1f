"""LinkSystem: links between vertices, and rows that bound their use.

A row is one capacity; a link uses some rows, each once or several times.  An undirected link of the
paper, with a bandwidth of its own, is one link with one row.  A relation B with shared bounds has
links in several rows.  A physical network with switches has vertices beyond its compute nodes.

Aggregation goes up a spanning tree and the result comes down the same tree, so a link of it carries
its data once each way ("Optimal Message Scheduling for Aggregation", section 2: an undirected
graph).  Rows that say the same of every link are merged, and the least capacity stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import networkx as nx
import numpy as np

from syncoll.arrays import FloatArray, IntArray
from syncoll.errors import ModelError
from syncoll.model import Topology
from syncoll.model.fabric import Fabric

__all__ = ["Costs", "LinkSystem"]

Costs = Sequence[int] | FloatArray
"""One number for each link or row: floats to search, integers of any size to prove."""


@dataclass(frozen=True, eq=False)
class LinkSystem:
    """Vertices, links and rows; what packings of trees load (`syncoll.packing`).

    Args:
        name: of the network.
        num_nodes: P; the compute nodes ``0 … P-1`` are what a tree spans.
        num_vertices: P and the switches, which only forward.
        directed: whether a link is used from its first end to its second only.
        ends: the two vertices of each link.
        uses: for each link its (row, times) pairs; every link has at least one.
        capacities: of each row, in data per unit of time and each way.
    """

    name: str
    num_nodes: int
    num_vertices: int
    directed: bool
    ends: tuple[tuple[int, int], ...]
    uses: tuple[tuple[tuple[int, int], ...], ...]
    capacities: tuple[Fraction, ...]

    @classmethod
    def undirected(cls, topology: Topology) -> LinkSystem:
        """The pairs of nodes that are linked both ways, bounded by B; other links are not used.

        Raises:
            ModelError: when there are fewer than two nodes, or these pairs do not connect them.
        """
        index = topology.link_index
        pairs = tuple((a, b) for a, b in topology.links if a < b and (b, a) in index)
        rows = [([tuple(sorted(a)) for a in b.links], b.chunks_per_round) for b in topology.bounds]
        system = cls._of_rows(topology.name, topology.num_nodes, 0, False, pairs, rows)
        system._reached(0, "links in both directions")
        return system

    @classmethod
    def rooted(cls, topology: Topology, roots: Iterable[int]) -> LinkSystem:
        """The directed links, bounded by B.

        Raises:
            ModelError: when there are fewer than two nodes, or a root does not reach all of them.
        """
        rows = [(bound.links, bound.chunks_per_round) for bound in topology.bounds]
        system = cls._of_rows(topology.name, topology.num_nodes, 0, True, topology.links, rows)
        for root in roots:
            system._reached(root, f"paths from node {root}")
        return system

    @classmethod
    def physical(cls, fabric: Fabric) -> LinkSystem:
        """The physical links that exist both ways, each with the lesser of its two bandwidths.

        Raises:
            ModelError: when there are fewer than two compute nodes, or these links do not connect
                them.
        """
        b = fabric.bandwidths
        pairs = tuple((u, v) for u, v in sorted(b) if u < v and (v, u) in b)
        rows = [([(u, v)], min(b[u, v], b[v, u])) for u, v in pairs]
        nodes, switches = fabric.num_nodes, fabric.num_switches
        system = cls._of_rows(fabric.name, nodes, switches, False, pairs, rows)
        system._reached(0, "links in both directions")
        return system

    @classmethod
    def _of_rows(
        cls,
        name: str,
        num_nodes: int,
        num_switches: int,
        directed: bool,
        ends: tuple[tuple[int, int], ...],
        rows: Iterable[tuple[Iterable[tuple[int, ...]], Fraction]],
    ) -> LinkSystem:
        if num_nodes < 2:
            raise ModelError(f"{name} has {num_nodes} node", None, "at least 2 nodes to connect")
        number = {pair: i for i, pair in enumerate(ends)}
        least: dict[tuple[tuple[int, int], ...], Fraction] = {}
        for links, capacity in rows:
            found = [number[link] for link in links if link in number]
            used = np.unique(found, return_counts=True)
            key = tuple(zip(*(a.tolist() for a in used), strict=True))
            if key:
                least[key] = min(capacity, least.get(key, capacity))
        uses: list[list[tuple[int, int]]] = [[] for _ in ends]
        for row, key in enumerate(least):
            for link, times in key:
                uses[link].append((row, times))
        return cls(
            name,
            num_nodes,
            num_nodes + num_switches,
            directed,
            ends,
            tuple(map(tuple, uses)),
            tuple(least.values()),
        )

    def _reached(self, start: int, how: str) -> None:
        graph: nx.Graph[object] = nx.DiGraph() if self.directed else nx.Graph()
        graph.add_nodes_from(range(self.num_vertices))
        graph.add_edges_from(self.ends)
        lost = {*range(self.num_nodes)} - {start} - nx.descendants(graph, start)
        if lost:
            raise ModelError(
                f"{self.name}: no way leads from node {start} to node {min(lost)}",
                None,
                f"{how} that connect all nodes",
            )

    @cached_property
    def rate(self) -> FloatArray:
        """The capacities, the largest 1."""
        return np.array([float(c / max(self.capacities)) for c in self.capacities])

    @cached_property
    def entries(self) -> tuple[IntArray, IntArray, IntArray]:
        """The uses as flat arrays: link, row, times."""
        flat = [(link, row, t) for link, use in enumerate(self.uses) for row, t in use]
        link, row, times = np.array(flat, dtype=np.int64).reshape(-1, 3).T
        return link, row, times

    def costs(self, prices: Costs) -> Costs:
        """The cost of one use of each link, given the price of one use of each row."""
        if not isinstance(prices, np.ndarray):
            return [sum(times * prices[row] for row, times in use) for use in self.uses]
        link, row, times = self.entries
        return np.bincount(link, times * prices[row], len(self.ends)).astype(np.float64)

    def load(self, links: IntArray, steps: IntArray, count: int) -> IntArray:
        """``[rows, 1]``: how often each row is used by links, repeats counted."""
        link, row, times = self.entries
        used = np.bincount(links, minlength=len(self.ends))
        load = np.bincount(row, times * used[link], len(self.capacities))
        return np.rint(load).astype(np.int64)[:, None]
