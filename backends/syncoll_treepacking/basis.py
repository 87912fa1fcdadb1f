"""The last program's basis in rationals: its weights and its prices as they really are.

The basis says which trees carry data and which rows are tight.  With that the weights and C solve
one square system, and the prices its transpose.  Rows are multiplied by the denominators of their
capacities, so that all its entries are integers.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm

import numpy as np
import numpy.typing as npt

from syncoll_treepacking.exact import solve_exactly
from syncoll_treepacking.program import Basis, Master

__all__ = ["exact_prices", "exact_weights"]

_LARGEST_BASIS = 2500
"""Larger ones are left alone: their inverse would take minutes."""

_LARGEST_ENTRY = 1 << 40
"""Larger ones leave floating point too few bits to start from."""


def exact_weights(master: Master) -> list[Fraction] | None:
    """What each column of a solved master carries; a negative weight is possible.

    Returns:
        None where the basis is singular or too large, or a group's weights miss its share.
    """
    system = _system(master)
    if system is None:
        return None
    basis, matrix = system
    oracle = master.oracle
    right = [oracle.shares[group] for group in basis.groups]
    fixed = Fraction(0) if master.fixed is None else master.fixed
    right += [fixed * oracle.system.capacities[row].numerator for row in basis.rows]
    common = lcm(*(value.denominator for value in right))
    solution = solve_exactly(matrix, [int(value * common) for value in right])
    if solution is None:
        return None
    weights = [Fraction(0)] * len(master.columns)
    sums = [Fraction(0)] * len(oracle.shares)
    for position, value in zip(basis.columns, solution, strict=False):  # C comes last, if at all
        weights[position] = value / common
        sums[master.columns[position].group] += value / common
    return weights if tuple(sums) == oracle.shares else None


def exact_prices(master: Master) -> list[int] | None:
    """The prices of all rows of a solved master that seeks C, as integers in their ratios.

    Returns:
        None where the basis is singular or too large, or a price is negative.
    """
    system = _system(master)
    if system is None:
        return None
    basis, matrix = system
    right = [0] * (len(matrix) - 1) + [-1]  # the column of C, whose cost is 1; trees cost nothing
    solution = solve_exactly(np.ascontiguousarray(matrix.T), right)
    if solution is None:
        return None
    found = solution[len(basis.groups) :]
    if min(found, default=Fraction(0)) < 0:
        return None
    common = lcm(*(price.denominator for price in found))
    prices = [0] * master.oracle.system.num_rows
    for row, price in zip(basis.rows, found, strict=True):
        prices[row] = int(price * common) * master.oracle.system.capacities[row].denominator
    return prices


def _system(master: Master) -> tuple[Basis, npt.NDArray[np.int64]] | None:
    """The basis, and its columns, C last, on its tight rows, groups first."""
    basis = master.basis()
    if basis is None or len(basis.columns) > _LARGEST_BASIS:
        return None
    rows, groups = list(basis.rows), list(basis.groups)
    capacities = [master.oracle.system.capacities[row] for row in rows]
    if any(max(c.numerator, c.denominator) > _LARGEST_ENTRY for c in capacities):
        return None
    scale = np.array([c.denominator for c in capacities], dtype=np.int64)
    matrix = np.zeros((len(groups) + len(rows),) * 2, dtype=np.int64)
    for place, position in enumerate(basis.columns):
        group = master.columns[position].group
        if group in groups:
            matrix[groups.index(group), place] = 1
        matrix[len(groups) :, place] = master.loads[position][rows] * scale
    if master.fixed is None:
        matrix[len(groups) :, -1] = [-c.numerator for c in capacities]
    return basis, matrix
