"""Rows of different lengths in flat arrays: row i has the cells ``starts[i]`` to ``starts[i + 1]``.

Every lowering works on whole arrays of rows at once, so that a formula of several hundred thousand
literals is rewritten in fractions of a second.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = [
    "BoolArray",
    "IntArray",
    "gather",
    "ints",
    "join",
    "offsets",
    "ranges",
    "row_of",
    "row_sums",
]

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


def ints(values: npt.ArrayLike) -> IntArray:
    """The values as 64-bit integers, also when there are none."""
    return np.asarray(values, dtype=np.int64)


def offsets(counts: IntArray) -> IntArray:
    """The starts of rows that have so many cells each; ``[len(counts) + 1]``."""
    starts = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts


def row_of(starts: IntArray) -> IntArray:
    """The row of every cell."""
    return np.repeat(np.arange(len(starts) - 1, dtype=np.int64), np.diff(starts))


def ranges(firsts: IntArray, counts: IntArray) -> IntArray:
    """For every i the numbers ``firsts[i], firsts[i] + 1, …``, ``counts[i]`` of them."""
    starts = offsets(counts)
    return np.arange(starts[-1], dtype=np.int64) + np.repeat(firsts - starts[:-1], counts)


def gather(starts: IntArray, rows: IntArray) -> tuple[IntArray, IntArray]:
    """Chosen rows in the order given: their new starts, and the old index of each cell."""
    counts = starts[rows + 1] - starts[rows]
    return offsets(counts), ranges(starts[rows], counts)


def join(first: IntArray, second: IntArray) -> IntArray:
    """The starts of the rows of `first` followed by those of `second`."""
    return np.concatenate([first, second[1:] + first[-1]])


def row_sums(cells: IntArray, starts: IntArray) -> IntArray:
    """The sum of every row; 0 for a row without cells."""
    sums = offsets(cells)
    return sums[starts[1:]] - sums[starts[:-1]]
