"""Writes an algorithm as traces: sends and receives of one chunk each, and reductions.

Receives wait for nothing; they are posted from the start.  With ``steps=strict`` a send also waits
for all operations of its rank in earlier steps.

Nodes also state their inputs (``syncoll_reads``: nodes; ``syncoll_inputs``: chunks of the rank's
own data), and the metadata the chunks that the rank starts and must end with, so that a checker can
follow the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from syncoll.plugins import Exported, ExportRequest, OptionValue
from syncoll.plugins.exporters import PLACE
from syncoll.runtime import (
    Action,
    GraphNode,
    Kind,
    Layout,
    LoweredAlgorithm,
    MessageSizes,
    Operation,
    lower,
    message_tags,
    rank_nodes,
)
from syncoll_chakra.messages import NodeType, delimited, new_metadata, new_node, set_attribute

__all__ = ["ChakraExporter"]

_SCHEMA_VERSION = "0.0.4"

_SYSTEM_KEYS = {
    Kind.ALLREDUCE: "all-reduce-implementation-custom",
    Kind.ALLGATHER: "all-gather-implementation-custom",
    Kind.REDUCESCATTER: "reduce-scatter-implementation-custom",
    Kind.ALLTOALL: "all-to-all-implementation-custom",
}
"""The keys of an algorithm's traces in ASTRA-sim's system file."""


class ChakraExporter:
    """Writes ``NAME.RANK.et`` for every rank."""

    def export(self, request: ExportRequest, options: Mapping[str, OptionValue]) -> Exported:
        """See `syncoll.plugins.Exporter`; whether it is in place makes no difference."""
        lowered = lower(replace(request, in_place=False))
        sizes = MessageSizes.of(lowered.layout, request, int(options["size"]))
        strict = options["steps"] == "strict"
        tags = message_tags(lowered)
        files = {
            f"{request.name}.{rank}.et": _trace(request, lowered, rank, sizes, tags, strict)
            for rank in range(len(lowered.ranks))
        }
        return Exported(files, (*_use(request, lowered.layout), *sizes.notes))


def _use(request: ExportRequest, layout: Layout) -> tuple[str, ...]:
    kind = layout.collective.kind
    if (key := _SYSTEM_KEYS.get(kind)) is not None:
        return (f'in the system file of ASTRA-sim: "{key}": ["{PLACE}/{request.name}"]',)
    keys = ", ".join(_SYSTEM_KEYS.values())
    return (
        f"ASTRA-sim has custom algorithms under the keys {keys} only; to play this {kind}, give it "
        f'as one of these, and simulate that collective: ["{PLACE}/{request.name}"]',
    )


def _trace(
    request: ExportRequest,
    lowered: LoweredAlgorithm,
    rank: int,
    sizes: MessageSizes,
    tags: list[int],
    strict: bool,
) -> bytes:
    """One rank's file."""
    # Newer versions of ASTRA-sim scale chunks to the simulated size, if P divides them.
    collective = lowered.layout.collective
    scalable = collective.kind in _SYSTEM_KEYS and sizes.count % collective.num_nodes == 0
    parts = [delimited(_metadata(request, lowered.layout, rank))]
    step, earlier, pending = -1, list[int](), list[int]()
    for planned in rank_nodes(request, lowered, rank):
        operation = planned.operation
        if operation.step != step:
            step, earlier = operation.step, pending
        waits = set(planned.reads)
        if strict and operation.action is Action.SEND:
            if pending is earlier:  # the first of its step: later sends wait for the sends alone
                pending = []
            waits |= set(earlier)
        node = _node(planned, sorted(waits))
        if operation.message is not None:
            size = sizes.bytes_of(operation.chunk)
            _describe_message(node, operation, tags[operation.message], size)
            _describe_scaling(node, sizes, operation.chunk, scalable)
        parts.append(delimited(node))
        pending.append(planned.number)
    if len(parts) == 1:  # the reader refuses a file without nodes, and such a rank would never end
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


def _node(planned: GraphNode, waits: list[int]) -> Any:
    operation = planned.operation
    words, kind = _WORDS[operation.action]
    node = new_node()
    node.id, node.type = planned.number, kind
    node.name = f"{words.format(operation.chunk, operation.peer)}, step {operation.step}"
    node.data_deps.extend(waits)
    set_attribute(node, "syncoll_step", "int64_val", operation.step)
    if planned.reads:
        set_attribute(node, "syncoll_reads", "uint64_list", list(planned.reads))
    if planned.inputs:
        set_attribute(node, "syncoll_inputs", "uint64_list", list(planned.inputs))
    return node


def _describe_message(node: Any, operation: Operation, tag: int, size: int) -> None:
    """The attributes that ASTRA-sim needs; it pairs messages by ranks, tag and size."""
    sends = operation.action is Action.SEND
    kind = NodeType.SEND if sends else NodeType.RECEIVE
    set_attribute(node, "comm_type", "int64_val", int(kind))
    set_attribute(node, "comm_size", "int64_val", size)
    set_attribute(node, "comm_dst" if sends else "comm_src", "int32_val", operation.peer)
    set_attribute(node, "comm_tag", "int32_val", tag)


def _describe_scaling(node: Any, sizes: MessageSizes, chunk: int, scalable: bool) -> None:
    """The chunk's part of the whole, which newer versions of ASTRA-sim demand.

    They take the size of the simulated collective then; -1 makes them keep to ``comm_size``.
    """
    number = int(sizes.numbers[chunk]) if scalable else -1
    set_attribute(node, "msg_chunk_cnt", "int32_val", 1 if scalable else -1)
    set_attribute(node, "msg_chunk_idx", "int32_val", number)
    set_attribute(node, "total_chunk_cnt", "int32_val", sizes.count if scalable else -1)
