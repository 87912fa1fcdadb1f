"""The network of the relaxations' flows: the topology, or its time-expansion."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from syncoll.arrays import Ints
from syncoll.linear import ProgramRows
from syncoll.model import Topology

SMALL = 12
"""Up to this number of nodes every set of nodes is examined; below it programs need no symmetry."""

CELLS = 1 << 20
"""Cells of arrays that are processed together, in some 25 MB; other limits are multiples of it."""

QUICK = (60_000, 3_000)
"""A relaxation takes tenths of a second with at most this number of variables when it is built, and
this number left for the solver after the reduction."""

THOROUGH = (1_500_000, 40_000)
"""With more variables than this it takes minutes, and more than a GiB of memory."""


@dataclass(frozen=True, eq=False)
class TimeExpandedNetwork:
    """Arcs over places; a place is a node, or a node at a time.

    Args:
        steps: S, or None for the topology itself (one layer, no time).
        tail: ``[A]``, the place that each arc leaves.
        head: ``[A]``, the place that each arc enters.
        link: ``[A]``, the position of the arc's link; -1 for waiting at a node, which is free.
        step: ``[A]``, the arc's step; 0 without time.
    """

    topology: Topology
    steps: int | None
    tail: Ints
    head: Ints
    link: Ints
    step: Ints

    @classmethod
    def of(cls, topology: Topology, steps: int | None) -> "TimeExpandedNetwork":
        """The topology's own network, or its expansion over S steps."""
        ends = topology.ends
        links, nodes = np.arange(len(ends)), np.arange(topology.num_nodes)
        if steps is None:
            return cls(topology, None, ends[:, 0], ends[:, 1], links, np.zeros_like(links))
        layer = np.repeat(np.arange(steps), len(ends))
        wait = np.repeat(np.arange(steps), len(nodes))
        width = topology.num_nodes
        return cls(
            topology,
            steps,
            np.concatenate(
                [np.tile(ends[:, 0], steps) + layer * width, np.tile(nodes, steps) + wait * width]
            ),
            np.concatenate(
                [
                    np.tile(ends[:, 1], steps) + (layer + 1) * width,
                    np.tile(nodes, steps) + (wait + 1) * width,
                ]
            ),
            np.concatenate([np.tile(links, steps), np.full(len(wait), -1)]),
            np.concatenate([layer, wait]),
        )

    @property
    def layers(self) -> int:
        """Number of steps with capacities of their own."""
        return 1 if self.steps is None else self.steps

    @property
    def num_places(self) -> int:
        """Number of places."""
        return self.topology.num_nodes * (1 if self.steps is None else self.steps + 1)

    def goal(self, node: int) -> int:
        """The place where a flow to the node ends."""
        return node if self.steps is None else self.steps * self.topology.num_nodes + node

    def flow(
        self, program: ProgramRows, arcs: Ints, goal: int, supply: Mapping[int, float]
    ) -> tuple[Ints, Ints]:
        """Variables of a flow over some arcs, and for each place the row that conserves it; -1 for
        the goal, and for places outside the flow.

        Args:
            goal: the destination of the flow.
            supply: the amount that begins at each place; more may be added to their rows.
        """
        columns, end = program.columns(len(arcs)), self.goal(goal)
        tail, head = self.tail[arcs], self.head[arcs]
        places = np.unique(np.concatenate([tail, head, np.array(sorted(supply), dtype=np.int64)]))
        places = places[places != end]
        begins = np.array([supply.get(place, 0.0) for place in places.tolist()])
        row = np.full(self.num_places, -1)
        row[places] = program.rows(len(places), begins, begins)
        program.add(row[tail][tail != end], columns[tail != end])
        program.add(row[head][head != end], columns[head != end], -1.0)
        return columns, row

    def useful(self, sources: tuple[int, ...], destination: int) -> Ints:
        """The arcs on some path from the sources to the destination, by distances."""
        from_sources = self.topology.distances[list(sources)].min(axis=0)
        to_destination = self.topology.distances[:, destination]
        nodes = self.topology.num_nodes
        u, v = self.tail % nodes, self.head % nodes
        if self.steps is None:
            return np.flatnonzero((from_sources[u] < nodes) & (to_destination[v] < nodes))
        return np.flatnonzero(
            (from_sources[u] <= self.step) & (to_destination[v] <= self.steps - self.step - 1)
        )

    def useful_counts(self, sources: tuple[int, ...]) -> Ints:
        """``[P]``: the number of arcs from `useful` for each destination, without their list."""
        from_sources = self.topology.distances[list(sources)].min(axis=0)
        nodes, (u, v) = self.topology.num_nodes, self.topology.ends.T
        result = np.zeros(nodes, dtype=np.int64)
        # Links into one node from nodes at equal distances have the same steps to choose from.
        for level in range(1 if self.steps is None else self.steps):
            if self.steps is None:
                links = np.bincount(v[from_sources[u] < nodes], minlength=nodes)
            else:  # waiting too
                links = np.bincount(v[from_sources[u] == level], minlength=nodes)
                links += from_sources == level
            heads = np.flatnonzero(links)
            for part in np.array_split(heads, -(-len(heads) * nodes // CELLS) or 1):
                far = self.topology.distances[part]
                if self.steps is None:
                    result += links[part] @ (far < nodes)
                else:
                    result += links[part] @ np.maximum(self.steps - level - far, 0)
        return result
