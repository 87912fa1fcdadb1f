"""What each runtime that reads MSCCL XML can do, for the writer.

The figures are those of the runtimes' own sources: ``MSCCL_MAX_NUM_STEPS`` and its siblings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from syncoll.runtime import Kind

__all__ = ["MOST_CHUNK_INDEX", "MOST_DEPENDED", "MOST_NODES", "RUNTIMES", "Runtime"]

MOST_CHUNK_INDEX = (1 << 15) - 1
"""Offsets are 16 bits with a sign."""

MOST_DEPENDED = 128
"""The block that a step waits for is 8 bits with a sign."""

MOST_NODES = 4095
"""Elements that a rank keeps of a file: algo, all gpus, its own blocks and steps."""


@dataclass(frozen=True)
class Runtime:
    """One runtime.

    Args:
        name: as an option.
        title: as people know it.
        collectives: its names of those that it knows.
        in_place: those that it runs in place.
        fuses: whether it runs operations that receive and send, or receive and reduce, at once.
        most_steps: of one thread block.
        most_blocks: thread blocks of one rank.
        most_blocks_per_channel: that send, and that receive, on one channel of a rank.
        most_channels: of a rank.
        exclusive_end: whether the size range ends before its ``maxBytes``.
        most_bytes: the ``maxBytes`` that stands for no limit.
        same_ends: whether both ends of a message are to say the same of it; none of them asks for
            that, and users choose it.
    """

    name: str
    title: str
    collectives: Mapping[Kind, str]
    in_place: frozenset[Kind]
    fuses: bool
    most_steps: int
    most_blocks: int
    most_blocks_per_channel: int
    most_channels: int
    exclusive_end: bool
    most_bytes: int
    same_ends: bool = True


_NEWER: dict[Kind, str] = {kind: str(kind) for kind in Kind if kind is not Kind.CUSTOM}
_OLDER: dict[Kind, str] = {
    kind: "reduce_scatter" if kind is Kind.REDUCESCATTER else name
    for kind, name in _NEWER.items()
    if kind not in (Kind.GATHER, Kind.SCATTER)
}
_IN_PLACE = frozenset(_OLDER)
"""Of gather and scatter only the root has both buffers, so that the ranks, each of which decides
for itself whether a call is in place, would not all choose the file."""

RUNTIMES = {
    one.name: one
    for one in (
        Runtime(
            "msccl",
            "microsoft/msccl",
            _OLDER,
            _IN_PLACE - {Kind.ALLTOALL},
            fuses=True,
            most_steps=256,
            most_blocks=216,
            most_blocks_per_channel=32,
            most_channels=32,
            exclusive_end=True,
            most_bytes=1 << 27,  # scratch for messages of that size is taken when it starts
        ),
        Runtime(
            "executor",
            "msccl-executor-nccl",
            _NEWER,
            _IN_PLACE,
            fuses=True,
            most_steps=64,
            most_blocks=1024,
            most_blocks_per_channel=32,
            most_channels=32,
            exclusive_end=False,
            most_bytes=1 << 40,
        ),
        Runtime(
            "rccl",
            "RCCL",
            _NEWER,
            _IN_PLACE,
            fuses=False,
            most_steps=64,
            most_blocks=64,
            most_blocks_per_channel=32,
            most_channels=128,
            exclusive_end=False,
            most_bytes=1 << 40,
        ),
    )
}
"""By name."""
