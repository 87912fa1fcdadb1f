"""Writes MSCCL++ execution plans, in the schema of v0.8 and later.

Every rank puts to the memory of others (zero copy): to their output if the data are final,
otherwise to scratch.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from syncoll.errors import ExportError
from syncoll.plugins import Exported, ExportRequest, OptionValue
from syncoll.runtime import (
    Buffer,
    Kind,
    Layout,
    counts_on_switches,
    kind_of,
    layout_of,
    lower,
)
from syncoll.wording import counted
from syncoll_mscclpp import SMALL
from syncoll_mscclpp.channels import Channels
from syncoll_mscclpp.limits import MOST_MIN_SIZE, VECTOR
from syncoll_mscclpp.packets import packets_of
from syncoll_mscclpp.program import PlanProgram, RankPlan, program_of
from syncoll_mscclpp.script import KINDS, LETTERS, Script
from syncoll_mscclpp.stages import staged
from syncoll_mscclpp.switches import switch_programs

__all__ = ["MscclppExporter", "Sizes"]

_LARGEST_OFFSET = (1 << 32) - 1
"""The largest offset in a buffer, of 32 bits."""


class Sizes:
    """Buffers in chunks, and messages in bytes.

    The runtime measures a message at each rank by its own input, or, for an allgather, its output.
    The request also measures a gather by its output, and a custom collective by the largest input.
    Chunks have the same size at all ranks; if their inputs differ, a message is within the range at
    every rank if it is within it for the smallest and the largest input.

    A rank without input, or output, passes a buffer of one chunk, as the runtime divides by their
    number.
    """

    def __init__(
        self, layout: Layout, scratch: int, request: ExportRequest, alignment: int
    ) -> None:
        collective = layout.collective
        kind, share = collective.kind, collective.share
        ranks = range(collective.num_nodes)
        all_shares = share * collective.num_nodes
        inputs = all_shares if kind in (Kind.REDUCESCATTER, Kind.ALLTOALL, Kind.SCATTER) else share
        outputs = all_shares if kind in (Kind.ALLGATHER, Kind.ALLTOALL, Kind.GATHER) else share
        self.alignment = alignment
        self.buffers = [(inputs, outputs) for _ in ranks]
        self.padded = kind is Kind.CUSTOM and 0 in (*layout.input_chunks, *layout.output_chunks)
        message = collective.loop_chunks
        if kind is Kind.CUSTOM:
            self.buffers = [
                (max(1, layout.input_chunks[r]), max(1, layout.output_chunks[r])) for r in ranks
            ]
            message = max(one[0] for one in self.buffers)
        measured = [one[1] if kind is Kind.ALLGATHER else one[0] for one in self.buffers]
        self.measured = max(measured)
        chunks = max(scratch, *(max(one) for one in self.buffers))
        self.limit = _LARGEST_OFFSET // chunks * self.measured
        self.smallest = -(-request.min_bytes * min(measured) // message)
        wanted = request.max_bytes * self.measured // message
        self.capped = wanted > self.limit
        self.largest = min(wanted, self.limit)
        if request.min_bytes * self.measured > self.limit * message or (
            self.smallest > MOST_MIN_SIZE
        ):
            most = min(self.limit // self.measured, MOST_MIN_SIZE // min(measured)) * message
            raise ExportError(
                f"a smallest message of {request.min_bytes} bytes is too large for the runtime, "
                f"which compares with at most {most}"
            )
        request.require_multiple(message * alignment, self.largest * message // self.measured)


_WARP = 32
_MOST_SHOWN = 8
"""Most ranks whose buffers a note lists."""


class MscclppExporter:
    """The exporter ``mscclpp``."""

    def export(self, request: ExportRequest, options: Mapping[str, OptionValue]) -> Exported:
        """See `syncoll.plugins.Exporter`."""
        kind = str(options["channel"])
        if request.in_place and kind_of(request.instance).kind is Kind.SCATTER:
            raise ExportError(
                "MSCCL++ cannot express scatter in place: the offset of the output differs by "
                "rank, and the runtime adds the offset of the rank that writes; export it out of "
                "place"
            )
        _require_options(options)
        channels = Channels(request, kind)
        if kind != "switch" and (kind != "auto" or not counts_on_switches(request)):
            return _exported(request, options, _by_channels(request, channels, options))
        try:
            return _exported(request, options, _through_switches(request, options))
        except ExportError as error:
            if kind == "switch":
                other = "auto" if channels.between else "memory"
                raise ExportError(f"{error}; expected channel={other}") from error
            program = _by_channels(request, channels, options)
            by = " and ".join(sorted({kind for one in program.ranks for kind in one.peers}))
            why = f"by {by} channels, because switch channels cannot express it: {error}"
            return _exported(request, options, replace(program, notes=(why, *program.notes)))


def _exported(
    request: ExportRequest, options: Mapping[str, OptionValue], program: PlanProgram
) -> Exported:
    """The file of a program."""
    layout, scratch = program.layout, program.scratch
    room = max(scratch) * (2 if program.packets else 1)
    sizes = Sizes(layout, room, request, int(options["alignment"]))
    notes = _notes(request, program, sizes, int(options["blocks"]))
    gpus = [_gpu(i, one, sizes.buffers[i], scratch[i]) for i, one in enumerate(program.ranks)]
    name = _name(request.name)
    plan: dict[str, Any] = {
        "name": name,
        "collective": str(layout.collective.kind),
        "protocol": "LL" if program.packets else "Simple",
        "inplace": request.in_place,
        "reuse_resources": False,
        "use_double_scratch_buffer": False,
        "num_threads_per_block": int(options["threads"]),
        "buffer_alignment": sizes.alignment,
        "min_message_size": sizes.smallest,
        "max_message_size": sizes.largest,
        "gpus": gpus,
        **_stated(request, layout),
    }
    files = {f"{name}.json": f"{_pretty(plan, 0)}\n".encode("ascii")}
    return Exported(files, (*notes, *program.notes), in_switches=program.switches)


def _through_switches(request: ExportRequest, options: Mapping[str, OptionValue]) -> PlanProgram:
    """A plan by switch channels: alone, or, with several boxes, within each."""
    if options["packets"] == "yes":
        raise ExportError("packets go over memory channels only")
    layout = layout_of(request.instance, in_place=request.in_place)
    try:
        programs, exchanged = switch_programs(request, layout)
    except ExportError as error:
        if not request.instance.topology.counts_copies:
            raise
        try:
            return staged(request, layout, int(options["blocks"]))
        except ExportError as other:
            raise ExportError(f"{error}; and {other}") from other
    note = (
        f"the switch also reduces and copies {counted(exchanged, 'chunk')} that all ranks would "
        "send to all others, which loads every cable less"
    )
    scratch, notes = [0] * len(programs), (note,) * bool(exchanged)
    return PlanProgram(layout, tuple(programs), scratch, split=True, switches=True, notes=notes)


def _by_channels(
    request: ExportRequest, channels: Channels, options: Mapping[str, OptionValue]
) -> PlanProgram:
    """A plan by memory and port channels, in packets or not."""
    wanted, most = options["packets"], int(options["blocks"])
    if wanted == "yes":
        channels.require_packets()
    small = request.max_bytes <= SMALL and channels.chosen != "port" and not channels.between
    if wanted == "yes" or (wanted == "auto" and small):
        lowered = lower(request)
        try:
            program = program_of(lowered, channels.kind, most, packets_of(lowered))
            notes = ("by packets (protocol LL), for small messages",)
            return replace(program, notes=notes)
        except ExportError:
            if wanted == "yes":
                raise
    return program_of(lower(request, zero_copy=True), channels.kind, most)


def _require_options(options: Mapping[str, OptionValue]) -> None:
    if int(options["threads"]) % _WARP:
        raise ExportError(f"threads is {options['threads']}; it must be a multiple of {_WARP}")
    if int(options["alignment"]) % VECTOR:
        raise ExportError(
            f"alignment is {options['alignment']}; reductions work on {VECTOR} bytes at a time, "
            "so it must be a multiple of this"
        )


def _name(name: str) -> str:
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in name)
    return kept or "algorithm"


def _stated(request: ExportRequest, layout: Layout) -> dict[str, Any]:
    """The places of chunks, for collectives without a name; the runtime ignores them."""
    if layout.collective.kind is not Kind.CUSTOM:
        return {}
    ranks = range(layout.collective.num_nodes)
    return {
        "syncoll": {
            "collective": request.instance.collective,
            "combining": request.instance.combining,
            "inputs": [layout.chunks_in(Buffer.INPUT, rank) for rank in ranks],
            "outputs": [layout.chunks_in(Buffer.OUTPUT, rank) for rank in ranks],
        }
    }


def _gpu(rank: int, program: RankPlan, buffers: tuple[int, int], scratch: int) -> dict[str, Any]:
    remotes = sorted(
        {
            (*remote, kind)
            for script in program.scripts
            for kind, reached in script.remotes.items()
            for remote in reached
        }
    )
    sizes = {Buffer.INPUT: buffers[0], Buffer.OUTPUT: buffers[1], Buffer.SCRATCH: scratch}
    return {
        "id": rank,
        "input_chunks": buffers[0],
        "output_chunks": buffers[1],
        "scratch_chunks": scratch,
        "threadblocks": [
            _block(number, script, remotes) for number, script in enumerate(program.scripts)
        ],
        "channels": [
            *(
                {"channel_type": kind, "connected_to": list(program.peers[kind])}
                for kind in KINDS
                if program.peers.get(kind)
            ),
            *(
                {
                    "channel_type": "switch",
                    "buffer_type": LETTERS[buffer],
                    "rank_groups": [{"size": sizes[buffer], "ranks": list(group)}],
                }
                for group, buffer in program.switches
            ),
        ],
        "remote_buffers": [
            {"rank": owner, "type": buffer, "access_channel_types": [kind]}
            for owner, buffer, kind in remotes
        ],
        "semaphores": [{"init_value": 0} for _ in range(program.semaphores)],
    }


def _block(number: int, script: Script, remotes: list[tuple[int, str, str]]) -> dict[str, Any]:
    tables = [(kind, script.table(kind)) for kind in KINDS]
    return {
        "id": number,
        "ops": script.operations,
        "channels": [
            {"channel_type": kind, "channel_ids": ids}
            for kind, ids in (*tables, ("switch", script.switches))
            if ids
        ],
        "remote_buffer_refs": [
            {
                "access_channel_type": kind,
                "remote_buffer_ids": [remotes.index((*remote, kind)) for remote in reached],
            }
            for kind, reached in script.remotes.items()
        ],
    }


def _notes(
    request: ExportRequest, program: PlanProgram, sizes: Sizes, most_blocks: int
) -> Iterator[str]:
    """The notes for the user on sizes, buffers and channels."""
    collective = program.layout.collective
    kinds = {kind for one in program.ranks for kind in one.peers}
    if collective.kind is Kind.CUSTOM:
        yield from _own_buffers(sizes)
    else:
        yield (
            "for messages whose size is a multiple of "
            f"{sizes.measured * sizes.alignment} bytes; the runtime refuses others"
        )
    if sizes.capped:
        yield (
            f"for messages of at most {sizes.largest} bytes; beyond, the runtime's offsets of 32 "
            "bits do not reach the end of a buffer"
        )
    if request.instance.combining:
        yield "the runtime always adds and ignores the caller's operator"
    if collective.root is not None:
        yield (
            f"the root is rank {collective.root}; every rank passes both buffers, of "
            f"{sizes.buffers[0][0]} and {sizes.buffers[0][1]} chunks, and unneeded chunks stay "
            "untouched"
        )
    if "port" in kinds:
        yield (
            "buffers must begin at the beginning of their allocations, since a proxy reads from "
            "there"
        )
    else:
        yield "all ranks must pass buffers at the same offset within their allocations"
    if {"memory", "port"} <= kinds:
        yield "by memory channels within a box, and by port channels over a network"
    if program.switches:
        yield (
            "by switch channels, which need GPUs around NVSwitches with NVLink SHARP, and buffers "
            "that the runtime can bind to multicast groups"
        )
    blocks = max(len(one.scripts) for one in program.ranks)
    if program.split and blocks > most_blocks:
        yield (
            f"{blocks} thread blocks at a rank, more than the {most_blocks} requested, "
            "since a thread block has at most 64 operations and 16 channels; they must all be "
            "resident at once"
        )


def _own_buffers(sizes: Sizes) -> Iterator[str]:
    """The buffers that each rank passes to a collective without a name."""
    yield (
        "a rank's input holds the chunks that start there, and its output the chunks that must "
        "end there, in the order of their numbers"
    )
    alike = len(set(sizes.buffers)) == 1
    shown = [
        f"{a} and {b}" if alike else f"{a} and {b} (rank {rank})"
        for rank, (a, b) in enumerate(sizes.buffers[: 1 if alike else _MOST_SHOWN])
    ]
    if not alike and len(sizes.buffers) > len(shown):
        shown.append("… (as input_chunks and output_chunks of the file say)")
    yield (
        f"a chunk has the same size at all ranks, a multiple of {sizes.alignment} bytes; input and "
        f"output have {', '.join(shown)} chunks{' at each rank' if alike else ''}"
    )
    if sizes.padded:
        yield "a rank without input, or without output, passes a buffer of one untouched chunk"
    if len({one[0] for one in sizes.buffers}) > 1:
        yield (
            "every rank compares the bytes of its own input with the smallest and the largest "
            "message, so that a call out of that range is refused by some ranks only: keep to "
            f"chunks whose largest input, {sizes.measured} chunks, is in it"
        )


def _pretty(value: Any, depth: int) -> str:
    """JSON with one line for each operation, for readability."""
    flat = json.dumps(value)
    if len(flat) + 2 * depth <= 98 or not isinstance(value, dict | list):
        return flat
    inner = "  " * (depth + 1)
    if isinstance(value, dict):
        rows = [f"{json.dumps(key)}: {_pretty(one, depth + 1)}" for key, one in value.items()]
        ends = "{}"
    else:
        rows = [_pretty(one, depth + 1) for one in value]
        ends = "[]"
    body = (",\n" + inner).join(rows)
    return f"{ends[0]}\n{inner}{body}\n{'  ' * depth}{ends[1]}"
