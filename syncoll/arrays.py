"""Types of numpy arrays by their elements; read-only arrays; rows of bits as words."""

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
KeyArray = npt.NDArray[np.uint64]
NarrowArray = npt.NDArray[np.int32]
_Scalar = TypeVar("_Scalar", bound=np.generic)


def frozen(array: npt.NDArray[_Scalar]) -> npt.NDArray[_Scalar]:
    """The array itself, made read-only."""
    array.setflags(write=False)
    return array


def is_frozen(array: npt.NDArray[Any]) -> bool:
    """Whether an array is read-only for good, so that it need not be copied."""
    base = array.base
    return not array.flags.writeable and (
        base is None or (isinstance(base, np.ndarray) and is_frozen(base))
    )


def in_words(rows: Bools) -> KeyArray:
    """Rows ``[N, P]`` as bits of words ``[N, W]``."""
    packed = np.packbits(rows, axis=1, bitorder="little")
    padded = np.zeros((len(rows), -(-rows.shape[1] // 64) * 8), dtype=np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view(np.uint64)


def from_words(words: KeyArray, width: int) -> Bools:
    """The rows ``[N, P]`` of `in_words`, for P = `width`, read-only."""
    bits = np.unpackbits(words.view(np.uint8), axis=1, count=width, bitorder="little")
    return frozen(frozen(bits).view(bool))
