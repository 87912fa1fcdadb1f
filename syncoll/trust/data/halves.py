"""bfloat16, which numpy does not have, and what the types of two bytes have in common.

A bfloat16 is the upper half of a float32: its sign, its 8 bits of exponent and 7 of its 23 bits of
fraction.  It is kept as these 16 bits, in an array of a type of its own, so that nobody takes it
for an integer; every one is a float32 exactly, in which it is reduced, and the result is rounded to
nearest, ties to even, as hardware does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["BFLOAT16", "dtype_of", "exactly", "name_of", "narrow", "rounding", "widen"]

_Array = npt.NDArray[Any]

BFLOAT16: np.dtype[Any] = np.dtype([("bfloat16", np.uint16)])
"""The type of an array of bfloat16s."""


def dtype_of(name: str) -> np.dtype[Any]:
    """The type of arrays whose elements have a name of `syncoll.trust.data.DTYPES`."""
    return BFLOAT16 if name == "bfloat16" else np.dtype(name)


def name_of(dtype: np.dtype[Any]) -> str:
    """The name of an element type."""
    return "bfloat16" if dtype == BFLOAT16 else str(dtype)


def rounding(dtype: np.dtype[Any]) -> tuple[float, float]:
    """The distance from 1 to the next number, and the least number above 0; 0 and 0 of integers."""
    if dtype == BFLOAT16:
        return 2.0**-7, 2.0**-133
    if dtype.kind != "f":
        return 0.0, 0.0
    info = np.finfo(dtype)
    return float(info.eps), float(info.smallest_subnormal)


def widen(array: _Array) -> _Array:
    """bfloat16s as the float32s that they are; other arrays as they are."""
    if array.dtype != BFLOAT16:
        return array
    bits = np.ascontiguousarray(array).view(np.uint16).astype(np.uint32)
    return (bits << np.uint32(16)).view(np.float32)


def narrow(array: npt.NDArray[np.float32]) -> _Array:
    """float32s rounded to bfloat16s: to nearest, ties to even; NaNs stay NaNs."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    upper = (bits >> np.uint32(16)) & np.uint32(1)
    rounded = ((bits + np.uint32(0x7FFF) + upper) >> np.uint32(16)).astype(np.uint16)
    quiet = ((bits >> np.uint32(16)) | np.uint32(0x40)).astype(np.uint16)
    result: _Array = np.where(np.isnan(array), quiet, rounded).astype(np.uint16).view(BFLOAT16)
    return result


def exactly(array: _Array) -> _Array:
    """The elements in a type in which differences are exact enough to be judged by."""
    return widen(array).astype(np.longdouble)
