"""The runtimes that load MSCCL XML, and their limits.

Data only, from the runtimes' sources (``MSCCL_MAX_NUM_STEPS`` and the like), for the writer and the
checker, which share no code.
"""

from collections.abc import Mapping
from dataclasses import dataclass

MOST_NODES = 4095
"""Most elements of a file that a rank keeps: algo, all gpus, its own thread blocks and steps."""

MOST_PER_CHANNEL = 32
"""Most thread blocks of a rank that send, and that receive, on one channel."""

MOST_COUNT = 71
"""Most chunks of a step."""

LAST_OFFSET = (1 << 15) - 1
"""The largest offset of 16 signed bits."""

LAST_AWAITED = 127
"""The largest number of an awaited block, 8 signed bits."""

LONGEST_NAME = 63
TAKEN_NAME = "2D"
"""microsoft/msccl runs an alltoall of this name with its own code instead of the file."""


@dataclass(frozen=True, kw_only=True)
class Runtime:
    """One runtime.

    Args:
        collectives: names of collectives in files, with the usual names.
        uncalled: collectives for which no call chooses a file.
        not_in_place: collectives that it refuses in place.
        fuses: whether it runs operations that receive and send, or receive and reduce, at once.
        connects: whether it connects its rings and trees when it starts.
        open_sends: the protocols with which a send (``s``) ends without a barrier, so that its flag
            rises while some threads still read; the next step of its thread block comes after a
            barrier or ends with one.
        most_steps: of one thread block.
        most_blocks: thread blocks of one rank.
        most_channels: of a communicator.
        most_bytes: the ``maxBytes`` that means no limit.
        exclusive_end: whether the size range ends before its ``maxBytes``; 0 then means never, not
            always.
        needs: the required attributes of algo besides the common ones.
        names_checked: whether it keeps the name, and knows the name 2D.
        sizes_checked: whether i_chunks and o_chunks must be 0 or equal the collective's.
        message_bytes: the size of one message, by protocol, with the default buffers.
        short_messages: the collectives with a quarter of that size with Simple.
    """

    name: str
    title: str
    collectives: Mapping[str, str]
    uncalled: frozenset[str]
    not_in_place: frozenset[str] = frozenset()
    fuses: bool = True
    connects: bool = True
    open_sends: frozenset[str] = frozenset()
    most_steps: int
    most_blocks: int
    most_channels: int
    most_bytes: int
    exclusive_end: bool = False
    needs: tuple[str, ...] = ("outofplace", "minBytes", "maxBytes")
    names_checked: bool = False
    sizes_checked: bool = False
    message_bytes: Mapping[str, int]
    short_messages: tuple[str, ...] = ("broadcast", "reduce")

    def spelled(self, collective: str) -> str | None:
        """Its name of a collective in files; None if it does not run it from a file."""
        called = {name: word for word, name in self.collectives.items()}
        word = called.get(collective)
        return None if word in self.uncalled else word

    def chunks_per_message(self, protocol: str, collective: str, chunk_bytes: int) -> int:
        """The number of chunks of a step in one message."""
        room = self.message_bytes[protocol]
        if protocol == "Simple" and collective in self.short_messages:
            room //= 4
        return max(1, room // max(1, chunk_bytes))


_COMMON = {name: name for name in ("allreduce", "allgather", "alltoall", "broadcast", "reduce")}
_NEWER = _COMMON | {
    name: name for name in ("reducescatter", "gather", "scatter", "send", "recv", "alltoallv")
}
_NCCL = {"Simple": 2 << 20, "LL": 32 << 10, "LL128": 576_000}
"""Half a buffer of 4 MiB; a step of 64 KiB, half of it flags; a step of 600 KiB, 1/16 flags."""

RUNTIMES = {
    one.name: one
    for one in (
        Runtime(
            name="msccl",
            title="microsoft/msccl",
            collectives=_COMMON | {"reduce_scatter": "reducescatter", "custom": "custom"},
            uncalled=frozenset(),
            not_in_place=frozenset({"alltoall"}),
            most_steps=256,
            most_blocks=216,
            most_channels=32,
            most_bytes=1 << 27,  # scratch for messages of that size is taken when it starts
            exclusive_end=True,
            needs=("name",),
            names_checked=True,
            sizes_checked=True,
            message_bytes=_NCCL,
            short_messages=(),
        ),
        Runtime(
            name="executor",
            title="msccl-executor-nccl",
            collectives=_NEWER,
            uncalled=frozenset({"alltoallv", "gather", "scatter"}),
            connects=False,  # with NCCL_RUNTIME_CONNECT, its default, only before their first use
            most_steps=64,
            most_blocks=1024,
            most_channels=32,
            most_bytes=1 << 40,
            message_bytes=_NCCL,
        ),
        Runtime(
            name="rccl",
            title="RCCL",
            collectives=_NEWER,
            uncalled=frozenset({"alltoallv"}),
            fuses=False,
            open_sends=frozenset({"LL"}),
            most_steps=64,
            most_blocks=64,
            most_channels=128,
            most_bytes=1 << 40,
            # As above, for at most 256 threads instead of 512 and 640.
            message_bytes={"Simple": 2 << 20, "LL": 16 << 10, "LL128": 230_400},
        ),
    )
}
"""By name."""
