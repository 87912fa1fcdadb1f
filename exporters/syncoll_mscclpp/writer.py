"""Writes MSCCL++ execution plans, in the schema of v0.8 and later.

Every rank puts to the memory of others (zero copy): to their output if the data are final,
otherwise to scratch.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from syncoll.errors import ExportError
from syncoll.plugins import ExportCounts, Exported, ExportRequest, OptionValue
from syncoll.runtime import (
    Buffer,
    Kind,
    Streams,
    counts_on_switches,
    kind_of,
    layout_of,
    lower,
    streams_of,
)
from syncoll.wording import counted
from syncoll_mscclpp import SMALL
from syncoll_mscclpp.blocks import Division
from syncoll_mscclpp.channels import Channels
from syncoll_mscclpp.limits import MOST_FILE, MOST_MIN_SIZE, MOST_OPERATIONS, VECTOR
from syncoll_mscclpp.packets import packets_of
from syncoll_mscclpp.places import Cut, Places, by_slices, by_weight
from syncoll_mscclpp.program import CLOSE, PlanProgram, RankPlan, program_of
from syncoll_mscclpp.script import KINDS, LETTERS, Script
from syncoll_mscclpp.stages import staged
from syncoll_mscclpp.switches import switch_program

__all__ = ["MscclppExporter", "Sizes", "counts_of"]

_WHOLE = (Kind.ALLREDUCE, Kind.BROADCAST, Kind.REDUCE)
"""Collectives whose message is one block."""

_MOST_SLICES = 64
"""The most slices of a chunk that the checker follows."""

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

    def __init__(self, places: Places, request: ExportRequest, alignment: int, room: int) -> None:
        layout = places.layout
        collective, share = layout.collective, places.cut.share
        kind = collective.kind
        ranks = range(collective.num_nodes)
        all_shares = share * collective.num_nodes
        inputs = all_shares if kind in (Kind.REDUCESCATTER, Kind.ALLTOALL, Kind.SCATTER) else share
        outputs = all_shares if kind in (Kind.ALLGATHER, Kind.ALLTOALL, Kind.GATHER) else share
        self.alignment = alignment
        self.buffers = [(inputs, outputs) for _ in ranks]
        own = [places.chunks(rank) for rank in ranks]
        self.padded = kind is Kind.CUSTOM and any(0 in one for one in own)
        message = all_shares if kind not in _WHOLE else share
        if kind is Kind.CUSTOM:
            self.buffers = [(max(1, one[0]), max(1, one[1])) for one in own]
            message = max(one[0] for one in self.buffers)
        measured = [one[1] if kind is Kind.ALLGATHER else one[0] for one in self.buffers]
        self.measured = max(measured)
        chunks = max(room, *(max(one) for one in self.buffers))
        self.limit = _LARGEST_OFFSET // chunks * self.measured
        self.unit = message * alignment
        self.ratio = Fraction(message, self.measured)
        self.scratch = Fraction(room, message)
        self.smallest = -(-request.min_bytes * min(measured) // message)
        if places.cut.most_slices > 1:  # so that no slice is empty
            self.smallest = max(self.smallest, places.cut.most_slices * alignment * min(measured))
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
        request.require_multiple(self.unit, self.largest * message // self.measured)


_OPERATION_BYTES = 120
"""About the bytes of an operation in the file."""

_WARP = 32
_MOST_SHOWN = 8
"""Most ranks whose buffers a note lists."""


class MscclppExporter:
    """The exporter ``mscclpp``."""

    def export(self, request: ExportRequest, options: Mapping[str, OptionValue]) -> Exported:
        """See `syncoll.plugins.Exporter`."""
        program = _program(request, options)
        return _exported(request, options, program)


def counts_of(request: ExportRequest, options: Mapping[str, OptionValue]) -> ExportCounts:
    """What the plan of an algorithm needs, without the plan; ExportError as of `export`."""
    program = _program(request, options)
    return _counts(program, _sizes(request, options, program))


def _program(request: ExportRequest, options: Mapping[str, OptionValue]) -> PlanProgram:
    """The program of an algorithm, over the channels that the options choose."""
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
        return _by_channels(request, channels, options)
    try:
        return _through_switches(request, options)
    except ExportError as error:
        if kind == "switch":
            other = "auto" if channels.between else "memory"
            raise ExportError(f"{error}; expected channel={other}") from error
        program = _by_channels(request, channels, options)
        by = " and ".join(sorted({kind for one in program.ranks for kind in one.peers}))
        why = f"by {by} channels, because switch channels cannot express it: {error}"
        return replace(program, notes=(why, *program.notes))


def _sizes(
    request: ExportRequest, options: Mapping[str, OptionValue], program: PlanProgram
) -> Sizes:
    room = max(program.places.scratch) * (2 if program.packets else 1)
    return Sizes(program.places, request, int(options["alignment"]), room)


def _counts(program: PlanProgram, sizes: Sizes) -> ExportCounts:
    ranks = program.ranks
    moves = ("put", "ppkt", "rppkt", "respkt", "glres", "gstore")
    return ExportCounts(
        thread_blocks=program.thread_blocks,
        operations=max(sum(len(one.operations) for one in rank.scripts) for rank in ranks),
        channels=max(sum(map(len, rank.peers.values())) + len(rank.switches) for rank in ranks),
        semaphores=max(rank.semaphores for rank in ranks),
        scratch=float(sizes.scratch),
        multiple_of=sizes.unit,
        min_bytes=int(sizes.smallest * sizes.ratio),
        max_bytes=int(sizes.largest * sizes.ratio),
        messages=max(
            sum(
                len(one["dst_buff"]) - (one["name"] == "respkt")
                for script in rank.scripts
                for one in script.operations
                if one["name"] in moves
            )
            for rank in ranks
        ),
        file_bytes=program.size * len(ranks),
    )


def _exported(
    request: ExportRequest, options: Mapping[str, OptionValue], program: PlanProgram
) -> Exported:
    """The file of a program."""
    layout, scratch = program.places.layout, program.places.scratch
    sizes = _sizes(request, options, program)
    notes = _notes(request, program, sizes)
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
        **_stated(request),
    }
    files = {f"{name}.json": f"{_compact(plan)}\n".encode("ascii")}
    counts = _counts(program, sizes)
    size = len(files[f"{name}.json"]) // len(gpus)
    large = (f"the plan has {size >> 10} KiB for each rank",) * (size > MOST_FILE)
    notes_too = (*notes, *large, *program.notes)
    return Exported(files, notes_too, in_switches=program.switches, counts=counts)


def _through_switches(request: ExportRequest, options: Mapping[str, OptionValue]) -> PlanProgram:
    """A plan by switch channels: alone, or, with several boxes, within each."""
    if options["packets"] == "yes":
        raise ExportError("packets go over memory channels only")
    most = int(options["blocks"])

    def program(cut: Cut) -> PlanProgram:
        try:
            return switch_program(cut, most)
        except ExportError as error:
            if not request.instance.topology.counts_copies:
                raise
            try:
                return staged(cut, most)
            except ExportError as other:
                raise ExportError(f"{error}; and {other}") from other

    custom = kind_of(request.instance).kind is Kind.CUSTOM
    streams = streams_of(request, apart=custom)
    return _first_that_fits(_cuts(streams, int(options["alignment"])), program)


def _by_channels(
    request: ExportRequest, channels: Channels, options: Mapping[str, OptionValue]
) -> PlanProgram:
    """A plan by memory and port channels, in packets or not."""
    wanted, most = options["packets"], int(options["blocks"])
    alignment = int(options["alignment"])
    if wanted == "yes":
        channels.require_packets()
    streams = streams_of(request)
    _require_room(streams, most)

    def by_packets(cut: Cut) -> PlanProgram:
        lowered = lower(cut.streams.request, layout=cut.streams.layout)
        notes = ("by packets (protocol LL), for small messages",)
        found = program_of(lowered, cut, channels.kind, most, packets_of(lowered))
        return replace(found, notes=notes)

    def by_signals(cut: Cut) -> PlanProgram:
        lowered = lower(cut.streams.request, layout=cut.streams.layout, zero_copy=True)
        return program_of(lowered, cut, channels.kind, most)

    small = request.max_bytes <= SMALL and channels.chosen != "port" and not channels.between
    if wanted == "yes" or (wanted == "auto" and small):
        try:
            return _first_that_fits(_cuts(streams, alignment), by_packets)
        except ExportError:
            if wanted == "yes":
                raise
    cuts = _cuts(streams, alignment)
    return _first_that_fits((*_cuts_of_more(streams, most, alignment), *cuts), by_signals)


def _cuts_of_more(streams: Streams, most: int, alignment: int) -> Iterator[Cut]:
    """Cuts with several parts of each stream, if the streams are fewer than thread blocks."""
    times = most // len(streams.sizes)
    while times > 1 and streams.collective.kind is not Kind.CUSTOM:
        more = streams.repeated([times] * len(streams.sizes))
        least = Division.before(more, most).least_operations(more)
        if least.max() * _OPERATION_BYTES <= MOST_FILE:
            yield from _cuts(more, alignment, times)
            return
        times //= 2


def _first_that_fits(cuts: Iterable[Cut], program: Callable[[Cut], PlanProgram]) -> PlanProgram:
    """The program of the first cut whose file is not too large, or of the smallest file.

    Raises the error of the last cut if there is none.
    """
    found: list[PlanProgram] = []
    refused: ExportError | None = None
    for cut in cuts:
        try:
            found.append(program(cut))
        except ExportError as error:
            refused = error
            continue
        if found[-1].size <= MOST_FILE:
            return found[-1]
    if not found:
        assert refused is not None
        raise refused
    return min(found, key=lambda one: one.size)


def _cuts(streams: Streams, alignment: int, least: int = 1) -> Iterator[Cut]:
    """The ways to cut the data, the best first: exact ones that take every usual size.

    Blocks have at least so many chunks or slices.
    """
    collective = streams.collective
    if collective.kind is Kind.CUSTOM:
        yield by_weight(streams, 1)
        return
    factor = 1 if collective.kind in _WHOLE else collective.num_nodes
    weighted = by_weight(streams, max(1, SMALL // alignment // factor), least)
    sliced = by_slices(streams)
    if not (weighted.consistent and sliced.consistent):
        yield from _cuts(streams_of(streams.request, apart=True), alignment)
        return
    two_to_k = collective.num_nodes & (collective.num_nodes - 1) == 0
    if two_to_k and not weighted.longer:
        yield weighted
    if sliced.most_slices <= _MOST_SLICES:
        yield sliced
    if not two_to_k or weighted.longer:
        yield weighted


def _require_room(streams: Streams, most: int) -> None:
    """Raises ExportError if the thread blocks of a rank cannot have all its operations."""
    groups = Division.before(streams, most)
    least = groups.least_operations(streams)
    room = most * MOST_OPERATIONS
    if least.max() > CLOSE * room:
        raise ExportError(
            f"rank {int(least.argmax())} needs about {int(least.max())} operations, and "
            f"{counted(most, 'thread block')} of MSCCL++ have at most {room}; take an algorithm "
            "with fewer chunks or steps"
        )


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


def _stated(request: ExportRequest) -> dict[str, Any]:
    """The places of chunks, for collectives without a name; the runtime ignores them."""
    layout = layout_of(request.instance, in_place=request.in_place)
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


def _notes(request: ExportRequest, program: PlanProgram, sizes: Sizes) -> Iterator[str]:
    """The notes for the user on sizes, buffers and channels."""
    cut, collective = program.places.cut, program.places.layout.collective
    kinds = {kind for one in program.ranks for kind in one.peers}
    if collective.kind is Kind.CUSTOM:
        yield from _own_buffers(sizes)
    else:
        least = f"of at least {sizes.smallest} bytes " if cut.most_slices > 1 else ""
        yield (
            f"for messages {least}whose size is a multiple of "
            f"{sizes.measured * sizes.alignment} bytes; the runtime refuses others"
        )
    if cut.longer > 0:
        yield (
            f"chunks are joined to {cut.share} of different weights, which takes "
            f"{cut.longer:.1%} longer than R"
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


def _compact(plan: dict[str, Any]) -> str:
    """JSON without spaces, and with a line for each operation."""

    def text(value: Any) -> str:
        return json.dumps(value, separators=(",", ":"))

    gpus = []
    for gpu in plan["gpus"]:
        blocks = []
        for block in gpu["threadblocks"]:
            rest = {key: value for key, value in block.items() if key not in ("id", "ops")}
            ops = ",\n".join(map(text, block["ops"]))
            blocks.append(f'{{"id":{block["id"]},"ops":[\n{ops}\n],{text(rest)[1:]}')
        rest = {key: value for key, value in gpu.items() if key != "threadblocks"}
        joined = ",\n".join(blocks)
        gpus.append(f'{text(rest)[:-1]},"threadblocks":[\n{joined}\n]}}')
    rest = {key: value for key, value in plan.items() if key != "gpus"}
    every = ",\n".join(gpus)
    return f'{text(rest)[:-1]},"gpus":[\n{every}\n]}}'
