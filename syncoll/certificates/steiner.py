"""The cheapest tree of sends: an exact oracle for Steiner trees in the time-expanded network.

Dynamic programming over sets of destinations (Dreyfus & Wagner 1971) takes ``O(P * S * 3^k)`` for k
destinations, so only small k are affordable.  The alternative is dynamic programming over sets of
informed nodes (`informed_sets`), for a chunk that almost every node of a small machine needs.
"""

from collections import Counter
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from syncoll.arrays import Ints
from syncoll.certificates.chunk_classes import Demand
from syncoll.certificates.informed_sets import MOST_UNINFORMED, InformedSets
from syncoll.certificates.link_prices import LinkPrices, Table, in_words
from syncoll.errors import VerificationError
from syncoll.model import Topology

MOST_DESTINATIONS = 10
"""Chunks with more destinations are refused, unless few nodes lack them: each additional one takes
three times as long."""

NO_TREE = 1 << 60
"""The cost of unreachable sets; larger than any sum of prices."""


def tree_cost(prices: LinkPrices, demand: Demand, *, into: bool = False) -> Fraction:
    """The cost of a demand's cheapest tree.
    Raises `VerificationError` if there is no tree in these steps, or too many destinations.

    Args:
        into: whether the tree leads from the destinations to the source: the demand is one on the
            reversed topology.
    """
    topology, wholes = prices.topology, prices.wholes
    # No tree has more sends than there are nodes and steps: small sums fit machine words.
    most = max(wholes.ravel().tolist(), default=0) * (topology.num_nodes * len(wholes) + 1)
    exact = in_words(wholes, 4 * most)
    if into:
        exact, topology = backwards(topology, exact), topology.reversed()
    never = max(NO_TREE, 4 * most)
    cost: Any = never
    if demand.sources:
        if not affordable(topology, demand):
            raise VerificationError(
                f"a chunk with {len(demand.destinations)} destinations; trees have at most "
                f"{MOST_DESTINATIONS}, or {MOST_UNINFORMED} nodes without the chunk"
            )
        cost = cheapest_tree(topology, demand, exact, never).cost
    if cost >= never:
        ends = [demand.sources, demand.destinations]
        raise VerificationError(
            f"no path leads from nodes {ends[into]} to nodes {ends[not into]} within "
            f"{len(wholes)} steps"
        )
    return Fraction(int(cost) if exact.dtype == np.int64 else cost) / prices.units


def backwards(topology: Topology, prices: Table) -> Table:
    """``[S, L]`` of a topology for the reversed topology, backwards in time."""
    number = topology.link_index
    return prices[::-1][:, [number[b, a] for a, b in topology.reversed().links]]


def affordable(topology: Topology, demand: Demand) -> bool:
    """Whether a demand's cheapest tree can be found quickly."""
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
    prices: Table,
    never: Any,
    below: Any = None,
    orbit: Ints | None = None,
) -> "CheapestTrees | InformedSets":
    """The cheapest tree for one demand, by the fewer of sets of destinations or informed nodes.

    Args:
        prices: ``[step, link]``, of any number type.
        never: the cost of unreachable sets.
        below: a cost; if no tree costs less, the result may be `never`.
        orbit: see `InformedSets`.
    """
    if is_of_sets(topology, demand):
        return InformedSets(topology, demand, prices, never, below, orbit)
    return CheapestTrees(topology, demand, prices, never)


class CheapestTrees:
    """The cheapest tree for one demand; ``prices[step, link]`` of any number type."""

    def __init__(self, topology: Topology, demand: Demand, prices: Table, never: int) -> None:
        self.topology, self.demand, self.prices = topology, demand, prices
        nodes, bits = topology.num_nodes, len(demand.destinations)
        last = np.full((nodes, 1 << bits), never, dtype=prices.dtype)
        last[:, 0] = 0
        for i, d in enumerate(demand.destinations):
            last[d, 1 << i] = 0
        # costs[t][v, D]: the cost of a chunk's way from node v before step t to the destinations D.
        self.costs = [last]
        ends = topology.ends
        for t in range(len(prices) - 1, -1, -1):
            after = self.costs[-1]
            cost = after.copy()
            np.minimum.at(cost, ends[:, 0], after[ends[:, 1]] + prices[t][:, None])
            cost[:, 0] = 0
            self.costs.append(_joined(cost, bits))
        self.costs.reverse()
        self.never = never
        self.bits, self.sums = bits, nodes * len(prices) * 3**bits // 2
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

    def _parts(self, single: Table, joined: Table, wanted: int) -> list[int]:
        """The sets in which a split of the wanted ones ends."""
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


def _joined(cost: Table, bits: int) -> Table:
    """The least cost of each set by splitting it, in place."""
    for wholes, parts in _splits(bits):
        split = cost[:, parts] + cost[:, wholes[:, None] ^ parts]
        cost[:, wholes] = np.minimum(cost[:, wholes], split.min(axis=2))
    return cost


@lru_cache(maxsize=4)
def _subsets(bits: int) -> tuple[Ints, ...]:
    """For each set its proper subsets that contain its least member."""
    everything = np.arange(1 << bits)
    found = []
    for whole in range(1 << bits):
        least = whole & -whole
        inside = ((everything & ~whole) == 0) & ((everything & least) != 0) & (everything != whole)
        found.append(everything[inside])
    return tuple(found)


@lru_cache(maxsize=4)
def _splits(bits: int) -> tuple[tuple[Ints, Ints], ...]:
    """All sets of one size and, a row each, their `_subsets`; size by size from two on."""
    subsets = _subsets(bits)
    return tuple(
        (np.array(wholes), np.stack([subsets[whole] for whole in wholes]))
        for size in range(2, bits + 1)
        for wholes in [[w for w in range(1 << bits) if w.bit_count() == size]]
    )
