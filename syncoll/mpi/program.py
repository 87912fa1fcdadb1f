"""The operations of one rank, with the elements that each operation touches.

`syncoll.runtime.lower` lists the sends, receives, reductions and copies of every rank, in slots of
whole chunks.  Lowered for zero copy, no message is received into a slot that is read in the same
step.  So all messages of a step are concurrent, directly between buffers; reductions and copies
follow when all have arrived.

A rank that has begun a step has posted all of its messages, and a message only waits until the two
ranks at its ends begin its step.  So the ranks that are furthest behind can always continue, and no
order of arrival leads to a deadlock.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

import numpy as np

from syncoll.arrays import IntArray
from syncoll.runtime import (
    Action,
    Buffer,
    Kind,
    Layout,
    LoweredAlgorithm,
    Operation,
    Slot,
    message_tags,
)

__all__ = [
    "BufferShares",
    "Local",
    "RankProgram",
    "RankStep",
    "Region",
    "Transfer",
    "chunk_at",
    "program_of",
    "shares_of",
    "split",
]

_WHOLE = (Kind.ALLREDUCE, Kind.BROADCAST, Kind.REDUCE, Kind.CUSTOM)
_OWNED_BY_SOURCE = (Kind.ALLGATHER, Kind.GATHER)


def split(total: int, parts: int) -> IntArray:
    """The lengths of the parts of a total."""
    return total // parts + (np.arange(parts) < total % parts)


@dataclass(frozen=True, eq=False)
class BufferShares:
    """The lengths, in elements, of chunks ``[G]``, inputs and outputs ``[P]``."""

    total: int
    chunks: IntArray
    inputs: IntArray
    outputs: IntArray


def shares_of(layout: Layout, total: int) -> BufferShares:
    """Cuts the elements of a whole (see `MpiCollective.shares`) into the chunks of a collective.

    It is cut as by ``numpy.array_split``, the first parts one element longer than the others: first
    among ranks, if each has a share of its own, and then each share into its chunks.
    """
    chunks = _chunks(layout, total)
    inputs = np.where(layout.inputs >= 0, chunks[:, None], 0).sum(axis=0)
    outputs = np.where(layout.outputs >= 0, chunks[:, None], 0).sum(axis=0)
    return BufferShares(total, chunks, inputs, outputs)


def _chunks(layout: Layout, total: int) -> IntArray:
    collective, number = layout.collective, len(layout.inputs)
    if collective.kind in _WHOLE:
        return split(total, number)
    places = layout.inputs if collective.kind in _OWNED_BY_SOURCE else layout.outputs
    owner = (places >= 0).argmax(axis=1)
    share = split(total, collective.num_nodes)[owner]
    place = places[np.arange(number), owner] % collective.share
    lengths: IntArray = share // collective.share + (place < share % collective.share)
    return lengths


_BUFFERS = (Buffer.INPUT, Buffer.OUTPUT, Buffer.SCRATCH)


@dataclass(frozen=True)
class Region:
    """Elements of a rank's buffer: 0 for the input, 1 for the output, 2 for scratch."""

    buffer: int
    start: int
    stop: int


@dataclass(frozen=True)
class Transfer:
    """A message; its tag is its number from one end to the other, the same at both."""

    region: Region
    peer: int
    tag: int


@dataclass(frozen=True)
class Local:
    """A reduction of two regions, or a copy of one."""

    sources: tuple[Region, ...]
    target: Region


@dataclass(frozen=True)
class RankStep:
    """Concurrent transfers, then reductions and copies; step -1 is before the first."""

    number: int
    receives: tuple[Transfer, ...]
    sends: tuple[Transfer, ...]
    locals: tuple[Local, ...]


@dataclass(frozen=True)
class RankProgram:
    """All work of one rank, and the elements of its scratch memory."""

    steps: tuple[RankStep, ...]
    scratch: int


def program_of(lowered: LoweredAlgorithm, rank: int, shares: BufferShares) -> RankProgram:
    """The program of a rank for data of one length; empty chunks are left out."""
    mine = lowered.ranks[rank].operations
    tags = message_tags(lowered)
    regions = _regions(lowered.layout, rank, mine, shares)
    busy = [one for one in mine if shares.chunks[one.chunk]]
    steps = []
    for number, group in groupby(busy, lambda one: one.step):
        receives: list[Transfer] = []
        sends: list[Transfer] = []
        locals_: list[Local] = []
        for one in group:
            if one.message is None:
                assert one.target is not None
                sources = tuple(regions[slot] for slot in one.sources)
                locals_.append(Local(sources, regions[one.target]))
                continue
            assert one.peer is not None
            receiving = one.action is Action.RECEIVE
            assert not receiving or all(mine[d.operation].step < number for d in one.dependencies)
            slot = one.target if receiving else one.sources[0]
            assert slot is not None
            transfer = Transfer(regions[slot], one.peer, tags[one.message])
            (receives if receiving else sends).append(transfer)
        steps.append(RankStep(number, tuple(receives), tuple(sends), tuple(locals_)))
    scratch = [r.stop for slot, r in regions.items() if slot.buffer is Buffer.SCRATCH]
    return RankProgram(tuple(steps), max(scratch, default=0))


def _regions(
    layout: Layout, rank: int, operations: tuple[Operation, ...], shares: BufferShares
) -> dict[Slot, Region]:
    """The place of each slot; the slots of a buffer are consecutive."""
    lengths: dict[Slot, int] = {}
    for buffer, places in ((Buffer.INPUT, layout.inputs), (Buffer.OUTPUT, layout.outputs)):
        for chunk in np.flatnonzero(places[:, rank] >= 0).tolist():
            lengths[Slot(buffer, int(places[chunk, rank]))] = int(shares.chunks[chunk])
    for one in operations:
        for slot in (*one.sources, *([] if one.target is None else [one.target])):
            length = int(shares.chunks[one.chunk])
            assert lengths.setdefault(slot, length) == length, "a slot is of one chunk's length"
    starts = dict.fromkeys(_BUFFERS, 0)
    result = {}
    for slot in sorted(lengths):
        start = starts[slot.buffer]
        starts[slot.buffer] = stop = start + lengths[slot]
        result[slot] = Region(_BUFFERS.index(slot.buffer), start, stop)
    return result


def chunk_at(layout: Layout, rank: int, shares: BufferShares, element: int) -> int:
    """The chunk of an element of a rank's output."""
    chunks = layout.chunks_in(Buffer.OUTPUT, rank)
    return chunks[np.searchsorted(shares.chunks[chunks].cumsum(), element, side="right")]
