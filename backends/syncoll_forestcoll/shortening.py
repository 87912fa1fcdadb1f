"""Lowers trees with the same loads, by exchanging the links by which trees enter a node.

At one node any two trees may swap their entering links, unless one would then hang from its own
branch.  The loads stay the same, even if links take several physical paths.  The best exchange at a
node is an exactly solved assignment that minimises the sum of ``3**depth`` over all nodes of all
trees.  Nodes, and switches at which trees branch, take turns until none can improve; last,
switches that are leaves are removed from trees.
"""

from dataclasses import replace
from math import floor

import numpy as np

from syncoll.arrays import Bools, Ints
from syncoll.deadline import NEVER, Deadline
from syncoll.model.forest import Forest
from syncoll.trust.forest import verify_forest

_BASE = 3
_DEEPEST = 12
"""Depths beyond this count equally, so that sums stay within 64 bits."""

_MOST_CELLS = 1 << 21
"""Most trees times nodes; larger forests stay as they are."""


def shortened(forest: Forest, until: Deadline = NEVER) -> Forest:
    """The forest with lower trees and no link fuller."""
    count = int(forest.multiplicity.sum())
    if count * forest.entering.shape[1] > _MOST_CELLS:
        return pruned(forest)
    exchange = _Exchange(forest)
    improved = True
    while improved:
        improved = False
        for column in range(forest.entering.shape[1]):
            if until.passed:
                return pruned(exchange.forest())
            improved |= exchange.at(column)
    return pruned(exchange.forest())


def pruned(forest: Forest) -> Forest:
    """The forest without switches as leaves; its scale may fall."""
    if not forest.junctions:
        return forest
    nodes, entering = forest.fabric.num_nodes, forest.entering.copy()
    end = -1 if forest.inward else 0
    near = np.array([forest.columns[path[end]] for path in forest.routes])
    while True:
        goes_on = np.zeros(entering.shape, dtype=np.bool_)
        rows, columns = np.nonzero(entering >= 0)
        goes_on[rows, near[entering[rows, columns]]] = True
        idle = (entering >= 0) & ~goes_on
        idle[:, :nodes] = False
        if not idle.any():
            break
        entering[idle] = -1
    used = np.append(np.full(nodes, True), (entering[:, nodes:] >= 0).any(axis=0))
    junctions = tuple(w for w, some in zip(forest.junctions, used[nodes:], strict=True) if some)
    routes, numbers = np.unique(entering, return_inverse=True)
    # Drops routes that no tree uses: some end at a former junction.
    kept = tuple(forest.routes[i] for i in routes.tolist() if i >= 0)
    entering = (numbers.reshape(entering.shape) - int(routes[0] < 0)).astype(np.int32)
    found = replace(forest, entering=entering[:, used], junctions=junctions, routes=kept)
    return replace(found, scale=verify_forest(found) * found.k)


class _Exchange:
    """The trees of a forest one by one, during exchanges."""

    def __init__(self, forest: Forest) -> None:
        self._forest = forest
        self._roots = np.repeat(forest.roots, forest.multiplicity).astype(np.int64)
        self._entering = np.repeat(forest.entering, forest.multiplicity, axis=0).astype(np.int64)
        self._routes = list(forest.routes)
        self._idle = self._idle_links()
        columns = forest.columns
        self._tail = np.array([columns[path[0]] for path in self._routes], dtype=np.int64)
        self._parents = np.where(self._entering < 0, -1, self._tail[self._entering])
        self._holds = np.arange(len(columns)) < forest.fabric.num_nodes

    def _idle_links(self) -> dict[int, dict[int, int]]:
        """For each column the direct links into it with spare capacity."""
        forest = self._forest
        columns = forest.columns
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
            if spare > 0 and columns.keys() >= {*ends}:
                if ends not in number:
                    number[ends] = len(self._routes)
                    self._routes.append(ends)
                idle.setdefault(columns[ends[1]], {})[number[ends]] = spare
        return idle

    def at(self, node: int) -> bool:
        """Makes the best exchange at a node or junction; returns whether it helped."""
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
        mass = np.where(branch & self._holds, _BASE**relative, 0).sum(axis=1)
        tails = self._tail[routes]
        further = depth[:, tails] + int(self._holds[node])
        costs = mass[:, None] * _BASE ** np.minimum(further, _DEEPEST)
        is_root = self._roots[trees][:, None] == tails
        allowed = ~branch[:, tails] & (is_root | (self._parents[trees][:, tails] >= 0))
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
        self._idle[node] = {r: spare for r, spare in idle.items() if spare}
        return True

    def _depths(self, trees: Ints) -> Ints:
        """``[tree, column]``: the number of sends before it; passing a junction is no send."""
        parents = self._parents[trees]
        above = np.where(parents < 0, self._roots[trees][:, None], parents)
        depth = ((parents >= 0) & self._holds).astype(np.int64)
        while (above != self._roots[trees][:, None]).any():
            depth = depth + np.take_along_axis(depth, above, axis=1)
            above = np.take_along_axis(above, above, axis=1)
        return depth

    def _branch(self, trees: Ints, node: int) -> Bools:
        """``[tree, column]``: whether it is in the branch below a node or junction, itself
        included."""
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
        """The resulting forest, equal trees counted together."""
        rows = np.column_stack([self._roots, self._entering])
        different, times = np.unique(rows, axis=0, return_counts=True)
        return replace(
            self._forest,
            roots=different[:, 0].astype(np.int32),
            multiplicity=times.astype(np.int64),
            routes=tuple(self._routes),
            entering=different[:, 1:].astype(np.int32),
        )


def _assign(costs: Ints, allowed: Bools, room: Ints) -> Ints | None:
    """An assignment of an allowed column to each row, of least total cost, within each column's
    room."""
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
