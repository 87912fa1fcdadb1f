"""Ways: a chunk pays for a cheapest way to each of its destinations, under shares of the price.

Each send divides its price among the destinations of its chunk, so a chunk pays at least the
cheapest way to each destination under the destination's share.  With prices per step the ways run
through the time-expanded network of S steps.  This is the dual of the flow relaxation in
`syncoll.bounding.relaxation`, but the check only adds prices and computes shortest paths, with
whole numbers.

If switches copy or add up, sends of a chunk that leave one node in a step, or enter one, may count
as one (`syncoll.model.counting`). A single way takes no two such sends, so each demand then has one
destination that pays.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from syncoll.arrays import Ints
from syncoll.certificates.chunk_classes import Demand, DemandList, NodeNumber
from syncoll.certificates.link_prices import (
    LARGEST,
    LinkPrices,
    Prices,
    Table,
    in_units,
    in_words,
    total,
)
from syncoll.certificates.priced import Argument
from syncoll.errors import VerificationError
from syncoll.model import Topology

_LARGEST_OF_HALF_WORDS = 1 << 30
"""Sums below this are exact in half a machine word."""

_MOST_CELLS = 1 << 22
"""Shares times links times steps whose ways are computed together, in some 32 MB."""


@dataclass(frozen=True)
class Share:
    """The part of the prices that the ways to one destination pay.

    Args:
        demands: positions of the demands to which the share applies.
        prices: of links, missing ones are free; in files rows of link (position in
            interconnect.links), step, price.
    """

    destination: NodeNumber
    demands: tuple[int, ...]
    prices: Prices


@dataclass(frozen=True)
class Ways(Argument):
    """Cheapest ways under shares of the prices.

    Args:
        shares: shares with the same `prices` object are computed together.
    """

    shares: tuple[Share, ...]

    method = "prices"
    timed = None
    every_send = False

    def pays(self, prices: LinkPrices, asked: Sequence[Demand]) -> Fraction:
        """The sum of the cheapest ways of all demands."""
        demands = DemandList.of(asked)
        tables: dict[int, _Table] = {}
        for share in self.shares:
            if id(share.prices) not in tables:
                tables[id(share.prices)] = _Table.of(share.prices, prices)
        self._require_owners(prices.topology, demands)
        self._require_shares(prices, demands, tables)
        paid = Fraction(0)
        for group in self._groups(tables, prices.wholes.shape):
            ends = [share.destination for share in group]
            own = [tables[id(one.prices)] for one in group]
            if all(table is own[0] for table in own):
                own = own[:1]  # one for all
            kind = np.int64 if all(table.wholes.dtype == np.int64 for table in own) else object
            dense: Table = np.zeros((prices.wholes.size, len(own)), dtype=kind)
            for column, table in enumerate(own):
                dense[table.places, column] = table.wholes
            dense = dense.reshape(*prices.wholes.shape, -1)
            costs, unreached = cheapest_ways(prices.topology, prices.steps, dense, ends)
            for column, share in enumerate(group):
                cost, lost = _paid(demands, share.demands, costs[:, column], unreached)
                if lost is not None:
                    within = "" if prices.steps is None else f" within {prices.steps} steps"
                    raise VerificationError(
                        f"no path leads from nodes {demands[lost].sources} to node "
                        f"{share.destination}{within}"
                    )
                paid += Fraction(cost) / tables[id(share.prices)].units
        return paid

    def _groups(
        self, tables: "dict[int, _Table]", shape: tuple[int, ...]
    ) -> Iterator[Sequence[Share]]:
        """Shares whose ways are computed together: with one table, or a few small ones."""
        layers, links = shape
        alike: dict[int, list[Share]] = defaultdict(list)
        for share in self.shares:
            alike[id(share.prices)].append(share)
        alone = [shares[0] for shares in alike.values() if len(shares) == 1]
        alone.sort(key=lambda one: tables[id(one.prices)].most < LARGEST >> 24)
        for shares, cells in (
            *((shares, links) for shares in alike.values() if len(shares) > 1),
            (alone, links * layers),
        ):
            size = max(1, _MOST_CELLS // max(1, cells))
            yield from (shares[low : low + size] for low in range(0, len(shares), size))

    def _require_owners(self, topology: Topology, demands: DemandList) -> None:
        """Checks that each share has a destination, and demands that need it."""
        members = [frozenset(nodes) for nodes in demands.sets]
        for share in self.shares:
            if not 0 <= share.destination < topology.num_nodes:
                raise VerificationError(
                    f"a share for node {share.destination}, which does not exist"
                )
            ks = np.array(share.demands, dtype=np.int64)
            for k in ks[(ks < 0) | (ks >= len(demands))][:1].tolist():
                raise VerificationError(f"a share for demand {k}, which does not exist")
            needed, first = np.unique(demands.second[ks], return_index=True)
            for j, i in zip(needed.tolist(), first.tolist(), strict=True):
                if share.destination not in members[j]:
                    raise VerificationError(
                        f"a share for node {share.destination}, which demand {ks[i]} does not need"
                    )

    def _require_shares(
        self, prices: LinkPrices, demands: DemandList, tables: "dict[int, _Table]"
    ) -> None:
        """Checks that no demand has two shares for one destination, or shares above the price
        together."""
        if not self.shares:
            return
        nodes, names = prices.topology.num_nodes, {name: i for i, name in enumerate(tables)}
        sizes = [len(share.demands) for share in self.shares]
        table_of = np.repeat([names[id(share.prices)] for share in self.shares], sizes)
        node = np.repeat([share.destination for share in self.shares], sizes)
        key = np.concatenate([np.array(s.demands, np.int64) for s in self.shares]) * nodes + node
        order = np.argsort(key, kind="stable")
        key, table_of = key[order], table_of[order]
        for i in np.flatnonzero(key[1:] == key[:-1])[:1].tolist():
            k, end = divmod(int(key[i]), nodes)
            raise VerificationError(f"demand {k} has two shares for node {end}")
        owner = key // nodes
        if prices.topology.counts_copies:
            for k in owner[1:][owner[1:] == owner[:-1]][:1].tolist():
                raise VerificationError(
                    f"demand {k} pays for the ways to several nodes, but a switch copies or adds "
                    "up its sends"
                )
        # Demands with the same shares, as in an alltoall, are compared with the prices once.
        alike: dict[tuple[int, ...], int] = {}
        ks, starts, counts = np.unique(owner, return_index=True, return_counts=True)
        single = counts == 1
        kinds, first = np.unique(table_of[starts[single]], return_index=True)
        for i, k in zip(kinds.tolist(), ks[single][first].tolist(), strict=True):
            alike[(i,)] = k
        several = (part[~single].tolist() for part in (ks, starts, counts))
        for k, low, count in zip(*several, strict=True):
            alike[tuple(table_of[low : low + count].tolist())] = k
        own = list(tables.values())
        units, wholes = prices.finer(Fraction(1, table.units) for table in own)
        # No price, and no sum of shares, exceeds this.
        most = max(table.most * (units // table.units) for table in own) * max(map(len, alike))
        price = in_words(wholes.ravel(), most)
        for together, k in alike.items():
            spent = np.zeros_like(price)
            for i in together:
                spent[own[i].places] += own[i].wholes.astype(price.dtype) * (units // own[i].units)
            for place in np.flatnonzero(spent > price)[:1].tolist():
                step, link = divmod(place, prices.wholes.shape[1])
                raise VerificationError(
                    f"the shares of demand {k} in link {link}, step {step} exceed its price"
                )


@dataclass(frozen=True, eq=False)
class _Table:
    """The prices of a share in units, by ``step * number of links + link``."""

    places: Ints
    units: int
    wholes: Table
    most: Any

    @classmethod
    def of(cls, parts: Prices, prices: LinkPrices) -> "_Table":
        prices.require_parts(parts)
        links = prices.wholes.shape[1]
        places = np.array([step * links + link for link, step in parts], dtype=np.int64)
        units, amounts = in_units(parts.values())
        kind = np.int64 if all(type(x) is int and x < LARGEST for x in amounts) else object
        return cls(places, units, np.array(amounts, dtype=kind), max(amounts, default=0))


def cheapest_ways(
    topology: Topology, steps: int | None, prices: Table, destinations: Sequence[int]
) -> tuple[Table, Any]:
    """The costs of cheapest ways, by exact arithmetic.

    Args:
        steps: S; None: in any number of steps.
        prices: ``[S, L, K]`` of a send, for each destination, or ``[S, L, 1]`` for all; S is 1
            without steps.
        destinations: ``[K]``.

    Returns:
        ``[P, K]``, of the ways from each node to each destination; and the cost from which on a way
        does not exist.
    """
    nodes, (layers, links, _) = topology.num_nodes, prices.shape
    ends = topology.ends
    order = np.argsort(ends[:, 0], kind="stable")
    heads, (tails, starts) = ends[order, 1], np.unique(ends[order, 0], return_index=True)
    most = int(prices.max(initial=0)) if prices.dtype != object else max([0, *prices.ravel()])
    unreached = most * (max(nodes, layers) + 1) + 1
    kind: type = object
    if unreached + most < _LARGEST_OF_HALF_WORDS:
        kind = np.int32  # half the memory to traverse
    elif unreached + most < LARGEST:
        kind = np.int64
    prices = prices[:, order].astype(kind, copy=False)
    cost: Table = np.full((nodes, len(destinations)), unreached, dtype=kind)
    cost[list(destinations), np.arange(len(destinations))] = 0

    def extend(step: int) -> bool:
        """Prepends a link or a wait to every way; returns whether any became cheaper."""
        over = np.minimum.reduceat(cost[heads] + prices[step], starts, axis=0)
        before = cost[tails]
        np.minimum(over, before, out=over)
        cost[tails] = over
        return bool((over < before).any())

    for step in reversed(range(layers if links and steps is not None else 0)):
        extend(step)
    while links and steps is None and extend(0):
        pass
    return cost, unreached


def _paid(
    demands: DemandList, which: Sequence[int], cost: Table, unreached: Any
) -> tuple[Any, int | None]:
    """The payment of several demands together; and a demand without a way."""
    ks = np.array(which, dtype=np.int64)
    single = demands.first_node[ks]
    ways = cost[single].astype(np.int64 if cost.dtype == np.int32 else cost.dtype)
    for i in np.flatnonzero(single < 0).tolist():
        sources = demands.sets[demands.first[which[i]]]
        ways[i] = min((cost[n] for n in sources), default=unreached)
    lost = ks[ways >= unreached][:1].tolist()
    counts = demands.counts[ks]
    if max(ways.tolist(), default=0) * int(counts.max(initial=0)) >= LARGEST:
        ways, counts = ways.astype(object), counts.astype(object)
    return total(ways * counts), next(iter(lost), None)
