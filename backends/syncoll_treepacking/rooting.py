"""Rooting: a column of the program as a tree of sends."""

from __future__ import annotations

from syncoll.scheduling import StepTree
from syncoll_treepacking.oracle import Column

__all__ = ["rooted"]


def rooted(column: Column, root: int | None, weight: int = 1) -> StepTree:
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
