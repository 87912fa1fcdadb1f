"""Two binary trees in which each node is an inner node at most once (Sanders, Speck, Träff, 2009).

In-order binary trees over 1 … n: odd numbers are leaves, as v's lowest 1 is its height.  The second
tree is the first one mirrored (v to n + 1 - v) for even n, shifted by one for odd n.  Each takes
half of the data.  For a broadcast the root stands above both trees of the others; for an allreduce
both trees span all nodes, below node 0 and node P - 1 (or 1, where P is odd), as in NCCL.
"""

from __future__ import annotations

import numpy as np

from syncoll.arrays import IntArray
from syncoll_classics.dissemination import Dissemination

__all__ = ["allreduce_trees", "broadcast_trees", "in_order_tree", "rooted"]


def in_order_tree(largest: int) -> IntArray:
    """For each of 0 … n its parent; 0, which stands above the tree of 1 … n, has -1."""
    parents = np.full(largest + 1, -1, dtype=np.int64)
    for v in range(1, largest + 1):
        lowest = v & -v
        above = (v ^ lowest) | (lowest << 1)
        parents[v] = above if above <= largest else v ^ lowest
    return parents


def broadcast_trees(nodes: int, root: int) -> tuple[IntArray, IntArray]:
    """The parents of each node in two trees of that root; -1 for the root."""
    last = nodes - 1
    first = in_order_tree(last)
    ranks = np.arange(1, nodes)
    other = np.concatenate([[0], last + 1 - ranks if last % 2 == 0 else ranks % last + 1])
    place = (root + np.arange(nodes)) % nodes
    return _renamed(first, place), _renamed(first, place[np.argsort(other)])


def allreduce_trees(nodes: int) -> tuple[IntArray, IntArray]:
    """The parents of each node in two trees over all nodes; -1 for the roots, which differ."""
    first = in_order_tree(nodes - 1)
    ranks = np.arange(nodes)
    return first, _renamed(first, nodes - 1 - ranks if nodes % 2 == 0 else (ranks + 1) % nodes)


def rooted(parents: IntArray) -> Dissemination:
    """A tree as the dissemination of its root; the other sources' trees are empty."""
    nodes = len(parents)
    root = int(np.flatnonzero(parents < 0)[0])
    rows, steps = np.full((2, nodes, nodes), -1, dtype=np.int64)
    rows[root] = parents
    steps[root] = _depths(parents) - 1
    return Dissemination(rows, steps)


def _depths(parents: IntArray) -> IntArray:
    depths = np.zeros(len(parents), dtype=np.int64)
    at = parents
    while (at >= 0).any():
        depths += at >= 0
        at = np.where(at >= 0, parents[at], -1)
    return depths


def _renamed(parents: IntArray, name: IntArray) -> IntArray:
    """The same tree when node v is called ``name[v]``."""
    result = np.empty_like(parents)
    result[name] = np.where(parents >= 0, name[parents], -1)
    return result
