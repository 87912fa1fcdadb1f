"""Integral packings: those in which every tree carries a whole number of equal parts.

A schedule moves chunks, so the weights must become integers.  For W parts of each group's share the
best choice among the generated trees is an integer program: least cost first, then least height,
since every level of a tree costs steps.  Low trees are tried first, then higher ones, which may
cost less.  Few parts mean few chunks and few steps, many come nearer to the optimum of the linear
program; all that improve on lower trees and fewer parts are worth a proposal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np

from syncoll.clock import now
from syncoll.scheduling import StepTree
from syncoll_treepacking.oracle import Column, Oracle
from syncoll_treepacking.packing import Packing, packing_cost
from syncoll_treepacking.program import packing_program

__all__ = ["IntegralPacking", "integral_packings", "low_packings", "oriented"]

_LOW_PARTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
_MOST_POOL = 600
_FEW_PARTS = 8
_SECONDS_EACH = 1.0
_MORE_PARTS = (12, 24, 48)
_MOST_PARTS = 400
"""A denominator beyond it makes no useful schedule; rounded weights do then."""


@dataclass(frozen=True)
class IntegralPacking:
    """Trees with whole weights.

    Args:
        parts: W, into how many parts the data of each group is cut.
        trees: with how many parts each carries; W in each group.
        cost: C, the time for one unit of all groups' data together, if nothing waits.
    """

    parts: int
    trees: tuple[tuple[Column, int], ...]
    cost: Fraction


def low_packings(oracle: Oracle, turns: Sequence[Sequence[Column]]) -> Iterator[IntegralPacking]:
    """The first W turns, with more and more parts, each cheaper than the ones before it.

    Args:
        oracle: what they are packed into.
        turns: in each a tree of every group.
    """
    found: Fraction | None = None
    for parts in _LOW_PARTS:
        if parts > len(turns):
            return
        trees = tuple(Counter(tree for turn in turns[:parts] for tree in turn).items())
        cost = _cost(oracle, trees, parts)
        if found is None or cost < found:
            found = cost
            yield IntegralPacking(parts, trees, cost)


def integral_packings(
    packing: Packing, pool: Sequence[Column], seconds: float | None = None
) -> Iterator[IntegralPacking]:
    """Packings with higher trees and more parts, each cheaper than the ones before it.

    Args:
        packing: what the linear program found.
        pool: the trees to choose from, beside the packing's own.
        seconds: when to stop; None for no limit.
    """
    ends = None if seconds is None else now() + seconds
    oracle = packing.oracle
    mine = tuple(packed.tree for packed in packing.trees)
    trees = list(dict.fromkeys((*mine, *pool)))[: max(_MOST_POOL, len(mine))]
    height = [oriented(tree, oracle.roots[tree.group]).height for tree in trees]
    lowest = max(
        min(h for h, tree in zip(height, trees, strict=True) if tree.group == group)
        for group in range(len(oracle.shares))
    )
    found: Fraction | None = None
    for most in sorted({lowest, lowest + 1, lowest + 2, max(height)}):
        low = [(tree, h) for tree, h in zip(trees, height, strict=True) if h <= most]
        for parts in range(1, _FEW_PARTS + 1):
            left = None if ends is None else ends - now()
            if (left is not None and left <= 0) or found == packing.bound:
                break
            whole = _choose(oracle, low, parts, left)
            if whole is not None and (found is None or whole.cost < found):
                found = whole.cost
                yield whole
    for whole in (*(_dealt(packing, parts) for parts in _MORE_PARTS), _as_it_is(packing)):
        if whole.parts <= _MOST_PARTS and (found is None or whole.cost < found):
            found = whole.cost
            yield whole


def _as_it_is(packing: Packing) -> IntegralPacking:
    """The packing's own weights over their common denominator."""
    shares = packing.oracle.shares
    weights = [packed.weight / shares[packed.tree.group] for packed in packing.trees]
    parts = lcm(*(weight.denominator for weight in weights))
    trees = tuple(
        (packed.tree, int(weight * parts))
        for packed, weight in zip(packing.trees, weights, strict=True)
    )
    return IntegralPacking(parts, trees, packing.cost)


def _dealt(packing: Packing, parts: int) -> IntegralPacking:
    """So many parts dealt out in proportion to the packing's weights, largest remainders first."""
    oracle = packing.oracle
    kept: list[tuple[Column, int]] = []
    for group, share in enumerate(oracle.shares):
        mine = [packed for packed in packing.trees if packed.tree.group == group]
        wanted = [packed.weight / share * parts for packed in mine]
        counts = [int(x) for x in wanted]
        order = sorted(range(len(mine)), key=lambda i: counts[i] - wanted[i])
        for i in order[: parts - sum(counts)]:
            counts[i] += 1
        kept += [(p.tree, count) for p, count in zip(mine, counts, strict=True) if count]
    return IntegralPacking(parts, tuple(kept), _cost(oracle, kept, parts))


def _cost(oracle: Oracle, trees: Sequence[tuple[Column, int]], parts: int) -> Fraction:
    weights = [oracle.shares[tree.group] * Fraction(count, parts) for tree, count in trees]
    return packing_cost(oracle, [tree for tree, _ in trees], weights)


def _choose(
    oracle: Oracle, trees: Sequence[tuple[Column, int]], parts: int, seconds: float | None
) -> IntegralPacking | None:
    """The best W trees of each group; None when the solver has none in time.

    Args:
        oracle: what they are packed into.
        trees: to choose from, with their heights.
        parts: W.
        seconds: time limit.
    """
    system, groups = oracle.system, len(oracle.shares)
    limit = _SECONDS_EACH if seconds is None else min(_SECONDS_EACH, seconds)
    program = packing_program(oracle, [float(parts)] * groups, random_seed=1, mip_rel_gap=1e-6)
    least = 1e-3 / (parts * groups * max(height for _, height in trees))
    loads = [system.loads(tree.links) for tree, _ in trees]
    used = [np.flatnonzero(load) for load in loads]
    shares = [float(oracle.shares[tree.group]) for tree, _ in trees]
    sizes = [1 + len(rows) for rows in used]
    index = [
        np.append(tree.group, rows + groups) for (tree, _), rows in zip(trees, used, strict=True)
    ]
    value = [
        np.append(1.0, load[rows] * share)
        for load, rows, share in zip(loads, used, shares, strict=True)
    ]
    program.add_columns(
        [least * height * share for (_, height), share in zip(trees, shares, strict=True)],
        high=float(parts),
        entries=(sizes, np.concatenate(index), np.concatenate(value)),
        integer=True,
    )
    program.run(limit)
    found = program.columns
    if found is None:
        return None
    chosen = np.rint(found[1:]).astype(int).tolist()
    kept = [(tree, count) for (tree, _), count in zip(trees, chosen, strict=True) if count > 0]
    totals = [0] * groups
    for tree, count in kept:
        totals[tree.group] += count
    if totals != [parts] * groups:  # the solver's tolerance is not ours
        return None
    return IntegralPacking(parts, tuple(kept), _cost(oracle, kept, parts))


def oriented(column: Column, root: int | None, weight: int = 1) -> StepTree:
    """The tree, parents before children.

    Args:
        column: a tree over the compute nodes.
        root: its root; None for its centre, from where its height is least.
        weight: how many parts go down it.
    """
    near: dict[int, list[int]] = {}
    for route in column.routes:
        near.setdefault(route[0], []).append(route[-1])
        near.setdefault(route[-1], []).append(route[0])

    def walk(start: int) -> dict[int, int]:
        """For each node the node before it, nearest first."""
        before = {start: start}
        ordered = [start]
        for u in ordered:
            for v in near[u]:
                if v not in before:
                    before[v] = u
                    ordered.append(v)
        return before

    if root is None:  # a longest path, and its middle
        end = list(walk(column.routes[0][0]))[-1]
        before = walk(end)
        path = [list(before)[-1]]
        while path[-1] != end:
            path.append(before[path[-1]])
        root = path[len(path) // 2]
    before = walk(root)
    return StepTree(root, weight, tuple((u, v) for v, u in before.items() if v != root))
