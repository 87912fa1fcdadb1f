"""Prices from the duals of a flow relaxation: rationals that keep the rules when rounded."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from syncoll.certificates.prices import PriceCertificate, Share

if TYPE_CHECKING:
    from syncoll.bounding.relaxation import Commodity, FlowProgram

__all__ = ["denominators", "prices_of"]

FloatArray = npt.NDArray[np.float64]
_Prices = dict[tuple[int, int], Fraction]

_DENOMINATORS = (12, 840, 27720, 10**6, 10**9)
"""Largest denominators tried in turn when a price is rounded."""

_LONGEST_DENOMINATOR = 1_000_000
_GRID = 720_720
"""Divisible by every number up to 16: prices on this grid often add up to small fractions."""

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


def _rational(value: float, denominator: int) -> Fraction:
    return Fraction(float(value)).limit_denominator(denominator)


def _readable(price: Fraction) -> Fraction:
    """The price itself, or one a little lower where its denominator is too long to be read.

    Lower prices keep the rules; bandwidths that have no small common denominator would else make
    bounds of hundreds of digits.
    """
    if price.denominator <= _LONGEST_DENOMINATOR:
        return price
    return Fraction(int(price * _GRID), _GRID)


def prices_of(program: FlowProgram, row_duals: FloatArray, denominator: int) -> PriceCertificate:
    """The dual of a solved program as prices, each of a denominator of at most this size."""
    layers, topology = program.network.layers, program.network.topology
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
            cost[step] += topology.bounds[i].chunks_per_round * price
    totals: _Prices = defaultdict(Fraction)
    for prices in parts.values():
        for key in prices:
            prices[key] = _readable(prices[key] / cost[key[1]])
            totals[key] += prices[key]
    on_links = {where: _on_links(program, prices) for where, prices in parts.items()}
    together = None not in program.capacity_rows
    shares = [
        Share(c.destination, c.demands, on_links[c.destination if together else None])
        for c in program.relaxation.commodities
        if not program.relaxation.is_copied(program.relaxation.demands[c.demands[0]])
    ]
    if not together:
        shares += _copy_shares(program, duals, denominator, on_links[None])
    return PriceCertificate(program.network.steps, dict(totals), tuple(shares))


def _on_links(program: FlowProgram, prices: _Prices) -> _Prices:
    on_links: _Prices = defaultdict(Fraction)
    for (i, step), price in prices.items():
        for link in program.network.topology.bound_links[i].tolist():
            on_links[link, step] += price
    return dict(on_links)


def _copy_shares(
    program: FlowProgram,
    duals: FloatArray,
    denominator: int,
    price: _Prices,
) -> list[Share]:
    """Shares of copied demands, cut where they add up to more than the price."""
    whole = {key: part for key, part in price.items() if part > 0}
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
        shares.append(Share(commodity.destination, (k,), parts))
    return shares
