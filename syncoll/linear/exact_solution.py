"""Exact solutions of square systems of integers, with the help of floating point.

The inverse in floating point gives about twenty bits of the solution.  The residual is computed in
integers and scaled up by as many bits, and the same inverse gives the next twenty (numeric
refinement, Wan 2006).  With enough bits, continued fractions recover the rationals, and the system
itself decides whether they are right: nothing depends on rounding.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

import numpy as np
import numpy.typing as npt

_BITS, _MOST_DIGITS = 20, 1024
"""Bits of a digit, which floating point computes reliably, and digits of a solution; limits work.
"""


def solve_exactly(
    matrix: npt.NDArray[np.int64 | np.object_], right: Sequence[int]
) -> list[Fraction] | None:
    """The solution of ``matrix @ x == right`` in integers ``[n, n]`` and ``[n]``.
    None when the matrix is singular, or nearly singular in floating point, or the solution has more
    than about ten thousand bits.
    """
    try:
        with np.errstate(over="ignore"):  # a diverging value becomes infinity, not a digit
            return _solved(matrix.astype(object), np.array(right, dtype=object))
    except (ValueError, OverflowError):  # numpy's error for a singular matrix is a ValueError
        return None


def _solved(
    matrix: npt.NDArray[np.object_], right: npt.NDArray[np.object_]
) -> list[Fraction] | None:
    inverse = np.linalg.inv(matrix.astype(np.float64))
    row, column = np.nonzero(matrix)
    entries, starts = matrix[row, column], np.searchsorted(row, np.arange(len(right)))
    residual, total = right, np.zeros_like(right)
    for count in range(1, _MOST_DIGITS + 1):
        near = inverse @ residual.astype(np.float64) * (1 << _BITS)
        digit = np.array([round(value) for value in near.tolist()], dtype=object)
        residual = (residual << _BITS) - np.add.reduceat(entries * digit[column], starts)
        total = (total << _BITS) + digit
        if count & (count - 1) == 0:
            numerators, denominator = _recovered(total.tolist(), count * _BITS)
            found = np.array(numerators, dtype=object)
            if (np.add.reduceat(entries * found[column], starts) == right * denominator).all():
                return [Fraction(n, denominator) for n in numerators]
    return None


def _recovered(values: Sequence[int], bits: int) -> tuple[list[int], int]:
    """Numerators over one denominator, of rationals near values with `bits` binary places."""
    scale, most = 1 << bits, 1 << (bits // 2 - 2)
    denominator = 1
    for value in values:
        scaled = value * denominator
        near = (2 * scaled + scale) // (2 * scale)
        # The rest of a correct multiple is the rounding error: at most a few units a digit.
        if abs(scaled - near * scale) * most > scale * denominator:
            part = Fraction(value, scale).limit_denominator(most).denominator
            denominator = lcm(denominator, part)
            if denominator > most:
                break  # more digits are needed
    return [(2 * value * denominator + scale) // (2 * scale) for value in values], denominator
