"""The operations of every rank, for formats without buffers: nodes that read results of others.

The result of a node never changes, so a node only waits for the results that it reads, never for
space.  Copies within a rank are left out.  So in place and out of place are the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from syncoll.errors import ExportError
from syncoll.plugins import ExportRequest
from syncoll.runtime.layout import Kind, Layout, Slot
from syncoll.runtime.lowering import Action, LoweredAlgorithm, Operation

__all__ = ["GraphNode", "MessageSizes", "message_tags", "rank_nodes"]

_DEFAULT_CHUNK = 1 << 20


@dataclass(frozen=True)
class GraphNode:
    """A send, receive or reduction of a rank, and the nodes and own chunks that it reads."""

    number: int
    operation: Operation
    reads: tuple[int, ...]
    inputs: tuple[int, ...]


def rank_nodes(request: ExportRequest, lowered: LoweredAlgorithm, rank: int) -> list[GraphNode]:
    """The nodes of a rank, each after its inputs; `lowered` is `request` out of place."""
    made: dict[Slot, int | None] = {}
    for chunk in np.flatnonzero(request.instance.pre[:, rank]).tolist():
        slot = lowered.layout.input_slot(chunk, rank)
        assert slot is not None
        made[slot] = None  # the rank's own data
    nodes: list[GraphNode] = []
    for operation in lowered.ranks[rank].operations:
        read = [made[slot] for slot in operation.sources]
        if operation.action is Action.COPY:
            assert operation.target is not None
            made[operation.target] = read[0]
            continue
        number = len(nodes)
        own = tuple(operation.chunk for node in read if node is None)
        others = tuple(node for node in read if node is not None)
        nodes.append(GraphNode(number, operation, others, own))
        if operation.target is not None:
            made[operation.target] = number
    return nodes


def message_tags(lowered: LoweredAlgorithm) -> list[int]:
    """The number of each message among all from its source to its destination."""
    used: dict[tuple[int, int], int] = {}
    tags = []
    for message in lowered.messages:
        pair = (message.source, message.destination)
        tags.append(used.get(pair, 0))
        used[pair] = tags[-1] + 1
    return tags


@dataclass(frozen=True)
class MessageSizes:
    """The size of the message in bytes, the number of each chunk in it, and its chunks."""

    size: int
    numbers: np.ndarray[tuple[int, ...], np.dtype[np.int64]]
    count: int

    @staticmethod
    def of(layout: Layout, request: ExportRequest, wanted: int) -> MessageSizes:
        """Sizes of the chunks of a message of `wanted` bytes; ExportError if it has more chunks.

        For 0 bytes chunks have 1 MiB, within the range of the request.
        """
        kind = layout.collective.kind
        count = layout.collective.loop_chunks
        if kind is Kind.CUSTOM:
            count = request.instance.num_chunks
            numbers = np.arange(count)
        else:
            # A chunk has the same place at all ranks that have the message; in alltoall only one
            # rank has it.
            large = (Kind.REDUCESCATTER, Kind.SCATTER, Kind.ALLTOALL)
            numbers = (layout.inputs if kind in large else layout.outputs).max(axis=1)
        size = wanted or min(max(count * _DEFAULT_CHUNK, request.min_bytes), request.max_bytes)
        if size < count:
            raise ExportError(
                f"a message of {size} bytes cannot be cut into {count} chunks of at least a byte; "
                f"expected a size of at least {count} bytes"
            )
        return MessageSizes(size, numbers, count)

    def bytes_of(self, chunk: int) -> int:
        """The size of a chunk; if sizes differ the first chunks have one more byte."""
        each, more = divmod(self.size, self.count)
        return each + (int(self.numbers[chunk]) < more)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user."""
        each, more = divmod(self.size, self.count)
        text = f"the message has {self.size} bytes"
        if self.count > 1:
            text += f" in {self.count} chunks of {each}"
        return (f"{text} or {each + 1}, since it does not divide evenly" if more else text,)
