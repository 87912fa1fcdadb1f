"""Packs trees one edge at a time: Algorithm 5 of the ForestColl paper (section C.3, Theorem 12).

A tree of multiplicity m grows from its root.  A maximum flow gives the number of copies for which
the edge (x, y) may be added: the capacity that every cut between x and y has beyond the trees that
must still cross it.  If it is less than m, the other copies become a tree of their own.

Waiting roots share one source of the flow network, which is updated in place with capped flows.
"""

import heapq
from dataclasses import dataclass

import numpy as np

from syncoll.routing.network import FlowNetwork, Network
from syncoll_forestcoll.packing import ArcBlock, ForestPacking


@dataclass
class _Tree:
    """A growing tree: the copies at ``start … start+size-1`` of the line."""

    start: int
    size: int
    parent: dict[int, int]
    depth: dict[int, int]
    refused: set[tuple[int, int]]

    def leave_behind(self, size: int) -> "_Tree":
        """Keeps `size` copies; returns the others as a tree of their own."""
        other = _Tree(
            self.start + size,
            self.size - size,
            dict(self.parent),
            dict(self.depth),
            set(self.refused),
        )
        self.size = size
        return other


def pack_by_growth(network: Network, links: list[tuple[int, int]]) -> ForestPacking:
    """A packing of a network without switches in which all trees fit; arcs number `links`."""
    growth = _Growth(network)
    root_start: dict[int, int] = {}
    position = 0
    done: list[_Tree] = []
    for root in network.terminals:
        size = network.demand[root]
        if not size:
            continue
        root_start[root] = position
        growth.unstarted[root] = 0
        waiting = [_Tree(position, size, {root: -1}, {root: 0}, set())]
        while waiting:
            done.append(growth.finish(waiting.pop(), waiting))
        position += size
    done.sort(key=lambda tree: tree.start)
    number = {ends: i for i, ends in enumerate(links)}
    nodes = tuple(network.terminals)
    arcs = np.array(
        [[number[t.parent[v], v] if t.parent[v] >= 0 else -1 for v in nodes] for t in done],
        dtype=np.int32,
    )
    starts = np.array([t.start for t in done], dtype=np.int64)
    return ForestPacking(network.total, root_start, [], [ArcBlock(nodes, starts, arcs)])


class _Growth:
    """The remaining capacities, and the flows that bound their use."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.left = {(u, v): c for u, v, c in network.links()}
        self.onward = [sorted(heads) for heads in network.out]
        self.unstarted = list(network.demand)
        self.big = 2 * network.total
        self.behind: list[_Tree] = []

    def _build(self) -> None:
        """The flow network for the waiting trees."""
        n = self.network.num_vertices
        self.source, fold = n, n + 1
        nodes = self.network.terminals
        links = [ends for ends, c in self.left.items() if c]
        roots = [v for v in nodes if self.unstarted[v]]
        tails, heads = [self.source], [fold]
        capacities = [0]
        tails += [u for u, _ in links]
        heads += [v for _, v in links]
        capacities += [min(self.left[ends], self.big) for ends in links]
        tails += [fold] * (len(nodes) + len(roots) + len(self.behind))
        heads += [*nodes, *roots, *range(n + 2, n + 2 + len(self.behind))]
        capacities += [0] * len(nodes) + [self.unstarted[v] for v in roots]
        capacities += [tree.size for tree in self.behind]
        for i, tree in enumerate(self.behind):
            tails += [n + 2 + i] * len(tree.parent)
            heads += tree.parent
            capacities += [self.big] * len(tree.parent)
        self.link = {ends: 1 + i for i, ends in enumerate(links)}
        self.enter = {v: 1 + len(links) + i for i, v in enumerate(nodes)}
        self.others = sum(self.unstarted) + sum(tree.size for tree in self.behind)
        self.flow = FlowNetwork(n + 2 + len(self.behind), tails, heads, capacities)

    def finish(self, tree: _Tree, waiting: list[_Tree]) -> _Tree:
        """Grows a tree until it spans; copies split off go onto the stack `waiting`."""
        if self.behind:
            self.behind.pop()
        self._build()
        size = len(self.network.terminals)
        frontier: list[tuple[int, int, int, int]] = []
        for x in tree.parent:
            self._extend(frontier, tree, x)
        while len(tree.parent) < size:
            x, y, units = self._next(frontier, tree)
            if units < tree.size:
                other = tree.leave_behind(units)
                waiting.append(other)
                self.behind.append(other)
                self._build()
            tree.parent[y] = x
            tree.depth[y] = tree.depth[x] + 1
            self.left[x, y] -= units
            self.flow.set_capacity(self.link[x, y], min(self.left[x, y], self.big))
            self._extend(frontier, tree, y)
        return tree

    def _extend(self, frontier: list[tuple[int, int, int, int]], tree: _Tree, x: int) -> None:
        """Adds the edges that leave x, widest first (seldom refused or split), then nearest to
        root."""
        for y in self.onward[x]:
            if y not in tree.parent and self.left[x, y] and (x, y) not in tree.refused:
                heapq.heappush(frontier, (-self.left[x, y], tree.depth[x], x, y))

    def _next(self, frontier: list[tuple[int, int, int, int]], tree: _Tree) -> tuple[int, int, int]:
        """An edge that may be added, and the number of copies for it."""
        while frontier:
            _, _, x, y = heapq.heappop(frontier)
            if y in tree.parent:
                continue
            units = self._spare(x, y, min(tree.size, self.left[x, y]))
            if units:
                return x, y, units
            # A tight cut stays tight while this tree grows.
            tree.refused.add((x, y))
        raise AssertionError("no edge can be added, although all trees fit")

    def _spare(self, x: int, y: int, most: int) -> int:
        """Theorem 12: the number of copies, up to `most`, for which (x, y) may be added."""
        flow = self.flow
        flow.set_capacity(0, self.others + most)
        flow.set_capacity(self.enter[x], self.big)
        units = flow.maximum(self.source, y) - self.others
        flow.set_capacity(self.enter[x], 0)
        return units
