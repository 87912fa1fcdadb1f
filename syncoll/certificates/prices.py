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

Where switches copy or add up, several sends of a chunk may count as one (`syncoll.model.counting`):
those that leave one node in a step, or those that enter one.  A single way takes no two such sends,
but the ways to several destinations may.  There each demand must have one destination that pays.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
import numpy.typing as npt

from syncoll.certificates.classes import Demand, DemandList
from syncoll.errors import VerificationError
from syncoll.model import Topology

__all__ = ["PriceCertificate", "Share"]

_LARGEST = 1 << 62
"""Sums below this are exact in machine words; larger ones are added up as Python's integers."""

_LARGEST_OF_HALF_WORDS = 1 << 30
"""The same for half a machine word."""

_MOST_CELLS = 1 << 22
"""Shares times links times steps whose ways are looked for together."""


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
        demands = DemandList.of(demands)
        self._check_totals(topology)
        tables: dict[int, _Table] = {}  # shares that are alike have one
        for share in self.shares:
            if id(share.prices) not in tables:
                tables[id(share.prices)] = self._table(share, topology)
        self._check_shares(topology, demands, tables)
        ways = _Ways(topology, self.steps)
        sources = _Sources(demands)
        bound = Fraction(0)
        for group in self._groups(tables, len(topology.links)):
            costs = ways.costs([tables[id(one.prices)] for one in group], group)
            for column, share in enumerate(group):
                total, lost = sources.total(share.demands, costs[:, column], ways.unreached)
                if lost is not None:
                    within = "" if self.steps is None else f" within {self.steps} steps"
                    raise VerificationError(
                        f"no way leads from nodes {demands[lost].sources} to node "
                        f"{share.destination}{within}"
                    )
                bound += Fraction(total, tables[id(share.prices)].scale)
        return bound

    @property
    def _layers(self) -> int:
        return 1 if self.steps is None else self.steps

    def _table(self, share: Share, topology: Topology) -> _Table:
        layers, links = self._layers, len(topology.links)
        for link, step in share.prices:
            if not 0 <= link < links or not 0 <= step < layers:
                raise VerificationError(
                    f"the share for node {share.destination} has a price in link {link}, step "
                    f"{step}: there is none"
                )
        for price in share.prices.values():
            if price < 0:
                raise VerificationError(f"the negative share {price}")
        places = np.array([step * links + link for link, step in share.prices], dtype=np.int64)
        scale = lcm(*{price.denominator for price in share.prices.values()})
        return _Table(places, scale, _wholes(share.prices.values(), scale))

    def _groups(self, tables: dict[int, _Table], links: int) -> Iterator[list[Share]]:
        """Shares whose ways are looked for together: with one table, or a few small ones."""
        alike: dict[int, list[Share]] = defaultdict(list)
        for share in self.shares:
            alike[id(share.prices)].append(share)
        rest: list[Share] = []
        for shares in alike.values():
            if len(shares) == 1:
                rest += shares
                continue
            yield from _cut(shares, max(1, _MOST_CELLS // max(1, links)))
        rest.sort(key=lambda one: tables[id(one.prices)].small)
        yield from _cut(rest, max(1, _MOST_CELLS // max(1, links * self._layers)))

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

    def _check_shares(
        self, topology: Topology, demands: DemandList, tables: dict[int, _Table]
    ) -> None:
        names = {name: i for i, name in enumerate(tables)}
        members = [frozenset(nodes) for nodes in demands.sets]
        which, keys = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for share in self.shares:
            if not 0 <= share.destination < topology.num_nodes:
                raise VerificationError(f"a share for node {share.destination}: there is none")
            ks = np.array(share.demands, dtype=np.int64)
            for k in ks[(ks < 0) | (ks >= len(demands))][:1].tolist():
                raise VerificationError(f"a share for demand {k}: there is none")
            needed, first = np.unique(demands.second[ks], return_index=True)
            for j, i in zip(needed.tolist(), first.tolist(), strict=True):
                if share.destination not in members[j]:
                    raise VerificationError(
                        f"a share for node {share.destination}, which demand {ks[i]} does not need"
                    )
            which.append(np.full(len(ks), names[id(share.prices)]))
            keys.append(ks * topology.num_nodes + share.destination)
        table_of, key = np.concatenate(which), np.concatenate(keys)
        order = np.argsort(key, kind="stable")
        twice = np.flatnonzero(key[order][1:] == key[order][:-1])
        if len(twice):
            k, node = divmod(int(key[order][twice[0]]), topology.num_nodes)
            raise VerificationError(f"demand {k} has two shares for node {node}")
        if topology.counts_copies:
            paying = key[order] // topology.num_nodes
            for k in paying[1:][paying[1:] == paying[:-1]][:1].tolist():
                raise VerificationError(
                    f"demand {k} pays for the ways to several nodes, where switches copy or add "
                    "up what is sent"
                )
        # Demands with the same shares, as in an alltoall, are compared with the prices once.
        owner, table_of = key[order] // topology.num_nodes, table_of[order]
        ks, starts, sizes = np.unique(owner, return_index=True, return_counts=True)
        own = list(tables)
        alike: dict[tuple[int, ...], int] = {}
        single = sizes == 1
        kinds, first = np.unique(table_of[starts[single]], return_index=True)
        for i, k in zip(kinds.tolist(), ks[single][first].tolist(), strict=True):
            alike[(own[i],)] = k
        for k, low, size in zip(
            *(part[~single].tolist() for part in (ks, starts, sizes)), strict=True
        ):
            alike[tuple(own[i] for i in table_of[low : low + size].tolist())] = k
        # Whole numbers over a common denominator: there may be millions of parts to add up.
        scale = lcm(
            *{price.denominator for price in self.totals.values()},
            *(table.scale for table in tables.values()),
        )
        links = len(topology.links)
        price = np.zeros(self._layers * links, dtype=object)
        for (i, step), total in self.totals.items():
            price[step * links + topology.bound_links[i]] += int(total * scale)
        most = max((table.most * (scale // table.scale) for table in tables.values()), default=0)
        largest = max(most * max(map(len, alike), default=0), price.max(initial=0))
        kind = np.int64 if largest < _LARGEST else object
        price = price.astype(kind)
        for together, k in alike.items():
            spent = np.zeros(len(price), dtype=kind)
            for name in together:
                table = tables[name]
                spent[table.places] += table.wholes.astype(kind) * (scale // table.scale)
            if (spent > price).any():
                step, link = divmod(int(np.flatnonzero(spent > price)[0]), links)
                raise VerificationError(
                    f"the shares of demand {k} in link {link}, step {step} exceed its price"
                )


@dataclass(frozen=True)
class _Table:
    """The prices of a share.

    Args:
        places: step * number of links + link.
        scale: a common denominator.
        wholes: the prices in its parts, of machine words where these are large enough.
    """

    places: npt.NDArray[np.int64]
    scale: int
    wholes: npt.NDArray[Any]

    @property
    def most(self) -> int:
        return int(self.wholes.max(initial=0))

    @property
    def small(self) -> bool:
        return self.most < _LARGEST >> 24


def _wholes(prices: Iterable[Fraction], scale: int) -> npt.NDArray[Any]:
    wholes = [price.numerator * (scale // price.denominator) for price in prices]
    return np.array(wholes, dtype=np.int64 if max(wholes, default=0) < _LARGEST else object)


def _cut(shares: list[Share], size: int) -> Iterator[list[Share]]:
    for low in range(0, len(shares), size):
        yield shares[low : low + size]


class _Ways:
    """Cheapest ways from every node, to many destinations at once."""

    def __init__(self, topology: Topology, steps: int | None) -> None:
        self.nodes, self.steps = topology.num_nodes, steps
        ends = np.array(topology.links, dtype=np.int64).reshape(-1, 2)
        self._order = np.argsort(ends[:, 0], kind="stable")
        self._heads = ends[self._order, 1]
        self._tails, self._starts = np.unique(ends[self._order, 0], return_index=True)
        self.unreached = 0

    def costs(self, tables: Sequence[_Table], shares: Sequence[Share]) -> npt.NDArray[Any]:
        """``[node, share]``: what the cheapest way from each node to the share's destination costs.

        What is `unreached` or more has no way.
        """
        same = all(table is tables[0] for table in tables)
        tables = tables[:1] if same else tables
        layers, links = 1 if self.steps is None else self.steps, len(self._heads)
        most = max(table.most for table in tables)
        self.unreached = most * (max(self.nodes, layers) + 1) + 1
        kind: type = np.int64 if self.unreached + most < _LARGEST else object
        if self.unreached + most < _LARGEST_OF_HALF_WORDS:
            kind = np.int32  # half the memory to go through
        prices: npt.NDArray[Any] = np.zeros((layers * links, len(tables)), dtype=kind)
        for column, table in enumerate(tables):
            prices[table.places, column] = table.wholes
        prices = prices.reshape(layers, links, -1)[:, self._order]
        cost: npt.NDArray[Any] = np.full((self.nodes, len(shares)), self.unreached, dtype=kind)
        cost[[share.destination for share in shares], np.arange(len(shares))] = 0
        if not links:
            return cost
        if self.steps is not None:
            for step in range(self.steps - 1, -1, -1):
                self._extend(cost, prices[step])
            return cost
        while self._extend(cost, prices[0]):
            pass
        return cost

    def _extend(self, cost: npt.NDArray[Any], prices: npt.NDArray[Any]) -> bool:
        """One link more in front of every way, or a wait; whether anything became cheaper."""
        over = np.minimum.reduceat(cost[self._heads] + prices, self._starts, axis=0)
        before = cost[self._tails]
        np.minimum(over, before, out=over)
        cost[self._tails] = over
        return bool((over < before).any())


class _Sources:
    """Where demands start, and how many chunks they have."""

    def __init__(self, demands: DemandList) -> None:
        self._demands = demands

    def total(
        self, which: Sequence[int], cost: npt.NDArray[Any], unreached: int
    ) -> tuple[int, int | None]:
        """What these demands pay together; and one for which there is no way."""
        ks = np.array(which, dtype=np.int64)
        single = self._demands.first_node[ks]
        ways = cost[single].astype(np.int64 if cost.dtype == np.int32 else cost.dtype)
        for i in np.flatnonzero(single < 0).tolist():
            sources = self._demands.sets[self._demands.first[which[i]]]
            ways[i] = min((int(cost[n]) for n in sources), default=unreached)
        lost = ks[ways >= unreached][:1].tolist()
        counts = self._demands.counts[ks]
        if int(ways.max(initial=0)) * int(counts.max(initial=0)) * len(ks) >= _LARGEST:
            ways, counts = ways.astype(object), counts.astype(object)
        return int((ways * counts).sum()), next(iter(lost), None)
