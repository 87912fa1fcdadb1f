"""Workload: size, element type and reduction of the data that algorithms run on.

numpy has no bfloat16, the upper half of a float32: sign, 8 bits of exponent, 7 of fraction.  It is
kept as 16 bits in an array type of its own, so that it is never taken for an integer.  It is
reduced in float32 and rounded to nearest, ties to even, as hardware does.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from syncoll.errors import UsageError

Array = npt.NDArray[Any]

DTYPES = ("float32", "float64", "float16", "bfloat16", "int32", "int64", "int8")
"""The element types, by numpy's names; bfloat16 is `BFLOAT16`."""

BFLOAT16: np.dtype[Any] = np.dtype([("bfloat16", np.uint16)])
"""The type of an array of bfloat16s."""


def dtype_of(name: str) -> np.dtype[Any]:
    """The type of arrays whose elements have a name of `syncoll.trust.data.DTYPES`."""
    return BFLOAT16 if name == "bfloat16" else np.dtype(name)


def name_of(dtype: np.dtype[Any]) -> str:
    """The name of an element type."""
    return "bfloat16" if dtype == BFLOAT16 else str(dtype)


def rounding(dtype: np.dtype[Any]) -> tuple[float, float]:
    """The distance from 1 to the next number, and the least number above 0; 0, 0 for integers."""
    if dtype == BFLOAT16:
        return 2.0**-7, 2.0**-133
    if dtype.kind != "f":
        return 0.0, 0.0
    info = np.finfo(dtype)
    return float(info.eps), float(info.smallest_subnormal)


def widen(array: Array) -> Array:
    """bfloat16s as float32s; other arrays unchanged."""
    if array.dtype != BFLOAT16:
        return array
    bits = np.ascontiguousarray(array).view(np.uint16).astype(np.uint32)
    return (bits << np.uint32(16)).view(np.float32)


def narrow(array: npt.NDArray[np.float32]) -> Array:
    """float32s rounded to bfloat16s: to nearest, ties to even; NaNs stay NaNs."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    upper = (bits >> np.uint32(16)) & np.uint32(1)
    rounded = ((bits + np.uint32(0x7FFF) + upper) >> np.uint32(16)).astype(np.uint16)
    quiet = ((bits >> np.uint32(16)) | np.uint32(0x40)).astype(np.uint16)
    result: Array = np.where(np.isnan(array), quiet, rounded).astype(np.uint16).view(BFLOAT16)
    return result


def exactly(array: Array) -> Array:
    """The elements in a type in which differences are exact enough for a verdict."""
    return widen(array).astype(np.longdouble)


class ReduceOp(StrEnum):
    """A reduction; all are associative and commutative, for floats up to rounding."""

    SUM = "sum"
    PROD = "prod"
    MAX = "max"
    MIN = "min"

    def __call__(self, one: Array, other: Array) -> Array:
        """Element by element: integers wrap around, and floats of two bytes are reduced in float32
        and rounded after each operation, as numpy does with float16."""
        if one.dtype == BFLOAT16:
            return narrow(_FUNCTIONS[self](widen(one), widen(other)))
        result: Array = _FUNCTIONS[self](one, other)
        return result

    def into(self, target: Array, one: Array, other: Array) -> None:
        """Stores the result in an array, which may be one of the two."""
        if one.dtype == BFLOAT16:
            np.copyto(target, self(one, other))
        else:
            _FUNCTIONS[self](one, other, out=target)


_FUNCTIONS = {
    ReduceOp.SUM: np.add,
    ReduceOp.PROD: np.multiply,
    ReduceOp.MAX: np.maximum,
    ReduceOp.MIN: np.minimum,
}


@dataclass(frozen=True)
class Workload:
    """The data on which an algorithm runs.

    Args:
        size: L, bytes of one node's data, which C chunks share.
        dtype: one of `DTYPES`.
        operation: the reduction of combining collectives.
        seed: seed of the random data.

    Raises:
        UsageError: if the type is unknown, or the size is no multiple of an element's.
    """

    size: int = 1 << 20
    dtype: str = "float32"
    operation: ReduceOp = ReduceOp.SUM
    seed: int = 0

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise UsageError(
                f"there is no type {self.dtype!r}; expected one of {', '.join(DTYPES)}"
            )
        width = dtype_of(self.dtype).itemsize
        if self.size < width or self.size % width:
            raise UsageError(
                f"a size of {self.size} bytes; expected a multiple of {width}, the bytes of one "
                f"{self.dtype}"
            )

    @property
    def elements(self) -> int:
        """The number of elements of one node's data."""
        return self.size // dtype_of(self.dtype).itemsize

    def draw(self, count: int, *stream: int) -> Array:
        """Random elements, the same for the same seed and stream.

        Integers are of any size, so that sums and products wrap around; factors are odd, because
        products of even numbers soon reach 0.  Floats have both signs and log-uniform magnitudes
        near 1, so that long products neither overflow nor vanish.
        """
        rng = np.random.default_rng((self.seed, *stream))
        dtype = dtype_of(self.dtype)
        if dtype.kind == "i":
            info = np.iinfo(dtype)
            numbers: Array = rng.integers(info.min, info.max, count, dtype, endpoint=True)
            return numbers | 1 if self.operation is ReduceOp.PROD else numbers
        magnitudes = np.exp2(rng.uniform(-0.5, 0.5, count))
        signed: Array = magnitudes * rng.choice((-1.0, 1.0), count)
        if dtype == BFLOAT16:
            return narrow(signed.astype(np.float32))
        return signed.astype(dtype)
