"""Checks traces: reads all ranks' files, plays them together, and follows the data.

The schema is that of ``schema/protobuf/et_def.proto`` of mlcommons/chakra, independent of the
writer's.  The protobuf library drops all but the last of a repeated field, and keeps fields of
another type or of an unknown schema; the checker finds both.

Traces of other tools do not state the contents of their messages.  The rest is checked, and the
facts say that the data were not followed.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

from syncoll.errors import VerificationError
from syncoll.model import Instance
from syncoll.plugins import CheckedExport, Options
from syncoll.protobuf import message_classes
from syncoll_messages import Expected, MessageNode, NodeKind, RankGraph, checked, require_stated

_NAME = re.compile(r"(?P<prefix>.+)\.(?P<rank>0|[1-9][0-9]{0,8})\.et")


class ChakraChecker:
    """Reads traces as ASTRA-sim's custom collectives would, and plays them."""

    def check(
        self, files: Mapping[str, bytes], options: Options, instance: Instance | None = None
    ) -> CheckedExport:
        """See `syncoll.plugins.ExportChecker`; only files that end in ``.et`` count.  Of traces
        without a stated purpose, only the end of all ranks and the receipt of all messages are
        checked.
        """
        traces = _read(files)
        expected = expected_of_traces(traces)
        return checked("Chakra execution traces", traces, expected, instance)


def _read(files: Mapping[str, bytes]) -> "list[Trace]":
    """The traces in order of ranks."""
    found: dict[str, dict[int, str]] = {}
    for name in files:
        if not name.endswith(".et"):
            continue
        match = _NAME.fullmatch(name)
        if match is None:
            raise VerificationError(f"{name}: no rank in its name; expected PREFIX.RANK.et")
        found.setdefault(match["prefix"], {})[int(match["rank"])] = name
    if not found:
        raise VerificationError("there are no traces; expected files PREFIX.RANK.et")
    if len(found) > 1:
        raise VerificationError(
            "the folder has traces of several algorithms or workloads: "
            + ", ".join(f"{prefix}.*.et" for prefix in sorted(found))
            + "; expected one"
        )
    ((prefix, names),) = found.items()
    for rank in range(max(names)):
        if rank not in names:
            raise VerificationError(
                f"{prefix}.{rank}.et is missing; there are traces up to rank {max(names)}"
            )
    return [
        read_trace(files[names[rank]], names[rank], rank, len(names)) for rank in range(len(names))
    ]


_MOST_CHUNKS = 1 << 31


def expected_of_traces(traces: "Sequence[Trace]") -> Expected | None:
    """The demands that all files or none state; VerificationError if they contradict each other."""
    telling = [trace for trace in traces if "syncoll_chunks" in trace.metadata]
    if not telling:
        return None
    if len(telling) < len(traces):
        silent = next(trace for trace in traces if trace not in telling)
        raise VerificationError(
            f"{silent.where}: the chunks that its rank starts and ends with are missing; "
            f"{telling[0].where} has them"
        )
    claims, starts, ends = set(), list[frozenset[int]](), list[frozenset[int]]()
    sizes = set[tuple[int, ...] | None]()
    for trace in traces:
        metadata = trace.metadata
        chunks = metadata.integer("syncoll_chunks", low=1, high=_MOST_CHUNKS)
        name = metadata.typed("syncoll_collective", str, "text")
        claims.add((name, metadata.typed("syncoll_combining", bool, "boolean"), chunks))
        for name, value in (("syncoll_ranks", len(traces)), ("syncoll_rank", trace.rank)):
            if (stated := metadata.integer(name, low=0, high=1 << 31)) != value:
                raise VerificationError(
                    f"{trace.where}: its metadata has {name} {stated}; the files have {value}"
                )
        starts.append(frozenset(metadata.integers("syncoll_starts", below=chunks)))
        ends.append(frozenset(metadata.integers("syncoll_ends", below=chunks)))
        each = metadata.integers("syncoll_sizes", below=_MOST_BYTES, distinct=False)
        sizes.add(tuple(each) or None)
    if len(claims) > 1:
        raise VerificationError(
            f"the files of one folder are for different collectives: {sorted(claims)}"
        )
    ((name, combining, chunks),) = claims
    known = sizes.pop()
    expected = Expected(combining, chunks, tuple(starts), tuple(ends), known)
    require_stated(expected, name, traces[0].where)
    if sizes or (known is not None and (len(known) != chunks or 0 in known)):
        raise VerificationError(
            f"{traces[0].where}: syncoll_sizes differs from file to file, or is not a size above 0 "
            f"for each of {chunks} chunks"
        )
    return expected


_SCALARS = "double float int32 int64 uint32 uint64 sint32 sint64 fixed32 fixed64 sfixed32 sfixed64"
_SCALARS += " bool string bytes"
_MESSAGES = {
    "GlobalMetadata": "1 version string, 2 attr Attribute*",
    # The type is an enumeration, which is the same on the wire; inputs and outputs are messages
    # that are not read.
    "Node": "1 id uint64, 2 name string, 3 type int32, 4 ctrl_deps uint64*, 5 data_deps uint64*, "
    "6 start_time_micros uint64, 7 duration_micros uint64, 8 inputs bytes, 9 outputs bytes, "
    "10 attr Attribute*",
    "Attribute": "1 name string, 2 doc_string string",
}
for _i, _kind in enumerate(_SCALARS.split()):
    _MESSAGES[f"List_{_kind}"] = f"1 values {_kind}*"
    _MESSAGES["Attribute"] += f", {3 + 2 * _i} {_kind}_val {_kind}"
    _MESSAGES["Attribute"] += f", {4 + 2 * _i} {_kind}_list List_{_kind}"

_CLASSES = message_classes("read", _MESSAGES, union="Attribute", last_common=2)


def split(content: bytes, where: str) -> Iterator[bytes]:
    """The messages of a file, each after its length; VerificationError if one is cut off."""
    position, number = 0, 0
    while position < len(content):
        place = f"{where}: message {number} at byte {position}"
        size = next(
            (i for i, byte in enumerate(content[position : position + 5], 1) if byte < 0x80), 0
        )
        if not size:
            raise VerificationError(f"{place}: its length is cut off, or has more than five bytes")
        length = sum(
            (byte & 0x7F) << 7 * i for i, byte in enumerate(content[position : position + size])
        )
        start = position + size
        if start + length > len(content):
            raise VerificationError(
                f"{place}: it should have {length} bytes, but the file ends after "
                f"{len(content) - start}"
            )
        yield content[start : start + length]
        position, number = start + length, number + 1


def read_message(name: str, content: bytes, where: str) -> Any:
    """A ``GlobalMetadata`` or ``Node``; VerificationError if it is cut off or has a field twice."""
    message = _CLASSES[name]()
    try:
        message.ParseFromString(content)
    except DecodeError as error:
        raise VerificationError(f"{where}: it is not a {name} of Chakra: {error}") from None
    if message.ByteSize() != len(content):
        raise VerificationError(
            f"{where}: it has {len(content)} bytes, but its fields take {message.ByteSize()}; "
            "expected each field once, as the protobuf library writes it"
        )
    for one in (message, *message.attr):
        known = one.DESCRIPTOR.fields_by_number
        unknown = UnknownFieldSet(one)
        for number in (unknown[i].field_number for i in range(len(unknown))):
            if number in known or name == "GlobalMetadata":
                raise VerificationError(f"{where}: field {number} of a {name} is not of this type")
    return message


_Typed = TypeVar("_Typed", str, bool)
Value = bool | int | float | str | bytes | list[Any] | None


class Attributes:
    """The attributes of one message; a name that occurs twice, or another type, is an error."""

    def __init__(self, message: Any, where: str) -> None:
        self._where = where
        self._values: dict[str, Value] = {}
        for attribute in message.attr:
            if attribute.name in self._values:
                raise VerificationError(f"{where}: attribute {attribute.name!r} occurs twice")
            kind = attribute.WhichOneof("value") or ""
            value: Any = getattr(attribute, kind) if kind else None
            self._values[attribute.name] = list(value.values) if kind.endswith("_list") else value

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def integer(self, name: str, *, low: int, high: int, default: int | None = None) -> int:
        """An integer within bounds; an error if it is missing without a default."""
        if name not in self._values:
            if default is not None:
                return default
            raise self._wrong(f"attribute {name} is missing")
        value = self._values[name]
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._wrong(f"attribute {name} is not an integer")
        if not low <= value <= high:
            raise self._wrong(f"attribute {name} is {value}; expected {low} to {high}")
        return value

    def integers(self, name: str, *, below: int, distinct: bool = True) -> list[int]:
        """A list of integers from 0 on, by default of different ones; empty if missing."""
        value = self._values.get(name, [])
        if not isinstance(value, list) or any(type(one) is not int for one in value):
            raise self._wrong(f"attribute {name} is not a list of integers")
        for one in value:
            if not 0 <= one < below:
                raise self._wrong(f"attribute {name} has {one}; expected 0 to {below - 1}")
        if distinct and len(set(value)) < len(value):
            raise self._wrong(f"attribute {name} lists a number twice")
        return value

    def typed(self, name: str, kind: type[_Typed], word: str) -> _Typed:
        """A text or boolean; `word` names its type in the error."""
        value = self._values.get(name)
        if not isinstance(value, kind):
            raise self._wrong(f"attribute {name} is missing, or not a {word}")
        return value

    def _wrong(self, message: str) -> VerificationError:
        return VerificationError(f"{self._where}: {message}")


_MOST_BYTES = (1 << 63) - 1
_LARGEST_TAG = (1 << 31) - 1

_KINDS = {4: NodeKind.COMPUTE, 5: NodeKind.SEND, 6: NodeKind.RECEIVE}
"""The types of nodes that a custom collective of ASTRA-sim executes."""

_OTHER_KINDS = {
    0: "INVALID_NODE",
    1: "METADATA_NODE",
    2: "MEM_LOAD_NODE",
    3: "MEM_STORE_NODE",
    7: "COMM_COLL_NODE",
    8: "STORAGE_NODE",
    9: "BATCH_NODE",
    10: "CHECKPOINT_NODE",
}


@dataclass(frozen=True)
class Trace(RankGraph):
    """A rank's trace, with the metadata of its first message."""

    metadata: Attributes


def read_trace(content: bytes, where: str, rank: int, num_ranks: int) -> Trace:
    """A trace; VerificationError if ASTRA-sim could not load it, or would play something else."""
    parts = split(content, where)
    first = next(parts, None)
    if first is None:
        raise VerificationError(f"{where}: the file is empty; expected metadata and nodes")
    try:
        message = read_message("GlobalMetadata", first, f"{where}: its metadata")
    except VerificationError as error:
        raise VerificationError(
            f"{where}: its first message is not metadata, and would be lost; expected a "
            f"GlobalMetadata before the nodes ({error})"
        ) from None
    metadata = Attributes(message, f"{where}: its metadata")
    nodes: dict[int, MessageNode] = {}
    for i, part in enumerate(parts):
        node = _node(part, f"{where}: node number {i} in it", where, rank, num_ranks)
        if node.number in nodes:
            raise VerificationError(
                f"{where}: two nodes have the id {node.number}; only the last would be played"
            )
        nodes[node.number] = node
    trace = Trace(rank, where, nodes, metadata)
    if not nodes:
        raise VerificationError(
            f"{where}: rank {rank} has no nodes, which ASTRA-sim takes for a deadlock; expected at "
            "least a COMP_NODE that does nothing"
        )
    for number, node in nodes.items():
        for other in (*node.waits, *node.reads):
            if other not in nodes:
                raise trace.wrong(number, f"it depends on node {other}, which does not exist")
            if other == number:
                raise trace.wrong(number, "it depends on itself")
    return trace


def _node(content: bytes, place: str, where: str, rank: int, num_ranks: int) -> MessageNode:
    message = read_message("Node", content, place)
    number, kind = message.id, message.type
    place = f"{where}: rank {rank}, node {number}"
    if kind not in _KINDS:
        name = _OTHER_KINDS.get(kind, "unknown")
        raise VerificationError(
            f"{place}: its type is {kind} ({name}), which a custom collective does not execute, so "
            "that the rank would never end; expected COMP_NODE, COMM_SEND_NODE or COMM_RECV_NODE"
        )
    attributes = Attributes(message, place)
    data = tuple(dict.fromkeys(message.data_deps))
    peer, tag, size = -1, -1, 0
    if _KINDS[kind] is not NodeKind.COMPUTE:
        peer, tag, size = _message(attributes, _KINDS[kind], place, rank, num_ranks)
    most = 1 << 63
    return MessageNode(
        number,
        message.name,
        _KINDS[kind],
        tuple(dict.fromkeys((*data, *message.ctrl_deps))),
        data,
        peer,
        tag,
        size,
        tuple(attributes.integers("syncoll_reads", below=most)),
        tuple(attributes.integers("syncoll_inputs", below=most)),
        chunks=tuple(attributes.integers("syncoll_chunks", below=most)) or None,
    )


def _message(
    attributes: Attributes, kind: NodeKind, place: str, rank: int, num_ranks: int
) -> tuple[int, int, int]:
    """Peer, tag and size of a send or receive."""
    last = num_ranks - 1
    mine, other = ("comm_src", "comm_dst") if kind is NodeKind.SEND else ("comm_dst", "comm_src")
    if attributes.integer(mine, low=0, high=last, default=rank) != rank:
        raise VerificationError(f"{place}: its {mine} is not its own rank")
    peer = attributes.integer(other, low=0, high=last)
    if peer == rank:
        raise VerificationError(f"{place}: rank {rank} exchanges a message with itself")
    tag = attributes.integer("comm_tag", low=0, high=_LARGEST_TAG)
    size = attributes.integer("comm_size", low=1, high=_MOST_BYTES)
    return peer, tag, size
