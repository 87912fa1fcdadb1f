"""Packings of trees without steps: found in floating point, proved in exact arithmetic.

Minimise C subject to: the trees of each group carry its share of the data, and no row carries more
than C times its capacity ("Optimal Message Scheduling for Aggregation", problem (2)).
`syncoll.packing` generates the columns.  Two measures keep the number of programs small, often at
one.  The first trees come from a greedy packing, each cheapest under prices that grow with the
load.  Every program adds several trees, each under prices raised on the links of the trees before
it.

The last program's basis, solved in rationals, gives shares and prices.  The loads of the shares
give the cost.  The cheapest trees under the prices give the bound: any trees that carry the data
pay the sum over the rows of price times load, so ``C >= sum over groups (share * cheapest tree) /
sum over rows (price * capacity)``.  A packing is optimal if its cost equals the bound; after a time
limit it may not be.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np

from syncoll.arrays import FloatArray
from syncoll.deadline import NEVER, Deadline
from syncoll.packing.column_generation import TINY, Packing, Tuning
from syncoll_treepacking.oracle import Oracle, TreeColumn

_TUNING = Tuning(kept=0.0, gain=0.0, patience=40, near=TINY)
"""Chosen by the tables of benchmarks/results/treepacking.md for exact optima."""

_PRICE_BITS = 30
"""Bits of prices from floating point; limits the work of a proof."""

_TREES_PER_PROGRAM, MOST_TREES = 12, 600
"""Trees for each program, and for the first one or the integer program; limits work."""

_LIGHT = 1000 * TINY
"""The cost of a link, relative to all data on the widest: ties go to packings with fewer links.  It
only matters with switches: without, spanning trees have equally many links."""


@dataclass(frozen=True, eq=False)
class ExactPacking:
    """Trees that carry one unit of data together.

    Args:
        trees: trees with weights above 0; the sum in each group is its share.
        cost: C, the time for one unit of data: the largest load over capacity of a row.
        prices: prices of the rows, as integers: only their ratios matter.
        bound: the lower bound on C that the prices prove.
        pool: every tree that was generated.
    """

    oracle: Oracle
    trees: tuple[tuple[TreeColumn, Fraction], ...]
    cost: Fraction
    prices: tuple[int, ...]
    bound: Fraction
    pool: tuple[TreeColumn, ...]

    @property
    def is_optimal(self) -> bool:
        """Whether the cost equals the bound."""
        return self.cost == self.bound

    @property
    def loads(self) -> tuple[Fraction, ...]:
        """The load of each row."""
        return _loads(self.oracle, self.trees)


def pack(oracle: Oracle, until: Deadline = NEVER) -> ExactPacking:
    """The cheapest packing found."""
    packing = _TreePacking(oracle)
    for tree in packing.greedy(until):
        packing.add(tree.group, tree)
    while True:
        while not packing.rested and not until.passed:
            packing.improve(until)
        exact = packing.exact(until)
        if exact.is_optimal or until.passed:
            return exact
        # Cheaper trees may exist within the tolerance of floating point.
        cheapest = oracle.cheapest(oracle.system.costs(np.array(exact.prices, dtype=object)))
        if not sum(packing.add(tree.group, tree) for tree in cheapest):
            return exact
        packing.rested = False


class _TreePacking(Packing[TreeColumn]):
    """The linear program, and its oracle of several trees."""

    def __init__(self, oracle: Oracle) -> None:
        self.trees, self.system = oracle, oracle.system
        self._chance = np.random.default_rng(7)
        shares = [float(share) for share in oracle.shares]
        super().__init__(self.system, shares, 1, self, _TUNING, timeless=True)
        self._each = _LIGHT * (self.system.num_vertices > self.system.num_nodes)

    def exact(self, until: Deadline) -> ExactPacking:
        """The packing in rationals: from the program's vertex if time allows, otherwise from
        floats.

        Prices of few digits prove nearly as much in less time.
        """
        oracle, shares, vertex = self.trees, self.master.shares, None
        if len(shares) and not until.passed:
            vertex = self.master.vertex(self.system.capacities, oracle.shares)
        elif not len(shares):  # no program was solved
            shares = np.ones(len(self.columns))
        prices = np.rint(self.prices * 2.0 ** (_PRICE_BITS - np.ceil(np.log2(self.prices.max()))))
        floats = [[*map(Fraction, a.tolist())] for a in (prices, shares * (shares > TINY))]
        found = [tuple(floats), *([vertex] if vertex else [])]
        weighted = [self._weighted(some) for _, some in found]
        trees = min((t for t in weighted if t), key=lambda some: packing_cost(oracle, some))
        bound, prices = max(_bound(oracle, some) for some, _ in found if min(some) >= 0)
        cost = packing_cost(oracle, trees)
        return ExactPacking(oracle, trees, cost, prices, bound, tuple(self.columns))

    def _weighted(self, shares: Sequence[Fraction]) -> tuple[tuple[TreeColumn, Fraction], ...]:
        """Trees with weights of the shares' sum in each group; empty if a weight is below 0."""
        totals = [Fraction(0)] * len(self.trees.shares)
        used = [(tree, x) for tree, x in zip(self.columns, shares, strict=False) if x]
        for tree, x in used:
            totals[tree.group] += x
        if min(shares) < 0 or not all(totals):
            return ()
        scale = [share / total for share, total in zip(self.trees.shares, totals, strict=True)]
        return tuple((tree, x * scale[tree.group]) for tree, x in used)

    def cost_of(self, column: TreeColumn) -> float:
        """See `Packing`."""
        return self._each * len(column.used)

    def cheap(
        self,
        prices: FloatArray,
        pays: FloatArray,
        shared: Sequence[Sequence[TreeColumn]],
        until: Deadline,
    ) -> tuple[list[tuple[int, TreeColumn]], FloatArray]:
        """See `syncoll.packing.column_generation.Oracle`; the first tree of each group is exact."""
        costs = self.system.costs(prices[:, 0]) + self._each
        step = float(costs.mean()) * 0.02
        raised, found = np.zeros(len(costs)), self.trees.cheapest(costs)
        least = np.array([costs[tree.links].sum() for tree in found])
        for _ in range(max(1, _TREES_PER_PROGRAM // len(pays))):
            noise = self._chance.uniform(0, step, len(costs))
            more = self.trees.cheapest(costs + step * raised + noise)
            for tree in more:
                np.add.at(raised, tree.links, 1.0)
            found += more
        limit = pays * (1 - TINY)
        cheap = [(t.group, t) for t in found if costs[t.links].sum() < limit[t.group]]
        return cheap, least

    def greedy(self, until: Deadline) -> Iterator[TreeColumn]:
        """Trees that each avoid links loaded by the trees before."""
        system, shares = self.system, [float(share) for share in self.trees.shares]
        load = np.zeros(len(system.rate))
        for turn in range(max(8, min(2 * len(load) // len(shares), MOST_TREES))):
            level = load / system.rate
            sharp = np.exp(np.minimum((level - level.max()) * np.sqrt(turn + 1.0), 0.0))
            noise = 1 + self._chance.uniform(0, 1e-3, len(system.ends))
            costs = system.costs((sharp + 1e-9) / system.rate)
            for tree in self.trees.cheapest(costs * noise):
                load += shares[tree.group] * system.load(tree.links, tree.steps, 1)[:, 0]
                yield tree
            if until.passed:
                return


def packing_cost(oracle: Oracle, trees: Sequence[tuple[TreeColumn, Fraction]]) -> Fraction:
    """C of weighted trees: the largest load over capacity of a row."""
    loads = _loads(oracle, trees)
    return max(x / c for x, c in zip(loads, oracle.system.capacities, strict=True))


def _loads(oracle: Oracle, trees: Sequence[tuple[TreeColumn, Fraction]]) -> tuple[Fraction, ...]:
    total = [Fraction(0)] * len(oracle.system.capacities)
    for tree, weight in trees:
        load = oracle.system.load(tree.links, tree.steps, 1)[:, 0]
        for row in np.flatnonzero(load).tolist():
            total[row] += int(load[row]) * weight
    return tuple(total)


def _bound(oracle: Oracle, prices: Sequence[Fraction]) -> tuple[Fraction, tuple[int, ...]]:
    """The bound that prices prove, and the prices as integers."""
    common = lcm(*(price.denominator for price in prices))
    whole = tuple(int(price * common) for price in prices)
    system = oracle.system
    spent = sum((c * p for c, p in zip(system.capacities, whole, strict=True)), Fraction(0))
    costs = system.costs(np.array(whole, dtype=object))
    paid = (oracle.shares[t.group] * costs[t.links].sum() for t in oracle.cheapest(costs))
    return sum(paid, Fraction(0)) / spent, whole
