"""What is computed on: how much data, of which type, reduced with which operation."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from syncoll.errors import UsageError

__all__ = ["DTYPES", "Array", "Operation", "Workload"]

Array = npt.NDArray[Any]

DTYPES = ("float32", "float64", "int32", "int64")
"""The element types, by numpy's names."""


class Operation(StrEnum):
    """A reduction; all are associative and commutative, those of floats up to rounding."""

    SUM = "sum"
    PROD = "prod"
    MAX = "max"
    MIN = "min"

    def __call__(self, one: Array, other: Array) -> Array:
        """Element by element; integers wrap around, in whatever order they are reduced."""
        result: Array = _FUNCTIONS[self](one, other)
        return result


_FUNCTIONS = {
    Operation.SUM: np.add,
    Operation.PROD: np.multiply,
    Operation.MAX: np.maximum,
    Operation.MIN: np.minimum,
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
    operation: Operation = Operation.SUM
    seed: int = 0

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise UsageError(
                f"there is no type {self.dtype!r}; expected one of {', '.join(DTYPES)}"
            )
        width = np.dtype(self.dtype).itemsize
        if self.size < width or self.size % width:
            raise UsageError(
                f"a size of {self.size} bytes; expected a multiple of {width}, the bytes of one "
                f"{self.dtype}"
            )

    @property
    def elements(self) -> int:
        """How many elements one node's data has."""
        return self.size // np.dtype(self.dtype).itemsize

    def draw(self, count: int, *stream: int) -> Array:
        """So many random elements; the same for the same seed and stream.

        Integers are of any size, so that sums and products wrap around; factors are odd, because
        products of even numbers soon end at 0 and hide what went into them.  Floats have both
        signs, and magnitudes near 1 on a logarithmic scale, so that long products neither overflow
        nor vanish.
        """
        rng = np.random.default_rng((self.seed, *stream))
        dtype = np.dtype(self.dtype)
        if dtype.kind == "i":
            info = np.iinfo(dtype)
            numbers: Array = rng.integers(info.min, info.max, count, dtype, endpoint=True)
            return numbers | 1 if self.operation is Operation.PROD else numbers
        magnitudes = np.exp2(rng.uniform(-0.5, 0.5, count))
        signed: Array = (magnitudes * rng.choice((-1.0, 1.0), count)).astype(dtype)
        return signed
