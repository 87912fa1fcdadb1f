"""Messages between a parent and its worker: pickles, each after its length in eight bytes.

Both ends are the same program on the same machine and own the two ends of the pipe, so nobody else
can put a pickle into it.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import BinaryIO

from syncoll.formula import Formula, Limits, Outcome
from syncoll.plugins import Backend, OptionValue

__all__ = ["Done", "Failed", "LoadRequest", "Ready", "SolveRequest", "receive", "send"]

_LENGTH = struct.Struct(">Q")


@dataclass(frozen=True)
class LoadRequest:
    """Parent to worker, once: import the backend."""

    load: Callable[[], Backend]


@dataclass(frozen=True)
class SolveRequest:
    """Parent to worker: decide a formula."""

    formula: Formula
    limits: Limits
    options: Mapping[str, OptionValue]


@dataclass(frozen=True)
class Ready:
    """Worker to parent: the backend is imported."""


@dataclass(frozen=True)
class Done:
    """Worker to parent: the backend answered.

    Args:
        outcome: its answer.
        seconds: wall-clock seconds within the backend.
    """

    outcome: Outcome
    seconds: float


@dataclass(frozen=True)
class Failed:
    """Worker to parent: the backend raised an exception.

    Args:
        message: one line.
        details: the traceback.
        out_of_memory: whether it was a `MemoryError`.
    """

    message: str
    details: str
    out_of_memory: bool = False


def send(stream: BinaryIO, message: object) -> None:
    """Writes one message.

    Raises:
        OSError: when the other end is gone.
    """
    data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(_LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def receive(stream: BinaryIO) -> object:
    """Reads one message.

    Raises:
        EOFError: when the other end is gone, even in the middle of a message.
    """
    (length,) = _LENGTH.unpack(_exactly(stream, _LENGTH.size))
    return pickle.loads(_exactly(stream, length))


def _exactly(stream: BinaryIO, length: int) -> bytes:
    data = stream.read(length)
    if len(data) < length:
        raise EOFError("the other end of the pipe is gone")
    return data
