"""Square systems of integers, solved in rationals with the help of floating point.

The inverse in floating point gives some twenty bits of the solution; the residual is computed in
integers and is scaled up by as many bits, and the same inverse gives the next twenty (numeric
refinement, Wan 2006).  When enough bits are there, continued fractions recover the rationals, and
the system itself decides whether they are right: nothing rests on rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

import numpy as np
import numpy.typing as npt

__all__ = ["solve_exactly"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_BITS = 20
_MOST_DIGITS = 1024
_LARGEST = 1 << 52


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
