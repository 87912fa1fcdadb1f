"""Dialects: what each runtime that loads MSCCL XML needs, and where its limits are."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DIALECTS", "FUSION", "MOST_CHILDREN", "MOST_NODES", "Dialect"]

MOST_NODES = 4095
"""Elements that one rank keeps: the algorithm, all gpus, its own thread blocks and steps."""

MOST_CHILDREN = 1024
"""Elements directly within another one."""

FUSION = 16
"""Reductions into one place that a kernel has room for at a time."""


@dataclass(frozen=True)
class Dialect:
    """A runtime.

    Args:
        name: as the option calls it.
        runtime: what people call it.
        collectives: its spellings, each with the name that the others use.
        most_steps: of a thread block.
        most_blocks: of a rank.
        most_channels: of a communicator.
        needs: attributes of algo that it needs beyond those that all need.
        fused: whether it runs rcs, rrs, rrc and rrcs.
        most_bytes_excluded: whether maxBytes is itself too large, and 0 means never, not always.
        names_checked: whether it keeps the name, and knows the name 2D.
        sizes_checked: whether i_chunks and o_chunks must be 0 or those of the collective.
        message_bytes: how much one message holds, by protocol, with the default buffers.
        short_messages: the collectives of which a message holds a quarter of that under Simple.
    """

    name: str
    runtime: str
    collectives: dict[str, str]
    most_steps: int
    most_blocks: int
    most_channels: int
    needs: tuple[str, ...]
    fused: bool
    most_bytes_excluded: bool
    names_checked: bool
    sizes_checked: bool
    message_bytes: dict[str, int]
    short_messages: tuple[str, ...] = ()

    def chunks_per_message(self, protocol: str, collective: str, chunk_bytes: int) -> int:
        """How many chunks of a step go into one message."""
        room = self.message_bytes[protocol]
        if protocol == "Simple" and collective in self.short_messages:
            room //= 4
        return max(1, room // max(1, chunk_bytes))


_COMMON = {name: name for name in ("allreduce", "allgather", "alltoall", "broadcast", "reduce")}
_NEWER = {
    **_COMMON,
    **{name: name for name in ("reducescatter", "gather", "scatter", "send", "recv", "alltoallv")},
}
_NCCL = {"Simple": 2 << 20, "LL": 32 << 10, "LL128": 576_000}
"""Half of a buffer of 4 MiB; a step of 64 KiB, half of it flags; a step of 600 KiB, 1/16 flags."""
_RCCL = {"Simple": 2 << 20, "LL": 16 << 10, "LL128": 230_400}
"""The same for at most 256 threads in place of 512 and 640."""
_SHORT = ("broadcast", "reduce")
_NEWER_NEEDS = ("outofplace", "minBytes", "maxBytes")

DIALECTS = {
    dialect.name: dialect
    for dialect in (
        Dialect(
            "msccl",
            "microsoft/msccl",
            {**_COMMON, "reduce_scatter": "reducescatter", "custom": "custom"},
            most_steps=256,
            most_blocks=216,
            most_channels=32,
            needs=("name",),
            fused=True,
            most_bytes_excluded=True,
            names_checked=True,
            sizes_checked=True,
            message_bytes=_NCCL,
        ),
        Dialect(
            "executor",
            "msccl-executor-nccl",
            _NEWER,
            most_steps=64,
            most_blocks=1024,
            most_channels=32,
            needs=_NEWER_NEEDS,
            fused=True,
            most_bytes_excluded=False,
            names_checked=False,
            sizes_checked=False,
            message_bytes=_NCCL,
            short_messages=_SHORT,
        ),
        Dialect(
            "rccl",
            "RCCL",
            _NEWER,
            most_steps=64,
            most_blocks=64,
            most_channels=128,
            needs=_NEWER_NEEDS,
            fused=False,
            most_bytes_excluded=False,
            names_checked=False,
            sizes_checked=False,
            message_bytes=_RCCL,
            short_messages=_SHORT,
        ),
    )
}
