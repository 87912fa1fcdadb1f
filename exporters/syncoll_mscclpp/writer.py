"""Writes MSCCL++ execution plans, in the schema of v0.8 and later.

Every rank puts to the memory of others (zero copy): to their output where what arrives is final,
else to scratch.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from syncoll.errors import ExportError
from syncoll.plugins import Exported, ExportRequest, OptionValue
from syncoll.runtime import Kind, StandardCollective, kind_of, lower
from syncoll.wording import counted
from syncoll_mscclpp.options import SMALL
from syncoll_mscclpp.packets import Packets, packets_of
from syncoll_mscclpp.program import Program, RankProgram, program_of
from syncoll_mscclpp.script import Script
from syncoll_mscclpp.switches import switch_gpus

__all__ = ["MscclppExporter"]

_VECTOR = 16
_WARP = 32
_LARGEST_OFFSET = (1 << 32) - 1
"""Offsets in a buffer are numbers of 32 bits."""

_LARGEST_MINIMUM = (1 << 31) - 1
"""The runtime reads the smallest message as a signed number of 32 bits."""


class MscclppExporter:
    """The exporter ``mscclpp``."""

    def export(self, request: ExportRequest, options: Mapping[str, OptionValue]) -> Exported:
        """See `syncoll.plugins.Exporter`."""
        kind = str(options["channel"])
        collective = kind_of(request.instance)
        _require_known(collective, request, kind)
        _require_options(options)
        if kind == "switch":
            return _through_switches(request, collective, options)
        program, packets = _program(request, collective, options)
        lowered = program.lowered
        scratch = packets.scratch if packets else [one.scratch_chunks for one in lowered.ranks]
        room = max(scratch) * (2 if packets else 1)
        sizes = _Sizes(collective, room, request, int(options["alignment"]))
        name = _name(request.name)
        plan: dict[str, Any] = {
            "name": name,
            "collective": str(collective.kind),
            "protocol": "LL" if packets else "Simple",
            "inplace": request.in_place,
            "reuse_resources": False,
            "use_double_scratch_buffer": False,
            "num_threads_per_block": int(options["threads"]),
            "buffer_alignment": sizes.alignment,
            "min_message_size": sizes.smallest,
            "max_message_size": sizes.largest,
            "gpus": [
                _gpu(rank, one, kind, sizes.buffers, scratch[rank])
                for rank, one in enumerate(program.ranks)
            ],
        }
        blocks = max(len(rank.scripts) for rank in program.ranks) if program.split else 0
        notes = [*_notes(request, collective, blocks, sizes, kind, options)]
        if packets:
            notes.append("by packets (protocol LL), which is for small messages")
        return Exported({f"{name}.json": _text(plan).encode("ascii")}, tuple(notes))


def _through_switches(
    request: ExportRequest, collective: StandardCollective, options: Mapping[str, OptionValue]
) -> Exported:
    """A plan by switch channels, whose data need no scratch."""
    if options["packets"] == "yes":
        raise ExportError("packets go over memory channels only; expected channel=memory")
    gpus, exchanged = switch_gpus(request, collective)
    sizes = _Sizes(collective, 0, request, int(options["alignment"]))
    name = _name(request.name)
    plan: dict[str, Any] = {
        "name": name,
        "collective": str(collective.kind),
        "protocol": "Simple",
        "inplace": request.in_place,
        "reuse_resources": False,
        "use_double_scratch_buffer": False,
        "num_threads_per_block": int(options["threads"]),
        "buffer_alignment": sizes.alignment,
        "min_message_size": sizes.smallest,
        "max_message_size": sizes.largest,
        "gpus": gpus,
    }
    notes = [*_notes(request, collective, len(gpus[0]["threadblocks"]), sizes, "switch", options)]
    if exchanged:
        notes.append(
            f"what all ranks would send to all others, {counted(exchanged, 'chunk')}, is added up "
            "and copied by the switch as well, which takes less of every cable"
        )
    return Exported({f"{name}.json": _text(plan).encode("ascii")}, tuple(notes), in_switches=True)


def _program(
    request: ExportRequest, collective: StandardCollective, options: Mapping[str, OptionValue]
) -> tuple[Program, Packets | None]:
    """The program, and how it is done by packets; None if it is not.

    Raises:
        ExportError: when packets were asked for over port channels, or a limit is exceeded.
    """
    kind, wanted, most = str(options["channel"]), options["packets"], int(options["blocks"])
    if wanted == "yes" and kind != "memory":
        raise ExportError("packets go over memory channels only; expected channel=memory")
    small = kind == "memory" and request.max_bytes <= SMALL
    if wanted == "yes" or (wanted == "auto" and small):
        lowered = lower(request)
        packets = packets_of(lowered)
        try:
            return program_of(lowered, kind, most, packets), packets
        except ExportError:
            if wanted == "yes":
                raise
    return program_of(lower(request, zero_copy=True), kind, most), None


def _require_known(collective: StandardCollective, request: ExportRequest, kind: str) -> None:
    if collective.kind is Kind.CUSTOM:
        raise ExportError(
            f"an execution plan does not say what a collective of its own should do, so that it "
            f"could not be checked: {collective.reason}"
        )
    if request.in_place and collective.kind is Kind.SCATTER:
        raise ExportError(
            "scatter in place cannot be said in MSCCL++: the output begins elsewhere at each rank, "
            "and the runtime adds the offset of the rank that writes; export it out of place"
        )
    if request.in_place and collective.kind is Kind.GATHER and kind == "port":
        raise ExportError(
            "gather in place cannot be said in MSCCL++ with port channels: the input begins "
            "elsewhere at each rank, and a proxy takes it from the beginning of the allocation; "
            "export it out of place, or with memory channels"
        )


def _require_options(options: Mapping[str, OptionValue]) -> None:
    if int(options["threads"]) % _WARP:
        raise ExportError(f"threads is {options['threads']}; it must be a multiple of {_WARP}")
    if int(options["alignment"]) % _VECTOR:
        raise ExportError(
            f"alignment is {options['alignment']}; reductions work on {_VECTOR} bytes at a time, "
            "so it must be a multiple"
        )


def _name(name: str) -> str:
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in name)
    return kept or "algorithm"


class _Sizes:
    """Buffers in chunks, and messages in bytes.

    The runtime measures a message by the output of an allgather, and by the input of all others;
    the request, a gather by its output too.
    """

    def __init__(
        self,
        collective: StandardCollective,
        scratch: int,
        request: ExportRequest,
        alignment: int,
    ) -> None:
        kind, share = collective.kind, collective.share
        all_shares = share * collective.num_nodes
        inputs = all_shares if kind in (Kind.REDUCESCATTER, Kind.ALLTOALL, Kind.SCATTER) else share
        outputs = all_shares if kind in (Kind.ALLGATHER, Kind.ALLTOALL, Kind.GATHER) else share
        self.alignment = alignment
        self.buffers = (inputs, outputs)
        self.measured = outputs if kind is Kind.ALLGATHER else inputs
        ratio = collective.loop_chunks // self.measured
        self.limit = _LARGEST_OFFSET // max(inputs, outputs, scratch) * self.measured
        self.smallest = -(-request.min_bytes // ratio)
        wanted = request.max_bytes // ratio
        self.capped = wanted > self.limit
        self.largest = min(wanted, self.limit)
        if self.smallest > self.limit or self.smallest > _LARGEST_MINIMUM:
            most = min(self.limit, _LARGEST_MINIMUM) * ratio
            raise ExportError(
                f"a smallest message of {request.min_bytes} bytes is beyond what the runtime can "
                f"compare with; it is at most {most}"
            )


def _gpu(
    rank: int, program: RankProgram, kind: str, buffers: tuple[int, int], scratch: int
) -> dict[str, Any]:
    remotes = sorted({remote for script in program.scripts for remote in script.remotes})
    return {
        "id": rank,
        "input_chunks": buffers[0],
        "output_chunks": buffers[1],
        "scratch_chunks": scratch,
        "threadblocks": [
            _block(number, script, kind, remotes) for number, script in enumerate(program.scripts)
        ],
        "channels": (
            [{"channel_type": kind, "connected_to": list(program.peers)}] if program.peers else []
        ),
        "remote_buffers": [
            {"rank": owner, "type": buffer, "access_channel_types": [kind]}
            for owner, buffer in remotes
        ],
        "semaphores": [{"init_value": 0} for _ in range(program.semaphores)],
    }


def _block(
    number: int, script: Script, kind: str, remotes: list[tuple[int, str]]
) -> dict[str, Any]:
    channels, ids = script.channels, [remotes.index(remote) for remote in script.remotes]
    return {
        "id": number,
        "ops": script.operations,
        "channels": [{"channel_type": kind, "channel_ids": channels}] if channels else [],
        "remote_buffer_refs": (
            [{"access_channel_type": kind, "remote_buffer_ids": ids}] if ids else []
        ),
    }


def _notes(
    request: ExportRequest,
    collective: StandardCollective,
    blocks: int,
    sizes: _Sizes,
    kind: str,
    options: Mapping[str, OptionValue],
) -> Iterator[str]:
    """What a user should know.

    Args:
        blocks: thread blocks of a rank; 0 where they are no more than were asked for.
    """
    yield (
        f"for messages whose number of bytes is a multiple of {sizes.measured * sizes.alignment}; "
        "the runtime refuses others"
    )
    if sizes.capped:
        yield (
            f"for messages of at most {sizes.largest} bytes; beyond, the runtime's offsets of 32 "
            "bits do not reach the end of a buffer"
        )
    if collective.combining:
        yield "the runtime adds, whatever operator the caller asks for"
    if collective.root is not None:
        yield (
            f"the root is rank {collective.root}; every rank passes both buffers, of "
            f"{sizes.buffers[0]} and {sizes.buffers[1]} chunks, and only those that are needed are "
            "touched"
        )
    if kind == "port":
        yield (
            "buffers must begin at the beginning of their allocations, since a proxy takes them "
            "from there"
        )
    else:
        yield "all ranks must pass buffers at the same offset within their allocations"
    if kind == "switch":
        yield (
            "it needs GPUs around NVSwitches with NVLink SHARP, and buffers that the runtime can "
            "bind to multicast groups of all ranks"
        )
    most_blocks = int(options["blocks"])
    if blocks > most_blocks:
        yield (
            f"{blocks} thread blocks at a rank, more than the {most_blocks} that were asked for, "
            "since a thread block has room for 64 operations and 16 channels; they must all be "
            "resident at once"
        )


def _text(plan: dict[str, Any]) -> str:
    """JSON with one line for each operation, so that people can read it."""
    return _pretty(plan, 0) + "\n"


def _pretty(value: Any, depth: int) -> str:
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
