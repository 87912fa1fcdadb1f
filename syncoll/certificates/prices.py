"""Price certificates: why no algorithm needs fewer rounds, checked with exact arithmetic alone.

Put a price on each link set and step so that a round costs at most 1 in every step:
``sum over L of b_L * total(L, t) <= 1``.  A send over link l in step t then costs at most
``price(l, t) = sum of total(L, t) over the sets L with l``, and all sends of an algorithm together
cost at most R.  On the other side, each chunk travels along some path of sends from where it
starts to every node that needs it.  Split the price of a chunk's sends among its destinations in
shares that do not exceed the price: then its paths cost at least the cheapest ways under the
shares, and distinct chunks use distinct sends.  So

    R  >=  sum over chunks c, destinations d of c, of  cheapest way of c to d under the share of d.

With prices per step the ways run through the time-expanded network of S steps and the bound holds
for every algorithm of at most S steps; with one price for all steps it holds for every algorithm.
This is the dual of the flow relaxation in `relaxation`, but nothing here needs to know that: the
check only adds prices and computes shortest paths, with integers over a common denominator.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from syncoll.certificates.classes import Demand
from syncoll.errors import VerificationError
from syncoll.model import Topology

__all__ = ["PriceCertificate", "Share"]


@dataclass(frozen=True)
class Share:
    """The part of the prices that the ways to one destination pay.

    Args:
        demands: positions of the demands to which the share applies.
        prices: (position of the link, step) to a price above 0; missing entries are free.
    """

    destination: int
    demands: tuple[int, ...]
    prices: Mapping[tuple[int, int], Fraction]


@dataclass(frozen=True)
class PriceCertificate:
    """Proves a lower bound on R.

    Args:
        steps: S, for prices per step; None for one price for all steps (every step is then 0).
        totals: (position of the bound in the topology, step) to its price above 0.
        shares: how the prices are split.
    """

    steps: int | None
    totals: Mapping[tuple[int, int], Fraction]
    shares: tuple[Share, ...]

    def check(self, topology: Topology, demands: Sequence[Demand]) -> Fraction:
        """The bound on R that the certificate proves for these demands.

        Raises:
            VerificationError: when the prices break one of their rules.
        """
        self._check_totals(topology)
        self._check_shares(topology, demands)
        bound = Fraction(0)
        for share in self.shares:
            scale = lcm(*(price.denominator for price in share.prices.values()))
            prices = {key: int(price * scale) for key, price in share.prices.items()}
            if self.steps is None:
                cost = _cheapest(topology, share.destination, prices)
            else:
                cost = _cheapest_in_time(topology, share.destination, prices, self.steps)
            for k in share.demands:
                ways = [cost[n] for n in demands[k].sources if n in cost]
                if not ways:
                    raise VerificationError(
                        f"no way leads from nodes {demands[k].sources} to node "
                        f"{share.destination} within {self.steps} steps"
                    )
                bound += Fraction(min(ways) * demands[k].count, scale)
        return bound

    def _check_totals(self, topology: Topology) -> None:
        spent: dict[int, Fraction] = defaultdict(Fraction)
        for (i, step), price in self.totals.items():
            if not 0 <= i < len(topology.bounds) or not 0 <= step < (self.steps or 1):
                raise VerificationError(f"a price for bound {i}, step {step}: there is none")
            if price < 0:
                raise VerificationError(f"bound {i} has the negative price {price}")
            spent[step] += topology.bounds[i].chunks_per_round * price
        for step, total in spent.items():
            if total > 1:
                raise VerificationError(f"a round of step {step} costs {total}, more than 1")

    def _check_shares(self, topology: Topology, demands: Sequence[Demand]) -> None:
        # Whole numbers over a common denominator: there may be millions of parts to add up.
        scale = lcm(
            *(price.denominator for price in self.totals.values()),
            *(part.denominator for share in self.shares for part in share.prices.values()),
        )
        price: dict[tuple[int, int], int] = defaultdict(int)
        for (i, step), total in self.totals.items():
            whole = total.numerator * (scale // total.denominator)
            for link in topology.bound_links[i].tolist():
                price[link, step] += whole
        wholes = [
            [(key, p.numerator * (scale // p.denominator)) for key, p in share.prices.items()]
            for share in self.shares
        ]
        shares_of: dict[int, list[int]] = defaultdict(list)
        claimed: set[tuple[int, int]] = set()
        for position, share in enumerate(self.shares):
            if not 0 <= share.destination < topology.num_nodes:
                raise VerificationError(f"a share for node {share.destination}: there is none")
            for part in share.prices.values():
                if part < 0:
                    raise VerificationError(f"the negative share {part}")
            for k in share.demands:
                if not 0 <= k < len(demands):
                    raise VerificationError(f"a share for demand {k}: there is none")
                if share.destination not in demands[k].destinations:
                    raise VerificationError(
                        f"a share for node {share.destination}, which demand {k} does not need"
                    )
                if (k, share.destination) in claimed:
                    raise VerificationError(
                        f"demand {k} has two shares for node {share.destination}"
                    )
                claimed.add((k, share.destination))
                shares_of[k].append(position)
        # Demands with the same shares, as in an alltoall, are compared with the prices once.
        alike = {tuple(positions): k for k, positions in shares_of.items()}
        for positions, k in alike.items():
            spent: dict[tuple[int, int], int] = defaultdict(int)
            for position in positions:
                for key, whole in wholes[position]:
                    spent[key] += whole
            for (link, step), whole in spent.items():
                if whole > price.get((link, step), 0):
                    raise VerificationError(
                        f"the shares of demand {k} in link {link}, step {step} exceed its price"
                    )


def _cheapest(
    topology: Topology, destination: int, prices: Mapping[tuple[int, int], int]
) -> dict[int, int]:
    """From each node that can reach the destination the cost of the cheapest way (Dijkstra)."""
    cost: dict[int, int] = {}
    queue = [(0, destination)]
    while queue:
        total, node = heapq.heappop(queue)
        if node in cost:
            continue
        cost[node] = total
        for i in topology.in_links[node]:
            source = topology.links[i][0]
            if source not in cost:
                heapq.heappush(queue, (total + prices.get((i, 0), 0), source))
    return cost


def _cheapest_in_time(
    topology: Topology, destination: int, prices: Mapping[tuple[int, int], int], steps: int
) -> dict[int, int]:
    """From each node at the start the cost of the cheapest way that arrives within the steps."""
    cost = {destination: 0}
    for step in range(steps - 1, -1, -1):
        before = dict(cost)  # a chunk may wait at its node for nothing
        for i, (source, target) in enumerate(topology.links):
            if target in cost:
                total = cost[target] + prices.get((i, step), 0)
                if source not in before or total < before[source]:
                    before[source] = total
        cost = before
    return cost
