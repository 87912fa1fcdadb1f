"""A base for bounds that consist of an oracle and the payment of a chunk.

The linear program that finds the best prices, and exact numbers, come from `syncoll.packing` and
`syncoll.bounding`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from syncoll.arrays import Floats
from syncoll.bounding.orbit_model import OrbitModel
from syncoll.bounding.rationals import Rounding
from syncoll.bounding.trees import Sends, TreeOracle, find_prices
from syncoll.certificates import Argument, Demand, Priced
from syncoll.certificates.link_prices import LinkPrices
from syncoll.deadline import Deadline
from syncoll.model import Topology
from syncoll.packing.master import Master


class PricedBound(ABC):
    """A bound on R from prices at which each chunk pays for the cheapest of some sets of sends.

    It is about a number of steps if `timed` is True, any number if it is False, or either.
    """

    timed: ClassVar[bool | None] = None

    @abstractmethod
    def column(self, topology: Topology, demand: Demand, prices: Floats) -> Sends:
        """The cheapest set of sends; every algorithm has at least one such set for a chunk.

        Args:
            demand: where the chunk starts, and where it must arrive in S steps.
            prices: ``[S, L]``, of a send over each link in each step; ``[1, L]`` for any number.

        Returns:
            The number of sends of each (link, step).
        """

    @abstractmethod
    def argument(
        self, topology: Topology, demands: Sequence[Demand], prices: LinkPrices
    ) -> Argument:
        """The argument that a chunk pays for its cheapest sends at exact prices."""

    def find(
        self, topology: Topology, asked: Sequence[Demand], steps: int | None, until: Deadline
    ) -> Priced | None:
        """See `syncoll.plugins.Bound`."""
        if self.timed not in (None, steps is not None):
            return None
        demands, layers = list(asked), steps if steps is not None else 1
        model = OrbitModel(topology, layers)
        oracles = [
            _Columns(topology, one, one.count, model.members, 0, bound=self) for one in demands
        ]
        rates = [float(rate) for rate in model.rates]
        master = Master(rates, [one.count for one in demands], layers)

        def proof(rounding: Rounding, prices: Floats) -> Priced:
            exact = model.priced(prices, rounding)
            on_links = LinkPrices.of(topology, steps, exact)
            return Priced(steps, exact, self.argument(topology, demands, on_links))

        start, check = model.even_prices(), lambda one: one.check(topology, demands)
        found = find_prices(master, oracles, start, proof, check, until)
        return None if found is None else found[1]


@dataclass(frozen=True, eq=False)
class _Columns(TreeOracle):
    """The oracle of one demand; the bound defines its trees."""

    bound: PricedBound = field(kw_only=True)

    def cheapest(self, prices: Floats, below: float) -> tuple[float, Floats | None]:
        on_links = (self.members @ prices).T
        sends = self.bound.column(self.topology, self.demand, on_links)
        cost = sum(float(on_links[step, link]) * times for (link, step), times in sends.items())
        return (below, None) if cost >= below else (cost, self.load(sends, len(on_links)))
