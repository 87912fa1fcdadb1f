"""Classics that add up: logical sends and the contributions of each.

A dissemination backwards is a reduction: a send carries the contributions of the sender and of all
nodes below it.  Halving-doubling is recursive doubling backwards, each chunk towards its owner, and
then forwards; a pipelined double binary tree sends each piece up and down its tree.  Exchanges of
partial sums and all-to-all sends of contributions have no such form.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from syncoll.arrays import BoolArray, IntArray
from syncoll_classics.dissemination import Dissemination

__all__ = ["Carrying", "exchanged", "joined", "one_shot", "up_and_down"]

Carrying = tuple[IntArray, BoolArray]
"""Logical sends (chunk, source, destination, step), and the contributions that each carries."""


def joined(parts: Sequence[Carrying]) -> Carrying:
    """All of them."""
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


def up_and_down(
    chunk: int, tree: Dissemination, root: int, height: int, start: int = 0
) -> Carrying:
    """Reduces a chunk to a root along its tree and spreads it from there.

    Args:
        height: steps of the longest way to a root, over all trees in use.
        start: the step in which it begins.
    """
    nodes = np.flatnonzero(tree.parents[root] >= 0)
    parents, steps = tree.parents[root, nodes], tree.steps[root, nodes]
    chunks = np.full_like(nodes, chunk)
    up = np.stack([chunks, nodes, parents, start + height - 1 - steps], axis=1)
    down = np.stack([chunks, parents, nodes, start + height + steps], axis=1)
    everybody = np.ones((len(nodes), len(tree.parents)), dtype=bool)
    return np.concatenate([up, down]), np.concatenate([tree.below(root)[nodes], everybody])


def exchanged(chunk: int, peers: IntArray) -> Carrying:
    """Pairs of `peers` ``[step, node]``, with no contribution in common, exchange their sums."""
    ranks = np.arange(peers.shape[1])
    parts: list[Carrying] = []
    has = np.eye(len(ranks), dtype=bool)  # [node, contribution]
    for step, peer in enumerate(peers):
        columns = [np.full_like(ranks, chunk), ranks, peer, np.full_like(ranks, step)]
        parts.append((np.stack(columns, axis=1), has))
        has = has | has[peer]
    return joined(parts)


def one_shot(chunk: int, nodes: int) -> Carrying:
    """Everybody's own contribution to everybody, in one step."""
    sources, destinations = np.nonzero(~np.eye(nodes, dtype=bool))
    columns = [np.full_like(sources, chunk), sources, destinations, np.zeros_like(sources)]
    return np.stack(columns, axis=1), np.eye(nodes, dtype=bool)[sources]
