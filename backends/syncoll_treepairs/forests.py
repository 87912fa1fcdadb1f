"""Cheap timed forests: a chunk gets from some nodes to all others within so many steps.

When it is known by when each node has the chunk, each takes the cheapest send that comes in time
from a node that has it by then: what a forest costs is a function of the arrivals alone.  Forests
are begun node after node, each by the cheapest way from those that are reached, and improved by
changing one arrival at a time, always the one that saves most.  In the end the steps that cost
least follow exactly from who sends to whom.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from syncoll.arrays import BoolArray, FloatArray, IntArray
from syncoll.deadline import Deadline
from syncoll_treepairs.machine import Links

__all__ = ["Forests"]


_FAR = 1e7
"""What cannot be costs so many times more than any send."""

_TINY = 1e-9
_MOST_TURNS = 6
"""Arrivals that may change in one descent, for each node."""


class Forests:
    """Cheap forests of so many steps under given prices.

    Args:
        links: sorted by target; every node is reached.
        nodes: P.
        prices: ``[T, L]`` in the order of the links, above 0.
    """

    def __init__(self, links: Links, nodes: int, prices: FloatArray) -> None:
        self.source, self.target, self.nodes = links.source, links.target, nodes
        self.prices, self.steps = prices, len(prices)
        self._first = np.searchsorted(self.target, np.arange(nodes))
        self._by_source = np.argsort(self.source, kind="stable")
        self._first_out = np.searchsorted(self.source[self._by_source], np.arange(nodes))
        self._far = _FAR * float(prices.max(initial=1.0))
        steps = self.steps
        self._table = np.full((len(self.source), steps + 1, steps + 1), self._far)
        for step in range(steps):
            self._table[:, step, step + 1 :] = np.minimum.accumulate(prices[step:].T, axis=1)
        self._onward = np.ascontiguousarray(self._table.transpose(0, 2, 1)[self._by_source])

    def found(
        self, sources: Sequence[Sequence[int]], known: Sequence[IntArray | None], until: Deadline
    ) -> list[tuple[float, IntArray, IntArray] | None]:
        """A cheap forest from each of these sets of nodes.

        Args:
            sources: of each forest.
            known: arrivals to begin with, for those that have some.
            until: when to be content.

        Returns:
            For each the cost, the links, as positions in the given ones, and the steps; None where
            the steps do not suffice.
        """
        begun = []
        for some, arrivals in zip(sources, known, strict=True):
            if arrivals is None:
                arrivals = self._begun(some)
            arrivals = np.minimum(arrivals, self.steps)
            arrivals[list(some)] = 0
            begun.append(arrivals)
        has = np.zeros((len(begun), self.nodes), dtype=bool)
        for row, some in zip(has, sources, strict=True):
            row[list(some)] = True
        arrivals = self._descended(np.stack(begun), has, until)
        return [self._forest(row, here) for row, here in zip(arrivals, has, strict=True)]

    def _begun(self, sources: Sequence[int]) -> IntArray:
        """Arrivals of a forest to which node after node was joined by the cheapest way."""
        arrivals = np.full(self.nodes, self.steps + 1)
        arrivals[list(sources)] = 0
        while (arrivals > self.steps).any():
            costs = np.empty((self.steps + 1, self.nodes))
            costs[0] = np.where(arrivals == 0, 0.0, np.inf)
            for step in range(self.steps):
                into = np.minimum.reduceat(
                    costs[step][self.source] + self.prices[step], self._first
                )
                costs[step + 1] = np.minimum(costs[step], into)
                costs[step + 1][arrivals <= step + 1] = 0.0
            last = np.where(arrivals > self.steps, costs[-1], np.inf)
            node = int(last.argmin())
            if not np.isfinite(last[node]):
                return arrivals
            step = self.steps
            while arrivals[node] > step:
                if costs[step - 1, node] <= costs[step, node] + 1e-12:
                    step -= 1
                    continue
                arrivals[node] = step
                low = self._first[node]
                high = self._first[node + 1] if node + 1 < self.nodes else len(self.source)
                into = costs[step - 1][self.source[low:high]] + self.prices[step - 1][low:high]
                node = int(self.source[low + into.argmin()])
                step -= 1
        return arrivals

    def _descended(self, arrivals: IntArray, has: BoolArray, until: Deadline) -> IntArray:
        live = np.arange(len(arrivals))
        for _ in range(_MOST_TURNS * self.nodes):
            gain = self._gains(arrivals[live], has[live]).reshape(len(live), -1)
            best = gain.argmax(axis=1)
            saves = gain[np.arange(len(live)), best] > _TINY * self._far / _FAR
            live, best = live[saves], best[saves]
            if not len(live) or until.passed:
                break
            node, arrival = np.divmod(best, self.steps + 1)
            arrivals[live, node] = arrival
        return arrivals

    def _gains(self, arrivals: IntArray, has: BoolArray) -> FloatArray:
        """``[K, P, T + 1]``: what is saved when the chunk comes to one node by another step."""
        count, links = len(arrivals), np.arange(len(self.source))
        forbidden = self._far * self.nodes
        pays = np.minimum.reduceat(
            self._table[links, arrivals[:, self.source]], self._first, axis=1
        )
        pays[:, :, 0] = forbidden
        pays[has] = np.where(np.arange(self.steps + 1) == 0, 0.0, forbidden)
        now = np.take_along_axis(pays, arrivals[:, :, None], 2)[:, :, 0]
        # What the others would pay without it: the second best where it is their best.
        each = self._table[links, arrivals[:, self.source], arrivals[:, self.target]]
        least = np.minimum.reduceat(each, self._first, axis=1)[:, self.target]
        place = np.where(each == least, links, len(links))
        best = np.minimum.reduceat(place, self._first, axis=1)
        without = each.copy()
        without[np.arange(count)[:, None], best] = forbidden
        second = np.minimum.reduceat(without, self._first, axis=1)[:, self.target]
        others = np.where(links == best[:, self.target], second, least)
        others[has[:, self.target]] = 0.0
        heads = self.target[self._by_source]
        onward = self._onward[links, arrivals[:, heads]]
        np.minimum(onward, others[:, self._by_source, None], out=onward)
        pays += np.add.reduceat(onward, self._first_out, axis=1)
        total = now + np.add.reduceat(now[:, heads], self._first_out, axis=1)
        return np.asarray(total[:, :, None] - pays)

    def _forest(
        self, arrivals: IntArray, has: BoolArray
    ) -> tuple[float, IntArray, IntArray] | None:
        each = self._table[
            np.arange(len(self.source)), arrivals[self.source], arrivals[self.target]
        ]
        least = np.minimum.reduceat(each, self._first)
        place = np.where(each == least[self.target], np.arange(len(each)), len(each))
        into = np.minimum.reduceat(place, self._first)
        heads = np.flatnonzero(~has)
        if (least[heads] >= self._far).any():
            return None
        steps = self._timed(into, heads[np.argsort(-arrivals[heads], kind="stable")])
        return float(self.prices[steps, into[heads]].sum()), into[heads], steps

    def _timed(self, into: IntArray, latest_first: IntArray) -> IntArray:
        """The cheapest steps for given links into nodes, which none gets before its sender."""
        # below[v, t]: what hangs from v costs at least, if v has the chunk after t steps.
        below = np.zeros((self.nodes, self.steps + 1))
        when = np.zeros((self.nodes, self.steps + 1), dtype=np.int64)
        for node in latest_first.tolist():
            cost = self.prices[:, into[node]] + below[node, 1:]
            best, at = np.inf, 0
            for step in range(self.steps - 1, -1, -1):
                if cost[step] <= best:
                    best, at = cost[step], step
                below[self.source[into[node]], step] += best
                when[node, step] = at
            below[self.source[into[node]], self.steps] = np.inf
        has = np.zeros(self.nodes, dtype=np.int64)
        chosen = np.zeros(self.nodes, dtype=np.int64)
        for node in latest_first[::-1].tolist():
            chosen[node] = when[node, has[self.source[into[node]]]]
            has[node] = chosen[node] + 1
        return chosen[np.sort(latest_first)]
