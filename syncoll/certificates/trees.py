"""Tree prices: what whole trees of sends cost, the strongest bound for S steps.

Prices are as in `prices`: a round of any step costs at most 1.  The sends of one chunk that matter
form a tree in the time-expanded network, from where the chunk starts to every node that needs it,
so they cost at least as much as the cheapest such tree.  The flow relaxations allow a chunk to be
split over many ways; a tree does not.  Broadcast on a 3-cube in 3 steps: flows prove 5/6, trees 1,
and 1 can be had.  With best prices no bound on R/C that holds for every C is stronger: the dual is
a fractional packing of trees, which is an algorithm once C and R clear its denominators.

The cheapest tree is found by dynamic programming over sets of destinations (Dreyfus & Wagner 1971),
``O(P * S * 3^k)`` for k destinations, so only small k are affordable; or over sets of informed
nodes (`informed`), which serves a chunk that almost every node of a small machine needs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import lcm
from typing import Any

import numpy as np
import numpy.typing as npt

from syncoll.arrays import IntArray
from syncoll.certificates.classes import Demand
from syncoll.certificates.every_send import require_every_send
from syncoll.certificates.informed import MOST_UNINFORMED, InformedSets
from syncoll.errors import VerificationError
from syncoll.model import Topology

__all__ = [
    "MOST_DESTINATIONS",
    "NEVER",
    "CheapestTrees",
    "Costs",
    "TreeCertificate",
    "affordable",
    "cheapest_tree",
    "is_of_sets",
]

Costs = npt.NDArray[Any]

MOST_DESTINATIONS = 10
"""Chunks with more destinations are refused, unless few nodes are without them: each one more
takes three times as long."""

NEVER = 1 << 60
"""The cost of what cannot be reached; larger than any sum of prices."""


@dataclass(frozen=True)
class TreeCertificate:
    """Proves a lower bound on R for algorithms of at most S steps.

    Args:
        totals: (position of the bound in the topology, step) to its price above 0.
    """

    steps: int
    totals: Mapping[tuple[int, int], Fraction]

    def check(self, topology: Topology, demands: Sequence[Demand]) -> Fraction:
        """The bound on R that the certificate proves for these demands.

        Raises:
            VerificationError: when the prices break one of their rules, or a chunk has more than
                `MOST_DESTINATIONS` destinations and more than `MOST_UNINFORMED` nodes lack it.
        """
        require_every_send(topology, (i for i, _ in self.totals))
        spent: dict[int, Fraction] = {}
        prices = np.zeros((self.steps, len(topology.links)), dtype=object)
        scale = lcm(*(price.denominator for price in self.totals.values()))
        for (i, step), price in self.totals.items():
            if not 0 <= i < len(topology.bounds) or not 0 <= step < self.steps:
                raise VerificationError(f"a price for bound {i}, step {step}: there is none")
            if price < 0:
                raise VerificationError(f"bound {i} has the negative price {price}")
            cost = topology.bounds[i].chunks_per_round * price
            spent[step] = spent.get(step, Fraction(0)) + cost
            prices[step, topology.bound_links[i]] += int(price * scale)
        for step, total in spent.items():
            if total > 1:
                raise VerificationError(f"a round of step {step} costs {total}, more than 1")
        # No tree has more sends than there are nodes and steps: small sums fit machine words.
        most = int(prices.max(initial=0)) * (topology.num_nodes * self.steps + 1)
        exact: Costs = prices.astype(np.int64) if most < NEVER >> 2 else prices
        never = max(NEVER, 4 * most)
        bound = 0
        for demand in demands:
            cheapest = never
            if demand.sources:
                if not affordable(topology, demand):
                    raise VerificationError(
                        f"a chunk with {len(demand.destinations)} destinations; trees are looked "
                        f"at for {MOST_DESTINATIONS} at most, or {MOST_UNINFORMED} nodes without it"
                    )
                cheapest = int(cheapest_tree(topology, demand, exact, never).cost)
            if cheapest >= never:
                raise VerificationError(
                    f"no way leads from nodes {demand.sources} to nodes {demand.destinations} "
                    f"within {self.steps} steps"
                )
            bound += cheapest * demand.count
        return Fraction(bound, scale)


def affordable(topology: Topology, demand: Demand) -> bool:
    """Whether the cheapest tree of a demand can be found soon."""
    few = len(demand.destinations) <= MOST_DESTINATIONS
    return bool(demand.sources) and (few or _lacking(topology, demand) <= MOST_UNINFORMED)


def is_of_sets(topology: Topology, demand: Demand) -> bool:
    """Whether a demand's cheapest trees are found by sets of informed nodes."""
    lacking = _lacking(topology, demand)
    sums = topology.num_nodes * 3 ** len(demand.destinations)
    return lacking <= MOST_UNINFORMED and 3**lacking <= sums


def _lacking(topology: Topology, demand: Demand) -> int:
    return topology.num_nodes - len(demand.sources)


def cheapest_tree(
    topology: Topology,
    demand: Demand,
    prices: Costs,
    never: Any,
    below: Any = None,
    orbit: IntArray | None = None,
) -> CheapestTrees | InformedSets:
    """The cheapest tree for one demand, by the sets of which there are fewer.

    Args:
        prices: ``[step, link]``, of any number type.
        never: the cost of what cannot be reached.
        below: a cost; where no tree costs less, `never` may stand for the least cost.
        orbit: see `InformedSets`.
    """
    if is_of_sets(topology, demand):
        return InformedSets(topology, demand, prices, never, below, orbit)
    return CheapestTrees(topology, demand, prices, never)


class CheapestTrees:
    """The cheapest tree for one demand; ``prices[step, link]`` of any number type."""

    def __init__(self, topology: Topology, demand: Demand, prices: Costs, never: int) -> None:
        self.topology, self.demand, self.prices = topology, demand, prices
        nodes, bits = topology.num_nodes, len(demand.destinations)
        last = np.full((nodes, 1 << bits), never, dtype=prices.dtype)
        last[:, 0] = 0
        for i, d in enumerate(demand.destinations):
            last[d, 1 << i] = 0
        # costs[t][v, D]: to get a chunk that is at node v before step t to the destinations D.
        self.costs = [last]
        ends = np.array(topology.links, dtype=np.int64).reshape(-1, 2)
        for t in range(len(prices) - 1, -1, -1):
            after = self.costs[-1]
            cost = after.copy()
            np.minimum.at(cost, ends[:, 0], after[ends[:, 1]] + prices[t][:, None])
            cost[:, 0] = 0
            self.costs.append(_joined(cost, bits))
        self.costs.reverse()
        self.never = never
        self.bits = bits
        first = np.minimum.reduce(self.costs[0][list(demand.sources)], axis=0)[None, :]
        self.cost = _joined(first.copy(), bits)[0, -1]

    def tree(self) -> Counter[tuple[int, int]]:
        """The sends (link, step) of a cheapest tree."""
        sends: Counter[tuple[int, int]] = Counter()
        todo = []
        rest = (1 << self.bits) - 1
        first = self.costs[0][list(self.demand.sources)]
        at = np.minimum.reduce(first, axis=0)
        joined = _joined(at[None, :].copy(), self.bits)[0]
        for part in self._parts(at, joined, rest):
            todo.append((0, self.demand.sources[int(first[:, part].argmin())], part))
        while todo:
            t, v, wanted = todo.pop()
            if wanted == 0 or t == len(self.prices):
                continue
            after = self.costs[t + 1]
            links = self.topology.out_links[v]
            single = after[v].copy()
            for i in links:
                there = after[self.topology.links[i][1]] + self.prices[t, i]
                np.minimum(single, there, out=single)
            for part in self._parts(single, self.costs[t][v], wanted):
                target = single[part]
                if after[v, part] == target:
                    todo.append((t + 1, v, part))
                    continue
                for i in links:
                    w = self.topology.links[i][1]
                    if after[w, part] + self.prices[t, i] == target:
                        sends[i, t] += 1
                        todo.append((t + 1, w, part))
                        break
        return sends

    def _parts(self, single: Costs, joined: Costs, wanted: int) -> list[int]:
        """The sets that a split of the wanted ones ends in."""
        parts, todo = [], [wanted]
        while todo:
            whole = todo.pop()
            if single[whole] <= joined[whole]:
                parts.append(whole)
                continue
            subsets = _subsets(self.bits)[whole]
            sums = joined[subsets] + joined[whole ^ subsets]
            best = int(subsets[int(sums.argmin())])
            todo += [best, whole ^ best]
        return parts


def _joined(cost: Costs, bits: int) -> Costs:
    """The least cost of each set by splitting it, in place."""
    for wholes, parts in _splits(bits):
        split = cost[:, parts] + cost[:, wholes[:, None] ^ parts]
        cost[:, wholes] = np.minimum(cost[:, wholes], split.min(axis=2))
    return cost


@lru_cache(maxsize=4)
def _subsets(bits: int) -> tuple[IntArray, ...]:
    """For each set its proper subsets that contain its least member."""
    everything = np.arange(1 << bits)
    found = []
    for whole in range(1 << bits):
        least = whole & -whole
        inside = ((everything & ~whole) == 0) & ((everything & least) != 0) & (everything != whole)
        found.append(everything[inside])
    return tuple(found)


@lru_cache(maxsize=4)
def _splits(bits: int) -> tuple[tuple[IntArray, IntArray], ...]:
    """All sets of one size and, a row each, these subsets of theirs; size by size from two on."""
    subsets = _subsets(bits)
    return tuple(
        (np.array(wholes), np.stack([subsets[whole] for whole in wholes]))
        for size in range(2, bits + 1)
        for wholes in [[w for w in range(1 << bits) if w.bit_count() == size]]
    )
