"""Spanning trees in linear time, used if no time is left to pack better ones.

Nodes at one switch are a cluster.  The data of each root enters every cluster once, at a node that
forwards it; the nodes of a cluster take turns.  Routes take the least loaded links.  If a route
passes nodes, the tree continues from them.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from syncoll.model import Fabric, Forest
from syncoll.routing.optimality import check_collective

_Path = tuple[int, ...]


def quick_forest(fabric: Fabric, weights: Sequence[int]) -> Forest:
    """Spanning trees, one for each root, in time linear in their links; see `check_collective`."""
    weights = check_collective(fabric, weights)
    drawing = _Drawing(fabric)
    roots = [v for v, weight in enumerate(weights) if weight]
    routes: dict[_Path, int] = {}
    entering = np.full((len(roots), fabric.num_nodes), -1, dtype=np.int32)
    for row, root in enumerate(roots):
        for path in drawing.tree(root, weights[root]):
            entering[row, path[-1]] = routes.setdefault(path, len(routes))
    bandwidths = fabric.bandwidths
    scale = max(Fraction(load) / bandwidths[ends] for ends, load in drawing.load.items())
    return Forest(
        fabric,
        weights,
        1,
        scale,
        np.array(roots, dtype=np.int32),
        np.array([weights[v] for v in roots], dtype=np.int64),
        tuple(routes),
        entering,
    )


class _Drawing:
    """Draws one tree after another and keeps the number of trees on each link."""

    def __init__(self, fabric: Fabric) -> None:
        import networkx as nx  # slow to import, and only needed where time is short

        self.fabric = fabric
        self.load: dict[tuple[int, int], int] = dict.fromkeys(fabric.bandwidths, 0)
        self.cost = {ends: 1 / float(b) for ends, b in fabric.bandwidths.items()}
        graph: Any = nx.DiGraph(list(fabric.bandwidths))
        self.before: Callable[[int], Any] = partial(nx.predecessor, graph)
        """For each vertex its predecessors on shortest paths from a root."""
        widest: dict[int, tuple[Fraction, int]] = {}
        for (u, v), bandwidth in fabric.bandwidths.items():
            if u < fabric.num_nodes <= v and (v, u) in fabric.bandwidths:
                widest[u] = max(widest.get(u, (bandwidth, v)), (bandwidth, v))
        self.clusters: dict[int, list[int]] = {}
        for node in range(fabric.num_nodes):
            switch = widest[node][1] if node in widest else -1 - node
            self.clusters.setdefault(switch, []).append(node)
        self.passed = [0] * fabric.num_nodes

    def tree(self, root: int, weight: int) -> list[_Path]:
        """The routes of a tree; each route enters one node."""
        before = self.before(root)
        found: list[_Path] = []
        for switch, members in self.clusters.items():
            entry = root if root in members else min(members, key=self.passed.__getitem__)
            way = (root,) if entry == root else self._way(before, entry)
            if way[0] != root:  # it passes nodes, which get the data earlier
                found += [self._way(before, node) for node in members]
                continue
            if entry != root:
                found.append(way)
            self.passed[entry] += weight * (len(members) - 1)
            found += [(entry, switch, node) for node in members if node != entry]
        for path in found:
            for ends in pairwise(path):
                self.load[ends] += weight
        return found

    def _way(self, before: Mapping[int, list[int]], node: int) -> _Path:
        """The last part of a shortest path to a node: from the node before it."""
        path = [node]
        while len(path) == 1 or path[-1] >= self.fabric.num_nodes:
            v = path[-1]
            path.append(min(before[v], key=lambda u: self.load[u, v] * self.cost[u, v]))
        return tuple(reversed(path))
