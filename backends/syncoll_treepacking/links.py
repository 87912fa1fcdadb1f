"""LinkSystem: what trees are packed into: links between vertices, and rows that bound their use.

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
from math import lcm

import numpy as np

from syncoll.arrays import FloatArray, IntArray
from syncoll.errors import ModelError
from syncoll.model import Topology
from syncoll.model.fabric import Fabric

__all__ = ["LinkSystem"]


@dataclass(frozen=True, eq=False)
class LinkSystem:
    """Vertices, links and rows.

    Args:
        name: how people call the network.
        num_nodes: P; the compute nodes ``0 … P-1`` are what a tree spans.
        num_vertices: P and the switches, which only forward.
        directed: whether a link is used from its first end to its second only.
        ends: the two vertices of each link.
        uses: for each link its (row, times) pairs; every link has at least one.
        capacities: of each row, in data per unit of time and each way.
        labels: of each row, for people.
    """

    name: str
    num_nodes: int
    num_vertices: int
    directed: bool
    ends: tuple[tuple[int, int], ...]
    uses: tuple[tuple[tuple[int, int], ...], ...]
    capacities: tuple[Fraction, ...]
    labels: tuple[str, ...]

    @classmethod
    def undirected(cls, topology: Topology) -> LinkSystem:
        """The pairs of nodes that are linked both ways, bounded by B; other links are not used.

        Raises:
            ModelError: when there are fewer than two nodes, or these pairs do not connect them.
        """
        index = topology.link_index
        pairs = tuple((a, b) for a, b in topology.links if a < b and (b, a) in index)
        number = {pair: i for i, pair in enumerate(pairs)}
        rows = []
        for bound in topology.bounds:
            times: dict[int, int] = {}
            for a, b in bound.links:
                link = number.get((min(a, b), max(a, b)))
                if link is not None:
                    times[link] = times.get(link, 0) + 1
            rows.append((times, bound.chunks_per_round, bound.label or _label(bound.links)))
        system = cls._of_rows(topology.name, topology.num_nodes, 0, False, pairs, rows)
        return system._connected("links in both directions")

    @classmethod
    def rooted(cls, topology: Topology, roots: Iterable[int]) -> LinkSystem:
        """The directed links, bounded by B.

        Raises:
            ModelError: when there are fewer than two nodes, or a root does not reach all of them.
        """
        number = topology.link_index
        rows = [
            (
                {number[link]: 1 for link in bound.links},
                bound.chunks_per_round,
                bound.label or _label(bound.links),
            )
            for bound in topology.bounds
        ]
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
        rows = [({i: 1}, min(b[u, v], b[v, u]), f"{u}-{v}") for i, (u, v) in enumerate(pairs)]
        system = cls._of_rows(
            fabric.name, fabric.num_nodes, fabric.num_switches, False, pairs, rows
        )
        return system._connected("links in both directions")

    @classmethod
    def _of_rows(
        cls,
        name: str,
        num_nodes: int,
        num_switches: int,
        directed: bool,
        ends: tuple[tuple[int, int], ...],
        rows: Sequence[tuple[dict[int, int], Fraction, str]],
    ) -> LinkSystem:
        if num_nodes < 2:
            raise ModelError(f"{name} has {num_nodes} node", None, "at least 2 nodes to connect")
        least: dict[tuple[tuple[int, int], ...], tuple[Fraction, str]] = {}
        for times, capacity, label in rows:
            key = tuple(sorted(times.items()))
            if key and (key not in least or capacity < least[key][0]):
                least[key] = (capacity, label)
        uses: list[list[tuple[int, int]]] = [[] for _ in ends]
        for row, key in enumerate(least):
            for link, times_used in key:
                uses[link].append((row, times_used))
        return cls(
            name,
            num_nodes,
            num_nodes + num_switches,
            directed,
            ends,
            tuple(tuple(use) for use in uses),
            tuple(capacity for capacity, _ in least.values()),
            tuple(label for _, label in least.values()),
        )

    def _connected(self, how: str) -> LinkSystem:
        self._reached(0, how)
        return self

    def _reached(self, start: int, how: str) -> None:
        onward: list[list[int]] = [[] for _ in range(self.num_vertices)]
        for u, v in self.ends:
            onward[u].append(v)
            if not self.directed:
                onward[v].append(u)
        seen, stack = {start}, [start]
        while stack:
            for vertex in onward[stack.pop()]:
                if vertex not in seen:
                    seen.add(vertex)
                    stack.append(vertex)
        for node in range(self.num_nodes):
            if node not in seen:
                raise ModelError(
                    f"{self.name}: no way leads from node {start} to node {node}",
                    None,
                    f"{how} that connect all nodes",
                )

    @property
    def num_rows(self) -> int:
        """How many capacities there are."""
        return len(self.capacities)

    @cached_property
    def link_numbers(self) -> dict[tuple[int, int], int]:
        """The position of each link by its ends."""
        return {ends: link for link, ends in enumerate(self.ends)}

    @cached_property
    def is_plain(self) -> bool:
        """Whether it is an undirected graph as in the paper: no switch, a row for each link."""
        rows = [row for use in self.uses for row, _ in use]
        single = all(len(use) == 1 and use[0][1] == 1 for use in self.uses)
        no_switch = self.num_vertices == self.num_nodes
        return not self.directed and no_switch and single and len(set(rows)) == len(rows)

    @cached_property
    def entries(self) -> tuple[IntArray, IntArray, FloatArray]:
        """The uses as flat arrays: link, row, times."""
        flat = [(link, row, t) for link, use in enumerate(self.uses) for row, t in use]
        array = np.array(flat, dtype=np.int64).reshape(-1, 3)
        return array[:, 0], array[:, 1], array[:, 2].astype(np.float64)

    @cached_property
    def whole_capacities(self) -> tuple[tuple[int, ...], int]:
        """The capacities as integers over one denominator."""
        common = lcm(*(c.denominator for c in self.capacities))
        return tuple(int(c * common) for c in self.capacities), common

    def costs(self, prices: FloatArray) -> FloatArray:
        """What one use of each link costs.

        Args:
            prices: of one use of each row.
        """
        links, rows, times = self.entries
        costs = np.bincount(links, times * prices[rows], len(self.ends))
        return costs.astype(np.float64)

    def exact_costs(self, prices: Sequence[int]) -> list[int]:
        """The same, in integers of any size."""
        return [sum(times * prices[row] for row, times in use) for use in self.uses]

    def loads(self, links: Iterable[int]) -> IntArray:
        """How often each row is used when these links are used once each, repeats counted."""
        counts = np.bincount(np.fromiter(links, dtype=np.int64), minlength=len(self.ends))
        at, rows, times = self.entries
        load = np.bincount(rows, times * counts[at], self.num_rows)
        return np.rint(load).astype(np.int64)


def _label(links: tuple[tuple[int, int], ...]) -> str:
    named = ", ".join(f"{a}->{b}" for a, b in links[:3])
    return named + (", …" if len(links) > 3 else "")
