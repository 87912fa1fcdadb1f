"""Exact arithmetic on single numbers and on columns of them.

A number is an ``int`` or a ``Fraction``; a column is a numpy array of 64-bit integers, of Booleans,
or of Python numbers if it has fractions.  Every result below `MAX_NUMBER` is exact; a larger one,
and a division by zero, is a `Fault`.  Columns come with a mask of the cells that count: ``n != 0
and c mod n == 0`` divides only where ``n != 0``.
"""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from syncoll.spec.limits import MAX_NUMBER

Mask = npt.NDArray[np.bool_] | None


@dataclass(eq=False)
class Fault(Exception):  # noqa: N818 - caught inside this package, never shown
    """Arithmetic that has no result."""

    message: str
    expected: str = ""
    cell: tuple[tuple[int, ...], tuple[int, ...]] | None = None


def is_column(value: object) -> bool:
    """Whether it has a value for each cell."""
    return isinstance(value, np.ndarray)


def is_boolean(value: object) -> bool:
    """Whether it is a Boolean, or a column of Booleans."""
    return isinstance(value, (bool, np.bool_)) or (
        isinstance(value, np.ndarray) and value.dtype == np.bool_
    )


def is_number(value: object) -> bool:
    """Whether it is a number, or a column of numbers."""
    if isinstance(value, np.ndarray):
        return bool(value.dtype != np.bool_)
    return isinstance(value, (int, Fraction)) and not isinstance(value, bool)


def is_fractional(value: Any) -> bool:
    """Whether it is a fraction, or a column with fractions."""
    if isinstance(value, np.ndarray):
        return bool(value.dtype == object)
    return isinstance(value, Fraction)


def first_live(
    bad: Any, mask: Mask, *operands: Any
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The first bad cell that counts, and the shape to which all operands broadcast, or None."""
    hit = np.asarray(bad) if mask is None else np.logical_and(bad, mask)
    if not hit.any():
        return None
    shapes = [operand.shape for operand in operands if isinstance(operand, np.ndarray)]
    hit = np.broadcast_to(hit, np.broadcast_shapes(hit.shape, *shapes))
    position = np.unravel_index(int(hit.argmax()), hit.shape)
    return tuple(int(i) for i in position), hit.shape


def _settle(value: Any) -> Any:
    """A column of Python numbers as 64-bit integers when all are whole."""
    if isinstance(value, np.ndarray) and value.dtype == object:
        if all(type(x) is int for x in value.flat):
            return value.astype(np.int64)
    elif isinstance(value, Fraction) and value.denominator == 1:
        return int(value)
    return value


def _checked(value: int | Fraction) -> int | Fraction:
    if isinstance(value, Fraction):
        if value.denominator == 1:
            value = int(value)
        elif value.denominator >= MAX_NUMBER or abs(value.numerator) >= MAX_NUMBER:
            raise Fault("a fraction too large to be computed with", "smaller numbers")
        else:
            return value
    if abs(value) >= MAX_NUMBER:
        raise Fault("a number too large to be computed with", f"numbers below {MAX_NUMBER}")
    return value


def _scalar(op: str, a: int | Fraction, b: int | Fraction) -> int | Fraction:
    if op in ("div", "mod", "/") and b == 0:
        raise Fault(f"division by zero: {a} {op} {b}", "a divisor other than 0")
    if op == "**":
        return _power(a, b)
    if op == "/":
        return _checked(Fraction(a) / Fraction(b))
    return _checked(_SCALAR[op](a, b))


def _power(a: int | Fraction, b: int | Fraction) -> int | Fraction:
    if not isinstance(b, int) or b < 0:
        raise Fault(f"the exponent of {a} ** {b}", "a whole exponent of at least 0")
    if a in (-1, 0, 1):
        return 1 if b == 0 or a == 1 or (a == -1 and b % 2 == 0) else int(a)
    if b >= 64:
        raise Fault(f"{a} ** {b} is too large", f"numbers below {MAX_NUMBER}")
    return _checked(a**b)


_SCALAR: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "div": operator.floordiv,
    "mod": operator.mod,
}


def arithmetic(op: str, a: Any, b: Any, mask: Mask) -> Any:
    """``a op b`` for ``+ - * / div mod **`` on numbers or columns; a Fault without a result."""
    if not is_column(a) and not is_column(b):
        return _scalar(op, a, b)
    if is_fractional(a) or is_fractional(b) or op in ("/", "**"):
        return _by_cell(op, a, b, mask)
    if op in ("div", "mod"):
        zero = np.equal(b, 0)
        _blame(op, a, b, zero, mask)
        return _SCALAR[op](a, np.where(zero, 1, b))
    if op == "*" and _largest(a) * _largest(b) >= MAX_NUMBER:
        return _by_cell(op, a, b, mask)
    result = np.asarray(_SCALAR[op](a, b))
    if op != "*" and _largest(a) + _largest(b) >= MAX_NUMBER:
        over = (result >= MAX_NUMBER) | (result <= -MAX_NUMBER)
        _blame(op, a, b, over, mask)
        return np.where(over, 0, result)
    return result


def _largest(value: Any) -> int:
    if not is_column(value):
        return abs(int(value))
    return max(abs(int(value.max())), abs(int(value.min()))) if value.size else 0


def _blame(op: str, a: Any, b: Any, bad: Any, mask: Mask) -> None:
    """Raises the fault of the first bad cell that counts, if there is one."""
    cell = first_live(bad, mask, a, b)
    if cell is None:
        return
    position, shape = cell
    left, right = (cell_of(x, position, shape) for x in (a, b))
    try:
        _scalar(op, left, right)
    except Fault as fault:
        raise Fault(fault.message, fault.expected, cell) from None
    raise AssertionError(f"{left} {op} {right} has a result")  # pragma: no cover


def cell_of(value: Any, position: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """A column's value in one cell of a shape that it broadcasts to."""
    if not is_column(value):
        return value
    item = np.broadcast_to(value, shape)[position]
    return item.item() if isinstance(item, np.generic) else item


def _by_cell(op: str, a: Any, b: Any, mask: Mask) -> Any:
    """`arithmetic` with Python numbers, cell by cell; a cell without result becomes 0."""

    def one(x: Any, y: Any) -> Any:
        try:
            return _scalar(op, x, y)
        except Fault:
            return None

    left, right = (np.asarray(x, dtype=object) for x in (a, b))
    result = np.asarray(np.frompyfunc(one, 2, 1)(left, right), dtype=object)
    bad = np.asarray(result == np.array(None, dtype=object), dtype=bool)
    if bad.any():
        _blame(op, left, right, bad, mask)
        result = np.where(bad, 0, result)
    return _settle(result)


_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def compare(op: str, a: Any, b: Any) -> Any:
    """Compares two values, or columns of them, with ``== != < <= > >=``."""
    result = _COMPARE[op](a, b)
    return result.astype(bool) if isinstance(result, np.ndarray) else bool(result)


def choose(condition: Any, yes: Any, no: Any) -> Any:
    """`yes` in the cells where the condition holds, `no` in the others."""
    if not is_column(condition):
        return yes if condition else no
    if is_fractional(yes) or is_fractional(no):
        yes, no = (np.asarray(x, dtype=object) for x in (yes, no))
    elif is_number(yes):
        yes, no = (np.asarray(x, dtype=np.int64) for x in (yes, no))
    return _settle(np.where(condition, yes, no))
