"""Plan: what an execution plan says, in the form in which the runtime's loader takes it.

The loader asks for the keys that it needs and ignores the others.  Where it would throw, read
something else than is meant, or fall back silently, reading fails here, with the place.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from syncoll.errors import VerificationError

__all__ = [
    "Block",
    "Gpu",
    "Operation",
    "Plan",
    "Reference",
    "RemoteBuffer",
    "Switch",
    "Told",
    "read_plan",
]

BUFFERS = ("i", "o", "s")
_OLD_KEYS = ("inputChunks", "chunkGroups", "outputChunks", "scratchChunks")
_LARGEST = (1 << 64) - 1
_TOLD = "syncoll"
"""The key beside those of the runtime, by which a plan says which chunk lies where."""


@dataclass(frozen=True)
class Reference:
    """A piece of a buffer that an operation names.

    Args:
        buffer: ``i``, ``o`` or ``s`` of the own rank; empty for others.
        remote: place in the thread block's table of remote buffers; -1 for others.
        switch: place in its table of switch channels; -1 for others.
        index: first chunk.
        size: chunks.
    """

    buffer: str
    remote: int
    switch: int
    index: int
    size: int


@dataclass(frozen=True)
class Operation:
    """One operation of a thread block; what it does not need is empty.

    Args:
        name: as in the file.
        sources: ``src_buff``.
        targets: ``dst_buff``.
        channel_type: memory, port, switch, or none.
        channels: places in the thread block's table of channels of that type.
        group: number in, and size of, the group of thread blocks that share the work.
        barrier: its number, and of how many thread blocks; of a ``barrier``.
        semaphores: their numbers.
        loop_chunks: of a ``pipeline``, how many chunks it runs over.
        loop_unit: bytes of one round of it.
        inner: its operations.
    """

    name: str
    sources: tuple[Reference, ...] = ()
    targets: tuple[Reference, ...] = ()
    channel_type: str = "none"
    channels: tuple[int, ...] = ()
    group: tuple[int, int] = (0, 1)
    barrier: tuple[int, int] | None = None
    semaphores: tuple[int, ...] = ()
    loop_chunks: int = 0
    loop_unit: int = 0
    inner: tuple[Operation, ...] = ()


@dataclass(frozen=True)
class Block:
    """A thread block.

    Args:
        id: its number.
        channels: numbers of channels of the gpu, by type.
        remote_buffers: numbers of remote buffers of the gpu, by the type of access.
        operations: in order.
    """

    id: int
    channels: Mapping[str, tuple[int, ...]]
    remote_buffers: Mapping[str, tuple[int, ...]]
    operations: tuple[Operation, ...]


@dataclass(frozen=True)
class RemoteBuffer:
    """Another rank's buffer: whose, which, and by which types of channel it is reached."""

    rank: int
    buffer: str
    access: tuple[str, ...]


@dataclass(frozen=True)
class Switch:
    """A multicast group: the buffer that all its ranks bind."""

    buffer: str
    size: int
    ranks: tuple[int, ...]


@dataclass(frozen=True)
class Gpu:
    """What one rank does.

    Args:
        id: the rank.
        input_chunks: of its input.
        output_chunks: of its output.
        scratch_chunks: of its scratch.
        channels: the peer of each channel, by type (memory, port).
        switches: its multicast groups.
        remote_buffers: what it reaches of others.
        semaphores: initial values.
        blocks: in the order of the file.
    """

    id: int
    input_chunks: int
    output_chunks: int
    scratch_chunks: int
    channels: Mapping[str, tuple[int, ...]]
    switches: tuple[Switch, ...]
    remote_buffers: tuple[RemoteBuffer, ...]
    semaphores: tuple[int, ...]
    blocks: tuple[Block, ...]

    def chunks(self, buffer: str) -> int:
        """The size of a buffer."""
        return {"i": self.input_chunks, "o": self.output_chunks, "s": self.scratch_chunks}[buffer]


@dataclass(frozen=True)
class Told:
    """Which chunks a plan says that buffers hold; the runtime passes over that.

    Args:
        collective: its name, for people.
        combining: whether what starts at several ranks is to be reduced.
        inputs: of each rank, the chunks in its input, one after the other.
        outputs: of each rank, those that its output must hold in the end.
    """

    collective: str
    combining: bool
    inputs: tuple[tuple[int, ...], ...]
    outputs: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Plan:
    """An execution plan.

    Args:
        name: its label.
        collective: what it does.
        protocol: Simple or LL.
        inplace: whether input and output are one buffer.
        threads: of a thread block.
        alignment: bytes of which chunks are multiples.
        min_size: the smallest message in bytes.
        max_size: the largest one.
        reuse_resources: whether calls share scratch of a fixed size.
        double_scratch: whether calls take turns with two halves of scratch.
        gpus: in the order of the file.
        told: which chunk lies where, beside what the runtime reads; None where it is not said.
    """

    name: str
    collective: str
    protocol: str
    inplace: bool
    threads: int
    alignment: int
    min_size: int
    max_size: int
    reuse_resources: bool
    double_scratch: bool
    gpus: tuple[Gpu, ...]
    told: Told | None = None


def read_plan(content: bytes) -> Plan:
    """Reads a file.

    Raises:
        VerificationError: when it is no JSON, or not of the schema of v0.8 and later.
    """
    try:
        value = json.loads(content.decode("utf-8"), parse_constant=_no_constant)
    except RecursionError:
        raise VerificationError("not JSON that the runtime reads: nested too deeply") from None
    except ValueError as error:
        raise VerificationError(f"not JSON: {error}") from None
    top = _Node(value, "")
    if not isinstance(value, dict):
        top.fail("a plan is an object in braces")
    if "gpus" in value and isinstance(value["gpus"], list):
        for number, gpu in enumerate(value["gpus"]):
            if isinstance(gpu, dict) and (old := [key for key in _OLD_KEYS if key in gpu]):
                raise VerificationError(
                    f"gpus[{number}]: it has {old[0]!r}, as the schema of before v0.8 had; the "
                    "runtime loads such plans no more"
                )
    if "collective" not in value and "colletive" in value:
        top.fail("it has 'colletive', as the schema of before v0.8 had; expected 'collective'")
    return Plan(
        top.text("name"),
        top.text("collective"),
        top.text("protocol"),
        top.truth("inplace"),
        top.number("num_threads_per_block", 1024),
        top.number("buffer_alignment", 16),
        top.number("min_message_size", 0),
        top.number("max_message_size", _LARGEST),
        top.truth("reuse_resources", False),
        top.truth("use_double_scratch_buffer", False),
        tuple(_gpu(one) for one in top.items("gpus")),
        None if (told := top.get(_TOLD)) is None else _told(told),
    )


def _told(node: _Node) -> Told:
    tables = []
    for key in ("inputs", "outputs"):
        table = []
        for one in node.items(key):
            chunks = tuple(chunk.as_number() for chunk in one.elements())
            if len(set(chunks)) < len(chunks):
                one.fail("a chunk lies in two places of one buffer")
            table.append(chunks)
        tables.append(tuple(table))
    return Told(node.text("collective"), node.truth("combining"), *tables)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


class _Node:
    """A value with its place, for messages."""

    def __init__(self, value: Any, place: str) -> None:
        self.value = value
        self.place = place

    def fail(self, message: str) -> NoReturn:
        raise VerificationError(f"{self.place}: {message}" if self.place else message)

    def get(self, key: str) -> _Node | None:
        if not isinstance(self.value, dict):
            self.fail(f"expected an object in braces, not {_short(self.value)}")
        if key not in self.value:
            return None
        return _Node(self.value[key], f"{self.place}.{key}" if self.place else key)

    def need(self, key: str) -> _Node:
        found = self.get(key)
        if found is None:
            self.fail(f"{key!r} is missing")
        return found

    def as_number(self) -> int:
        value = self.value
        if isinstance(value, bool) or not isinstance(value, int):
            self.fail(f"expected a whole number, not {_short(value)}")
        if not 0 <= value <= _LARGEST:
            self.fail(f"{_short(value)} is out of range")
        return value

    def as_text(self) -> str:
        if not isinstance(self.value, str):
            self.fail(f"expected text, not {_short(self.value)}")
        return self.value

    def number(self, key: str, default: int | None = None) -> int:
        found = self.get(key) if default is not None else self.need(key)
        if found is None:
            assert default is not None
            return default
        return found.as_number()

    def text(self, key: str) -> str:
        return self.need(key).as_text()

    def truth(self, key: str, default: bool | None = None) -> bool:
        found = self.get(key) if default is not None else self.need(key)
        if found is None:
            assert default is not None
            return default
        if not isinstance(found.value, bool):
            found.fail(f"expected true or false, not {_short(found.value)}")
        return found.value

    def choice(self, key: str, choices: Sequence[str]) -> str:
        node = self.need(key)
        if node.as_text() not in choices:
            node.fail(f"{node.value!r} is none of {', '.join(choices)}")
        return node.as_text()

    def items(self, key: str, *, optional: bool = False) -> list[_Node]:
        found = self.get(key) if optional else self.need(key)
        return [] if found is None else found.elements()

    def elements(self) -> list[_Node]:
        if not isinstance(self.value, list):
            self.fail(f"expected a list, not {_short(self.value)}")
        return [_Node(one, f"{self.place}[{i}]") for i, one in enumerate(self.value)]

    def numbers(self, key: str, *, optional: bool = False) -> tuple[int, ...]:
        return tuple(one.as_number() for one in self.items(key, optional=optional))


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _gpu(node: _Node) -> Gpu:
    channels: dict[str, tuple[int, ...]] = {"memory": (), "port": ()}
    switches: list[Switch] = []
    for channel in node.items("channels"):
        kind = channel.choice("channel_type", ("memory", "port", "switch"))
        if kind == "switch":
            buffer = channel.choice("buffer_type", BUFFERS)
            switches += [
                Switch(buffer, group.number("size"), group.numbers("ranks"))
                for group in channel.items("rank_groups")
            ]
        else:
            channels[kind] += channel.numbers("connected_to")
    remote = tuple(
        RemoteBuffer(
            one.number("rank"),
            one.choice("type", BUFFERS),
            tuple(
                _among(kind, ("memory", "port", "switch"))
                for kind in one.items("access_channel_types")
            ),
        )
        for one in node.items("remote_buffers")
    )
    return Gpu(
        node.number("id"),
        node.number("input_chunks"),
        node.number("output_chunks"),
        node.number("scratch_chunks"),
        channels,
        tuple(switches),
        remote,
        tuple(one.number("init_value") for one in node.items("semaphores", optional=True)),
        tuple(_block(one) for one in node.items("threadblocks")),
    )


def _among(node: _Node, choices: Sequence[str]) -> str:
    if node.as_text() not in choices:
        node.fail(f"{node.value!r} is none of {', '.join(choices)}")
    return node.as_text()


def _block(node: _Node) -> Block:
    channels: dict[str, tuple[int, ...]] = {"memory": (), "port": (), "switch": ()}
    for one in node.items("channels"):
        kind = one.choice("channel_type", tuple(channels))
        channels[kind] += one.numbers("channel_ids")
    remote: dict[str, tuple[int, ...]] = {"memory": (), "port": ()}
    for one in node.items("remote_buffer_refs", optional=True):
        kind = one.choice("access_channel_type", tuple(remote))
        remote[kind] += one.numbers("remote_buffer_ids")
    return Block(
        node.number("id"),
        channels,
        remote,
        tuple(_operation(one, 0) for one in node.items("ops")),
    )


def _operation(node: _Node, depth: int) -> Operation:
    if depth > 1:
        node.fail("a pipeline within a pipeline")
    group = node.get("tbg_info")
    kind = node.get("channel_type")
    loop = node.get("iter_context")
    barrier = None
    if node.text("name") == "barrier":
        barrier = (node.number("barrier_id"), node.number("num_threadblocks"))
    return Operation(
        node.text("name"),
        tuple(_reference(one) for one in node.items("src_buff", optional=True)),
        tuple(_reference(one) for one in node.items("dst_buff", optional=True)),
        "none" if kind is None else _among(kind, ("memory", "port", "switch", "none")),
        node.numbers("channel_ids", optional=True),
        (0, 1) if group is None else (group.number("tb_id"), group.number("tbg_size")),
        barrier,
        node.numbers("semaphore_ids", optional=True),
        0 if loop is None else loop.number("num_chunks"),
        0 if loop is None else loop.number("unit_size"),
        tuple(_operation(one, depth + 1) for one in node.items("ops", optional=True)),
    )


def _reference(node: _Node) -> Reference:
    names = [key for key in ("type", "buffer_id", "switch_channel_id") if node.get(key) is not None]
    if len(names) != 1:
        node.fail(
            "expected one of 'type' (a buffer of this rank), 'buffer_id' (of another one) and "
            f"'switch_channel_id', not {' and '.join(map(repr, names)) or 'none of them'}"
        )
    return Reference(
        node.choice("type", BUFFERS) if names[0] == "type" else "",
        node.number("buffer_id") if names[0] == "buffer_id" else -1,
        node.number("switch_channel_id") if names[0] == "switch_channel_id" else -1,
        node.number("index"),
        node.number("size"),
    )
