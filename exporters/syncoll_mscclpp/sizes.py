"""Sizes: the buffers of a plan in chunks, and its messages in bytes."""

from __future__ import annotations

from syncoll.errors import ExportError
from syncoll.plugins import ExportRequest
from syncoll.runtime import Kind, Layout
from syncoll_mscclpp.limits import MOST_MIN_SIZE

__all__ = ["Sizes"]

_LARGEST_OFFSET = (1 << 32) - 1
"""Offsets in a buffer are numbers of 32 bits."""


class Sizes:
    """Buffers in chunks, and messages in bytes.

    The runtime measures a message at each rank by its own input, or, for an allgather, its output;
    the request also a gather by its output, and a custom collective by the largest input of a rank.
    A chunk has as many bytes at all ranks; if their inputs differ, a message is within the range at
    every rank if it is at those with the smallest and the largest one.

    A rank without input, or output, passes room for one chunk, as the runtime divides by their
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
                f"a smallest message of {request.min_bytes} bytes is beyond what the runtime can "
                f"compare with; it is at most {most}"
            )
        request.require_multiple(message * alignment, self.largest * message // self.measured)
