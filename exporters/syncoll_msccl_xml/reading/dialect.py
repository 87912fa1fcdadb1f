"""Dialects: what each runtime that loads MSCCL XML needs, beside its limits."""

from __future__ import annotations

from dataclasses import dataclass

from syncoll_msccl_xml.limits import EXECUTOR, MSCCL, RCCL, Limits

__all__ = ["DIALECTS", "FUSION", "MOST_CHILDREN", "Dialect"]

MOST_CHILDREN = 1024
"""Elements directly within another one."""

FUSION = 16
"""Reductions into one place that a kernel has room for at a time."""


@dataclass(frozen=True, kw_only=True)
class Dialect(Limits):
    """A runtime.

    Args:
        collectives: its spellings, each with the name that the others use.
        needs: attributes of algo that it needs beyond those that all need.
        names_checked: whether it keeps the name, and knows the name 2D.
        sizes_checked: whether i_chunks and o_chunks must be 0 or those of the collective.
        message_bytes: how much one message holds, by protocol, with the default buffers.
        short_messages: the collectives of which a message holds a quarter of that under Simple.
    """

    collectives: dict[str, str]
    needs: tuple[str, ...]
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

DIALECTS = {
    dialect.name: dialect
    for dialect in (
        Dialect(
            **vars(MSCCL),
            collectives={**_COMMON, "reduce_scatter": "reducescatter", "custom": "custom"},
            needs=("name",),
            names_checked=True,
            sizes_checked=True,
            message_bytes=_NCCL,
        ),
        *(
            Dialect(
                **vars(limits),
                collectives=_NEWER,
                needs=("outofplace", "minBytes", "maxBytes"),
                names_checked=False,
                sizes_checked=False,
                message_bytes=message_bytes,
                short_messages=("broadcast", "reduce"),
            )
            for limits, message_bytes in ((EXECUTOR, _NCCL), (RCCL, _RCCL))
        ),
    )
}
