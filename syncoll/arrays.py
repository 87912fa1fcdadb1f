"""Types of numpy arrays by their elements, in any shape; read-only arrays."""

from typing import TypeVar

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
KeyArray = npt.NDArray[np.uint64]
NarrowArray = npt.NDArray[np.int32]
_Scalar = TypeVar("_Scalar", bound=np.generic)


def frozen(array: npt.NDArray[_Scalar]) -> npt.NDArray[_Scalar]:
    """The array itself, made read-only."""
    array.setflags(write=False)
    return array
