"""Colour refinement: which rows and columns of a linear program may be merged.

Colour rows and columns so that any two rows of one colour have the same entries towards each colour
of columns, as multisets, and the other way round (an equitable partition).  Making all variables of
a colour equal then loses nothing: averaging a solution over the colours keeps it feasible and its
cost.  Whatever the automorphisms of the program exchange has one colour, but nobody needs to know
them (Grohe, Kersting, Mladenov, Selman: Dimension reduction via colour refinement, ESA 2014).  The
paper asks for equal sums where this asks for equal multisets, which compares floats exactly.

Colours are refined by random hashes of what a row or a column sees, O(entries) a pass; a collision
could only merge too much, so that the partition is checked in the end, without hashes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from syncoll.deadline import NEVER, Deadline

__all__ = ["Colours", "Sparse", "is_equitable", "mix", "refine_colours"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
WordArray = npt.NDArray[np.uint64]

WORTHWHILE = 0.7
"""A reduction that leaves more than this part of the columns is not worth its time."""


@dataclass(frozen=True, eq=False)
class Sparse:
    """A sparse matrix.

    Args:
        rows: row of each entry.
        columns: column of each entry; no position twice.
        values: the entries.
        num_rows: how many rows.
        num_columns: how many columns.
    """

    rows: IntArray
    columns: IntArray
    values: FloatArray
    num_rows: int
    num_columns: int


@dataclass(frozen=True, eq=False)
class Colours:
    """A partition of rows and of columns.

    Args:
        rows: colour of each row, numbered from 0 without gaps.
        columns: colour of each column, likewise.
    """

    rows: IntArray
    columns: IntArray


class _Side:
    """The entries in the order of one side, to add up what each of its members sees."""

    def __init__(self, members: IntArray, others: IntArray, kind: IntArray, count: int) -> None:
        order = np.argsort(members, kind="stable")
        self.others, self.kind = others[order], kind[order].astype(np.uint64)
        bounds = np.searchsorted(members[order], np.arange(count + 1))
        self.start, self.size = bounds[:-1], np.diff(bounds)
        self.seen = np.flatnonzero(self.size)

    def refine(self, colours: IntArray, others: IntArray, salt: np.uint64) -> IntArray:
        """Colours by the old colour and the multiset of (colour, value) in sight."""
        word = mix(mix(others.astype(np.uint64)[self.others] + salt) + self.kind)
        total = np.zeros(len(colours), dtype=np.uint64)
        if len(word):
            total[self.seen] = np.add.reduceat(word, self.start[self.seen])
        return _number(mix(colours.astype(np.uint64) + salt) * np.uint64(3) + mix(total))

    def agrees(self, colours: IntArray, others: IntArray, num_others: int) -> bool:
        """Whether members of one colour see the same, compared entry by entry."""
        key = self.kind.astype(np.int64) * num_others + others[self.others]
        member = np.repeat(np.arange(len(colours)), self.size)
        key = key[np.lexsort((key, member))]
        first = np.zeros(int(colours.max(initial=-1)) + 1, dtype=np.int64)
        first[colours[::-1]] = np.arange(len(colours))[::-1]
        like = first[colours]
        if (self.size != self.size[like]).any():
            return False
        offset = np.arange(len(key)) - np.repeat(self.start, self.size)
        return bool((key == key[self.start[like][member] + offset]).all())


def refine_colours(
    matrix: Sparse,
    row_kinds: IntArray,
    column_kinds: IntArray,
    worthwhile: float = WORTHWHILE,
    deadline: Deadline = NEVER,
) -> Colours | None:
    """The coarsest equitable partition that refines the given one.

    Args:
        matrix: the matrix.
        row_kinds: rows with different numbers get different colours.
        column_kinds: likewise for columns.
        worthwhile: give up where more than this part of the columns is left.
        deadline: looked at in every pass.

    Returns:
        None when so many colours are left that a reduction is not worth while.

    Raises:
        OutOfTimeError: at the deadline.
    """
    _, kind = np.unique(matrix.values, return_inverse=True)
    by_row = _Side(matrix.rows, matrix.columns, kind, matrix.num_rows)
    by_column = _Side(matrix.columns, matrix.rows, kind, matrix.num_columns)
    generator = np.random.default_rng(1)
    rows, columns = row_kinds, column_kinds
    while True:
        deadline.check()
        before = rows.max(initial=-1), columns.max(initial=-1)
        salt = generator.integers(1 << 63, dtype=np.uint64)
        rows = by_row.refine(rows, columns, salt)
        columns = by_column.refine(columns, rows, salt)
        if columns.max(initial=-1) + 1 > worthwhile * matrix.num_columns:
            return None
        if (rows.max(initial=-1), columns.max(initial=-1)) != before:
            continue
        if not (_refines(rows, row_kinds) and _refines(columns, column_kinds)):
            rows, columns = row_kinds, column_kinds  # a collision of hashes: once more, other salt
        elif by_row.agrees(rows, columns, len(columns)) and (
            by_column.agrees(columns, rows, len(rows))
        ):
            return Colours(rows, columns)


def is_equitable(matrix: Sparse, colours: Colours) -> bool:
    """Whether equal rows and columns see the same; exact."""
    _, kind = np.unique(matrix.values, return_inverse=True)
    by_row = _Side(matrix.rows, matrix.columns, kind, matrix.num_rows)
    by_column = _Side(matrix.columns, matrix.rows, kind, matrix.num_columns)
    return by_row.agrees(colours.rows, colours.columns, matrix.num_columns) and (
        by_column.agrees(colours.columns, colours.rows, matrix.num_rows)
    )


def _refines(fine: IntArray, coarse: IntArray) -> bool:
    """Whether members of one fine colour have one coarse colour."""
    first = np.zeros(int(fine.max(initial=-1)) + 1, dtype=np.int64)
    first[fine[::-1]] = np.arange(len(fine))[::-1]
    return bool((coarse[first[fine]] == coarse).all())


def mix(words: WordArray) -> WordArray:
    """A fixed random-looking permutation of 64-bit words (the finaliser of splitmix64)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def _number(words: WordArray) -> IntArray:
    _, numbers = np.unique(words, return_inverse=True)
    return numbers.astype(np.int64)
