"""Writes an algorithm as traces: sends and receives of one chunk each, and reductions.

A trace has no buffers, only nodes that wait for one another: what a node makes never changes, so a
node waits for what it reads, and never for room.  Copies within a rank take no part.  In place and
out of place are hence the same trace.

Receives wait for nothing; they are posted from the start.  With ``steps=strict`` a send also waits
for everything that its rank does in earlier steps.

Beside what ASTRA-sim reads, nodes say what they read (``syncoll_reads``: nodes; ``syncoll_inputs``:
chunks of the rank's own data), and the metadata what the rank starts with and must end with, so
that a checker can follow the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from syncoll.errors import ExportError
from syncoll.plugins import Exported, ExportRequest, OptionValue
from syncoll.runtime import Action, Kind, Layout, LoweredAlgorithm, Operation, Slot, lower
from syncoll_chakra.messages import NodeType, delimited, new_metadata, new_node, set_attribute

__all__ = ["ChakraExporter"]

_SCHEMA_VERSION = "0.0.4"
_DEFAULT_CHUNK = 1 << 20

_SYSTEM_KEYS = {
    Kind.ALLREDUCE: "all-reduce-implementation-custom",
    Kind.ALLGATHER: "all-gather-implementation-custom",
    Kind.REDUCESCATTER: "reduce-scatter-implementation-custom",
    Kind.ALLTOALL: "all-to-all-implementation-custom",
}
"""What ASTRA-sim's system file calls an algorithm's traces."""


class ChakraExporter:
    """Writes ``NAME.RANK.et`` for every rank."""

    def export(self, request: ExportRequest, options: Mapping[str, OptionValue]) -> Exported:
        """The traces of an algorithm.

        Args:
            request: the algorithm; whether it is in place makes no difference.
            options: `syncoll_chakra.OPTIONS`.

        Raises:
            ExportError: when the message has fewer bytes than chunks.
        """
        lowered = lower(replace(request, in_place=False))
        sizes = _Sizes.of(lowered.layout, request, int(options["size"]))
        strict = options["steps"] == "strict"
        tags = _tags(lowered)
        files = {
            f"{request.name}.{rank}.et": _trace(request, lowered, rank, sizes, tags, strict)
            for rank in range(len(lowered.ranks))
        }
        return Exported(files, (*_use(request, lowered.layout), *sizes.notes))


@dataclass(frozen=True)
class _Sizes:
    """How many bytes chunks have.

    Args:
        size: of the whole message.
        numbers: of each chunk, which of the message's chunks it is.
        count: chunks of the message.
        scalable: whether newer versions of ASTRA-sim can scale the chunks to the size of the
            collective that is simulated; they do so only for counts that P divides.
    """

    size: int
    numbers: np.ndarray[tuple[int, ...], np.dtype[np.int64]]
    count: int
    scalable: bool

    @staticmethod
    def of(layout: Layout, request: ExportRequest, wanted: int) -> _Sizes:
        kind, nodes = layout.collective.kind, layout.collective.num_nodes
        count = layout.collective.loop_chunks
        if kind is Kind.CUSTOM:
            count = request.instance.num_chunks
            numbers = np.arange(count)
        else:
            # All ranks that have the message have a chunk at the same place of it, and of alltoall
            # only one has it.
            large = (Kind.REDUCESCATTER, Kind.SCATTER, Kind.ALLTOALL)
            numbers = (layout.inputs if kind in large else layout.outputs).max(axis=1)
        size = wanted or min(max(count * _DEFAULT_CHUNK, request.min_bytes), request.max_bytes)
        if size < count:
            raise ExportError(
                f"a message of {size} bytes cannot be cut into {count} chunks of at least a byte; "
                f"expected a size of at least {count} bytes"
            )
        return _Sizes(size, numbers, count, kind in _SYSTEM_KEYS and count % nodes == 0)

    def bytes_of(self, chunk: int) -> int:
        """Of a chunk; where the size does not divide evenly the first ones have a byte more."""
        each, more = divmod(self.size, self.count)
        return each + (int(self.numbers[chunk]) < more)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know about them."""
        each, more = divmod(self.size, self.count)
        text = f"the message has {self.size} bytes in {self.count} chunks of {each}"
        return (f"{text} or {each + 1}, as it does not divide evenly" if more else text,)


def _use(request: ExportRequest, layout: Layout) -> tuple[str, ...]:
    kind = layout.collective.kind
    if (key := _SYSTEM_KEYS.get(kind)) is not None:
        return (f'in the system file of ASTRA-sim: "{key}": ["FOLDER/{request.name}"]',)
    keys = ", ".join(_SYSTEM_KEYS.values())
    return (
        f"ASTRA-sim has custom algorithms under the keys {keys} only; to play this {kind}, give it "
        f'as one of these, and simulate that collective: ["FOLDER/{request.name}"]',
    )


def _tags(lowered: LoweredAlgorithm) -> list[int]:
    """Of each message, its number among those from its source to its destination."""
    used: dict[tuple[int, int], int] = {}
    tags = []
    for message in lowered.messages:
        pair = (message.source, message.destination)
        tags.append(used.get(pair, 0))
        used[pair] = tags[-1] + 1
    return tags


@dataclass(frozen=True)
class _Origin:
    """What made a value: a node, or nobody, where it is the rank's own data of a chunk."""

    node: int | None
    chunk: int


def _trace(
    request: ExportRequest,
    lowered: LoweredAlgorithm,
    rank: int,
    sizes: _Sizes,
    tags: list[int],
    strict: bool,
) -> bytes:
    """One rank's file."""
    layout, instance = lowered.layout, request.instance
    origins: dict[Slot, _Origin] = {}
    for chunk in np.flatnonzero(instance.pre[:, rank]).tolist():
        slot = layout.input_slot(chunk, rank)
        assert slot is not None
        origins[slot] = _Origin(None, chunk)
    parts = [delimited(_metadata(request, layout, rank))]
    step, earlier, pending = -1, list[int](), list[int]()
    number = 0
    for operation in lowered.ranks[rank].operations:
        read = [origins[slot] for slot in operation.sources]
        if operation.action is Action.COPY:
            assert operation.target is not None
            origins[operation.target] = read[0]
            continue
        if operation.step != step:
            step, earlier = operation.step, pending
        waits = {origin.node for origin in read if origin.node is not None}
        if strict and operation.action is Action.SEND:
            if pending is earlier:  # the first of its step: what follows waits for the sends alone
                pending = []
            waits |= set(earlier)
        node = _node(number, operation, sorted(waits), read)
        if operation.message is not None:
            size = sizes.bytes_of(operation.chunk)
            _describe_message(node, operation, tags[operation.message], size)
            _describe_scaling(node, sizes, operation.chunk)
        if operation.target is not None:
            origins[operation.target] = _Origin(number, operation.chunk)
        parts.append(delimited(node))
        pending.append(number)
        number += 1
    if not number:  # the reader refuses a file without nodes, and such a rank would never end
        node = new_node()
        node.name, node.type = "nothing to do", NodeType.COMPUTE
        parts.append(delimited(node))
    return b"".join(parts)


def _metadata(request: ExportRequest, layout: Layout, rank: int) -> Any:
    instance, metadata = request.instance, new_metadata()
    metadata.version = _SCHEMA_VERSION
    for name, kind, value in (
        ("syncoll_name", "string_val", request.name),
        ("syncoll_collective", "string_val", str(layout.collective.kind)),
        ("syncoll_combining", "bool_val", instance.combining),
        ("syncoll_rank", "int64_val", rank),
        ("syncoll_ranks", "int64_val", layout.collective.num_nodes),
        ("syncoll_chunks", "int64_val", instance.num_chunks),
        ("syncoll_starts", "uint64_list", np.flatnonzero(instance.pre[:, rank]).tolist()),
        ("syncoll_ends", "uint64_list", np.flatnonzero(instance.post[:, rank]).tolist()),
    ):
        set_attribute(metadata, name, kind, value)
    return metadata


_WORDS = {
    Action.SEND: ("send chunk {} to {}", NodeType.SEND),
    Action.RECEIVE: ("receive chunk {} from {}", NodeType.RECEIVE),
    Action.REDUCE: ("reduce chunk {}", NodeType.COMPUTE),
}


def _node(number: int, operation: Operation, waits: list[int], read: list[_Origin]) -> Any:
    words, kind = _WORDS[operation.action]
    node = new_node()
    node.id, node.type = number, kind
    node.name = f"{words.format(operation.chunk, operation.peer)}, step {operation.step}"
    node.data_deps.extend(waits)
    set_attribute(node, "syncoll_step", "int64_val", operation.step)
    if nodes := [origin.node for origin in read if origin.node is not None]:
        set_attribute(node, "syncoll_reads", "uint64_list", nodes)
    if inputs := [origin.chunk for origin in read if origin.node is None]:
        set_attribute(node, "syncoll_inputs", "uint64_list", inputs)
    return node


def _describe_message(node: Any, operation: Operation, tag: int, size: int) -> None:
    """What ASTRA-sim needs; it pairs messages by ranks, tag and size."""
    sends = operation.action is Action.SEND
    kind = NodeType.SEND if sends else NodeType.RECEIVE
    set_attribute(node, "comm_type", "int64_val", int(kind))
    set_attribute(node, "comm_size", "int64_val", size)
    set_attribute(node, "comm_dst" if sends else "comm_src", "int32_val", operation.peer)
    set_attribute(node, "comm_tag", "int32_val", tag)


def _describe_scaling(node: Any, sizes: _Sizes, chunk: int) -> None:
    """What newer versions of ASTRA-sim demand beside: which part of the whole this is.

    They take the size of the simulated collective then; -1 tells them to keep to ``comm_size``.
    """
    number = int(sizes.numbers[chunk]) if sizes.scalable else -1
    set_attribute(node, "msg_chunk_cnt", "int32_val", 1 if sizes.scalable else -1)
    set_attribute(node, "msg_chunk_idx", "int32_val", number)
    set_attribute(node, "total_chunk_cnt", "int32_val", sizes.count if sizes.scalable else -1)
