"""Rows of Boolean tables: chunks with equal rows can stand for one another."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import numpy.typing as npt

__all__ = ["matching", "rows_within"]

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


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
