"""Why no packing is better: prices on the rows, or a partition of the nodes.

Prices: whatever trees carry the data, what they pay is the sum over the rows of price times load;
no tree is cheaper than the cheapest, and no load is above C times the capacity.  So
``C >= sum over groups (share * cheapest tree) / sum over rows (price * capacity)``.

A partition: a spanning tree of an undirected graph crosses between k parts at least ``k - 1``
times, so ``C >= (k - 1) / (capacity of what crosses)``.  By Nash-Williams and Tutte the best
partition proves the optimum.  From any prices a partition can be read that proves at least as much:
join what links of price at most x connect, for the best x.  (Sum up what the partitions prove for
all x, weighted by the lengths of the intervals between prices: it is what the prices prove.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from syncoll.errors import VerificationError
from syncoll_treepacking.links import LinkSystem
from syncoll_treepacking.oracle import Oracle

__all__ = ["Certificate", "PartitionCertificate", "PriceCertificate", "best_partition"]


@dataclass(frozen=True)
class PriceCertificate:
    """Proves a lower bound on C, the time for one unit of data.

    Args:
        prices: of rows, by their position, in whole numbers: only their ratios matter.  Rows that
            are not named cost nothing.
    """

    prices: Mapping[int, int]

    def check(self, oracle: Oracle) -> Fraction:
        """The bound that the prices prove.

        Raises:
            VerificationError: on a price of no row, a negative price, or no price.
        """
        system = oracle.system
        for row, price in self.prices.items():
            if not 0 <= row < system.num_rows:
                raise VerificationError(f"a price for row {row} of {system.name}: there is none")
            if price < 0:
                raise VerificationError(f"row {row} of {system.name} has the price {price}")
        spent = sum((system.capacities[r] * p for r, p in self.prices.items()), Fraction(0))
        if spent == 0:
            raise VerificationError(f"prices that are all 0 prove nothing about {system.name}")
        costs = system.exact_costs([self.prices.get(row, 0) for row in range(system.num_rows)])
        trees = oracle.cheapest(costs)
        if [tree.group for tree in trees] != list(range(len(oracle.shares))):
            raise VerificationError(f"not one cheapest tree for each group of {system.name}")
        least = sum(
            (oracle.shares[t.group] * sum(costs[link] for link in t.links) for t in trees),
            Fraction(0),
        )
        return least / spent


@dataclass(frozen=True)
class PartitionCertificate:
    """Proves a lower bound on C for a plain undirected graph.

    Args:
        parts: at least two, none of them empty, every node in one.
    """

    parts: tuple[tuple[int, ...], ...]

    def check(self, oracle: Oracle) -> Fraction:
        """The bound that the partition proves.

        Raises:
            VerificationError: when the network is not a plain graph, or this is not a partition.
        """
        system = oracle.system
        if not system.is_plain:
            raise VerificationError(
                f"{system.name} has switches, shared capacities or directed links: a partition "
                "proves nothing about it"
            )
        nodes = sorted(node for part in self.parts for node in part)
        if nodes != list(range(system.num_nodes)) or not all(self.parts):
            raise VerificationError(f"not a partition of the nodes of {system.name}")
        if len(self.parts) < 2:
            raise VerificationError("a partition into one part proves nothing")
        part_of = {node: i for i, part in enumerate(self.parts) for node in part}
        crossing = sum(
            (
                system.capacities[use[0][0]]
                for (u, v), use in zip(system.ends, system.uses, strict=True)
                if part_of[u] != part_of[v]
            ),
            Fraction(0),
        )
        return Fraction(len(self.parts) - 1) / crossing


Certificate = PriceCertificate | PartitionCertificate


def best_partition(system: LinkSystem, prices: Sequence[int]) -> PartitionCertificate:
    """The partition that prices point to.

    Args:
        system: a plain graph.
        prices: of each row, not negative, not all 0.
    """
    cost = [prices[use[0][0]] for use in system.uses]
    order = sorted(range(len(cost)), key=cost.__getitem__)
    leader = list(range(system.num_nodes))

    def head(node: int) -> int:
        while leader[node] != node:
            leader[node] = leader[leader[node]]
            node = leader[node]
        return node

    # Kruskal's method meets the partitions from the finest to the coarsest; what crosses shrinks by
    # the links inside a part, which are counted when their ends are joined, or were before.
    joins: list[tuple[int, int]] = []
    parts = system.num_nodes
    whole, _ = system.whole_capacities
    crossing = sum(whole[use[0][0]] for use in system.uses)
    members = [[node] for node in range(system.num_nodes)]
    at: list[list[int]] = [[] for _ in range(system.num_nodes)]
    for link, (u, v) in enumerate(system.ends):
        at[u].append(link)
        at[v].append(link)
    best, best_joins = Fraction(parts - 1, crossing), 0
    for link in order:
        a, b = (head(node) for node in system.ends[link])
        if a == b:
            continue
        if len(members[a]) > len(members[b]):
            a, b = b, a
        for node in members[a]:
            for other in at[node]:
                u, v = system.ends[other]
                if head(u if v == node else v) == b:
                    crossing -= whole[system.uses[other][0][0]]
        leader[a] = b
        members[b] += members[a]
        members[a] = []
        joins.append((a, b))
        parts -= 1
        if parts >= 2 and Fraction(parts - 1, crossing) > best:
            best, best_joins = Fraction(parts - 1, crossing), len(joins)
    group = [[node] for node in range(system.num_nodes)]
    for a, b in joins[:best_joins]:
        group[b] += group[a]
        group[a] = []
    return PartitionCertificate(tuple(sorted(tuple(sorted(part)) for part in group if part)))
