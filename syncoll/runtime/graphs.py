"""The operations of every rank, for formats without buffers: nodes that read results of others.

The result of a node never changes, so a node only waits for the results that it reads, never for
space.  Copies within a rank are left out.  So in place and out of place are the same.

A node has neighbouring chunks: the chunks of one message, or reductions of the same results.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from syncoll.arrays import Ints
from syncoll.errors import ExportError
from syncoll.model import Counting, RelationTable, Topology
from syncoll.model.counting import links_together
from syncoll.model.messages import chunk_places, message_numbers
from syncoll.plugins import ExportRequest
from syncoll.runtime.layout import Kind, Layout, Slot
from syncoll.runtime.lowering import Action, LoweredAlgorithm, Operation

_DEFAULT_CHUNK = 1 << 20


@dataclass(frozen=True)
class GraphNode:
    """A send, receive or reduction of a rank.

    Args:
        number: its position among the nodes of the rank.
        operation: the operation on its first chunk.
        chunks: neighbouring chunks, ascending in their place.
        reads: nodes whose results it reads.
        inputs: chunks of the rank's own data that it reads.
        several: whether it or a node that it reads has several chunks.
    """

    number: int
    operation: Operation
    chunks: list[int] = field(default_factory=list)
    reads: list[int] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    several: bool = False


@dataclass(frozen=True, eq=False)
class MessageRuns:
    """The messages of one chunk of a lowered algorithm, joined to messages of a runtime.

    Args:
        of: for each message of one chunk the number of its run; runs are in the order of their
            first messages.
        members: the messages of each run, by neighbouring chunks.
        tags: the number of each run among all from its source to its destination.
        place: ``[G]``, the place of each chunk; neighbours have consecutive ones.
    """

    of: list[int]
    members: list[list[int]]
    tags: list[int]
    place: Ints

    @staticmethod
    def in_(lowered: LoweredAlgorithm) -> "MessageRuns":
        """The runs of an algorithm: messages of one step between two ranks with neighbours."""
        layout = lowered.layout
        place = _places(layout)
        sets: dict[frozenset[int], int] = {}
        keys, chunks = list[tuple[int, ...]](), list[int]()
        for one in lowered.messages:
            whose = lowered.ranks[one.source].operations[one.send].contributions
            contributed = sets.setdefault(whose, len(sets))
            keys.append((one.step, one.source, one.destination, contributed))
            chunks.append(one.chunk)
        of = message_numbers(np.array(keys, dtype=np.int64), place[chunks]).tolist()
        runs: list[list[int]] = [[] for _ in range(max(of, default=-1) + 1)]
        for i in np.argsort(place[chunks], kind="stable").tolist():
            runs[of[i]].append(i)
        tags, used = list[int](), Counter[tuple[int, ...]]()
        for run in runs:
            pair = keys[run[0]][1:3]
            tags.append(used[pair])
            used[pair] += 1
        return MessageRuns(of, runs, tags, place)


def _places(layout: Layout) -> Ints:
    """``[G]``: consecutive for chunks that are neighbours in a buffer, by kind and by number."""
    place = chunk_places(RelationTable(layout.inputs >= 0, layout.outputs >= 0))
    by_place = np.argsort(place)
    apart = np.diff(_numbers(layout)[by_place]) != 1
    found = np.empty(len(place), dtype=np.int64)
    found[by_place] = np.arange(len(place)) + np.concatenate([[0], np.cumsum(apart)])
    return found


def rank_nodes(
    request: ExportRequest, lowered: LoweredAlgorithm, runs: MessageRuns, rank: int
) -> list[GraphNode]:
    """The nodes of a rank, each after its inputs; `lowered` is `request` out of place."""
    made: dict[Slot, int | None] = {}
    for chunk in np.flatnonzero(request.instance.pre[:, rank]).tolist():
        slot = lowered.layout.input_slot(chunk, rank)
        assert slot is not None
        made[slot] = None  # the rank's own data
    nodes: list[GraphNode] = []
    known: dict[object, GraphNode] = {}
    for operation in lowered.ranks[rank].operations:
        read = [made[slot] for slot in operation.sources]
        if operation.action is Action.COPY:
            assert operation.target is not None
            made[operation.target] = read[0]
            continue
        place = int(runs.place[operation.chunk])
        key: tuple[object, ...] = operation.step, *read
        if operation.message is not None:
            key, place = (operation.action, runs.of[operation.message]), 0
        node = known.get((*key, place))
        if node is None:
            node = GraphNode(len(nodes), operation)
            nodes.append(node)
        known[*key, place + (operation.message is None)] = node
        node.chunks.append(operation.chunk)
        node.reads.extend(i for i in dict.fromkeys(read) if i is not None and i not in node.reads)
        node.inputs.extend([operation.chunk] * sum(i is None for i in read))
        if operation.target is not None:
            made[operation.target] = node.number
    for node in nodes:
        for chunks in (node.chunks, node.inputs):
            chunks.sort(key=lambda chunk: int(runs.place[chunk]))
    wide = [len(node.chunks) > 1 for node in nodes]
    return [
        replace(node, several=wide[i] or any(wide[other] for other in node.reads))
        for i, node in enumerate(nodes)
    ]


def lanes_out(topology: Topology) -> dict[tuple[int, int], int]:
    """For each link the number of its lane: links of a node that share a bound share a lane.  A
    node starts the sends on one lane in the plan's order."""
    together = links_together(topology, Counting.SENDS)
    alone = np.arange(len(together)) + len(together)
    return dict(zip(topology.links, np.where(together < 0, alone, together).tolist(), strict=True))


def _numbers(layout: Layout) -> Ints:
    """``[G]``: the place of each chunk in the message; in alltoall in its source's message."""
    kind = layout.collective.kind
    if kind is Kind.CUSTOM:
        return np.arange(len(layout.inputs))
    # A chunk has the same place at all ranks that have the message.
    large = (Kind.REDUCESCATTER, Kind.SCATTER, Kind.ALLTOALL)
    found: Ints = (layout.inputs if kind in large else layout.outputs).max(axis=1)
    return found


def chunk_numbers(layout: Layout) -> Ints:
    """``[G]``: the number of each chunk by its place; in alltoall first by its source."""
    found = _numbers(layout)
    if layout.collective.kind is Kind.ALLTOALL:
        found = found + (layout.inputs >= 0).argmax(axis=1) * layout.collective.loop_chunks
    return found


@dataclass(frozen=True)
class MessageSizes:
    """The size of the message in bytes, the number of each chunk in it, and its chunks."""

    size: int
    numbers: Ints
    count: int

    @staticmethod
    def of(layout: Layout, request: ExportRequest, wanted: int) -> "MessageSizes":
        """Sizes of the chunks of a message of `wanted` bytes; ExportError if it has more chunks.
        For 0 bytes chunks have 1 MiB, within the range of the request."""
        kind = layout.collective.kind
        count = layout.collective.loop_chunks
        if kind is Kind.CUSTOM:
            count = request.instance.num_chunks
        size = wanted or min(max(count * _DEFAULT_CHUNK, request.min_bytes), request.max_bytes)
        if size < count:
            raise ExportError(
                f"a message of {size} bytes cannot be cut into {count} chunks of at least a byte; "
                f"expected a size of at least {count} bytes"
            )
        return MessageSizes(size, _numbers(layout), count)

    def bytes_of(self, chunks: Sequence[int]) -> int:
        """The size of chunks; if sizes differ the first chunks have one more byte."""
        return int(self.each[chunks].sum())

    @cached_property
    def each(self) -> Ints:
        """``[G]``: the size of each chunk."""
        least, more = divmod(self.size, self.count)
        return least + (self.numbers < more)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user."""
        each, more = divmod(self.size, self.count)
        text = f"the message has {self.size} bytes"
        if self.count > 1:
            text += f" in {self.count} chunks of {each}"
        return (f"{text} or {each + 1}, since it does not divide evenly" if more else text,)
