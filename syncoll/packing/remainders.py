"""Shares rounded to whole numbers by largest remainders."""

import numpy as np

from syncoll.arrays import Floats, Ints
from syncoll.packing.column_generation import TINY


def largest_remainders(shares: Floats, whole: int) -> Ints:
    """Whole numbers near shares, ``[T]``, scaled to add up to `whole`."""
    exact = shares * whole / (sum(shares.tolist()) or 1.0)
    numbers = np.floor(exact + TINY).astype(np.int64)
    order = np.argsort(numbers - exact, kind="stable")
    numbers[order[: whole - int(numbers.sum())]] += 1
    numbers[order[0]] += whole - int(numbers.sum())
    return numbers


def grouped_remainders(
    shares: Floats, group: Ints, whole: Ints, ties: Floats | None = None
) -> Ints:
    """Whole numbers near shares, ``[T]``, that add up to `whole` in each group.

    Args:
        shares: ``[T]``, from 0, of about these sums.
        group: ``[T]``, from 0.
        whole: ``[groups]``.
        ties: ``[T]``, added to remainders to decide between equal ones; None for the given order.
    """
    numbers = np.floor(shares + TINY).astype(np.int64)
    rest = shares - numbers
    missing = whole - np.rint(np.bincount(group, numbers, len(whole))).astype(np.int64)
    order = np.lexsort((-rest if ties is None else -rest - ties, group))
    begin = np.searchsorted(group[order], np.arange(len(whole)))
    rank = np.arange(len(order)) - begin[group[order]]
    numbers[order] += rank < missing[group[order]]
    return numbers
