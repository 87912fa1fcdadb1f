"""Rows of Boolean tables: chunks with equal rows can stand for one another."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import numpy.typing as npt

__all__ = ["matching"]

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
