"""Tables of pre and post, and their rows: chunks with equal rows can stand for one another."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["MOST_CELLS", "RelationTable", "matching", "rows_within"]

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

MOST_CELLS = 20_000_000
"""Cells of the largest table that is made for a comparison alone."""


@dataclass(frozen=True)
class RelationTable:
    """The pre- and postcondition of a collective for one P and one C.

    Args:
        pre: ``[G, P]``, chunk c starts at node n.
        post: ``[G, P]``, chunk c must end at node n.
    """

    pre: BoolArray
    post: BoolArray

    def cut(self, pieces: int) -> RelationTable:
        """The table with every chunk cut: chunk c becomes c, c + G, c + 2 G and so on."""
        return RelationTable(np.tile(self.pre, (pieces, 1)), np.tile(self.post, (pieces, 1)))

    @property
    def rows(self) -> BoolArray:
        """``[G, 2 P]``: where each chunk starts, and where it must end."""
        return np.concatenate([self.pre, self.post], axis=1)

    def same_as(self, other: RelationTable) -> bool:
        """Whether the chunks are the same but for their numbers."""
        same = np.array_equal(self.pre, other.pre) and np.array_equal(self.post, other.post)
        return same or matching(self.rows, other.rows) is not None


def matching(ours: BoolArray, theirs: BoolArray) -> IntArray | None:
    """For each row of `ours` the position of an equal row of `theirs`, each used once.

    The identity where that fits, since then every chunk keeps its place; else rows are paired in
    order.  None when the two do not have the same rows equally often.
    """
    if ours.shape != theirs.shape:
        return None
    if np.array_equal(ours, theirs):
        return np.arange(len(ours))
    places: dict[bytes, list[int]] = defaultdict(list)
    for i in range(len(theirs) - 1, -1, -1):
        places[theirs[i].tobytes()].append(i)
    result = np.empty(len(ours), dtype=np.int64)
    for i, row in enumerate(ours):
        free = places.get(row.tobytes())
        if not free:
            return None
        result[i] = free.pop()
    return result


def rows_within(ours: IntArray, theirs: IntArray) -> BoolArray:
    """For each row of `ours` whether it is a row of `theirs`; both ``[*, n]``, numbers from 0."""
    if not len(theirs):
        return np.zeros(len(ours), dtype=np.bool_)
    sizes = 1 + np.maximum(ours.max(axis=0, initial=0), theirs.max(axis=0))
    weights = np.concatenate([np.cumprod(sizes[:0:-1])[::-1], [1]])
    found: BoolArray = np.isin(ours @ weights, theirs @ weights)
    return found
