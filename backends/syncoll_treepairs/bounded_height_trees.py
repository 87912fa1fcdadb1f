"""Cheap trees of no more than so many links from the root to a leaf.

The cheapest of them is hard to find (it is a Steiner problem in layers).  Here a tree grows by the
cheapest link that may be added, and then nodes move to cheaper parents, with all that hangs on
them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from syncoll.arrays import FloatArray, IntArray

__all__ = ["cheap_tree"]

_PASSES = 4


def cheap_tree(costs: FloatArray, root: int, height: int) -> IntArray:
    """For each node its parent, ``[P]``; the root is its own.

    Args:
        costs: ``[P, P]``, of the link from one node to another; infinite where there is none.
        height: links from the root to a leaf, at most; every node can be reached with so many.
    """
    grown = _grown(costs, root, height)
    parents, depths = _shortest(costs, root) if grown is None else grown
    for _ in range(_PASSES):
        if not _moved(costs, root, height, parents, depths):
            break
    return parents


def _grown(costs: FloatArray, root: int, height: int) -> tuple[IntArray, IntArray] | None:
    """The parents and depths of a tree to which the cheapest link was added again and again; None
    where it became so deep that some node cannot be added.
    """
    nodes = len(costs)
    parents, depths = np.full(nodes, root), np.zeros(nodes, dtype=np.int64)
    cheapest, outside = costs[root].copy(), np.ones(nodes, dtype=bool)
    outside[root] = False
    while outside.any():
        left = np.where(outside, cheapest, np.inf)
        node = int(left.argmin())
        if not np.isfinite(left[node]):
            return None
        outside[node] = False
        depths[node] = depths[parents[node]] + 1
        if depths[node] < height:
            better = outside & (costs[node] < cheapest)
            parents[better], cheapest[better] = node, costs[node][better]
    return parents, depths


def _shortest(costs: FloatArray, root: int) -> tuple[IntArray, IntArray]:
    """Those of a tree of shortest paths, the cheapest links among them."""
    parents, depths = np.full(len(costs), root), np.zeros(len(costs), dtype=np.int64)
    reached = np.zeros(len(costs), dtype=bool)
    reached[root] = True
    while not reached.all():
        into = np.where(reached[:, None], costs, np.inf)
        layer = ~reached & np.isfinite(into).any(axis=0)
        parents[layer] = into.argmin(axis=0)[layer]
        depths[layer] = depths[parents[layer]] + 1
        reached |= layer
    return parents, depths


def _moved(costs: FloatArray, root: int, height: int, parents: IntArray, depths: IntArray) -> bool:
    """Moves nodes to cheaper parents, in place; whether one was moved."""
    nodes = np.arange(len(costs))
    moved = False
    gains = costs[parents, nodes] - costs.min(axis=0)
    gains[root] = 0.0
    for node in np.argsort(-gains).tolist():
        if gains[node] <= 0:
            break
        below = _below(node, parents)
        room = height - 1 - (int(depths[below].max()) - int(depths[node]))
        usable = np.where(~below & (depths <= room), costs[:, node], np.inf)
        parent = int(usable.argmin())
        if usable[parent] < costs[parents[node], node]:
            depths[below] += depths[parent] + 1 - depths[node]
            parents[node] = parent
            moved = True
    return moved


def _below(node: int, parents: IntArray) -> npt.NDArray[np.bool_]:
    """Which nodes hang on a node, itself too, ``[P]``."""
    below = np.zeros(len(parents), dtype=bool)
    below[node] = True
    while True:
        more = below | below[parents]
        if (more == below).all():
            return below
        below = more
