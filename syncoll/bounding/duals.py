"""Prices from the duals of a flow relaxation: rationals that keep the rules when rounded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from syncoll.arrays import FloatArray
from syncoll.certificates.priced import Priced
from syncoll.certificates.ways import Share, Ways

if TYPE_CHECKING:
    from syncoll.bounding.quotient import Quotient
    from syncoll.bounding.relaxation import Commodity, FlowProgram

__all__ = ["denominators", "prices_of", "readable"]

_Prices = dict[tuple[int, int], Fraction]

_DENOMINATORS = (12, 840, 27720, 10**6, 10**9)
"""Largest denominators tried in turn when a price is rounded."""

_LONGEST_DENOMINATOR = 1_000_000
_GRID = 720_720
"""Divisible by every number up to 16: prices on this grid often add up to small fractions."""

_FINE_GRID = 720_720_000
"""For all prices of a certificate, where each by itself is short and their sums are not."""

_LARGEST = 1 << 62
"""Sums below this are exact in machine words."""

_MOST_DUALS = 200
"""This number of different duals is looked at to see which denominator they have."""


def denominators(duals: FloatArray) -> list[int]:
    """The denominators worth trying: from the first under which no dual moves.

    Duals of a vertex are rationals with small denominators, up to the solver's tolerance.
    """
    sizes = np.unique(np.round(np.abs(duals), 8))[:_MOST_DUALS]
    for i, denominator in enumerate(_DENOMINATORS):
        rounded = [float(_rational(size, denominator)) for size in sizes]
        if np.abs(np.array(rounded) - sizes).max(initial=0.0) < 1e-7:
            return list(_DENOMINATORS[i:])
    return list(_DENOMINATORS)


def _rational(value: float, denominator: int | None) -> Fraction:
    exact = Fraction(float(value))
    return _on_grid(exact) if denominator is None else exact.limit_denominator(denominator)


def _on_grid(value: Fraction) -> Fraction:
    return Fraction(int(value * _FINE_GRID), _FINE_GRID)


def readable(price: Fraction) -> Fraction:
    """The price itself, or one a little lower where its denominator is too long to be read.

    Lower prices keep the rules; bandwidths that have no small common denominator would else make
    bounds of hundreds of digits.
    """
    if price.denominator <= _LONGEST_DENOMINATOR:
        return price
    return Fraction(int(price * _GRID), _GRID)


def prices_of(program: FlowProgram, row_duals: FloatArray, denominator: int | None) -> Priced:
    """The dual of a solved program as prices.

    Args:
        denominator: of each price, at most; None for all on one grid, a little lower than they are.
    """
    layers, relaxation = program.network.layers, program.relaxation
    duals = -row_duals
    parts: dict[int | None, _Prices] = {}
    for where, first in program.capacity_rows.items():
        block = duals[first : first + layers * program.num_bounds]
        parts[where] = {
            (int(i) % program.num_bounds, int(i) // program.num_bounds): price
            for i in np.flatnonzero(block > 1e-9)
            if (price := _rational(block[i], denominator)) > 0
        }
    cost: dict[int, Fraction] = defaultdict(Fraction)
    for prices in parts.values():
        for (i, step), price in prices.items():
            cost[step] += program.bounds[i].chunks_per_round * price
    for prices in parts.values():
        for key in prices:
            scaled = prices[key] / cost[key[1]]
            prices[key] = _on_grid(scaled) if denominator is None else readable(scaled)
    quotient = relaxation.quotient if relaxation.shares_capacity else None
    if quotient is not None:
        parts = {where: _of_all_bounds(quotient, prices) for where, prices in parts.items()}
    totals: _Prices = defaultdict(Fraction)
    for prices in parts.values():
        for key, price in prices.items():
            totals[key] += price
    on_links = {where: _on_links(program, prices) for where, prices in parts.items()}
    shares: list[Share] = []
    if not relaxation.shares_capacity:
        shares = [
            Share(c.destination, c.demands, on_links[c.destination]) for c in relaxation.commodities
        ]
        return Priced(program.network.steps, dict(totals), Ways(tuple(shares)))
    whole, paid = on_links[None], dict[int, list[int]]()
    to = relaxation.demands.second_node  # -1 where there are copies
    order = np.argsort(to, kind="stable")
    ends, starts = np.unique(to[order], return_index=True)
    for d, ks in zip(ends.tolist(), np.split(order, starts[1:]), strict=True):
        if d >= 0:
            paid[d] = ks.tolist()
    shares = [Share(d, tuple(ks), whole) for d, ks in sorted(paid.items())]
    shares += _copy_shares(program, duals, denominator, whole)
    return Priced(program.network.steps, dict(totals), Ways(tuple(shares)))


def _of_all_bounds(quotient: Quotient, prices: _Prices) -> _Prices:
    """Prices of orbits of bounds, each divided among its members."""
    members: dict[int, list[int]] = defaultdict(list)
    for bound, orbit in enumerate(quotient.orbits.orbit.tolist()):
        members[orbit].append(bound)
    return {
        (bound, step): price / len(members[i])
        for (i, step), price in prices.items()
        for bound in members[i]
    }


def _on_links(program: FlowProgram, prices: _Prices) -> _Prices:
    if not prices:
        return {}
    topology = program.network.topology
    # Whole numbers over a common denominator: there may be millions of parts to add up.
    scale = lcm(*{price.denominator for price in prices.values()})
    wholes = [price.numerator * (scale // price.denominator) for price in prices.values()]
    kind: type = np.int64 if sum(wholes) < _LARGEST else object
    total: npt.NDArray[Any] = np.zeros((program.network.layers, len(topology.links)), dtype=kind)
    for (i, step), whole in zip(prices, wholes, strict=True):
        total[step, topology.bound_links[i]] += whole
    steps, links = np.nonzero(total)
    values = total[steps, links].tolist()
    known = {value: Fraction(value, scale) for value in set(values)}
    return {
        (link, step): known[value]
        for link, step, value in zip(links.tolist(), steps.tolist(), values, strict=True)
    }


def _copy_shares(
    program: FlowProgram,
    duals: FloatArray,
    denominator: int | None,
    price: _Prices,
) -> list[Share]:
    """Shares of copied demands, cut where they add up to more than the price."""
    if not program.copy_rows:
        return []
    quotient = program.relaxation.quotient
    order = 1 if quotient is None else quotient.group.order  # flows of an orbit divide the price
    times = {part: part * order for part in set(price.values()) if part > 0}
    whole = {key: times[part] for key, part in price.items() if part > 0}
    rational: dict[float, Fraction] = {}  # symmetric programs have few different duals
    raw: list[tuple[Commodity, _Prices]] = []
    spent: dict[int, _Prices] = defaultdict(dict)
    for commodity, arcs, first in program.copy_rows:
        block = duals[first : first + len(arcs)]
        positive = np.flatnonzero(block > 1e-9)
        links = program.network.link[arcs[positive]].tolist()
        steps = program.network.step[arcs[positive]].tolist()
        parts: _Prices = {}
        sums = spent[commodity.demands[0]]
        for value, link, step in zip(block[positive].tolist(), links, steps, strict=True):
            part = rational.get(value)
            if part is None:
                part = rational[value] = _rational(value, denominator)
            key = link, step
            if part > 0 and key in whole:
                parts[key] = part
                sums[key] = sums[key] + part if key in sums else part
        raw.append((commodity, parts))
    cuts = {
        k: {key: whole[key] / total for key, total in sums.items() if total > whole[key]}
        for k, sums in spent.items()
    }
    shares = []
    for commodity, parts in raw:
        k = commodity.demands[0]
        for key in parts.keys() & cuts[k].keys():
            parts[key] *= cuts[k][key]
            if denominator is None:
                parts[key] = _on_grid(parts[key])
        if quotient is None:
            shares.append(Share(commodity.destination, (k,), parts))
        else:
            shares += _images(quotient, commodity, parts)
    return shares


def _images(quotient: Quotient, commodity: Commodity, prices: _Prices) -> Iterator[Share]:
    """A share of an orbit's flow, divided among the flows of the orbit."""
    order = quotient.group.order
    divided: dict[Fraction, Fraction] = {}
    links = np.array([link for link, _ in prices], dtype=np.int64)
    steps = [step for _, step in prices]
    values = []
    for price in prices.values():
        if price not in divided:
            divided[price] = price / order
        values.append(divided[price])
    demand = quotient.demands[commodity.demands[0]]
    for element in range(order):
        moved = quotient.link_images[element, links].tolist()
        yield Share(
            int(quotient.group.elements[element, commodity.destination]),
            (quotient.image(demand, element),),
            dict(zip(zip(moved, steps, strict=True), values, strict=True)),
        )
