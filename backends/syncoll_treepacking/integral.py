"""Integral packings: every tree carries a whole number of equal parts.

A schedule moves chunks, so the weights must become integers.  For W parts of each group's share the
best choice among the generated trees is an integer program (`syncoll.packing.whole_chunks`).  Low
trees are tried first, since every level of a tree costs steps, then higher ones, which may have a
smaller R/C.  Few parts mean few chunks and few steps; many parts come nearer to the optimum of the
linear program.  Every improvement on lower trees and fewer parts is proposed.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import networkx as nx
import numpy as np

from syncoll.arrays import IntArray
from syncoll.deadline import NEVER, Deadline
from syncoll.packing.whole_chunks import ColumnChoice
from syncoll.scheduling import StepTree
from syncoll_treepacking.oracle import Oracle, TreeColumn
from syncoll_treepacking.search import MOST_TREES, ExactPacking, packing_cost

_PARTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Numbers of parts of low trees, without an integer program; row hypercube(6) of scale_seeds.md."""

_FEW_PARTS = 8
"""Most parts for the integer program; for 3/2, 3 and 6 times as many, shares are rounded.  Table
"Allreduce" of benchmarks/results/treepacking.md."""

_SECONDS_EACH = 2.0
"""Seconds of an integer program; limits work."""

_MOST_PARTS = 400
"""Above this common denominator weights are rounded."""

_GRAIN = 1 << 12
"""Largest integer for the cost of a unit, since the integer program is faster with small numbers.
"""


@dataclass(frozen=True)
class IntegralPacking:
    """Trees with integer weights.

    Args:
        parts: W, parts of the data of each group.
        trees: each with its number of parts; the sum is W in each group.
        cost: C, the time for one unit of all groups' data together at full load.
    """

    parts: int
    trees: tuple[tuple[TreeColumn, int], ...]
    cost: Fraction

    @classmethod
    def of(
        cls, oracle: Oracle, trees: Sequence[tuple[TreeColumn, int]], parts: int
    ) -> "IntegralPacking":
        """The packing of these trees."""
        weights = [(tree, oracle.shares[tree.group] * Fraction(n, parts)) for tree, n in trees]
        return cls(parts, tuple(trees), packing_cost(oracle, weights))


def low_packings(
    oracle: Oracle, turns: Sequence[Sequence[TreeColumn]]
) -> Iterator[IntegralPacking]:
    """Packings of the first W turns, with ever more parts, each cheaper than the ones before it."""
    found = (
        IntegralPacking.of(oracle, [*Counter(t for some in turns[:w] for t in some).items()], w)
        for w in _PARTS
        if w <= len(turns)
    )
    yield from _cheaper(found)


def integral_packings(
    packing: ExactPacking, pool: Sequence[TreeColumn], until: Deadline = NEVER
) -> Iterator[IntegralPacking]:
    """Packings with higher trees and more parts, each cheaper than the ones before it."""
    yield from _cheaper(_integral(packing, pool, until))


def _cheaper(packings: Iterator[IntegralPacking]) -> Iterator[IntegralPacking]:
    """Drops packings that are not cheaper than all before."""
    least: Fraction | None = None
    for one in packings:
        if least is None or one.cost < least:
            least = one.cost
            yield one


def _integral(
    packing: ExactPacking, pool: Sequence[TreeColumn], until: Deadline
) -> Iterator[IntegralPacking]:
    oracle = packing.oracle
    share = dict(packing.trees)
    trees = list(dict.fromkeys((*share, *pool)))[: max(MOST_TREES, len(share))]
    depths = {tree: oriented(tree, oracle.roots[tree.group]).depths.values() for tree in trees}
    height = {tree: max(some) for tree, some in depths.items()}
    lowest = max(
        min(h for tree, h in height.items() if tree.group == group)
        for group in range(len(oracle.shares))
    )
    cost: Fraction | None = None
    for most in sorted({lowest, lowest + 1, lowest + 2, max(height.values())}):
        choice = _choice(packing, [tree for tree in trees if height[tree] <= most])
        # The highest tree decides the steps: two of height 5 are better than 4 and 6.
        costs = [len(depths[t]) * height[t] ** 3 + sum(depths[t]) for t in choice.columns]
        for parts in range(1, _FEW_PARTS + 1):
            if until.passed or cost == packing.bound:
                break
            hint = choice.rounded(parts)
            left = min(_SECONDS_EACH, until.left())
            one = _chosen(oracle, choice, choice.solved(hint, left, costs), parts)
            cost = one.cost if cost is None else min(cost, one.cost)
            yield one
    own = _choice(packing, list(share))
    for parts in (_FEW_PARTS * 3 // 2 << k for k in range(3)):
        yield _chosen(oracle, own, own.rounded(parts), parts)
    weights = {tree: weight / oracle.shares[tree.group] for tree, weight in packing.trees}
    parts = lcm(*(weight.denominator for weight in weights.values()))
    if parts <= _MOST_PARTS:
        exact = [(tree, int(weight * parts)) for tree, weight in weights.items()]
        yield IntegralPacking.of(oracle, exact, parts)


def _choice(packing: ExactPacking, trees: Sequence[TreeColumn]) -> ColumnChoice[TreeColumn]:
    """Trees to choose from, by the cost of integral packings; each group has as many parts."""
    oracle = packing.oracle
    share = dict(packing.trees)
    each = lcm(*(one.denominator for one in oracle.shares))
    loads = {tree: int(oracle.shares[tree.group] * each) for tree in trees}
    rates = [capacity * each for capacity in oracle.system.capacities]
    grain = min(_GRAIN, lcm(*(rate.numerator for rate in rates)))
    return ColumnChoice.of(
        [rate / grain for rate in rates],
        [1] * len(oracle.shares),
        [
            [(tree, float(share.get(tree, 0))) for tree in trees if tree.group == group]
            for group in range(len(oracle.shares))
        ],
        lambda tree: loads[tree] * oracle.system.load(tree.links, tree.steps, 1),
    )


def _chosen(
    oracle: Oracle, choice: ColumnChoice[TreeColumn], numbers: IntArray, parts: int
) -> IntegralPacking:
    used = np.flatnonzero(numbers).tolist()
    return IntegralPacking.of(oracle, [(choice.columns[i], int(numbers[i])) for i in used], parts)


def oriented(column: TreeColumn, root: int | None, weight: int = 1) -> StepTree:
    """The tree, parents before children; without a root from its centre, where it is lowest."""
    tree: nx.Graph[int] = nx.Graph((route[0], route[-1]) for route in column.routes)
    if root is None:  # the middle of a longest path
        end = [*nx.bfs_tree(tree, column.routes[0][0])][-1]
        path = nx.shortest_path(tree, [*nx.bfs_tree(tree, end)][-1], end)
        root = path[len(path) // 2]
    return StepTree(root, weight, tuple(nx.bfs_edges(tree, root)))
