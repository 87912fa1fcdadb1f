"""What is computed on: how much data, of which type, reduced with which operation."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from syncoll.errors import UsageError
from syncoll.trust.data.halves import BFLOAT16, dtype_of, narrow, widen

__all__ = ["DTYPES", "Array", "ReduceOp", "Workload"]

Array = npt.NDArray[Any]

DTYPES = ("float32", "float64", "float16", "bfloat16", "int32", "int64", "int8")
"""The element types, by numpy's names; bfloat16, which it does not have, is `BFLOAT16`."""


class ReduceOp(StrEnum):
    """A reduction; all are associative and commutative, those of floats up to rounding."""

    SUM = "sum"
    PROD = "prod"
    MAX = "max"
    MIN = "min"

    def __call__(self, one: Array, other: Array) -> Array:
        """Element by element; integers wrap around, in whatever order they are reduced.

        What has two bytes is reduced in float32 and rounded to its own type after each operation:
        numpy does so with float16.
        """
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
    """The data on which an algorithm is run.

    Args:
        size: L, bytes of one node's data, which C chunks share.
        dtype: of the elements, one of `DTYPES`.
        operation: how combining collectives reduce; others do not use it.
        seed: of the random data.

    Raises:
        UsageError: when the type is unknown, or the size is no multiple of an element's.
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
        """How many elements one node's data has."""
        return self.size // dtype_of(self.dtype).itemsize

    def draw(self, count: int, *stream: int) -> Array:
        """So many random elements; the same for the same seed and stream.

        Integers are of any size, so that sums and products wrap around; factors are odd, because
        products of even numbers soon end at 0 and hide what went into them.  Floats have both
        signs, and magnitudes near 1 on a logarithmic scale, so that long products neither overflow
        nor vanish.
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
