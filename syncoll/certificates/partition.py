"""Counting sends between parts of the machine, for collectives that combine.

Shrink each part of a partition of the nodes to a single node: what an algorithm sends between the
parts is an algorithm on the small machine.  Say a chunk has contributors in a of the parts and is
needed in b of them, and put its sends in an order, those of one step in any.  Before any part knows
every contribution all the contributing parts but one must have sent something; afterwards each part
that needs the result must still get something, but for the one that knew first.  So

    sends between the parts  >=  a + b - 2.

Of the two missing sends one counts after all where no part both has a contributor and needs the
result, for then the part that knew first is not left out of both: a + b - 1.

With every node a part of its own, an allreduce takes 2 (P - 1) sends a chunk (Harary & Schwenk
1974, gossiping by one-way messages); with coarser parts only the slow links count.  Prices on the
link sets such that every link between parts costs at least 1 say for how many such sends a round
has room: the sum of all prices times their capacities.

In a sum of what is added up and what is moved the two share these links.  What only one node
contributes to a chunk takes a way from there to each node that needs it, whose sends are all of
that chunk: it pays no less than the cheapest way to the farthest of them.  So with `moved` a chunk
pays the larger of the two, and what all chunks pay together is no more than what all rounds have
room for: an allreduce and an alltoall on `ring(4)`, where every link costs 1, take 6 C + 4 C of the
8 R sends there are, R/C >= 5/4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from math import lcm

import numpy as np

from syncoll.certificates.classes import ChunkClass, ClassList
from syncoll.certificates.every_send import require_every_send
from syncoll.errors import VerificationError
from syncoll.model import Topology

__all__ = ["PartitionCertificate", "in_units", "sends_between"]

_MOST_BITS = 256


@dataclass(frozen=True)
class PartitionCertificate:
    """Proves a lower bound on R.

    Args:
        parts: for each node the number of its part.
        prices: position of the bound in the topology to its price above 0.
        moved: whether chunks with one contributor pay for their ways, and a + b - 1 sends count
            where no part has both; without it a + b - 2 sends of each count, as in files of
            versions before 5.
    """

    parts: tuple[int, ...]
    prices: Mapping[int, Fraction]
    moved: bool = False

    def check(self, topology: Topology, classes: Sequence[ChunkClass]) -> Fraction:
        """The bound on R for these chunks of a combining collective, for any number of steps.

        Raises:
            VerificationError: when not every node has a part, a link between parts costs less than
                1, or a price is not of a bound.
        """
        require_every_send(topology, self.prices)
        if len(self.parts) != topology.num_nodes:
            raise VerificationError(
                f"parts of {len(self.parts)} nodes, but the topology has {topology.num_nodes}"
            )
        one, amounts = in_units(self.prices.values())
        price = np.zeros(len(topology.links), dtype=object)
        room = Fraction(0)
        for (i, value), amount in zip(self.prices.items(), amounts, strict=True):
            if not 0 <= i < len(topology.bounds):
                raise VerificationError(f"a price for bound {i}: there is none")
            if value < 0:
                raise VerificationError(f"bound {i} has the negative price {value}")
            room += topology.bounds[i].chunks_per_round * value
            price[topology.bound_links[i]] += amount
        number = {part: k for k, part in enumerate(dict.fromkeys(self.parts))}
        part = np.array([number[own] for own in self.parts], dtype=np.int64)
        ends = part[np.array(topology.links, dtype=np.int64).reshape(-1, 2)]
        for link in np.flatnonzero((ends[:, 0] != ends[:, 1]) & (price < one))[:1].tolist():
            raise VerificationError(
                f"a send over link {topology.links[link]} costs {Fraction(price[link], one)}, "
                "less than 1"
            )
        cost = Fraction(sends_between(self.parts, classes))
        if self.moved:
            cost = Fraction(_paid(topology, self.parts, classes, price.tolist(), one)) / one
        if cost == 0:
            return Fraction(0)
        if room == 0:
            raise VerificationError(f"{cost} sends between parts that no link joins")
        return cost / room


def in_units(values: Iterable[Fraction]) -> tuple[int, list[Fraction | int]]:
    """How many units make 1, and values in units: whole numbers, which are soon added up, unless
    these had more than so many bits.
    """
    listed = list(values)
    one = lcm(*(value.denominator for value in listed))
    if one.bit_length() > _MOST_BITS:
        return 1, list(listed)
    return one, [int(value * one) for value in listed]


def sends_between(parts: Sequence[int], classes: Sequence[ChunkClass]) -> int:
    """How many sends between the parts these chunks need at least."""
    classes = ClassList.of(classes)
    touched = np.array([len({parts[n] for n in nodes}) for nodes in classes.sets], dtype=object)
    given, needed = touched[classes.first], touched[classes.second]
    return int((classes.counts * (given + needed - 2))[(given > 0) & (needed > 0)].sum())


def _paid(
    topology: Topology,
    parts: Sequence[int],
    classes: Sequence[ChunkClass],
    price: Sequence[Fraction | int],
    one: int,
) -> Fraction | int:
    """What these chunks pay at least together, in units of which `one` is the price of a send."""
    classes = ClassList.of(classes)
    touched = [{parts[n] for n in nodes} for nodes in classes.sets]
    ways: dict[int, dict[int, Fraction | int]] = {}
    paid: Fraction | int = 0
    for i, j, count in zip(
        *(part.tolist() for part in (classes.first, classes.second, classes.counts)), strict=True
    ):
        a, b = touched[i], touched[j]
        if not a or not b:
            continue
        least: Fraction | int = one * (len(a) + len(b) - 1 - bool(a & b))
        if len(classes.sets[i]) == 1:
            (source,) = classes.sets[i]
            if source not in ways:
                ways[source] = _cheapest(topology, price, source)
            least = max(least, *(ways[source].get(n, 0) for n in classes.sets[j]))
        paid += count * least
    return paid


def _cheapest(
    topology: Topology, price: Sequence[Fraction | int], source: int
) -> dict[int, Fraction | int]:
    """What the cheapest way from a node costs to each that has one (Dijkstra 1959)."""
    found: dict[int, Fraction | int] = {}
    queue: list[tuple[Fraction | int, int]] = [(0, source)]
    while queue:
        cost, node = heappop(queue)
        if node in found:
            continue
        found[node] = cost
        for link in topology.out_links[node]:
            heappush(queue, (cost + price[link], topology.links[link][1]))
    return found
