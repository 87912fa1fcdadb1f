"""Cheap timed trees under prices of bounds and steps: from known trees, or from nothing.

A local search starts from trees that a packing uses now (`arrivals`), every known tree gets its
cheapest steps, and at intervals some are constructed from nothing (`trees`). The first two look at
many trees of all demands at once.
"""

from collections.abc import Sequence

import numpy as np

from syncoll.arrays import Bools, Floats, Ints
from syncoll.deadline import Deadline
from syncoll.packing.arrivals import ArrivalSearch
from syncoll.packing.column_generation import TINY
from syncoll.packing.problem import PackingProblem
from syncoll.packing.trees import TimedTree, TreeFinder

Found = list[tuple[int, TimedTree]]
"""Trees, each with its demand's position."""

_BATCH = 4
"""Trees from which a local search starts in a turn, at least one of each demand; and the interval
in turns between trees from nothing.  Row torus(8,8) allgather of benchmarks/results/scale.md."""

_CHANGED = (0.0, 0.1, 0.2)
"""The share of their arrivals that is changed at random before, in turn.  Row torus(8,8) allgather
of benchmarks/results/scale.md."""

_RETIMED = 48
"""Known trees that get new steps in a turn, at least two of each demand; a third as many demands
get trees from nothing.  Row a100(boxes=4) allgather of benchmarks/results/scale.md."""


class TreePricing:
    """Looks for trees of S steps that cost less than demands pay."""

    def __init__(self, problem: PackingProblem, steps: int, random: np.random.Generator) -> None:
        self.problem, self.steps = problem, steps
        self._random = random
        self._finder = TreeFinder(problem.links, steps, random)
        self._arrivals = ArrivalSearch(problem.links, steps)
        self._single = all(len(demand.destinations) == 1 for demand in problem.demands)
        self._turn = 0
        self._has = self._where([demand.sources for demand in problem.demands])
        self._needs = self._where([demand.destinations for demand in problem.demands])
        self._shapes: dict[tuple[int, bytes], Ints] = {}

    def know(self, demand: int, tree: TimedTree) -> None:
        """Remembers the sender of each node in a tree, which may have any number of steps."""
        if not self._single:
            into = self._rows(tree)[0]
            self._shapes.setdefault((demand, into.tobytes()), into)

    def cheap(
        self, prices: Floats, pays: Floats, shared: Sequence[Sequence[TimedTree]], until: Deadline
    ) -> tuple[Found, Floats]:
        """Cheap trees, and the cost of the cheapest one found for each demand.

        Args:
            prices: ``[B, S]``, or ``[B, 1]`` where they are the same in all steps.
            pays: the price that each demand pays; trees that cost more are omitted.
            shared: for each demand the trees that are in use now.
        """
        steps = self.steps // prices.shape[1]
        on_links = self._finder.untied(self.problem.on_links(np.repeat(prices, steps, axis=1)))
        costs = np.full(len(pays), np.inf)
        if self._single:
            return self._ways(on_links, costs), costs
        found: Found = []
        if self._shapes:
            found += self._retimed(on_links, pays, costs)
        if any(shared):
            found += self._descended(on_links, pays, shared, costs, until)
        missing = np.flatnonzero(np.isinf(costs))
        if not found or self._turn % _BATCH == 0 or len(missing):
            some = self._random.permutation(len(costs))[: _RETIMED // 3]
            found += self._constructed(on_links, np.union1d(some, missing), costs, until)
        self._turn += 1
        for demand, tree in found:
            self.know(demand, tree)
        return found, costs

    def _ways(self, prices: Floats, costs: Floats) -> Found:
        """The cheapest path for each demand with a single destination."""
        by_sources: dict[tuple[int, ...], list[int]] = {}
        for i, demand in enumerate(self.problem.demands):
            by_sources.setdefault(demand.sources, []).append(i)
        found: Found = []
        for members in by_sources.values():
            ways = self._finder.ways([self.problem.demands[i] for i in members], prices)
            for i, way in zip(members, ways, strict=True):
                if way is not None:
                    costs[i] = self._finder.cost(way, prices)
                    found.append((i, way))
        return found

    def _retimed(self, prices: Floats, pays: Floats, costs: Floats) -> Found:
        """Known trees with their cheapest steps."""
        into = np.stack(list(self._shapes.values()))
        demands = np.array([demand for demand, _ in self._shapes])
        cost, steps = self._arrivals.timed(into, self._has[demands], prices)
        np.minimum.at(costs, demands, cost)
        most = max(2, _RETIMED // len(costs))
        order = np.lexsort((cost, demands))
        place = np.arange(len(order)) - np.searchsorted(demands[order], demands[order])
        kept = order[place < most]
        return self._improving(demands[kept], into[kept], steps[kept], cost[kept], pays)

    def _descended(
        self,
        prices: Floats,
        pays: Floats,
        shared: Sequence[Sequence[TimedTree]],
        costs: Floats,
        until: Deadline,
    ) -> Found:
        """Trees from a local search that starts from some trees in use."""
        each = max(1, min(_BATCH, self._arrivals.batch) // len(costs))
        demands, arrivals = [], []
        for demand, trees in enumerate(shared):
            for i in self._random.permutation(len(trees))[:each].tolist():
                into, steps = self._rows(trees[i])
                demands.append(demand)
                arrivals.append(np.where(into >= 0, steps + 1, self.steps + 1))
        demand_of, arrival = np.array(demands), np.stack(arrivals)
        has, needs = self._has[demand_of], self._needs[demand_of]
        arrival[has] = 0
        part = _CHANGED[self._turn % len(_CHANGED)]
        if part:
            changed = needs & (self._random.random(arrival.shape) < part)
            other = self._random.integers(1, self.steps + 1, arrival.shape)
            arrival = np.where(changed, other, arrival)
        into = self._arrivals.descended(arrival, has, needs, prices, until)
        cost, timed = self._arrivals.timed(into, has, prices)
        np.minimum.at(costs, demand_of, cost)
        return self._improving(demand_of, into, timed, cost, pays)

    def _constructed(self, prices: Floats, which: Ints, costs: Floats, until: Deadline) -> Found:
        """Trees from nothing."""
        found: Found = []
        demands = [self.problem.demands[i] for i in which.tolist()]
        # Fewer come out after the deadline.
        made = self._finder.trees(demands, prices, until)
        for i, trees in zip(which.tolist(), made, strict=False):
            for tree in trees:
                costs[i] = min(costs[i], self._finder.cost(tree, prices))
                found.append((i, tree))
        return found

    def _improving(
        self, demands: Ints, into: Ints, steps: Ints, cost: Floats, pays: Floats
    ) -> Found:
        improves = np.isfinite(cost) & (cost < pays[demands] - TINY)
        found: Found = []
        for i in np.flatnonzero(improves).tolist():
            heads = np.flatnonzero(into[i] >= 0)
            sends = zip(into[i, heads].tolist(), steps[i, heads].tolist(), strict=True)
            found.append((int(demands[i]), TimedTree(tuple(sorted(sends)))))
        return found

    def _rows(self, tree: TimedTree) -> tuple[Ints, Ints]:
        """For each node the link by which it gets the chunk and the step, or -1 twice."""
        links = tree.links
        into, steps = np.full((2, self.problem.num_nodes), -1)
        into[self.problem.links.target[links]] = links
        steps[self.problem.links.target[links]] = tree.steps
        return into, steps

    def _where(self, nodes: Sequence[Sequence[int]]) -> Bools:
        found = np.zeros((len(nodes), self.problem.num_nodes), dtype=bool)
        for row, some in zip(found, nodes, strict=True):
            row[list(some)] = True
        return found
