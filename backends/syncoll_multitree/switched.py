"""MultiTree on networks with switches (MultiTree paper, section III.C.3).

A link of a fabric has one connection for each unit of its bandwidth.  A breadth-first search from a
node p over free connections through switches finds its child; the connections on the way are then
taken.  Without switches this is Algorithm 1 itself.

Neighbours of a switch are tried from the searching node's number upwards and then from 0: so the
nodes of a switch do not all choose the same one.

The paper searches fully from the first node of a tree, then from the second (``node`` in
`SEARCHES`): roots send far away, and narrow links between switches fill up.  ``near`` searches one
link farther only if no node of the tree finds a child nearer.
"""

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import pairwise, product
from math import inf
from typing import Any

import numpy as np

from syncoll.arrays import Ints
from syncoll.deadline import NEVER, Deadline
from syncoll.errors import ModelError
from syncoll.model import Fabric, Link
from syncoll.model.distances import distances
from syncoll_multitree.construction import ORDERS, TimedTrees, Turns

SEARCHES = ("near", "node")
"""The searches of a tree for its next node; see above."""


def multitree_on_fabric(
    fabric: Fabric,
    roots: Sequence[int] | None = None,
    *,
    unit: Fraction,
    search: str = "near",
    order: str = "index",
    turns: str = "root",
    until: Deadline = NEVER,
) -> tuple[TimedTrees, list[tuple[int, ...]]]:
    """Spanning trees over the compute nodes that share the connections of each time step.
    Raises `ModelError` on a bad unit, or if a tree cannot reach a node over links with at least one
    connection, and `OutOfTimeError` past `until`.

    Returns:
        The trees, and for each row of their edges the vertices from the parent to the child.

    Args:
        unit: the bandwidth of a connection; links have ``floor(bandwidth / unit)`` of them.
        search: one of `SEARCHES`; the others as in `multitree`, but `turns` is not ``any``.
    """
    if unit <= 0:
        raise ModelError(f"a unit of bandwidth {unit}", None, "a bandwidth above 0")
    full = {ends: int(b / unit) for ends, b in fabric.bandwidths.items() if b >= unit}
    kept = Fabric.from_bandwidths(
        fabric.name, fabric.num_nodes, fabric.num_switches, {e: n * unit for e, n in full.items()}
    )
    nodes = fabric.num_nodes
    roots = range(nodes) if roots is None else roots
    kept.require_reachable(sorted(set(roots)))
    ways = _Ways(kept, order)
    waiting = Turns(turns, roots, nodes, ways.distances, until)
    missing = waiting.missing
    out: dict[int, int] = {}
    for (source, _), count in full.items():
        out[source] = out.get(source, 0) + count
    radii = [kept.num_vertices]
    if search == "near":
        radii = [*ways.lengths[:-1], kept.num_vertices]
    growing = [i for i in range(len(roots)) if missing[i]]
    came: list[list[int]] = [[root] for root in roots]
    inside = [{root} for root in roots]
    edges: list[tuple[int, int, int, int]] = []
    paths: list[tuple[int, ...]] = []
    step = 0
    while growing:
        waiting.sort(growing)
        free, leaving = dict(full), dict(out)
        before = {tree: len(came[tree]) for tree in growing}
        # Connections only become fewer: a search that failed within a radius fails until the end
        # of the time step, so each tree goes through its (radius, node) pairs once.
        walks = {tree: product(radii, range(before[tree])) for tree in growing}
        at = {tree: next(walks[tree]) for tree in growing}
        taking = growing
        while taking:
            again = []
            for tree in taking:
                path = None
                place: tuple[int, int] | None = at[tree]
                while place is not None:
                    radius, i = place
                    node = came[tree][i]
                    if leaving.get(node, 0):
                        path = next(ways.leading(node, inside[tree], free, radius), None)
                        if path is not None:
                            break
                    place = next(walks[tree], None)
                if path is None or place is None:
                    continue
                at[tree] = place
                leaving[path[0]] -= 1
                for ends in pairwise(path):
                    free[ends] -= 1
                came[tree].append(path[-1])
                inside[tree].add(path[-1])
                edges.append((tree, path[0], path[-1], step))
                paths.append(path)
                missing[tree] -= 1
                if missing[tree]:
                    again.append(tree)
            taking = again
        waiting.end_step({tree: came[tree][count:] for tree, count in before.items()
                          if len(came[tree]) > count})  # fmt: skip
        growing = [tree for tree in growing if missing[tree]]
        step += 1
    rows = np.array(edges, dtype=np.int64).reshape(-1, 4)
    return TimedTrees(np.array(roots, dtype=np.int64), rows), paths


class _Ways:
    """Ways from compute node to compute node through switches."""

    def __init__(self, fabric: Fabric, order: str) -> None:
        self._nodes, self._free = fabric.num_nodes, fabric.bandwidths
        links: list[Link] = list(fabric.bandwidths)
        key = ORDERS[order](links)
        self._onward: list[list[int]] = [[] for _ in range(fabric.num_vertices)]
        for source, end in sorted(links, key=lambda e: (e[1] >= self._nodes, *key(e))):
            self._onward[source].append(end)
        self._turned: dict[Link, list[int]] = {}

    def _from(self, vertex: int, start: int) -> list[int]:
        """Neighbours as listed; of a switch, first the neighbours with numbers above `start`."""
        if vertex == start:
            return self._onward[vertex]
        turned = self._turned.get((vertex, start))
        if turned is None:
            onward = self._onward[vertex]
            turned = [v for v in onward if self._nodes > v > start]
            turned += [v for v in onward if v < start]
            turned += [v for v in onward if v >= self._nodes]
            self._turned[vertex, start] = turned
        return turned

    def leading(
        self, start: int, inside: Collection[int], free: Mapping[Link, Any], radius: float
    ) -> Iterator[tuple[int, ...]]:
        """Ways of at most `radius` free connections to missing nodes, breadth first."""
        came_from = {start: start}
        queue = deque([(start, 1)])
        while queue:
            vertex, links = queue.popleft()
            for neighbour in self._from(vertex, start):
                if neighbour in came_from or not free.get((vertex, neighbour), 0):
                    continue
                if neighbour >= self._nodes:
                    came_from[neighbour] = vertex
                    if links < radius:
                        queue.append((neighbour, links + 1))
                elif neighbour not in inside:
                    came_from[neighbour] = vertex
                    path = [neighbour]
                    while path[-1] != start:
                        path.append(came_from[path[-1]])
                    yield tuple(reversed(path))

    @cached_property
    def _shortest(self) -> list[tuple[int, ...]]:
        """Shortest ways between nodes that pass no other node."""
        starts = range(self._nodes)
        return [way for v in starts for way in self.leading(v, (v,), self._free, inf)]

    @property
    def lengths(self) -> list[int]:
        """The numbers of links on shortest ways between nodes, ascending."""
        return sorted({len(way) - 1 for way in self._shortest})

    def distances(self) -> Ints:
        """``[P, P]``: the distance in sends, or `UNREACHABLE`."""
        near = sorted((way[0], way[-1]) for way in self._shortest)
        return distances(self._nodes, np.array(near, dtype=np.int64).reshape(-1, 2))
