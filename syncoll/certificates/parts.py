"""Counts sends between parts of the machine, for collectives that combine.

Contract each part of a partition of the nodes to a single node.  A chunk with contributors in a of
the parts that is needed in b of them takes a + b - 2 sends between parts.  Before any part knows
the sum, all contributing parts but one have sent something.  Afterwards each part that needs it
gets something, except for the one that knew first.  If no part has both it is a + b - 1. With every
node a part of its own an allreduce takes 2 (P - 1) sends a chunk (Harary & Schwenk 1974); with
coarser parts only the slow links count.  Every link between parts must cost at least 1.

In a sum of combining and moving terms the two share these links: with `moved` a chunk with one
contributor pays the cheapest way to the farthest node that needs it, if that is more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from syncoll.certificates.chunk_classes import ChunkClass, ClassList, NodeNumber
from syncoll.certificates.link_prices import LinkPrices
from syncoll.certificates.priced import Argument, Priced
from syncoll.certificates.steiner import backwards
from syncoll.certificates.ways import cheapest_ways
from syncoll.errors import VerificationError


@dataclass(frozen=True)
class Parts(Argument):
    """Sends between parts pay 1 or more each, for any number of steps.

    Args:
        parts: for each node the number of its part.
        moved: whether chunks with one contributor pay for their ways, and a + b - 1 sends count
            where no part has both; without it a + b - 2 sends of each count, as in files of
            versions before 5.
    """

    parts: tuple[NodeNumber, ...]
    moved: bool = False

    method = "sends"
    words = "the sends between parts of the machine, whose links limit the sends of a round"
    of_sums = True
    timed = False

    @classmethod
    def priced(
        cls, parts: tuple[int, ...], prices: Mapping[int, Fraction], *, moved: bool = False
    ) -> Priced:
        """The proof by some parts and prices of bounds (by their positions)."""
        return Priced(None, {(i, 0): price for i, price in prices.items()}, cls(parts, moved))

    def pays(self, prices: LinkPrices, asked: Sequence[ChunkClass]) -> Fraction:
        """The payment of all chunks together."""
        topology, parts = prices.topology, self.parts
        if len(parts) != topology.num_nodes:
            raise VerificationError(
                f"parts of {len(parts)} nodes, but the topology has {topology.num_nodes}"
            )
        for link, price in zip(topology.links, prices.wholes[0].tolist(), strict=True):
            if parts[link[0]] != parts[link[1]] and price < prices.units:
                cost = Fraction(price) / prices.units
                raise VerificationError(f"a send over link {link} costs {cost}, less than 1")
        if not self.moved:
            return Fraction(sends_between(parts, asked))
        classes = ClassList.of(asked)
        touched = [{parts[n] for n in nodes} for nodes in classes.sets]
        alone = classes.first_node
        sources = np.unique(alone[alone >= 0]).tolist()
        back = backwards(topology, prices.wholes)[:, :, None]
        costs, unreached = cheapest_ways(topology.reversed(), None, back, sources)
        ways = dict(zip(sources, np.where(costs < unreached, costs, 0).T, strict=True))
        paid: Any = 0
        for i, j, count in zip(
            *(part.tolist() for part in (classes.first, classes.second, classes.counts)),
            strict=True,
        ):
            a, b = touched[i], touched[j]
            if not a or not b:
                continue
            least = prices.units * (len(a) + len(b) - 1 - bool(a & b))
            if len(classes.sets[i]) == 1:
                least = max(least, *ways[classes.sets[i][0]][list(classes.sets[j])].tolist())
            paid += count * least
        return Fraction(paid) / prices.units


def sends_between(parts: Sequence[int], classes: Sequence[ChunkClass]) -> int:
    """The least number of sends between the parts that these chunks need."""
    classes = ClassList.of(classes)
    touched = np.array([len({parts[n] for n in nodes}) for nodes in classes.sets], dtype=object)
    given, needed = touched[classes.first], touched[classes.second]
    return int((classes.counts * (given + needed - 2))[(given > 0) & (needed > 0)].sum())
