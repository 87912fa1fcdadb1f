"""Sizes: buffers in chunks, messages in bytes, and the counts of a plan."""

from fractions import Fraction

from syncoll.errors import ExportError
from syncoll.plugins import ExportCounts, ExportRequest
from syncoll.runtime import Kind
from syncoll.runtime.places import Places
from syncoll_mscclpp.limits import MOST_FILE, MOST_MIN_SIZE
from syncoll_mscclpp.program import PlanProgram

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
        own = [places.chunks(rank) for rank in ranks]
        inputs, outputs = map(max, zip(*own, strict=True))
        self.alignment = alignment
        self.buffers = [(inputs, outputs) for _ in ranks]
        self.padded = kind is Kind.CUSTOM and any(0 in one for one in own)
        message = share * collective.blocks
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


def counts_by(program: PlanProgram, sizes: Sizes, small: int) -> ExportCounts:
    """The counts of a program; messages up to `small` bytes go by packets."""
    ranks, kind = program.ranks, program.places.layout.collective.kind
    large = program.size > MOST_FILE and kind is not Kind.ALLTOALL  # which needs all its peers
    moves = ("put", "res", "ppkt", "rppkt", "respkt", "glres", "gstore")
    return ExportCounts(
        thread_blocks=program.thread_blocks,
        operations=max(sum(len(one.operations) for one in rank.scripts) for rank in ranks),
        channels=program.channels,
        semaphores=max(rank.semaphores for rank in ranks),
        scratch=float(sizes.scratch),
        multiple_of=sizes.unit,
        min_bytes=int(sizes.smallest * sizes.ratio),
        max_bytes=int(sizes.largest * sizes.ratio),
        messages=max(
            sum(
                len(one["dst_buff"]) - (one["name"] in ("res", "respkt"))
                for script in rank.scripts
                for one in script.operations
                if one["name"] in moves
            )
            for rank in ranks
        ),
        file_bytes=program.size * len(ranks),
        small=0 if program.packets or program.switches else small,
        large=f"the plan has {program.size >> 10} KiB for each rank" if large else None,
    )
