"""Finding tree prices (`syncoll.certificates.trees`), the strongest bound for S steps.

The prices are found by generating trees: the best prices against the trees so far, the cheapest
tree under them, again.  Of a single demand they are the same on all bounds that symmetry exchanges,
which leaves few of them: averaging prices over the group makes no tree cheaper than the cheapest
was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from syncoll.arrays import FloatArray, IntArray
from syncoll.certificates.chunk_classes import Demand
from syncoll.certificates.informed_sets import set_orbits, uninformed
from syncoll.certificates.priced import Priced
from syncoll.certificates.steiner import NEVER, affordable, cheapest_tree, is_of_sets
from syncoll.certificates.trees import Trees
from syncoll.clock import now
from syncoll.linear import GrowingProgram
from syncoll.model import Topology
from syncoll.symmetry.fixing import automorphisms_fixing, bound_orbits

__all__ = ["find_tree_prices"]


_DENOMINATORS = 12, 840, 27720
_FINE = 10**7

_LARGEST_DENOMINATOR = 10**12
"""A bound with a larger one is nothing to read, and serves no better than one that is lower by
little."""

_LARGEST_COMMON = 5_000
"""A common denominator of all prices is looked for up to this."""

_WHOLE = 1e-7
"""What is so near to a whole number, relative to the denominator, is one."""

_NEAR = 1e-9
"""Costs, which are about 1, that differ by no more are equal."""

_SHARE = 0.8
"""The part of the time after which no further trees are generated: the rest is for the check."""

_AFRESH = 3
"""In each so-manieth turn trees are looked for under the best prices, in others half way to them:
the best prices jump about, and nearer to the last ones cheaper trees are found that last."""


def find_tree_prices(
    topology: Topology,
    demands: Sequence[Demand],
    steps: int,
    seconds: float = 20.0,
    more_than: Fraction | None = None,
) -> tuple[Fraction, Priced] | None:
    """The best bound of this kind found in the time, with its certificate.

    Args:
        demands: what must get where, within reach in so many steps.
        seconds: what is proved by then counts.
        more_than: only a bound above this is of use, above what flows prove for instance; end
            early when no prices can prove so much.

    Returns:
        None when a chunk starts nowhere or has too many destinations, or nothing above `more_than`
        is proved.
    """
    if not demands or not all(affordable(topology, demand) for demand in demands):
        return None
    end = now() + seconds * _SHARE
    images = []
    if len(demands) == 1:
        images = automorphisms_fixing(topology, (demands[0].sources, demands[0].destinations))
    master = _Master(topology, demands, steps, bound_orbits(topology, images))
    orbit = None
    if images and is_of_sets(topology, demands[0]):
        orbit = set_orbits(uninformed(topology, demands[0]), images)
    rates = np.array([float(bound.chunks_per_round) for bound in topology.bounds])
    tried = np.repeat(1 / (rates * len(rates))[:, None], steps, axis=1)
    best_cost, best = 0.0, tried
    while True:
        prices = np.zeros((steps, len(topology.links)))
        for i, members in enumerate(topology.bound_links):
            prices[:, members] += tried[i][:, None]
        trees = []
        for k, demand in enumerate(demands):
            if now() >= end:
                break
            below = master.cheapest(k, tried) + _NEAR
            tree = cheapest_tree(topology, demand, prices, float(NEVER), below, orbit)
            trees.append((float(tree.cost), tree))
        if len(trees) < len(demands):
            break
        cost = sum(each * d.count for (each, _), d in zip(trees, demands, strict=True))
        if cost > best_cost:
            best_cost, best = cost, tried
        if best_cost >= master.value * (1 - 1e-9) or now() >= end:
            break
        for k, (_, found) in enumerate(trees):
            master.add(k, found.tree())
        optimum = master.solve(end - now())
        if optimum is None:
            break
        tried = optimum if master.turn % _AFRESH == 0 else (tried + optimum) / 2
        if more_than is not None and master.value <= float(more_than) * (1 + 1e-9):
            return None
    certified = _certified(topology, demands, best, best_cost)
    if certified is not None and more_than is not None and certified[0] <= more_than:
        return None
    return certified


class _Master:
    """The best prices against some trees: maximise the sum of counts times cheapest trees.

    Args:
        orbit: ``[B]``, bounds with equal prices.

    Attributes:
        turn: how often it was solved.
        value: no prices prove more.
    """

    def __init__(
        self, topology: Topology, demands: Sequence[Demand], steps: int, orbit: IntArray
    ) -> None:
        self.steps, self.turn, self.value = steps, 0, float("inf")
        self._orbit, self._size = orbit, np.bincount(orbit)
        self._of_link: list[list[int]] = [[] for _ in topology.links]
        for i, members in enumerate(topology.bound_links):
            for link in members.tolist():
                self._of_link[link].append(i)
        self._priced = len(self._size) * steps
        costs = [-float(demand.count) for demand in demands]
        self._program = GrowingProgram([*np.zeros(self._priced), *costs])
        rates = np.zeros(len(self._size))
        rates[self._orbit] = [float(bound.chunks_per_round) for bound in topology.bounds]
        for step in range(steps):  # what a round costs
            self._program.add(
                {k * steps + step: rate for k, rate in enumerate(rates.tolist())}, -np.inf, 1.0
            )
        self._loads: list[list[FloatArray]] = [[] for _ in demands]

    def add(self, k: int, tree: Counter[tuple[int, int]]) -> None:
        """A tree of demand k: its price is at least what the demand's cheapest one costs."""
        load = np.zeros((len(self._size), self.steps))
        for (link, step), times in tree.items():
            for i in self._of_link[link]:
                load[self._orbit[i], step] += times / self._size[self._orbit[i]]
        row = {int(column): float(load.flat[column]) for column in np.flatnonzero(load)}
        self._program.add(row | {self._priced + k: -1.0}, 0.0, np.inf)
        self._loads[k].append(load.ravel())

    def cheapest(self, k: int, totals: FloatArray) -> float:
        """What the cheapest known tree of demand k costs under prices ``[bound, step]``."""
        if not self._loads[k]:
            return float("inf")
        orbits = np.zeros((len(self._size), self.steps))
        orbits[self._orbit] = totals
        orbits *= self._size[:, None]
        return float((np.array(self._loads[k]) @ orbits.ravel()).min())

    def solve(self, seconds: float) -> FloatArray | None:
        """Prices ``[bound, step]``; None when the time ran out."""
        optimum = self._program.minimise(max(seconds, 0.01))
        if optimum is None:
            return None
        self.turn += 1
        self.value = -optimum.value
        orbits = np.maximum(optimum.columns[: self._priced], 0.0).reshape(-1, self.steps)
        totals: FloatArray = (orbits / self._size[:, None])[self._orbit]
        return totals


def _certified(
    topology: Topology, demands: Sequence[Demand], totals: FloatArray, cost: float
) -> tuple[Fraction, Priced] | None:
    """The prices as rationals that keep the rules whatever the rounding did."""
    best: tuple[Fraction, Priced] | None = None
    for prices in _rationals(topology, totals):
        certificate = Priced(totals.shape[1], prices, Trees())
        proved = certificate.check(topology, demands)
        if proved.denominator > _LARGEST_DENOMINATOR:
            continue
        if proved > 0 and (best is None or proved > best[0]):
            best = proved, certificate
        if best is not None and float(best[0]) >= cost * (1 - 1e-9):
            break
    return best


def _rationals(topology: Topology, totals: FloatArray) -> Iterator[dict[tuple[int, int], Fraction]]:
    """The prices as fractions, scaled until a round of each step costs 1; then a little less than
    they are, all of one denominator."""
    capacities = [bound.chunks_per_round for bound in topology.bounds]
    places = [(i, t) for i, t in np.argwhere(totals > 1e-9).tolist()]
    common = _common_denominator(totals)
    for denominator in (common, *_DENOMINATORS) if common else _DENOMINATORS:
        rounded: dict[tuple[int, int], Fraction] = {}
        for i, t in places:
            price = Fraction(float(totals[i, t])).limit_denominator(denominator)
            if denominator == common:
                price = Fraction(round(float(totals[i, t]) * common), common)
            if price > 0:
                rounded[i, t] = price
        spent: dict[int, Fraction] = {}
        for (i, t), price in rounded.items():
            spent[t] = spent.get(t, Fraction(0)) + capacities[i] * price
        yield {(i, t): price / spent[t] for (i, t), price in rounded.items()}
    less = {place: int(float(totals[place]) * _FINE * (1 - _WHOLE)) for place in places}
    yield {place: Fraction(price, _FINE) for place, price in less.items() if price}


def _common_denominator(totals: FloatArray) -> int | None:
    """The least number that makes all prices whole; a vertex of a small program has a small one."""
    prices = np.unique(totals[totals > _WHOLE].round(12))
    times = np.arange(1, _LARGEST_COMMON + 1)[:, None] * prices
    whole = np.flatnonzero((abs(times - times.round()) < _WHOLE * _LARGEST_COMMON).all(axis=1))
    return int(whole[0]) + 1 if len(whole) and len(prices) else None
