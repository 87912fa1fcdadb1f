"""Writes MSCCL++ execution plans, in the schema of v0.8 and later.

Every rank puts to the memory of others (zero copy): to their output if the data are final,
otherwise to scratch.
"""

import json
import re
from dataclasses import replace
from itertools import chain
from typing import Any

from syncoll.errors import ExportError
from syncoll.plugins import ExportCounts, Exported, ExportRequest, Options
from syncoll.runtime import Buffer, Kind, counts_on_switches, kind_of, layout_of, lower, streams_of
from syncoll.runtime.places import Cut
from syncoll_mscclpp import SMALL
from syncoll_mscclpp.channels import Channels
from syncoll_mscclpp.cuts import cuts_of, cuts_of_more, first_that_fits, require_room
from syncoll_mscclpp.limits import MOST_FILE, VECTOR
from syncoll_mscclpp.notes import notes_on
from syncoll_mscclpp.packets import packets_of
from syncoll_mscclpp.program import PlanProgram, RankPlan, program_of
from syncoll_mscclpp.script import KINDS, LETTERS, Script
from syncoll_mscclpp.sizes import Sizes, counts_by
from syncoll_mscclpp.stages import staged
from syncoll_mscclpp.switches import switch_program

_WARP = 32


class MscclppExporter:
    """The exporter ``mscclpp``."""

    def export(self, request: ExportRequest, options: Options) -> Exported:
        """See `syncoll.plugins.Exporter`."""
        program = _program(request, options)
        layout, scratch = program.places.layout, program.places.scratch
        sizes = _sizes(request, options, program)
        notes = notes_on(request, program, sizes)
        gpus = [_gpu(i, one, sizes.buffers[i], scratch[i]) for i, one in enumerate(program.ranks)]
        name = re.sub(r"[^A-Za-z0-9._-]", "_", request.name) or "algorithm"
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
        text = json.dumps(plan, separators=(",", ":"))
        # A line for each rank, thread block and operation: in texts quotes are escaped, so these
        # are the first keys of an object.
        text = text.replace('{"id":', '\n{"id":').replace('{"name":', '\n{"name":').lstrip()
        files = {f"{name}.json": f"{text}\n".encode("ascii")}
        counts = counts_by(program, sizes, _small(options))
        size = program.size
        large = (f"the plan has {size >> 10} KiB for each rank",) * (size > MOST_FILE)
        notes_too = (*notes, *large, *program.notes)
        return Exported(files, notes_too, in_switches=program.switches, counts=counts)


def counts_of(request: ExportRequest, options: Options) -> ExportCounts:
    """The counts of an algorithm's plan, without the plan; ExportError as of `export`."""
    program = _program(request, options)
    return counts_by(program, _sizes(request, options, program), _small(options))


def _small(options: Options) -> int:
    """The largest message in packets, if the exporter decides."""
    return SMALL if options["packets"] == "auto" else 0


def _program(request: ExportRequest, options: Options) -> PlanProgram:
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
    if kind != "switch" and (
        kind != "auto" or not counts_on_switches(request.instance, request.algorithm)
    ):
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


def _sizes(request: ExportRequest, options: Options, program: PlanProgram) -> Sizes:
    room = max(program.places.scratch) * (2 if program.packets else 1)
    return Sizes(program.places, request, int(options["alignment"]), room)


def _through_switches(request: ExportRequest, options: Options) -> PlanProgram:
    """A plan by switch channels: alone, or, with several boxes, within each."""
    if options["packets"] == "yes":
        raise ExportError("packets do not go through switches")
    if request.instance.reproducible:
        raise ExportError("switches add up in no stated order, and the sums are reproducible")
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
    return first_that_fits(cuts_of(streams, int(options["alignment"])), program)


def _by_channels(request: ExportRequest, channels: Channels, options: Options) -> PlanProgram:
    """A plan by memory and port channels, in packets or not."""
    wanted, most = options["packets"], int(options["blocks"])
    alignment = int(options["alignment"])
    streams = streams_of(request)
    require_room(streams, most)

    def by_packets(cut: Cut) -> PlanProgram:
        lowered = lower(cut.streams.request, layout=cut.streams.layout)
        notes = ("by packets (protocol LL), for small messages",)
        found = program_of(lowered, cut, channels.kind, most, packets_of(lowered, channels.kind))
        return replace(found, notes=notes)

    def by_signals(cut: Cut) -> PlanProgram:
        lowered = lower(cut.streams.request, layout=cut.streams.layout, zero_copy=True)
        return program_of(lowered, cut, channels.kind, most)

    small, why = SMALL if request.small is None else request.small, tuple[str, ...]()
    if wanted == "yes" or (wanted == "auto" and request.max_bytes <= small):
        try:
            return first_that_fits(cuts_of(streams, alignment), by_packets)
        except ExportError as error:
            if wanted == "yes":
                raise
            why = (f"by signals, because packets do not fit: {error}",)
    cuts = chain(cuts_of_more(streams, most, alignment), cuts_of(streams, alignment))
    program = first_that_fits(cuts, by_signals)
    return replace(program, notes=(*why, *program.notes))


def _require_options(options: Options) -> None:
    if int(options["threads"]) % _WARP:
        raise ExportError(f"threads is {options['threads']}; it must be a multiple of {_WARP}")
    if int(options["alignment"]) % VECTOR:
        raise ExportError(
            f"alignment is {options['alignment']}; reductions work on {VECTOR} bytes at a time, "
            "so it must be a multiple of this"
        )


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
    return {
        "id": number,
        "ops": script.operations,
        "channels": [
            {"channel_type": kind, "channel_ids": ids}
            for kind, ids in (*script.tables.items(), ("switch", script.switches))
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
