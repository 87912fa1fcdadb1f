"""Checks the buffers of a call before anything is sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from syncoll.errors import UsageError
from syncoll.runtime import Kind, StandardCollective
from syncoll.trust.data import BFLOAT16, DTYPES, dtype_of, name_of
from syncoll.trust.data.workload import Array

__all__ = ["Buffers", "buffers_of", "message", "total_of"]

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
    """Passes buffers that are contiguous arrays of one known type and do not overlap.

    Raises:
        UsageError: for others, with the reason.
    """
    send, receive = _flat(sendbuf, "sendbuf"), _flat(recvbuf, "recvbuf")
    given = [one for one in (send, receive) if one is not None]
    if not given:
        raise UsageError(
            "neither sendbuf nor recvbuf is given; expected at least one (an empty array where "
            "this rank has neither input nor output, for its type)"
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
    """An array that MPI can move: floats of two bytes, for which it has no type, as integers."""
    if array.dtype == BFLOAT16 or array.dtype == np.float16:
        return array.view(np.uint16)
    return array


def total_of(collective: StandardCollective, rank: int, buffers: Buffers) -> int | None:
    """The elements of the whole, derived from a rank's buffers; None if they do not determine it.

    Most ranks of gather and scatter see only their own share, which determines the total if all
    shares have one length; so the root must see that, too.
    """
    kind, nodes = collective.kind, collective.num_nodes
    sent, received = buffers.sent, buffers.received
    if kind in (Kind.GATHER, Kind.SCATTER):
        share, whole = (sent, received) if kind is Kind.GATHER else (received, sent)
        if rank != collective.root:
            return share * nodes
        return whole if whole % nodes == 0 else None
    if kind in (Kind.ALLGATHER, Kind.BROADCAST):
        return received
    if kind in (Kind.ALLREDUCE, Kind.REDUCESCATTER, Kind.ALLTOALL, Kind.REDUCE):
        return received if buffers.send is None else sent
    return None


def _flat(buffer: object, name: str) -> Array | None:
    """The elements of an array in one row, without a copy."""
    if buffer is None or _is_in_place(buffer):
        return None
    try:
        array = np.asarray(buffer if isinstance(buffer, np.ndarray) else memoryview(buffer))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise UsageError(
            f"{name} is of {type(buffer).__name__}; expected a numpy array, or an object that has "
            "its data in memory as one (the buffer protocol)"
        ) from None
    if array.dtype.name == "bfloat16" and array.dtype.itemsize == 2 and array.flags.c_contiguous:
        array = array.view(BFLOAT16)  # as other packages have it
    if array.dtype not in _DTYPES:
        raise UsageError(f"{name} is of {array.dtype}; expected one of {', '.join(DTYPES)}")
    if not array.flags.c_contiguous:
        raise UsageError(f"{name} is not contiguous; pass a copy (numpy.ascontiguousarray)")
    return array.reshape(-1)


def _is_in_place(buffer: object) -> bool:
    return type(buffer).__name__ == "InPlaceType"
