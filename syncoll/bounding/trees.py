"""Finding tree prices (`syncoll.certificates.trees`), the strongest bound for S steps.

The cheapest tree is found by dynamic programming over sets of destinations (Dreyfus & Wagner 1971),
``O(P * S * 3^k)`` for k destinations, so only small k are affordable.  The prices are found by
generating trees: the best prices against the trees so far, the cheapest tree under them, again.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from syncoll.certificates.classes import Demand
from syncoll.certificates.trees import MOST_DESTINATIONS, NEVER, CheapestTrees, TreeCertificate
from syncoll.linear import LinearProgram
from syncoll.model import Topology

__all__ = ["find_tree_prices"]

FloatArray = npt.NDArray[np.float64]


_DENOMINATORS = (12, 840, 27720, 10**6)


def find_tree_prices(
    topology: Topology,
    demands: Sequence[Demand],
    steps: int,
    seconds: float = 20.0,
    more_than: Fraction | None = None,
) -> tuple[Fraction, TreeCertificate] | None:
    """The best bound of this kind found in the time, with its certificate.

    Args:
        demands: what must get where, within reach in so many steps.
        seconds: after these no further trees are generated; what is proved by then counts.
        more_than: only a bound above this is of use, above what flows prove for instance; end
            early when no prices can prove so much.

    Returns:
        None when a chunk starts nowhere or has more than `MOST_DESTINATIONS` destinations, or
        nothing above `more_than` is proved.
    """
    if not demands or not all(
        demand.sources and len(demand.destinations) <= MOST_DESTINATIONS for demand in demands
    ):
        return None
    end = time.monotonic() + seconds
    master = _Master(topology, demands, steps)
    best_cost, best = 0.0, np.zeros((len(topology.bounds), steps))
    totals = best
    while True:
        prices = np.zeros((steps, len(topology.links)))
        for i, members in enumerate(topology.bound_links):
            prices[:, members] += totals[i][:, None]
        trees = []
        for demand in demands:
            if time.monotonic() >= end:
                break
            trees.append(CheapestTrees(topology, demand, prices, NEVER))
        if len(trees) < len(demands):
            break
        cost = sum(float(t.cost) * d.count for t, d in zip(trees, demands, strict=True))
        if cost > best_cost:
            best_cost, best = cost, totals
        if cost >= master.value * (1 - 1e-9) or time.monotonic() >= end:
            break
        for k, found in enumerate(trees):
            master.add(k, found.tree())
        optimum = master.solve(end - time.monotonic())
        if optimum is None:
            break
        totals = optimum
        if more_than is not None and master.value <= float(more_than) * (1 + 1e-9):
            return None
    certified = _certified(topology, demands, best, best_cost)
    if certified is not None and more_than is not None and certified[0] <= more_than:
        return None
    return certified


class _Master:
    """The best prices against some trees: maximise the sum of counts times cheapest trees."""

    def __init__(self, topology: Topology, demands: Sequence[Demand], steps: int) -> None:
        self.bounds, self.steps, self.demands = len(topology.bounds), steps, demands
        self.value = float("inf")
        self.of_link: list[list[int]] = [[] for _ in topology.links]
        for i, members in enumerate(topology.bound_links):
            for link in members.tolist():
                self.of_link[link].append(i)
        capacities = [float(bound.chunks_per_round) for bound in topology.bounds]
        self.entries = [
            (t, i * steps + t, capacity) for i, capacity in enumerate(capacities)
            for t in range(steps)
        ]  # fmt: skip
        self.rows = steps

    def add(self, k: int, tree: Counter[tuple[int, int]]) -> None:
        """A tree of demand k: its price is at least what the demand's cheapest one costs."""
        weights: Counter[int] = Counter()
        for (link, t), times in tree.items():
            for i in self.of_link[link]:
                weights[i * self.steps + t] += times
        self.entries += [(self.rows, column, float(n)) for column, n in weights.items()]
        self.entries.append((self.rows, self.bounds * self.steps + k, -1.0))
        self.rows += 1

    def solve(self, seconds: float) -> FloatArray | None:
        """Prices ``[bound, step]``; None when the time ran out."""
        priced = self.bounds * self.steps
        costs = np.zeros(priced + len(self.demands))
        costs[priced:] = [-float(demand.count) for demand in self.demands]
        low, high = np.zeros(self.rows), np.full(self.rows, np.inf)
        low[: self.steps], high[: self.steps] = -np.inf, 1.0
        rows, columns, values = (np.array(part) for part in zip(*self.entries, strict=True))
        program = LinearProgram(costs, rows, columns, values.astype(np.float64), low, high)
        optimum = program.minimise_unreduced(max(seconds, 0.01))
        if optimum is None:
            return None
        self.value = -optimum.value
        totals: FloatArray = np.maximum(optimum.columns[:priced], 0.0)
        return totals.reshape(self.bounds, self.steps)


def _certified(
    topology: Topology, demands: Sequence[Demand], totals: FloatArray, cost: float
) -> tuple[Fraction, TreeCertificate] | None:
    """The prices as rationals that keep the rules whatever the rounding did."""
    capacities = [bound.chunks_per_round for bound in topology.bounds]
    best: tuple[Fraction, TreeCertificate] | None = None
    for denominator in _DENOMINATORS:
        rounded: dict[tuple[int, int], Fraction] = {}
        for i, t in np.argwhere(totals > 1e-9).tolist():
            price = Fraction(float(totals[i, t])).limit_denominator(denominator)
            if price > 0:
                rounded[i, t] = price
        spent: dict[int, Fraction] = {}
        for (i, t), price in rounded.items():
            spent[t] = spent.get(t, Fraction(0)) + capacities[i] * price
        scaled = {(i, t): price / spent[t] for (i, t), price in rounded.items()}
        certificate = TreeCertificate(totals.shape[1], scaled)
        proved = certificate.check(topology, demands)
        if proved > 0 and (best is None or proved > best[0]):
            best = proved, certificate
        if best is not None and float(best[0]) >= cost * (1 - 1e-9):
            break
    return best
