"""Cut: a bound that is checked by counting chunks; `syncoll.bounding.cuts` finds it.

Chunks that start only inside a set X of nodes and are needed outside it must leave it.  If every
link that leaves X costs at least 1, each chunk pays at least 1. In a file each bound of a *cover*
of these links costs 1: R >= chunks that must leave X / chunks per round of the cover.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from syncoll.certificates.chunk_classes import Demand, DemandList, NodeNumber
from syncoll.certificates.link_prices import LinkPrices
from syncoll.certificates.priced import Argument, Priced
from syncoll.errors import VerificationError


@dataclass(frozen=True)
class Cut(Argument):
    """Chunks that leave a set of nodes pay 1.

    Args:
        nodes: X, one side of the cut, ascending.
    """

    nodes: tuple[NodeNumber, ...]

    method = "cut"
    words = "the chunks that must cross a cut"
    timed = False
    every_send = False

    @classmethod
    def covered(cls, nodes: Iterable[int], cover: Iterable[int]) -> Priced:
        """The proof by a cut, where each bound of a cover (its position) has price 1."""
        return Priced(None, {(i, 0): Fraction(1) for i in sorted(cover)}, cls(tuple(nodes)))

    def pays(self, prices: LinkPrices, asked: Sequence[Demand]) -> Fraction:
        """The number of chunks that must cross."""
        inside = frozenset(self.nodes)
        for i in inside:
            if not 0 <= i < prices.topology.num_nodes:
                raise VerificationError(f"a cut with node {i}, which does not exist")
        if len(inside) < len(self.nodes):
            raise VerificationError("a cut that names a node twice")
        for link, price in zip(prices.topology.links, prices.wholes[0].tolist(), strict=True):
            if link[0] in inside and link[1] not in inside and price < prices.units:
                raise VerificationError(
                    f"link {link} leaves the cut's nodes, but its cover lacks it"
                )
        return Fraction(self.amount(asked))

    def amount(self, demands: Sequence[Demand]) -> int:
        """The number of chunks that must cross."""
        demands, inside = DemandList.of(demands), frozenset(self.nodes)
        sizes, every = demands.listed
        outside = ~np.isin(every, list(inside))
        within = (
            np.bincount(np.repeat(np.arange(len(sizes)), sizes)[outside], minlength=len(sizes)) == 0
        )
        crossing = within[demands.first] & ~within[demands.second]
        return int(demands.counts[crossing].sum())
