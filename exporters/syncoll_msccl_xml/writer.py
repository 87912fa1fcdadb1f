"""Writes MSCCL XML.

The runtimes read it with scanners of their own, which are no XML parsers: no ``<?xml …?>``, double
quotes only, attributes separated by one space each, only whitespace between elements, no entities.
Attributes that one of the three runtimes needs are written for all of them.

A step moves the chunks of a stream, which are neighbours (`syncoll_msccl_xml.program`).  With
``instances`` they are cut into that many times the chunks; each instance is a copy of the program,
on channels of its own, that moves its part of every stream.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from syncoll.errors import ExportError
from syncoll.model.groups import groups_of
from syncoll.plugins import ExportCounts, Exported, ExportRequest, Options
from syncoll.plugins.exporters import UNLIMITED
from syncoll.runtime import Buffer, Kind, Slot, StandardCollective, kind_of, request_within
from syncoll_msccl_xml.blocks import BlockStep, ThreadBlock
from syncoll_msccl_xml.instructions import Stated, XmlInstruction
from syncoll_msccl_xml.limits import (
    LAST_AWAITED,
    LAST_OFFSET,
    LONGEST_NAME,
    MOST_NODES,
    RUNTIMES,
    TAKEN_NAME,
    Runtime,
)
from syncoll_msccl_xml.program import XmlProgram, program_of

_LETTERS = {Buffer.INPUT: "i", Buffer.OUTPUT: "o", Buffer.SCRATCH: "s"}


class MscclXmlExporter:
    """The exporter ``msccl-xml``."""

    def export(self, request: ExportRequest, options: Options) -> Exported:
        """See `syncoll.plugins.Exporter`."""
        writing, notes = _writing(request, options)
        name = _name(writing.request.name)
        text = "".join(f"{line}\n" for line in writing.lines(name))
        files = {f"{name}.xml": text.encode("ascii")}
        return Exported(files, (*notes, *writing.notes()), counts=writing.counts())


def counts_of(request: ExportRequest, options: Options) -> ExportCounts:
    """The resources that the file of an algorithm needs, without the file; ExportError as of
    `MscclXmlExporter.export`."""
    writing, _ = _writing(request, options)
    return writing.counts()


def _writing(request: ExportRequest, options: Options) -> "tuple[_Writing, list[str]]":
    """The state of writing a file, and notes about its group."""
    runtime = RUNTIMES[str(options["dialect"])]
    instances, proto = int(options["instances"]), str(options["proto"])
    group, notes = int(options["group"]), list[str]()
    if group >= 0:
        whole, request = request.instance, request_within(request, group)
        nodes = ", ".join(map(str, groups_of(whole)[group]))
        notes.append(
            f"for calls on a communicator of nodes {nodes} alone, which are its ranks in this order"
        )
    _require_known(kind_of(request.instance), request, runtime)
    program = program_of(request, runtime, instances, proto, options["ends"] == "same")
    return _Writing(request, runtime, instances, proto, program), notes


def _require_known(
    collective: StandardCollective, request: ExportRequest, runtime: Runtime
) -> None:
    in_place = request.in_place
    if collective.kind is Kind.CUSTOM:
        groups = groups_of(request.instance)
        hint = "--to mscclpp writes an execution plan of it"
        if len(groups) > 1 or len(groups[0]) < collective.num_nodes:
            every = "group=0" + f" to group={len(groups) - 1}" * (len(groups) > 1)
            hint = (
                "a file for calls on all ranks would give each group its own result; write one "
                f"for the communicator of each group (option {every}), "
                "or an execution plan of the whole (--to mscclpp)"
            )
        raise ExportError(
            f"MSCCL XML knows no such collective: {collective.reason}; it has allgather, "
            "reducescatter, allreduce, alltoall, broadcast and reduce, with every node's share of "
            f"the same size; {hint}"
        )
    if runtime.spelled(collective.kind) is None:
        others = [name for name, one in RUNTIMES.items() if one.spelled(collective.kind)]
        raise ExportError(
            f"{runtime.title} does not run {collective.kind} from a file; "
            f"expected dialect={' or '.join(others)}"
        )
    if in_place and collective.kind in (Kind.GATHER, Kind.SCATTER):
        raise ExportError(
            f"MSCCL XML cannot express {collective.kind} in place: only the root has both buffers, "
            "so the other ranks, which check their own, would not choose the file; "
            "export it out of place"
        )
    if in_place and collective.kind in runtime.not_in_place:
        raise ExportError(f"{runtime.title} does not run {collective.kind} in place")


def _name(name: str) -> str:
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in name)
    kept = kept[:LONGEST_NAME] or "algorithm"
    return f"syncoll-{kept}" if kept == TAKEN_NAME else kept


@dataclass(frozen=True, eq=False)
class _Writing:
    request: ExportRequest
    runtime: Runtime
    instances: int
    proto: str
    program: XmlProgram

    @property
    def _collective(self) -> StandardCollective:
        """The collective, with the chunks of the file."""
        cut = self.program.cut
        return replace(cut.streams.collective, share=cut.share)

    def counts(self) -> ExportCounts:
        """The resources that the file needs.  Raises ExportError if a limit is exceeded."""
        program, instances = self.program, self.instances
        for rank in range(len(program.blocks)):
            self._numbered(rank)
        steps = [[one for block in blocks for one in block.steps] for blocks in program.blocks]
        sent = [
            sum(one.instruction is not None and one.instruction.outgoing is not None for one in own)
            for own in steps
        ]
        return ExportCounts(
            thread_blocks=max(map(len, program.blocks)) * instances,
            operations=max(map(len, steps)) * instances,
            channels=program.channels * instances,
            scratch=max(program.places.scratch) / max(1, self._collective.loop_chunks),
            multiple_of=self._loop_chunks * self._shares,
            min_bytes=self._loop_chunks * self._shares,
            max_bytes=UNLIMITED if not self.runtime.exclusive_end else self.runtime.most_bytes - 1,
            messages=max(sent) * instances,
        )

    @property
    def _loop_chunks(self) -> int:
        """Chunks of the buffer that the runtime divides; for gather and scatter of one share."""
        return self._collective.loop_chunks // self._shares * self.instances

    @property
    def _shares(self) -> int:
        """The number of the runtime's message sizes in the whole message."""
        by_rank = self._collective.kind in (Kind.GATHER, Kind.SCATTER)
        return self._collective.num_nodes if by_rank else 1

    @property
    def _min_bytes(self) -> int:
        return -(-self.request.min_bytes // self._shares)

    @property
    def _max_bytes(self) -> int:
        request, runtime, shares = self.request, self.runtime, self._shares
        end = int(runtime.exclusive_end)
        largest = request.max_bytes // shares + end
        if request.max_bytes >= UNLIMITED:
            largest = runtime.most_bytes
            if self._min_bytes >= largest:
                raise ExportError(
                    f"{runtime.title} reserves memory for a largest size; the default, {largest} "
                    f"bytes, is not above the smallest, {self._min_bytes}: set --max-bytes"
                )
        if request.max_bytes or end:  # otherwise unlimited
            request.require_multiple(self._loop_chunks * shares, (largest - end) * shares)
        return largest

    def notes(self) -> Iterator[str]:
        collective, runtime = self._collective, self.runtime
        if collective.root is not None:
            yield (
                f"the root is rank {collective.root}, and neither the file nor the runtime checks "
                "the caller's root: use it for that root only"
            )
        if self.request.max_bytes >= UNLIMITED and runtime.exclusive_end:
            yield f"for messages below {self._max_bytes} bytes, as no largest size was given"
        elif self.request.max_bytes == 0:
            yield "a largest size of 0 bytes means no limit to the runtime"
        if self._loop_chunks > 1:
            yield (
                f"for messages whose number of elements is a multiple of {self._loop_chunks}; the "
                "runtime does not choose it for others"
            )
        if self.program.cut.longer:
            yield (
                f"R/C grows by {self.program.cut.longer:.1%}, since the data are cut into a power "
                "of two of chunks"
            )
        if self.program.stated and self.program.apart:
            yield (
                f"{self.program.apart} messages are stored before they are added or sent on, so "
                "that both ends of each message state the same slots; --option ends=own fuses "
                "these steps: runtimes do not compare the ends"
            )

    def lines(self, name: str) -> Iterator[str]:
        program, request = self.program, self.request
        yield _element(
            "algo",
            {
                "name": name,
                "proto": self.proto,
                "nchannels": program.channels * self.instances,
                "nchunksperloop": self._loop_chunks,
                "ngpus": self._collective.num_nodes,
                "coll": str(self.runtime.spelled(self._collective.kind)),
                "inplace": int(request.in_place),
                "outofplace": int(not request.in_place),
                "minBytes": self._min_bytes,
                "maxBytes": self._max_bytes,
            },
        )
        for rank, scratch in enumerate(program.places.scratch):
            inputs, outputs = program.places.chunks(rank)
            chunks = {
                "i_chunks": inputs * self.instances,
                "o_chunks": outputs * self.instances,
                "s_chunks": scratch * self.instances,
            }
            if max(chunks.values()) > LAST_OFFSET + 1:
                raise ExportError(
                    f"MSCCL XML counts chunks of a buffer up to {LAST_OFFSET + 1}; rank "
                    f"{rank} has {max(chunks.values())}"
                )
            yield "  " + _element("gpu", {"id": rank, **chunks})
            yield from self._rank(rank)
            yield "  </gpu>"
        yield "</algo>"

    def _numbered(self, rank: int) -> list[tuple[ThreadBlock, int]]:
        """The thread blocks of a rank with their instances, in the order of their numbers."""
        blocks = [
            (block, instance)
            for block in self.program.blocks[rank]
            for instance in range(self.instances)
        ]
        # Only the first blocks can be waited for.
        blocks.sort(key=lambda one: (not one[0].awaited, one[1]))
        awaited = sum(block.awaited for block, _ in blocks)
        if awaited > LAST_AWAITED + 1:
            raise ExportError(
                f"MSCCL XML can only wait for thread blocks 0 to {LAST_AWAITED}; rank {rank} "
                f"has {awaited} that others wait for; take fewer instances or chunks"
            )
        steps = sum(len(block.steps) for block, _ in blocks)
        nodes = 1 + len(self.program.blocks) + len(blocks) + steps
        if nodes > MOST_NODES:
            raise ExportError(
                f"the runtimes keep at most {MOST_NODES} elements of a file; rank {rank} needs "
                f"{nodes}; take fewer instances or chunks"
            )
        return blocks

    def _rank(self, rank: int) -> Iterator[str]:
        blocks = self._numbered(rank)
        numbers = {one: number for number, one in enumerate(blocks)}
        for number, (block, instance) in enumerate(blocks):
            channels = [one[2] for one in (block.incoming, block.outgoing) if one is not None]
            yield "    " + _element(
                "tb",
                {
                    "id": number,
                    "send": -1 if block.outgoing is None else block.outgoing[1],
                    "recv": -1 if block.incoming is None else block.incoming[0],
                    "chan": (channels[0] if channels else 0) * self.instances + instance,
                },
            )
            for place, step in enumerate(block.steps):
                yield "      " + self._step(rank, place, step, instance, numbers)
            yield "    </tb>"

    def _step(
        self,
        rank: int,
        place: int,
        step: BlockStep,
        instance: int,
        numbers: Mapping[tuple[ThreadBlock, int], int],
    ) -> str:
        waited, deps = (-1, -1)
        if step.waits is not None:
            waited, deps = numbers[step.waits[0], instance], step.waits[1]
        op, source, target, count = "nop", ("i", -1), ("o", -1), 1
        if step.instruction is not None:
            op = str(step.instruction.op)
            count = int(self.program.cut.weights[step.instruction.stream])
            source, target = (
                self._slot(*slot, instance, count) for slot in self._ends(rank, step.instruction)
            )
        return _element(
            "step",
            {
                "s": place,
                "type": op,
                "srcbuf": source[0],
                "srcoff": source[1],
                "dstbuf": target[0],
                "dstoff": target[1],
                "cnt": count,
                "depid": waited,
                "deps": deps,
                "hasdep": int(step.flagged),
            },
            closed=True,
        )

    def _ends(self, rank: int, instruction: XmlInstruction) -> tuple[Stated, Stated]:
        """Source and destination; of a message, the slots that both ends state if they should
        agree."""
        source, target = instruction.source, instruction.target
        message = instruction.outgoing if instruction.incoming is None else instruction.incoming
        if message is not None and self.program.stated:
            return self.program.stated[message]
        source, target = source or target, target or source
        assert source is not None
        assert target is not None
        return (rank, source), (rank, target)

    def _slot(self, rank: int, slot: Slot, instance: int, count: int) -> tuple[str, int]:
        first, _ = self.program.places.place(rank, slot)
        return _LETTERS[slot.buffer], first * self.instances + instance * count


def _element(tag: str, attributes: Mapping[str, int | str], *, closed: bool = False) -> str:
    written = " ".join(f'{name}="{value}"' for name, value in attributes.items())
    return f"<{tag} {written}{'/' if closed else ''}>"
