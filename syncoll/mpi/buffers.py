"""Checks the buffers of a call before anything is sent."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from syncoll.errors import UsageError
from syncoll.trust.data import BFLOAT16, DTYPES, dtype_of, name_of
from syncoll.trust.data.workload import Array

_DTYPES = frozenset(dtype_of(name) for name in DTYPES)


@dataclass(frozen=True, eq=False)
class Buffers:
    """The flat buffers of a rank's call; None if missing, or in place."""

    send: Array | None
    receive: Array | None
    dtype: np.dtype[Any]

    @property
    def sent(self) -> int:
        """Elements of the send buffer."""
        return 0 if self.send is None else len(self.send)

    @property
    def received(self) -> int:
        """Elements of the receive buffer."""
        return 0 if self.receive is None else len(self.receive)


def buffers_of(sendbuf: object, recvbuf: object) -> Buffers:
    """Buffers as contiguous arrays of one known type, without overlap; UsageError for others."""
    send, receive = _flat(sendbuf, "sendbuf"), _flat(recvbuf, "recvbuf")
    given = [one for one in (send, receive) if one is not None]
    if not given:
        raise UsageError(
            "neither sendbuf nor recvbuf is given; expected at least one (an empty array of "
            "the right type if this rank has neither input nor output)"
        )
    if given[0].dtype != given[-1].dtype:
        raise UsageError(
            f"sendbuf is of {name_of(given[0].dtype)}, recvbuf of {name_of(given[-1].dtype)}; "
            "expected one type"
        )
    if receive is not None and not receive.flags.writeable:
        raise UsageError("recvbuf is read-only; expected an array that can be written")
    if send is not None and receive is not None and np.may_share_memory(send, receive):
        raise UsageError(
            "sendbuf and recvbuf overlap; pass MPI.IN_PLACE (or None) for one of them, as to MPI"
        )
    return Buffers(send, receive, given[0].dtype)


def message(array: Array) -> Array:
    """An array that MPI can move: floats of two bytes, which MPI lacks, as integers."""
    if array.dtype == BFLOAT16 or array.dtype == np.float16:
        return array.view(np.uint16)
    return array


def _flat(buffer: object, name: str) -> Array | None:
    """The elements of an array in one row, without a copy."""
    if buffer is None or type(buffer).__name__ == "InPlaceType":
        return None
    try:
        array = np.asarray(buffer if isinstance(buffer, np.ndarray) else memoryview(buffer))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise UsageError(
            f"{name} is of {type(buffer).__name__}; expected a numpy array, or an object with "
            "the buffer protocol"
        ) from None
    if array.dtype.name == "bfloat16" and array.dtype.itemsize == 2 and array.flags.c_contiguous:
        array = array.view(BFLOAT16)  # as in other packages
    if array.dtype not in _DTYPES:
        raise UsageError(f"{name} is of {array.dtype}; expected one of {', '.join(DTYPES)}")
    if not array.flags.c_contiguous:
        raise UsageError(f"{name} is not contiguous; pass a copy (numpy.ascontiguousarray)")
    return array.reshape(-1)
