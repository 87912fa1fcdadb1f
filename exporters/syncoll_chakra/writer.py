"""Writes an algorithm as traces; docs/chakra.md has their nodes, attributes and dependencies."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from io import BytesIO
from typing import Any

import numpy as np
from google.protobuf.proto import serialize_length_prefixed

from syncoll.plugins import Exported, ExportRequest, Options
from syncoll.plugins.exporters import PLACE
from syncoll.protobuf import message_classes
from syncoll.runtime import Action, Kind, Layout, LoweredAlgorithm, lower
from syncoll.runtime.graphs import GraphNode, MessageRuns, MessageSizes, lanes_out, rank_nodes


class NodeType(IntEnum):
    """The types of nodes in custom collectives."""

    COMPUTE = 4
    SEND = 5
    RECEIVE = 6


# The part of schema/protobuf/et_def.proto of mlcommons/chakra that is written.
_MESSAGES = {
    "Uint64List": "1 values uint64*",
    "AttributeProto": "1 name string, 7 int32_val int32, 9 int64_val int64, "
    "14 uint64_list Uint64List, 27 bool_val bool, 29 string_val string",
    "GlobalMetadata": "1 version string, 2 attr AttributeProto*",
    # The type is an enumeration, which is the same on the wire.
    "Node": "1 id uint64, 2 name string, 3 type int32, 4 ctrl_deps uint64*, 5 data_deps uint64*, "
    "10 attr AttributeProto*",
}
_CLASSES = message_classes("ChakraProtoMsg", _MESSAGES, union="AttributeProto", last_common=1)
new_metadata, new_node = _CLASSES["GlobalMetadata"], _CLASSES["Node"]


def set_attribute(message: Any, name: str, kind: str, value: object) -> None:
    """Appends an attribute; `kind` is the field of its value, ``uint64_list`` takes a sequence."""
    attribute = message.attr.add(name=name)
    if kind == "uint64_list":
        attribute.uint64_list.SetInParent()
        attribute.uint64_list.values.extend(value)
    else:
        setattr(attribute, kind, value)


def delimited(message: Any) -> bytes:
    """A message with its length before it, as a varint."""
    stream = BytesIO()
    serialize_length_prefixed(message, stream)
    return stream.getvalue()


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

    def export(self, request: ExportRequest, options: Options) -> Exported:
        """See `syncoll.plugins.Exporter`; whether it is in place makes no difference."""
        lowered = lower(replace(request, in_place=False))
        sizes = MessageSizes.of(lowered.layout, request, int(options["size"]))
        strict = options["steps"] == "strict"
        runs, lanes = MessageRuns.in_(lowered), lanes_out(request.instance.topology)
        files = {
            f"{request.name}.{rank}.et": _trace(request, lowered, rank, sizes, runs, lanes, strict)
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
    runs: MessageRuns,
    lanes: Mapping[tuple[int, int], int],
    strict: bool,
) -> bytes:
    """One rank's file."""
    # Newer versions of ASTRA-sim scale chunks to the simulated size if P divides them.
    collective = lowered.layout.collective
    scalable = collective.kind in _SYSTEM_KEYS and sizes.count % collective.num_nodes == 0
    parts = [delimited(_metadata(request, lowered.layout, rank, sizes))]
    step, earlier, pending = -1, list[int](), list[int]()
    order = dict[int, _Lane]()
    for planned in rank_nodes(request, lowered, runs, rank):
        operation = planned.operation
        if operation.step != step:
            step, earlier = operation.step, pending
        waits, after = set(planned.reads), list[int]()
        if operation.action is Action.SEND and not strict:
            assert operation.peer is not None
            lane = order.setdefault(lanes[rank, operation.peer], _Lane())
            after = lane.before(planned.number, step)
        if strict and operation.action is Action.SEND:
            if pending is earlier:  # the first of its step: later sends wait for the sends alone
                pending = []
            waits |= set(earlier)
        node = _node(planned, sorted(waits), after)
        if operation.message is not None:
            # ASTRA-sim pairs messages by ranks, tag and size.  Newer versions demand the part of a
            # chunk in the whole, and then take the size of the simulated collective; -1 makes them
            # keep to comm_size.
            end = "comm_dst" if operation.action is Action.SEND else "comm_src"
            for name, kind, value in (
                ("comm_type", "int64_val", int(node.type)),
                ("comm_size", "int64_val", sizes.bytes_of(planned.chunks)),
                (end, "int32_val", operation.peer),
                ("comm_tag", "int32_val", runs.tags[runs.of[operation.message]]),
                ("msg_chunk_cnt", "int32_val", len(planned.chunks)),
                ("msg_chunk_idx", "int32_val", int(sizes.numbers[planned.chunks[0]])),
                ("total_chunk_cnt", "int32_val", sizes.count),
            ):
                set_attribute(node, name, kind, value if scalable or "chunk" not in name else -1)
        parts.append(delimited(node))
        pending.append(planned.number)
    if len(parts) == 1:  # the reader refuses a file without nodes, and such a rank would never end
        node = new_node()
        node.name, node.type = "nothing to do", NodeType.COMPUTE
        parts.append(delimited(node))
    return b"".join(parts)


@dataclass
class _Lane:
    """The sends of a lane so far: of the step before, and of the current one."""

    step: int = -1
    earlier: list[int] = field(default_factory=list)
    own: list[int] = field(default_factory=list)

    def before(self, number: int, step: int) -> list[int]:
        """The sends of the step before, for a send of a step."""
        if step != self.step:
            self.step, self.earlier, self.own = step, self.own, []
        self.own.append(number)
        return self.earlier


def _metadata(request: ExportRequest, layout: Layout, rank: int, sizes: MessageSizes) -> Any:
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
        ("syncoll_sizes", "uint64_list", sizes.each.tolist()),
    ):
        set_attribute(metadata, name, kind, value)
    return metadata


_WORDS = {
    Action.SEND: ("send {} to {}", NodeType.SEND),
    Action.RECEIVE: ("receive {} from {}", NodeType.RECEIVE),
    Action.REDUCE: ("reduce {}", NodeType.COMPUTE),
}


def _node(planned: GraphNode, waits: list[int], after: list[int]) -> Any:
    operation = planned.operation
    words, kind = _WORDS[operation.action]
    node = new_node()
    node.id, node.type = planned.number, kind
    first, *others = planned.chunks
    moved = f"chunks {first} to {others[-1]}" if others else f"chunk {first}"
    node.name = f"{words.format(moved, operation.peer)}, step {operation.step}"
    node.data_deps.extend(waits)
    node.ctrl_deps.extend(after)
    set_attribute(node, "syncoll_step", "int64_val", operation.step)
    if planned.reads:
        set_attribute(node, "syncoll_reads", "uint64_list", list(planned.reads))
    if planned.inputs:
        set_attribute(node, "syncoll_inputs", "uint64_list", list(planned.inputs))
    if operation.action is not Action.RECEIVE and planned.several:
        set_attribute(node, "syncoll_chunks", "uint64_list", planned.chunks)
    return node
