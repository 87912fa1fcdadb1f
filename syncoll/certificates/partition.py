"""Counting sends between parts of the machine, for collectives that combine.

Shrink each part of a partition of the nodes to a single node: what an algorithm sends between the
parts is an algorithm on the small machine.  Say a chunk has contributors in a of the parts and is
needed in b of them, and put its sends in an order, those of one step in any.  Before any part knows
every contribution all the contributing parts but one must have sent something; afterwards each part
that needs the result must still get something, but for the one that knew first.  So

    sends between the parts  >=  a + b - 2.

With every node a part of its own, an allreduce takes 2 (P - 1) sends a chunk (Harary & Schwenk
1974, gossiping by one-way messages); with coarser parts only the slow links count.  Prices on the
link sets such that every link between parts costs at least 1 say for how many such sends a round
has room: the sum of all prices times their capacities.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
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
    """

    parts: tuple[int, ...]
    prices: Mapping[int, Fraction]

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
        sends = sends_between(self.parts, classes)
        if sends == 0:
            return Fraction(0)
        if room == 0:
            raise VerificationError(f"{sends} sends between parts that no link joins")
        return sends / room


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
    touched = [len({parts[n] for n in nodes}) for nodes in classes.sets]
    sends = 0
    for i, j, count in zip(
        *(part.tolist() for part in (classes.first, classes.second, classes.counts)), strict=True
    ):
        if touched[i] and touched[j]:
            sends += count * (touched[i] + touched[j] - 2)
    return sends
