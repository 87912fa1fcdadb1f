"""Shorter trees: exchanges the links by which trees enter a node, so that they become less high.

A packing says nothing about heights, and steps are what heights cost.  At one node any two trees
may swap the links by which they enter it, as long as neither comes to hang from its own branch: the
loads stay as they were, whatever physical paths the links take.  The best exchange at a node is an
assignment of its links to the trees, solved exactly; what is minimised is the sum of ``3**depth``
over all nodes of all trees.  Nodes take turns until none can improve.
"""

from __future__ import annotations

from dataclasses import replace
from math import floor

import numpy as np
import numpy.typing as npt

from syncoll.deadline import NEVER, Deadline
from syncoll.model.forest import Forest

__all__ = ["shortened"]

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

_BASE = 3
_DEEPEST = 12
"""Below this depth all are as bad, so that sums stay far from the end of 64 bits."""

_MOST_CELLS = 1 << 21
"""Trees times nodes; larger forests stay as they are."""


def shortened(forest: Forest, until: Deadline = NEVER) -> Forest:
    """The forest with the same loads, or less idle links, and lower trees where they can be had.

    Args:
        forest: of out-trees.
        until: when to stop improving.
    """
    count = int(forest.multiplicity.sum())
    if count * forest.fabric.num_nodes > _MOST_CELLS:
        return forest
    exchange = _Exchange(forest)
    improved = True
    while improved:
        improved = False
        for node in range(forest.fabric.num_nodes):
            if until.passed:
                return exchange.forest()
            improved |= exchange.at(node)
    return exchange.forest()


class _Exchange:
    """The trees of a forest one by one, while they change."""

    def __init__(self, forest: Forest) -> None:
        self._forest = forest
        self._roots = np.repeat(forest.roots, forest.multiplicity).astype(np.int64)
        self._entering = np.repeat(forest.entering, forest.multiplicity, axis=0).astype(np.int64)
        self._routes = list(forest.routes)
        self._idle = self._idle_links()
        self._tail = np.array([path[0] for path in self._routes], dtype=np.int64)
        self._parents = np.where(self._entering < 0, -1, self._tail[self._entering])

    def _idle_links(self) -> dict[int, dict[int, int]]:
        """For each node the direct links into it that could carry more trees."""
        forest = self._forest
        number = {path: i for i, path in enumerate(self._routes)}
        used: dict[tuple[int, ...], int] = {}
        entered, times = np.unique(self._entering, return_counts=True)
        for route, trees in zip(entered.tolist(), times.tolist(), strict=True):
            for hop in zip(self._routes[route], self._routes[route][1:], strict=False):
                if route >= 0:
                    used[hop] = used.get(hop, 0) + trees
        idle: dict[int, dict[int, int]] = {}
        for ends, bandwidth in forest.fabric.bandwidths.items():
            spare = floor(forest.scale * bandwidth) - used.get(ends, 0)
            if spare > 0 and max(ends) < forest.fabric.num_nodes:
                if ends not in number:
                    number[ends] = len(self._routes)
                    self._routes.append(ends)
                idle.setdefault(ends[1], {})[number[ends]] = spare
        return idle

    def at(self, node: int) -> bool:
        """Makes the best exchange at a node; whether that helped."""
        column = self._entering[:, node]
        trees = np.flatnonzero(column >= 0)
        if not len(trees):
            return False
        used, times = np.unique(column[trees], return_counts=True)
        room = dict(zip(used.tolist(), times.tolist(), strict=True))
        for route, spare in self._idle.get(node, {}).items():
            room[route] = room.get(route, 0) + spare
        if len(room) < 2:
            return False
        routes = np.array(sorted(room), dtype=np.int64)
        depth, branch = self._depths(trees), self._branch(trees, node)
        own = np.minimum(depth[:, node], _DEEPEST)
        relative = np.clip(depth - own[:, None], 0, _DEEPEST)
        mass = np.where(branch, _BASE**relative, 0).sum(axis=1)
        tails = self._tail[routes]
        costs = mass[:, None] * _BASE ** np.minimum(depth[:, tails] + 1, _DEEPEST)
        allowed = ~branch[:, tails]
        before = np.searchsorted(routes, column[trees])
        chosen = _assign(costs, allowed, np.array([room[r] for r in routes.tolist()]))
        each = np.arange(len(trees))
        if chosen is None or costs[each, chosen].sum() >= costs[each, before].sum():
            return False
        self._entering[trees, node] = routes[chosen]
        self._parents[trees, node] = tails[chosen]
        idle = {
            int(route): room[int(route)] - int((chosen == i).sum())
            for i, route in enumerate(routes)
        }
        direct = {r: spare for r, spare in idle.items() if spare}
        if node in self._idle or direct:
            self._idle[node] = direct
        return True

    def _depths(self, trees: IntArray) -> IntArray:
        """``[tree, node]``."""
        parents = self._parents[trees]
        above = np.where(parents < 0, self._roots[trees][:, None], parents)
        depth = (parents >= 0).astype(np.int64)
        while (above != self._roots[trees][:, None]).any():
            depth = depth + np.take_along_axis(depth, above, axis=1)
            above = np.take_along_axis(above, above, axis=1)
        return depth

    def _branch(self, trees: IntArray, node: int) -> BoolArray:
        """``[tree, node]``: what hangs below a node, itself included."""
        parents = self._parents[trees]
        above = np.where(parents < 0, self._roots[trees][:, None], parents)
        branch = np.zeros(parents.shape, dtype=np.bool_)
        branch[:, node] = True
        while True:
            more = branch | np.take_along_axis(branch, above, axis=1)
            if (more == branch).all():
                return branch
            branch = more

    def forest(self) -> Forest:
        """What has become of it, equal trees counted together."""
        rows = np.column_stack([self._roots, self._entering])
        different, times = np.unique(rows, axis=0, return_counts=True)
        return replace(
            self._forest,
            roots=different[:, 0].astype(np.int32),
            multiplicity=times.astype(np.int64),
            routes=tuple(self._routes),
            entering=different[:, 1:].astype(np.int32),
        )


def _assign(costs: IntArray, allowed: BoolArray, room: IntArray) -> IntArray | None:
    """For each row a column of its allowed ones, cheapest in all, each within its room."""
    from ortools.graph.python.min_cost_flow import SimpleMinCostFlow

    rows, columns = costs.shape
    flow = SimpleMinCostFlow()
    row, column = np.nonzero(allowed)
    arcs = flow.add_arcs_with_capacity_and_unit_cost(
        row, rows + column, np.ones(len(row), dtype=np.int64), costs[row, column]
    )
    sink = rows + columns
    flow.add_arcs_with_capacity_and_unit_cost(
        rows + np.arange(columns), np.full(columns, sink), room, np.zeros(columns, dtype=np.int64)
    )
    supplies = np.concatenate(
        [np.ones(rows, dtype=np.int64), np.zeros(columns + 1, dtype=np.int64)]
    )
    supplies[sink] = -rows
    flow.set_nodes_supplies(np.arange(sink + 1), supplies)
    if flow.solve() != flow.OPTIMAL:
        return None
    taken = np.flatnonzero(flow.flows(arcs))
    chosen = np.zeros(rows, dtype=np.int64)
    chosen[row[taken]] = column[taken]
    return chosen
