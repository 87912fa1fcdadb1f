"""Links between vertices, and rows that bound their use.

A row is one capacity; a link uses some rows, each once or several times.  An undirected link of the
paper, with a bandwidth of its own, is one link with one row.  A relation B with shared bounds has
links in several rows.  A physical network with switches has vertices beyond its compute nodes.

Contributions go up a spanning tree and the result comes down the same tree, so each of its links
carries the data once each way ("Optimal Message Scheduling for Aggregation", section 2: an
undirected graph).  Equal rows are merged with the least capacity.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt

from syncoll.arrays import FloatArray, IntArray
from syncoll.errors import ModelError
from syncoll.model import Fabric, Topology

Costs = npt.NDArray[Any]
"""One number for each link or row: floats to search, integers of any size (objects) to prove."""


class LinkSystem:
    """Vertices, links and rows of a network for packings of trees (`syncoll.packing`).

    Args:
        name: the name of the network.
        num_nodes: P; trees span the compute nodes ``0 … P-1``.
        num_vertices: P and the switches, which only forward.
        directed: whether a link leads only from its first end to its second.
        ends: the two vertices of each link.
        rows: links by their ends, repeated if one use counts several times, and the capacity that
            they share, in data per unit of time and each way; other links are left out.
        roots: the nodes from which trees lead to all others.

    Attributes:
        uses: for each link its (row, times) pairs; every link has at least one.
        capacities: of each row.
        graph: networkx graph of the vertices; edges have the position ``link``.

    Raises:
        ModelError: if there are fewer than two nodes, or a root does not reach all of them.
    """

    def __init__(
        self,
        name: str,
        num_nodes: int,
        num_vertices: int,
        directed: bool,
        ends: Sequence[tuple[int, int]],
        rows: Iterable[tuple[Iterable[tuple[int, int]], Fraction]],
        roots: Iterable[int],
    ) -> None:
        if num_nodes < 2:
            raise ModelError(f"{name} has {num_nodes} node", None, "at least 2 nodes to connect")
        self.name, self.num_nodes, self.num_vertices = name, num_nodes, num_vertices
        self.directed, self.ends = directed, tuple(ends)
        self.graph: nx.Graph[Any] = nx.DiGraph() if directed else nx.Graph()
        self.graph.add_nodes_from(range(num_vertices))
        self.graph.add_edges_from((u, v, {"link": i}) for i, (u, v) in enumerate(ends))
        for root in roots:
            lost = {*range(num_nodes)} - {root} - nx.descendants(self.graph, root)
            if lost:
                how = f"paths from node {root}" if directed else "links in both directions"
                raise ModelError(
                    f"{name}: no path leads from node {root} to node {min(lost)}",
                    None,
                    f"{how} that connect all nodes",
                )
        number = {pair: i for i, pair in enumerate(ends)}
        least: dict[tuple[tuple[int, int], ...], Fraction] = {}
        for links, capacity in rows:
            times = Counter(number[link] for link in links if link in number)
            key = tuple(sorted(times.items()))
            if key:
                least[key] = min(capacity, least.get(key, capacity))
        self.capacities = tuple(least.values())
        self.uses: list[list[tuple[int, int]]] = [[] for _ in ends]
        for row, key in enumerate(least):
            for link, count in key:
                self.uses[link].append((row, count))

    @classmethod
    def undirected(cls, topology: Topology) -> "LinkSystem":
        """The pairs of nodes with links both ways, bounded by B; other links are not used."""
        index, nodes = topology.link_index, topology.num_nodes
        pairs = [(a, b) for a, b in topology.links if a < b and (b, a) in index]
        rows = [
            ([(min(link), max(link)) for link in bound.links], bound.chunks_per_round)
            for bound in topology.bounds
        ]
        return cls(topology.name, nodes, nodes, False, pairs, rows, [0])

    @classmethod
    def rooted(cls, topology: Topology, roots: Iterable[int]) -> "LinkSystem":
        """The directed links, bounded by B."""
        nodes = topology.num_nodes
        rows = [(bound.links, bound.chunks_per_round) for bound in topology.bounds]
        return cls(topology.name, nodes, nodes, True, topology.links, rows, roots)

    @classmethod
    def physical(cls, fabric: Fabric) -> "LinkSystem":
        """The physical links that exist both ways, each with the smaller of its two bandwidths."""
        b, nodes = fabric.bandwidths, fabric.num_nodes
        pairs = [(u, v) for u, v in sorted(b) if u < v and (v, u) in b]
        rows = [([(u, v)], min(b[u, v], b[v, u])) for u, v in pairs]
        return cls(fabric.name, nodes, nodes + fabric.num_switches, False, pairs, rows, [0])

    @cached_property
    def rate(self) -> FloatArray:
        """The capacities, scaled to a maximum of 1."""
        return np.array([float(c / max(self.capacities)) for c in self.capacities])

    @cached_property
    def entries(self) -> tuple[IntArray, IntArray, IntArray]:
        """The uses as flat arrays: link, row, times."""
        flat = [(link, row, t) for link, use in enumerate(self.uses) for row, t in use]
        link, row, times = np.array(flat, dtype=np.int64).reshape(-1, 3).T
        return link, row, times

    def costs(self, prices: Costs) -> Costs:
        """The cost of one use of each link, given the price of one use of each row."""
        link, row, times = self.entries
        found = np.zeros(len(self.ends), dtype=prices.dtype)
        np.add.at(found, link, times * prices[row])
        return found

    def load(self, links: IntArray, steps: IntArray, count: int) -> IntArray:
        """``[rows, 1]``: the number of uses of each row by links, repeats included."""
        link, row, times = self.entries
        used = np.bincount(links, minlength=len(self.ends))
        load = np.bincount(row, times * used[link], len(self.capacities))
        return np.rint(load).astype(np.int64)[:, None]
