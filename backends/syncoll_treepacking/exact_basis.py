"""The last program's basis in rationals: its weights and its prices as they really are.

The basis says which trees carry data and which rows are tight.  With that the weights and C solve
one square system, and the prices its transpose.  Rows are multiplied by the denominators of their
capacities, so that all its entries are integers.

Such a system is solved with the help of floating point.  The inverse gives some twenty bits of the
solution; the residual is computed in integers and is scaled up by as many bits, and the same
inverse gives the next twenty (numeric refinement, Wan 2006).  When enough bits are there, continued
fractions recover the rationals, and the system itself decides whether they are right: nothing rests
on rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

import numpy as np

from syncoll.arrays import IntArray
from syncoll_treepacking.program import Basis, Master

__all__ = ["exact_prices", "exact_weights", "solve_exactly"]


_BITS = 20
_MOST_DIGITS = 1024
_LARGEST = 1 << 52

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


def _system(master: Master) -> tuple[Basis, IntArray] | None:
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


def solve_exactly(matrix: IntArray, right: Sequence[int]) -> list[Fraction] | None:
    """The solution of ``matrix @ x == right``.

    Args:
        matrix: ``[n, n]``.
        right: n integers.

    Returns:
        None when the matrix is singular, so near to it that floating point does not see a
        difference, or the solution has more than about ten thousand bits.
    """
    size = len(right)
    if size == 0:
        return []
    try:
        inverse = np.linalg.inv(matrix.astype(np.float64))
    except np.linalg.LinAlgError:
        return None
    shift = 1 << _BITS
    residual = np.array(right, dtype=np.float64)
    whole = matrix.astype(np.float64)
    digits: list[IntArray] = []
    tried = 4
    while len(digits) < _MOST_DIGITS:
        while len(digits) < tried:
            digit = np.rint(inverse @ residual * shift)
            product = np.abs(whole) @ np.abs(digit)
            residual = residual * shift
            if not np.isfinite(digit).all() or max(product.max(), abs(residual).max()) > _LARGEST:
                return None  # the integers below would not be exact
            residual = residual - whole @ digit
            digits.append(digit.astype(np.int64))
        found = _recovered(digits)
        if found is not None and _solves(matrix, found, right):
            numerators, denominator = found
            return [Fraction(n, denominator) for n in numerators]
        tried *= 2
    return None


def _recovered(digits: Sequence[IntArray]) -> tuple[list[int], int] | None:
    """Numerators over one denominator whose first digits these are."""
    scale = 1 << (_BITS * len(digits))
    most = 1 << (_BITS * len(digits) // 2 - 2)
    total = [0] * len(digits[0])
    for digit in digits:
        total = [(value << _BITS) + d for value, d in zip(total, digit.tolist(), strict=True)]
    denominator = 1
    for value in total:
        scaled = value * denominator
        near = (2 * scaled + scale) // (2 * scale)
        # What is left of a right multiple is the rounding error: at most a few units a digit.
        if abs(scaled - near * scale) * most > scale * denominator:
            denominator = lcm(
                denominator, Fraction(value, scale).limit_denominator(most).denominator
            )
            if denominator > most:
                return None
    numerators = [(2 * value * denominator + scale) // (2 * scale) for value in total]
    return numerators, denominator


def _solves(matrix: IntArray, found: tuple[list[int], int], right: Sequence[int]) -> bool:
    numerators, denominator = found
    for row, wanted in zip(matrix, right, strict=True):
        places = np.flatnonzero(row)
        values = row[places].tolist()
        if sum(v * numerators[p] for v, p in zip(values, places.tolist(), strict=True)) != (
            wanted * denominator
        ):
            return False
    return True
