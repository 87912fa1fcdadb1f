"""Trees: a chunk pays for a cheapest tree of sends, the strongest bound for S steps.

The sends of one chunk that matter form a tree in the time-expanded network, from where the chunk
starts to every node that needs it, so they cost at least as much as the cheapest such tree.  The
flow relaxations allow a chunk to be split over many ways; a tree does not.  Broadcast on a 3-cube
in 3 steps: flows prove 5/6, trees 1, and 1 can be had.  With best prices no bound on R/C that holds
for every C is stronger: the dual is a fractional packing of trees, which is an algorithm once C and
R clear its denominators.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from syncoll.certificates.chunk_classes import Demand
from syncoll.certificates.link_prices import LinkPrices
from syncoll.certificates.priced import Argument
from syncoll.certificates.steiner import tree_cost

__all__ = ["Trees"]


@dataclass(frozen=True)
class Trees(Argument):
    """Cheapest trees, found anew by dynamic programming; there is no witness."""

    method = "trees"
    words = "prices on the links, paid by trees"

    def pays(self, prices: LinkPrices, asked: Sequence[Demand]) -> Fraction:
        """The sum of the cheapest trees of all chunks."""
        costs = (tree_cost(prices, demand) * demand.count for demand in asked)
        return sum(costs, Fraction(0))
