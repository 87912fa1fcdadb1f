"""The cheapest tree that informs many nodes, by dynamic programming over sets of informed nodes.

Let cost(t, A) be the least price of sends before step t after which the nodes of A have the chunk,
in addition to its sources.  Sends of a step come from nodes that have the chunk before it, so that

    cost(t + 1, B) = least, over A within B, of cost(t, A) + sum over v in B - A of p(t, A, v)

with p(t, A, v) the price of the cheapest link to v from a node that has the chunk.  For n nodes
that lack it at first these are 3^n sums for each step, for any number of destinations; trees by
sets of destinations (`trees`) take P * 3^k for k of them.

If only trees below some cost count, a set is dropped when its cost, and the least cost of each
missing destination, add up to it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from syncoll.arrays import Ints
from syncoll.certificates.chunk_classes import Demand
from syncoll.certificates.link_prices import Table
from syncoll.model import Topology
from syncoll.model.components import least_of_orbits

MOST_UNINFORMED = 15
"""With more nodes that lack a chunk at first, no trees are computed: each additional node takes
three times as long."""

_MOST_CELLS = 1 << 20
"""Sums that are computed together."""


def uninformed(topology: Topology, demand: Demand) -> tuple[int, ...]:
    """The nodes that lack a chunk at first; bit i of a set is the i-th of them."""
    return tuple(node for node in range(topology.num_nodes) if node not in set(demand.sources))


class InformedSets:
    """The cheapest tree for one demand; ``prices[step, link]`` of any number type.

    Args:
        never: the cost of unreachable sets.
        below: a cost; trees that cost as much or more need not be found.
        orbit: `set_orbits` under permutations that keep demand, links and prices: sets of an orbit
            cost the same, and only one of each is computed.

    Attributes:
        cost: of a cheapest tree; `never` where no tree costs less than `below`.
        sums: the number of computed sums.
    """

    def __init__(
        self,
        topology: Topology,
        demand: Demand,
        prices: Table,
        never: Any,
        below: Any = None,
        orbit: Ints | None = None,
    ) -> None:
        self.topology, self.demand, self.prices, self.never = topology, demand, prices, never
        self._others = uninformed(topology, demand)
        place = {node: i for i, node in enumerate(self._others)}
        self._into: list[list[tuple[int, int]]] = [[] for _ in self._others]
        """For each node its links, each with the place of the other end; -1: a source."""
        for link, (source, destination) in enumerate(topology.links):
            if destination in place:
                self._into[place[destination]].append((link, place.get(source, -1)))
        self._goal = sum(1 << place[node] for node in demand.destinations)
        self._below = never if below is None else min(below, never)
        self._orbit = np.arange(1 << len(place)) if orbit is None else orbit
        self._onward = self._least_onward()
        costs = np.full(1 << len(place), never, dtype=prices.dtype)
        costs[0] = 0
        self._costs, self.sums = [costs], 0
        for step in range(len(prices) - 1):
            self._costs.append(self._after(step, self._costs[-1]))
        self.cost, self._last = self._ended()

    def _least_onward(self) -> Table:
        """``[S + 1, n]``: the least cost of each destination from a step on."""
        links = np.array([self._goal >> i & 1 for i in range(len(self._others))], dtype=bool)
        found = np.zeros((len(self.prices) + 1, len(links)), dtype=self.prices.dtype)
        found[-1, links] = self.never
        for step in range(len(self.prices) - 1, -1, -1):
            found[step] = found[step + 1]
            for i in np.flatnonzero(links).tolist():
                now = [self.prices[step, link] for link, _ in self._into[i]]
                found[step, i] = min([found[step + 1, i], *now])
        return found

    def _after(self, step: int, costs: Table) -> Table:
        """The costs of all sets after a step."""
        fresh = costs.copy()
        every = np.flatnonzero(costs < self._below)
        room = np.cumsum(1 << (len(self._others) - _sizes(len(self._others))[every]))
        parts = np.flatnonzero(np.diff(room // _MOST_CELLS)) + 1
        for begun in np.split(every, parts):
            self._extend(step, begun, costs[begun], fresh)
        return fresh

    def _extend(self, step: int, begun: Ints, costs: Table, fresh: Table) -> None:
        """Lowers the costs of the sets that can arise in a step."""
        bounded = self._below < self.never
        into = self._prices_into(step, begun)
        least, missing = self._onward[step], np.zeros(0)
        sums, ends, rows = costs, begun, np.arange(len(begun))
        if bounded:  # each missing destination costs at least this; sums with it only grow
            missing = _sums(least)[::-1]
            sums = sums + missing[begun]
        for i in range(len(self._others)):
            lacking = np.flatnonzero(begun[rows] >> i & 1 == 0)
            more = into[rows[lacking], i]
            if bounded:
                more = more - least[i]
            grown = sums[lacking] + more
            useful = grown < self._below
            lacking = lacking[useful]
            sums = np.concatenate([sums, grown[useful]])
            ends = np.concatenate([ends, ends[lacking] | 1 << i])
            rows = np.concatenate([rows, rows[lacking]])
        if bounded:
            sums = sums - missing[ends]
        self.sums += len(sums)
        np.minimum.at(fresh, self._orbit[ends], sums)

    def _ended(self) -> tuple[Any, int]:
        """The least cost of all, and the set that is informed before the last step."""
        sets = np.flatnonzero(self._costs[-1] < self._below)
        if not len(sets) or not len(self.prices):
            return (self.never if self._goal or not len(sets) else 0), 0
        cost, last = self._set_before(len(self.prices) - 1, self._goal, sets)
        return (cost if cost < self._below else self.never), last

    def _set_before(self, step: int, after: int, sets: Ints) -> tuple[Any, int]:
        """The least cost of reaching a set by a step from one of some sets, and that one."""
        total = self._costs[step][self._orbit[sets]]
        live = total < self._below
        sets, total = sets[live], total[live]
        into = self._prices_into(step, sets)
        for i in range(len(self._others)):
            if after >> i & 1:
                missing = sets >> i & 1 == 0
                total = np.where(missing, np.minimum(total + into[:, i], self.never), total)
        best = int(total.argmin())
        return total[best], int(sets[best])

    def _prices_into(self, step: int, sets: Ints) -> Table:
        """``[sets, n]``: the price of the cheapest link to each node from an informed one."""
        into = np.full((len(self._others), len(sets)), self.never, dtype=self.prices.dtype)
        for i, links in enumerate(self._into):
            for link, source in links:
                price = self.prices[step, link]
                if source < 0:
                    np.minimum(into[i], price, out=into[i])
                else:
                    cheaper = np.minimum(into[i], price)
                    into[i] = np.where(sets >> source & 1 == 1, cheaper, into[i])
        return into.T

    def tree(self) -> Counter[tuple[int, int]]:
        """The sends (link, step) of a cheapest tree; there must be one."""
        sends: Counter[tuple[int, int]] = Counter()
        step, before, after = len(self.prices) - 1, self._last, self._last | self._goal
        while True:
            for i in range(len(self._others)):
                if (after & ~before) >> i & 1:
                    have = [k for k, s in self._into[i] if s < 0 or before >> s & 1]
                    link = min(have, key=lambda k: self.prices[step, k])
                    sends[link, step] += 1
            if not before:
                return sends
            step, after = step - 1, before
            every = np.arange(len(self._costs[step]))
            before = self._set_before(step, after, every[every & ~after == 0])[1]


def set_orbits(others: Sequence[int], images: Iterable[Ints]) -> Ints:
    """For each set of nodes the least one of its orbit.

    Args:
        others: the nodes of the bits.
        images: permutations of all nodes that keep these together.
    """
    bit = {node: 1 << i for i, node in enumerate(others)}
    maps = [_sums(np.array([bit[int(one[node])] for node in others])) for one in images]
    return least_of_orbits(1 << len(others), maps)


def _sums(weights: Table) -> Table:
    """For each set the sum of its members' weights."""
    sums = np.zeros(1, dtype=weights.dtype)
    for weight in weights:
        sums = np.concatenate([sums, sums + weight])
    return sums


@lru_cache(maxsize=4)
def _sizes(count: int) -> Ints:
    """Number of members of each set."""
    return _sums(np.ones(count, dtype=np.int64))
