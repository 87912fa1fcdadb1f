"""Plan: the content of an execution plan, in the form of the runtime's loader.

The loader reads the keys that it needs and ignores the others.  If it would throw, misread a value,
or fall back silently, reading fails here, with the place.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, NoReturn

from msgspec import Meta, field

from syncoll.documents.record import Record, read_record
from syncoll.errors import FileFormatError, VerificationError

_OLD_KEYS = ("inputChunks", "chunkGroups", "outputChunks", "scratchChunks")
_LARGEST = (1 << 64) - 1

Buffer = Literal["i", "o", "s"]
Kind = Literal["memory", "port"]
Index = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
Indices = tuple[Index, ...]


class PlanReference(Record, frozen=True):
    """A piece of a buffer that an operation names: one of its first three entries is set.

    Args:
        remote: position in the thread block's table of remote buffers.
        switch: position in its table of switch channels.
    """

    index: Index
    size: Index
    buffer: Buffer | None = field(name="type", default=None)
    remote: Index | None = field(name="buffer_id", default=None)
    switch: Index | None = field(name="switch_channel_id", default=None)

    def __post_init__(self) -> None:
        given = {"type": self.buffer, "buffer_id": self.remote, "switch_channel_id": self.switch}
        names = [name for name, value in given.items() if value is not None]
        if len(names) != 1:
            raise ValueError(
                "expected one of 'type' (a buffer of this rank), 'buffer_id' (of another one) and "
                f"'switch_channel_id', not {' and '.join(map(repr, names)) or 'none of them'}"
            )


class GroupPart(Record, frozen=True):
    """A thread block's number in a group of blocks that share the work, and the group's size."""

    number: Index = field(name="tb_id")
    size: Index = field(name="tbg_size")


class PipelineLoop(Record, frozen=True):
    """The chunks of a pipeline, and the bytes of one round of it."""

    chunks: Index = field(name="num_chunks")
    unit: Index = field(name="unit_size")


class PlanOperation(Record, frozen=True):
    """One operation of a thread block; fields that it does not need are empty.  Its channels are
    positions in the thread block's table of channels of their type."""

    name: str
    sources: tuple[PlanReference, ...] = field(name="src_buff", default=())
    targets: tuple[PlanReference, ...] = field(name="dst_buff", default=())
    channel_type: Literal["memory", "port", "switch", "none"] = "none"
    channels: Indices = field(name="channel_ids", default=())
    group: GroupPart = field(name="tbg_info", default=GroupPart(0, 1))
    barrier: Index | None = field(name="barrier_id", default=None)
    barrier_size: Index | None = field(name="num_threadblocks", default=None)
    semaphores: Indices = field(name="semaphore_ids", default=())
    loop: PipelineLoop = field(name="iter_context", default=PipelineLoop(0, 0))
    inner: "tuple[PlanOperation, ...]" = field(name="ops", default=())

    def __post_init__(self) -> None:
        if self.name == "barrier" and None in (self.barrier, self.barrier_size):
            raise ValueError("a barrier needs 'barrier_id' and 'num_threadblocks'")
        if any(one.inner for one in self.inner):
            raise ValueError("a pipeline within a pipeline")

    @property
    def pieces(self) -> tuple[PlanReference, ...]:
        """All its pieces, sources first."""
        return (*self.sources, *self.targets)


class BlockChannels(Record, frozen=True):
    """Channels of one type in a thread block's table, by their numbers at the rank."""

    kind: Literal["memory", "port", "switch"] = field(name="channel_type")
    ids: Indices = field(name="channel_ids")


class BlockBuffers(Record, frozen=True):
    """Remote buffers in a thread block's table, by their numbers, with the type of access."""

    kind: Kind = field(name="access_channel_type")
    ids: Indices = field(name="remote_buffer_ids")


class PlanBlock(Record, frozen=True, dict=True):
    """A thread block: its number, its tables and its operations in order."""

    id: Index
    operations: tuple[PlanOperation, ...] = field(name="ops")
    channel_table: tuple[BlockChannels, ...] = field(name="channels")
    buffer_table: tuple[BlockBuffers, ...] = field(name="remote_buffer_refs", default=())

    @cached_property
    def channels(self) -> Mapping[str, Indices]:
        """Numbers of channels of the rank, by type."""
        return _by_kind(("memory", "port", "switch"), self.channel_table)

    @cached_property
    def remote_buffers(self) -> Mapping[str, Indices]:
        """Numbers of remote buffers of the rank, by the type of access."""
        return _by_kind(("memory", "port"), self.buffer_table)

    @cached_property
    def flat(self) -> tuple[tuple[int, PlanOperation, bool], ...]:
        """The operations as the runtime counts them, and whether each is in a pipeline."""
        every: list[tuple[PlanOperation, bool]] = []
        for op in self.operations:
            every.append((op, False))
            if op.name == "pipeline":
                every += [(inner, True) for inner in op.inner]
        return tuple((number, op, inner) for number, (op, inner) in enumerate(every))


class Peers(Record, frozen=True, tag_field="channel_type"):
    """The other ends of channels of one type."""

    peers: Indices = field(name="connected_to")


class MemoryPeers(Peers, frozen=True, tag="memory"):
    """Of memory channels."""


class PortPeers(Peers, frozen=True, tag="port"):
    """Of port channels."""


class RankGroup(Record, frozen=True):
    """The ranks of a multicast group, and the stated size, which the runtime never reads."""

    size: Index
    ranks: Indices


class SwitchGroups(Record, frozen=True, tag_field="channel_type", tag="switch"):
    """Multicast groups, with the buffer that all their ranks bind."""

    buffer: Buffer = field(name="buffer_type")
    groups: tuple[RankGroup, ...] = field(name="rank_groups")


class RemoteBuffer(Record, frozen=True):
    """Another rank's buffer: rank, buffer, and types of channel that reach it."""

    rank: Index
    buffer: Buffer = field(name="type")
    access: tuple[Literal["memory", "port", "switch"], ...] = field(name="access_channel_types")


class PlanSemaphore(Record, frozen=True):
    """A semaphore of a rank, and the value at which it begins."""

    value: Index = field(name="init_value")


class PlanGpu(Record, frozen=True, dict=True):
    """The part of one rank: sizes of its buffers in chunks, channels and thread blocks."""

    id: Index
    input_chunks: Index
    output_chunks: Index
    scratch_chunks: Index
    blocks: tuple[PlanBlock, ...] = field(name="threadblocks")
    channel_groups: tuple[MemoryPeers | PortPeers | SwitchGroups, ...] = field(name="channels")
    remote_buffers: tuple[RemoteBuffer, ...]
    semaphores: tuple[PlanSemaphore, ...] = ()

    @cached_property
    def channels(self) -> Mapping[str, Indices]:
        """The peer of each channel, by type (memory, port)."""
        found: dict[str, Indices] = {"memory": (), "port": ()}
        for one in self.channel_groups:
            if not isinstance(one, SwitchGroups):
                found["port" if isinstance(one, PortPeers) else "memory"] += one.peers
        return found

    @cached_property
    def switches(self) -> tuple[tuple[Indices, Buffer], ...]:
        """The ranks of its multicast groups, each with the buffer that they bind."""
        return tuple(
            (group.ranks, one.buffer)
            for one in self.channel_groups
            if isinstance(one, SwitchGroups)
            for group in one.groups
        )

    def chunks(self, buffer: str) -> int:
        """The size of a buffer."""
        return {"i": self.input_chunks, "o": self.output_chunks, "s": self.scratch_chunks}[buffer]


class StatedPlaces(Record, frozen=True):
    """The chunks in each rank's input and output, if the plan states them."""

    collective: str
    combining: bool
    inputs: tuple[Indices, ...]
    outputs: tuple[Indices, ...]

    def __post_init__(self) -> None:
        if any(len(set(one)) < len(one) for one in (*self.inputs, *self.outputs)):
            raise ValueError("a chunk is in two places of one buffer")


class ExecutionPlan(Record, frozen=True):
    """An execution plan.

    Args:
        alignment: divisor of chunk sizes in bytes.
        min_size: the smallest message in bytes.
        max_size: the largest one.
        reuse_resources: whether calls share scratch of a fixed size.
        double_scratch: whether calls take turns with two halves of scratch.
        stated: the places of chunks, which the runtime ignores.
    """

    name: str
    collective: str
    protocol: str
    inplace: bool
    gpus: tuple[PlanGpu, ...]
    threads: Index = field(name="num_threads_per_block", default=1024)
    alignment: Index = field(name="buffer_alignment", default=16)
    min_size: Index = field(name="min_message_size", default=0)
    max_size: Annotated[int, Meta(ge=0)] = field(name="max_message_size", default=_LARGEST)
    reuse_resources: bool = False
    double_scratch: bool = field(name="use_double_scratch_buffer", default=False)
    stated: StatedPlaces | None = field(name="syncoll", default=None)

    def __post_init__(self) -> None:
        if self.max_size > _LARGEST:
            raise ValueError(f"max_message_size is {self.max_size}, out of range")

    @property
    def blocks(self) -> Iterator[tuple[PlanGpu, PlanBlock]]:
        """All thread blocks, with their ranks."""
        return ((gpu, block) for gpu in self.gpus for block in gpu.blocks)


def read_plan(content: bytes) -> ExecutionPlan:
    """Reads a file; VerificationError if it is not JSON of the schema of v0.8 and later."""
    try:
        value = json.loads(content.decode("utf-8"), parse_constant=_no_constant)
    except RecursionError:
        raise VerificationError("not JSON that the runtime reads: nested too deeply") from None
    except ValueError as error:
        raise VerificationError(f"not JSON: {error}") from None
    if isinstance(value, dict):
        _refuse_old_schema(value)
    try:
        plan: ExecutionPlan = read_record(value, ExecutionPlan, "")
    except FileFormatError as error:
        raise VerificationError(str(error).removeprefix(": ")) from None
    return plan


def _refuse_old_schema(value: Mapping[str, Any]) -> None:
    gpus = value.get("gpus")
    for number, gpu in enumerate(gpus if isinstance(gpus, list) else ()):
        if isinstance(gpu, dict) and (old := [key for key in _OLD_KEYS if key in gpu]):
            raise VerificationError(
                f"gpus[{number}]: it has {old[0]!r}, from the schema before v0.8; the "
                "runtime no longer loads such plans"
            )
    if "collective" not in value and "colletive" in value:
        raise VerificationError(
            "it has 'colletive', from the schema before v0.8; expected 'collective'"
        )


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _by_kind(
    kinds: tuple[str, ...], entries: tuple[BlockChannels, ...] | tuple[BlockBuffers, ...]
) -> Mapping[str, Indices]:
    found: dict[str, Indices] = dict.fromkeys(kinds, ())
    for one in entries:
        found[one.kind] += one.ids
    return found
