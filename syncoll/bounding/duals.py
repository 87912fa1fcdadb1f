"""Prices from the duals of a flow relaxation: rationals that keep the rules when rounded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from syncoll.arrays import Floats
from syncoll.bounding.rationals import Rounding, excess
from syncoll.certificates.link_prices import LinkPrices, Place
from syncoll.certificates.priced import Priced
from syncoll.certificates.ways import Share, Ways

if TYPE_CHECKING:
    from syncoll.bounding.quotient import Quotient
    from syncoll.bounding.relaxation import Commodity, Relaxation


def prices_of(relaxation: Relaxation, row_duals: Floats, rounding: Rounding) -> Priced:
    """The dual of a solved program as prices."""
    duals = -row_duals
    rates = relaxation.capacities.rates
    parts: dict[int | None, dict[Place, Fraction]] = {}
    cost: dict[int, Fraction] = defaultdict(Fraction)
    for where, rows in relaxation.capacity_rows.items():
        places = [divmod(i, len(rates)) for i in range(rows.size)]
        positive = rounding.positive(duals[rows.ravel()])
        parts[where] = {places[i][::-1]: price for i, price in positive}
        for (i, step), price in parts[where].items():
            cost[step] += rates[i] * price
    for prices in parts.values():
        for at in prices:
            prices[at] = rounding.lower(prices[at] / cost[at[1]])
    quotient = relaxation.quotient if relaxation.shares_capacity else None
    if quotient is not None:
        parts = {where: _of_all_bounds(quotient, prices) for where, prices in parts.items()}
    totals: dict[Place, Fraction] = defaultdict(Fraction)
    for prices in parts.values():
        for at, price in prices.items():
            totals[at] += price
    topology, steps = relaxation.network.topology, relaxation.network.steps
    on_links = {
        where: LinkPrices.of(topology, steps, prices).by_place() for where, prices in parts.items()
    }
    shares: list[Share] = []
    if not relaxation.shares_capacity:
        shares = [
            Share(c.destination, c.demands, on_links[c.destination]) for c in relaxation.commodities
        ]
        return Priced(steps, dict(totals), Ways(tuple(shares)))
    whole, paid = on_links[None], dict[int, list[int]]()
    to = relaxation.demands.second_node  # -1 where there are copies
    order = np.argsort(to, kind="stable")
    ends, starts = np.unique(to[order], return_index=True)
    for d, ks in zip(ends.tolist(), np.split(order, starts[1:]), strict=True):
        if d >= 0:
            paid[d] = ks.tolist()
    shares = [Share(d, tuple(ks), whole) for d, ks in sorted(paid.items())]
    shares += _copy_shares(relaxation, duals, rounding, whole)
    return Priced(steps, dict(totals), Ways(tuple(shares)))


def _of_all_bounds(quotient: Quotient, prices: dict[Place, Fraction]) -> dict[Place, Fraction]:
    """Prices of orbits of bounds, each divided among its members."""
    members: dict[int, list[int]] = defaultdict(list)
    for bound, orbit in enumerate(quotient.orbits.orbit.tolist()):
        members[orbit].append(bound)
    return {
        (bound, step): price / len(members[i])
        for (i, step), price in prices.items()
        for bound in members[i]
    }


def _copy_shares(
    relaxation: Relaxation, duals: Floats, rounding: Rounding, price: dict[Place, Fraction]
) -> list[Share]:
    """Shares of copied demands, cut where they add up to more than the price."""
    if not relaxation.copy_rows:
        return []
    quotient = relaxation.quotient
    order = 1 if quotient is None else quotient.group.order  # flows of an orbit divide the price
    times = {part: part * order for part in set(price.values()) if part > 0}
    whole = {key: times[part] for key, part in price.items() if part > 0}
    rational = cache(rounding)  # symmetric programs have few different duals
    raw: list[tuple[Commodity, dict[Place, Fraction]]] = []
    spent: dict[int, dict[Place, Fraction]] = defaultdict(dict)
    for commodity, arcs, rows in relaxation.copy_rows:
        block = duals[rows]
        positive = np.flatnonzero(block > 1e-9)
        links = relaxation.network.link[arcs[positive]].tolist()
        steps = relaxation.network.step[arcs[positive]].tolist()
        parts: dict[Place, Fraction] = {}
        sums = spent[commodity.demands[0]]
        for value, link, step in zip(block[positive].tolist(), links, steps, strict=True):
            part, key = rational(value), (link, step)
            if part > 0 and key in whole:
                parts[key] = part
                sums[key] = sums.get(key, Fraction(0)) + part
        raw.append((commodity, parts))
    cuts = {k: excess(sums, whole.__getitem__) for k, sums in spent.items()}
    shares = []
    for commodity, parts in raw:
        k = commodity.demands[0]
        for key in parts.keys() & cuts[k].keys():
            cut = parts[key] * cuts[k][key]
            parts[key] = cut if rounding.denominator else rounding.lower(cut)
        if quotient is None:
            shares.append(Share(commodity.destination, (k,), parts))
        else:
            shares += _images(quotient, commodity, parts)
    return shares


def _images(
    quotient: Quotient, commodity: Commodity, prices: dict[Place, Fraction]
) -> Iterator[Share]:
    """A share of an orbit's flow, divided among the flows of the orbit."""
    order = quotient.group.order
    links = np.array([link for link, _ in prices], dtype=np.int64)
    steps = [step for _, step in prices]
    divided = {price: price / order for price in set(prices.values())}
    values = [divided[price] for price in prices.values()]
    demand = quotient.demands[commodity.demands[0]]
    for element in range(order):
        moved = quotient.link_images[element, links].tolist()
        yield Share(
            int(quotient.group.elements[element, commodity.destination]),
            (quotient.image(demand, element),),
            dict(zip(zip(moved, steps, strict=True), values, strict=True)),
        )
