"""What the writer has to know of each runtime, beside its limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from syncoll.runtime import Kind
from syncoll_msccl_xml.limits import EXECUTOR, MSCCL, RCCL, Limits

__all__ = ["MOST_CHUNK_INDEX", "MOST_DEPENDED", "RUNTIMES", "Runtime"]

MOST_CHUNK_INDEX = (1 << 15) - 1
"""Offsets are 16 bits with a sign."""

MOST_DEPENDED = 128
"""The block that a step waits for is 8 bits with a sign."""


@dataclass(frozen=True, kw_only=True)
class Runtime(Limits):
    """One runtime.

    Args:
        collectives: its names of those that it knows.
        in_place: those that it runs in place.
        most_bytes: the ``maxBytes`` that stands for no limit.
        most_blocks_per_channel: that send, and that receive, on one channel of a rank.
        same_ends: whether both ends of a message are to say the same of it; none of them asks for
            that, and users choose it.
    """

    collectives: Mapping[Kind, str]
    in_place: frozenset[Kind]
    most_bytes: int
    most_blocks_per_channel: int = 32
    same_ends: bool = True


_ROOT_ALONE = (Kind.GATHER, Kind.SCATTER)
_RCCL: dict[Kind, str] = {kind: str(kind) for kind in Kind if kind is not Kind.CUSTOM}
_EXECUTOR = {kind: name for kind, name in _RCCL.items() if kind not in _ROOT_ALONE}
_MSCCL = _EXECUTOR | {Kind.REDUCESCATTER: "reduce_scatter"}
_IN_PLACE = frozenset(_EXECUTOR)
"""Of gather and scatter only the root has both buffers, so that the ranks, each of which decides
for itself whether a call is in place, would not all choose the file."""

RUNTIMES = {
    one.name: one
    for one in (
        Runtime(
            **vars(MSCCL),
            collectives=_MSCCL,
            in_place=_IN_PLACE - {Kind.ALLTOALL},
            most_bytes=1 << 27,  # scratch for messages of that size is taken when it starts
        ),
        Runtime(**vars(EXECUTOR), collectives=_EXECUTOR, in_place=_IN_PLACE, most_bytes=1 << 40),
        Runtime(**vars(RCCL), collectives=_RCCL, in_place=_IN_PLACE, most_bytes=1 << 40),
    )
}
"""By name."""
