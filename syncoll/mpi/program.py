"""The operations of one rank, with the elements that each operation touches.

A `syncoll.runtime.MessageTable` has the messages, sums and copies of every rank in slots of whole
chunks.  All messages of a step are concurrent, between buffers; sums and copies follow when all
have arrived.  Neighbouring chunks are one message, and one sum or copy.

A rank that has begun a step has posted all of its messages, and a message only waits until the two
ranks at its ends begin its step.  So the ranks that are furthest behind can always continue, and no
order of arrival leads to a deadlock.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np

from syncoll.arrays import Ints
from syncoll.runtime import Buffer, Kind, Layout, MessageTable, chunk_numbers


def split(total: int, parts: int) -> Ints:
    """The lengths of the parts of a total."""
    return total // parts + (np.arange(parts) < total % parts)


@dataclass(frozen=True, eq=False)
class BufferShares:
    """The lengths, in elements, of chunks ``[G]``, inputs and outputs ``[P]``."""

    total: int
    chunks: Ints
    inputs: Ints
    outputs: Ints


def shares_of(layout: Layout, total: int) -> BufferShares:
    """Cuts the elements of a whole (see `MpiCollective.shares`) into the chunks of a collective.

    It is cut as by ``numpy.array_split``, the first parts one element longer than the others: first
    among ranks, if each has a share of its own, and then each share into its chunks.
    """
    whole, count = layout.collective, len(layout.inputs)
    blocks, share = (count, 1) if whole.kind is Kind.CUSTOM else (whole.blocks, whole.share)
    chunks = _lengths(chunk_numbers(layout), total, blocks, share)
    inputs = np.where(layout.inputs >= 0, chunks[:, None], 0).sum(axis=0)
    outputs = np.where(layout.outputs >= 0, chunks[:, None], 0).sum(axis=0)
    return BufferShares(total, chunks, inputs, outputs)


def _lengths(numbers: Ints, total: int, blocks: int, share: int) -> Ints:
    """The elements of chunks with these numbers of a `MessageTable`."""
    block = split(total, blocks)[numbers // share % blocks]
    lengths: Ints = block // share + (numbers % share < block % share)
    return lengths


class Region(NamedTuple):
    """Elements of a rank's buffer: 0 for the input, 1 for the output, 2 for scratch."""

    buffer: int
    start: int
    stop: int


@dataclass(frozen=True)
class Transfer:
    """A message: regions in a row.  Its tag is its number from one end to the other, the same at
    both."""

    regions: tuple[Region, ...]
    peer: int
    tag: int


@dataclass(frozen=True)
class Local:
    """A sum of two regions, or a copy of one."""

    target: Region
    sources: tuple[Region, ...]


class RankStep(NamedTuple):
    """Concurrent transfers, then sums and copies; step -1 is before the first."""

    number: int
    receives: list[Transfer]
    sends: list[Transfer]
    locals: list[Local]


@dataclass(frozen=True)
class RankProgram:
    """All work of one rank, and the elements of its scratch memory."""

    steps: tuple[RankStep, ...]
    scratch: int


def program_of(table: MessageTable, rank: int, total: int) -> RankProgram:
    """The program of a rank for a total of elements; empty chunks are left out."""
    lengths = _lengths(np.arange(table.chunks), total, table.blocks, table.share).tolist()
    slots, ends = list[Region](), [0, 0, 0]
    for place in table.places:
        if place.rank == rank:
            buffer = (0, 1, 1, 2)[place.holds]
            for length in lengths[place.chunk : place.chunk + place.slots]:
                slots.append(Region(buffer, ends[buffer], ends[buffer] + length))
                ends[buffer] += length
    steps: dict[int, tuple[list[Transfer], list[Transfer], list[Local]]] = {}
    mine = (row for row in table.messages if rank in (row.source, row.destination))
    for (step, source, destination, tag), rows in groupby(mine, lambda row: row[:4]):
        sends, peer = source == rank, source + destination - rank
        spans = [(row.sent if sends else row.stored, row.slots) for row in rows]
        regions = _joined([one for first, count in spans for one in slots[first : first + count]])
        if regions:
            transfer = Transfer(tuple(one for (one,) in regions), peer, tag)
            received, sent, _ = steps.setdefault(step, ([], [], []))
            (sent if sends else received).append(transfer)
    for row in table.sums:
        if row.rank == rank:
            parts = [first for first in (row.target, row.one, row.other) if first >= 0]
            joined = _joined(*(slots[first : first + row.slots] for first in parts))
            locals_ = steps.setdefault(row.step, ([], [], []))[2]
            locals_.extend(Local(target, tuple(sources)) for target, *sources in joined)
    ordered = (RankStep(step, *steps[step]) for step in sorted(steps))
    return RankProgram(tuple(ordered), ends[2])


def _joined(*columns: Iterable[Region]) -> list[tuple[Region, ...]]:
    """Rows of regions of equal lengths; rows that are neighbours in all columns become one."""
    found: list[tuple[Region, ...]] = []
    for row in zip(*columns, strict=True):
        pairs = list(zip(found[-1], row, strict=True)) if found else []
        if pairs and all(one.buffer == two.buffer and one.stop == two.start for one, two in pairs):
            found[-1] = tuple(one._replace(stop=two.stop) for one, two in pairs)
        elif row[0].start < row[0].stop:
            found.append(row)
    return found


def chunk_at(layout: Layout, rank: int, shares: BufferShares, element: int) -> int:
    """The chunk of an element of a rank's output."""
    chunks = layout.chunks_in(Buffer.OUTPUT, rank)
    return chunks[np.searchsorted(shares.chunks[chunks].cumsum(), element, side="right")]
