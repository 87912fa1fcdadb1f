"""Prices under which the cheapest trees cost most: column generation with an exact oracle.

The packing's master program has the best prices against the trees so far; the cheapest trees under
them are found by dynamic programming, and added.  What they cost is a bound under any prices, and
the master's value is what no prices exceed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from syncoll.arrays import FloatArray, IntArray
from syncoll.bounding.rationals import NEAR
from syncoll.certificates.chunk_classes import Demand
from syncoll.certificates.informed_sets import set_orbits, uninformed
from syncoll.certificates.steiner import NEVER, backwards, cheapest_tree, is_of_sets
from syncoll.deadline import Deadline
from syncoll.model import Topology
from syncoll.packing.master import Master

__all__ = ["SHARE", "Sends", "TreeOracle", "best_prices"]

Sends = Counter[tuple[int, int]]
"""How often each (link, step) occurs in a tree."""

SHARE = 0.8
"""The part of the time for generating trees: the rest is for the exact check."""

_AFRESH = 3
"""In every third turn trees are priced under the master's prices, otherwise half way to them: these
jump about, and nearer to the last ones cheaper trees are found that last.  (dgx1 broadcast, S = 3:
13 turns instead of 17; hypercube(4), S = 5: 16 instead of 18.)"""


@dataclass(frozen=True, eq=False)
class TreeOracle:
    """Finds the cheapest tree of one demand.

    Args:
        demand: on the reversed topology where trees lead into its source.
        weight: the number of chunks that take such trees.
        members: ``[L, b]``, how often a price counts for a send over a link.
        first: the first of these b among all prices.
        into: whether trees lead into the source.
        sets: orbits of sets of informed nodes, see `InformedSets`.
    """

    topology: Topology
    demand: Demand
    weight: int
    members: FloatArray
    first: int
    into: bool = False
    sets: IntArray | None = None

    @property
    def where(self) -> Topology:
        """The topology on which trees lead out of the source."""
        return self.topology.reversed() if self.into else self.topology

    def cheapest(self, prices: FloatArray, below: float) -> tuple[float, FloatArray | None]:
        """What the cheapest tree costs under prices ``[B, S]``, and its load ``[b, S]``.

        Args:
            below: the cost of a known tree; where none is cheaper there is no load.
        """
        on_links = (self.members @ self.own(prices)).T
        if self.into:
            on_links = backwards(self.topology, on_links)
        found = cheapest_tree(self.where, self.demand, on_links, float(NEVER), below, self.sets)
        cost = float(found.cost)
        return (below, None) if cost >= below else (cost, self.load(found.tree(), len(on_links)))

    def own(self, prices: FloatArray) -> FloatArray:
        """``[b, S]``, the prices that its trees pay."""
        return prices[self.first : self.first + self.members.shape[1]]

    def load(self, sends: Sends, steps: int) -> FloatArray:
        """``[b, S]``, how often the sends of a tree pay each price."""
        links = np.zeros((self.members.shape[0], steps))
        for (link, step), times in sends.items():
            links[link, step] += times
        if self.into:
            links = backwards(self.where, links.T).T
        load: FloatArray = self.members.T @ links
        return load


def orbits_of_sets(where: Topology, demand: Demand, images: Sequence[IntArray]) -> IntArray | None:
    """The orbits of sets of informed nodes under automorphisms that keep a demand and its prices;
    None where trees are not found by such sets."""
    if not images or not is_of_sets(where, demand):
        return None
    return set_orbits(uninformed(where, demand), images)


def best_prices(
    master: Master,
    oracles: Sequence[TreeOracle],
    prices: FloatArray,
    until: Deadline,
    more_than: Fraction | float | None = None,
    is_late: Callable[[int], bool] = lambda _: False,
) -> tuple[float, FloatArray] | None:
    """The best prices found, ``[B, S]``, and about what they prove.

    Args:
        oracles: of the demands of the master.
        prices: to begin with.
        more_than: give up where no prices prove more than this.
        is_late: whether to give up; asked in the first turn after each oracle, with how many
            were asked.

    Returns:
        None where it was given up, or no prices prove more than `more_than`.
    """
    best_value, best, turn = 0.0, prices, 0
    while True:
        loads = []
        value = 0.0
        for k, oracle in enumerate(oracles):
            if until.passed:
                return best_value, best
            cost, load = oracle.cheapest(prices, master.cheapest(k, prices) + NEAR)
            value += cost * oracle.weight
            loads.append(load)
            if not turn and is_late(k + 1):
                return None
        if value > best_value:
            best_value, best = value, prices
        if best_value >= master.value * (1 - NEAR):
            return best_value, best
        for k, load in enumerate(loads):
            if load is not None:
                master.add(k, load, first=oracles[k].first)
        optimum = master.solve(until.seconds)
        if optimum is None:
            return best_value, best
        turn += 1
        if more_than is not None and master.value <= float(more_than) * (1 + NEAR):
            return None
        prices = optimum if turn % _AFRESH == 0 else (prices + optimum) / 2
