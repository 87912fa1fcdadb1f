"""Network: a digraph with integer capacities, terminals that must be spanned, and root demands.

One unit of capacity carries one tree (ForestColl paper, section 4.2, "Determine k"): the fabric's
bandwidths are scaled by U so that the trees rooted at a terminal are counted by its demand.  Every
capacity remembers which physical paths it stands for, so that removing a switch or contracting a
group of vertices loses no routing information; a path starts and ends at vertices of the fabric
that lie inside the two ends of the link.  `FlowNetwork` finds maximum flows (OR-Tools).
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from syncoll.arrays import Ints
from syncoll.errors import UsageError

Path = tuple[int, ...]
Pieces = list[tuple[Path, int]]
"""Physical paths with the units of capacity that each carries."""


LARGEST = 1 << 61
"""Capacities and their sums at one vertex stay below this, far from the end of 64 bits."""


class FlowNetwork:
    """A digraph for many maximum flows; raises UsageError if capacities exceed 64-bit flows."""

    def __init__(
        self,
        num_vertices: int,
        tails: Sequence[int] | Ints,
        heads: Sequence[int] | Ints,
        capacities: Sequence[int] | Ints,
    ) -> None:
        from ortools.graph.python import max_flow

        self.num_vertices = num_vertices
        require_small(capacities)
        self._flow: Any = max_flow.SimpleMaxFlow()
        self._optimal = max_flow.SimpleMaxFlow.OPTIMAL
        self._arcs = self._flow.add_arcs_with_capacity(
            np.asarray(tails, dtype=np.int32),
            np.asarray(heads, dtype=np.int32),
            np.asarray(capacities, dtype=np.int64),
        )

    def set_capacity(self, arc: int, capacity: int) -> None:
        """Changes one arc."""
        if capacity > LARGEST:
            require_small([capacity])
        self._flow.set_arc_capacity(arc, capacity)

    def set_capacities(self, capacities: Sequence[int] | Ints) -> None:
        """Changes all arcs."""
        require_small(capacities)
        self._flow.set_arcs_capacity(self._arcs, np.asarray(capacities, dtype=np.int64))

    def maximum(self, source: int, sink: int) -> int:
        """The value of a maximum flow."""
        status = self._flow.solve(source, sink)
        if status != self._optimal:
            raise UsageError(f"the maximum-flow solver stopped with {status}")
        return int(self._flow.optimal_flow())

    def source_side(self) -> list[int]:
        """The source's side of a minimum cut of the last flow."""
        return [int(v) for v in self._flow.get_source_side_min_cut()]

    def flows(self) -> Ints:
        """The last flow's amount on each arc."""
        return np.asarray(self._flow.flows(self._arcs), dtype=np.int64)


def require_small(capacities: Sequence[int] | Ints) -> None:
    """Raises UsageError if 64-bit flows cannot hold the sum of the capacities."""
    total = float(np.asarray(capacities, dtype=np.float64).sum())
    if total >= LARGEST:
        raise UsageError(
            f"the bandwidths need integers up to {total:.1e} once scaled to whole trees, more than "
            "64-bit flows can hold; round the bandwidths to fewer digits, or fix k"
        )


class Network:
    """A mutable digraph with integer capacities.

    Args:
        demand: trees rooted at each vertex, 0 for switches.
        terminals: the vertices that every tree must reach; each root is one.
        home: the vertex of this network that contains each vertex of the fabric; by default itself.
    """

    def __init__(
        self, demand: Sequence[int], terminals: Iterable[int], home: Sequence[int] | None = None
    ) -> None:
        self.demand = list(demand)
        self.terminals = sorted(terminals)
        self.is_terminal = [False] * len(self.demand)
        for v in self.terminals:
            self.is_terminal[v] = True
        self.out: list[dict[int, int]] = [{} for _ in self.demand]
        self.into: list[dict[int, int]] = [{} for _ in self.demand]
        self.pieces: dict[tuple[int, int], Pieces] = {}
        self.total = sum(self.demand)
        self.home = list(range(len(self.demand))) if home is None else home

    @property
    def num_vertices(self) -> int:
        """Terminals and switches, removed ones included."""
        return len(self.demand)

    @property
    def need(self) -> int:
        """The most trees that can have to enter a set of vertices: no smaller cut is violated."""
        return self.total - min(self.demand[v] for v in self.terminals)

    def switches(self) -> list[int]:
        """The vertices that are no terminals and still have links."""
        return [
            v
            for v in range(self.num_vertices)
            if not self.is_terminal[v] and (self.out[v] or self.into[v])
        ]

    def add(self, u: int, v: int, pieces: Pieces) -> None:
        """Adds capacity from u to v, made of the given paths."""
        amount = pieces[0][1] if len(pieces) == 1 else sum(units for _, units in pieces)
        if not amount:
            return
        self.out[u][v] = self.into[v][u] = self.out[u].get(v, 0) + amount
        mine = self.pieces.setdefault((u, v), [])
        mine.extend(pieces)

    def take(self, u: int, v: int, amount: int) -> Pieces:
        """Removes units of capacity from u to v and returns their paths."""
        left = self.out[u][v] - amount
        if left < 0:
            raise ValueError(f"{amount} units of a link that has {left + amount}")
        mine = self.pieces[u, v]
        taken: Pieces = []
        while amount:
            path, units = mine.pop()
            if units > amount:
                mine.append((path, units - amount))
                units = amount
            taken.append((path, units))
            amount -= units
        if left:
            self.out[u][v] = self.into[v][u] = left
        else:
            del self.out[u][v], self.into[v][u], self.pieces[u, v]
        return taken

    def drop(self, u: int, v: int) -> None:
        """Removes the link from u to v if there is one."""
        if v in self.out[u]:
            del self.out[u][v], self.into[v][u], self.pieces[u, v]

    def split(self, u: int, w: int, t: int, amount: int) -> Pieces:
        """Replaces units of (u, w), (w, t) by units of (u, t); paths u to u are returned."""
        joined = join(self.take(u, w, amount), self.take(w, t, amount))
        if u == t:
            return joined
        self.add(u, t, joined)
        return []

    def links(self) -> Iterable[tuple[int, int, int]]:
        """(tail, head, capacity) of every link."""
        for u, heads in enumerate(self.out):
            for v, capacity in heads.items():
                yield u, v, capacity

    def distances(self) -> dict[int, int]:
        """From each vertex to the next terminal, along the links."""
        distance = dict.fromkeys(self.terminals, 0)
        waiting = [*self.terminals]
        for v in waiting:
            for u in self.into[v]:
                if u not in distance:
                    distance[u] = distance[v] + 1
                    waiting.append(u)
        return distance

    def root_flow(self) -> tuple[FlowNetwork, list[int]]:
        """Flows from a source behind all vertices that feeds each root its demand.  Returns them,
        and the capacities of links and roots in the order of their arcs."""
        links, source = list(self.links()), self.num_vertices
        roots = [v for v, demand in enumerate(self.demand) if demand]
        capacities = [c for _, _, c in links] + [self.demand[v] for v in roots]
        tails = [u for u, _, _ in links] + [source] * len(roots)
        heads = [v for _, v, _ in links] + roots
        # No more than all trees need.
        least = [min(c, self.total) for c in capacities]
        return FlowNetwork(source + 1, tails, heads, least), capacities

    def copy(self) -> "Network":
        """An independent copy."""
        other = Network(self.demand, self.terminals, self.home)
        other.out = [dict(x) for x in self.out]
        other.into = [dict(x) for x in self.into]
        other.pieces = {ends: list(pieces) for ends, pieces in self.pieces.items()}
        return other

    def become(self, other: "Network") -> None:
        """Takes over the links of a network with the same vertices; further ones have no links."""
        count = self.num_vertices
        self.out, self.into, self.pieces = other.out[:count], other.into[:count], other.pieces

    def quotient(self, groups: Sequence[Sequence[int]]) -> "tuple[Network, list[int]]":
        """The network of groups of vertices without inner links, and the group of each vertex.
        Vertices in no group form one more, the last."""
        group_of = [len(groups)] * self.num_vertices
        for i, group in enumerate(groups):
            for v in group:
                group_of[v] = i
        demand = [0] * (len(groups) + 1)
        for v, d in enumerate(self.demand):
            demand[group_of[v]] += d
        small = Network(
            demand, {group_of[v] for v in self.terminals}, [group_of[v] for v in self.home]
        )
        for (u, v), pieces in self.pieces.items():
            if group_of[u] != group_of[v]:
                small.add(group_of[u], group_of[v], pieces)
        return small, group_of


def join(first: Pieces, second: Pieces, most: int | None = None) -> Pieces:
    """Glues paths end to end, unit by unit, up to `most`, as far as both sides go; uses them up."""
    joined: Pieces = []
    while first and second and most != 0:
        (a, m), (b, n) = first.pop(), second.pop()
        units = min(m, n) if most is None else min(m, n, most)
        joined.append((a + b[1:], units))
        most = None if most is None else most - units
        if m > units:
            first.append((a, m - units))
        if n > units:
            second.append((b, n - units))
    return joined
