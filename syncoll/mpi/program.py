"""The operations of one rank, with the elements that each operation touches.

`syncoll.runtime.lower` lists the sends, receives, reductions and copies of every rank, in slots of
whole chunks.  Lowered for zero copy, no message is received into a slot that is read in the same
step.  So all messages of a step are concurrent, between buffers; reductions and copies follow when
all have arrived.  Neighbouring chunks are one message, and one reduction or copy.

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
    MessageRuns,
    Slot,
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
    """A message: regions in a row.  Its tag is its number from one end to the other, the same at
    both."""

    regions: tuple[Region, ...]
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


def program_of(
    lowered: LoweredAlgorithm, runs: MessageRuns, rank: int, shares: BufferShares
) -> RankProgram:
    """The program of a rank for data of one length; empty chunks are left out."""
    mine = lowered.ranks[rank].operations
    regions = _regions(lowered, runs, rank, shares)
    busy = [one for one in mine if shares.chunks[one.chunk]]
    steps = []
    for number, group in groupby(busy, lambda one: one.step):
        moved: dict[tuple[Action, int], list[tuple[int, Region]]] = {}
        locals_: list[Local] = []
        for one in group:
            if one.message is None:
                assert one.target is not None
                sources = tuple(regions[slot] for slot in one.sources)
                _append(locals_, Local(sources, regions[one.target]))
                continue
            receiving = one.action is Action.RECEIVE
            assert not receiving or all(mine[d.operation].step < number for d in one.dependencies)
            slot = one.target if receiving else one.sources[0]
            assert slot is not None
            key = one.action, runs.of[one.message]
            moved.setdefault(key, []).append((int(runs.place[one.chunk]), regions[slot]))
        receives, sends = (
            tuple(
                _transfer(lowered, runs, rank, run, parts)
                for (action, run), parts in moved.items()
                if action is which
            )
            for which in (Action.RECEIVE, Action.SEND)
        )
        steps.append(RankStep(number, receives, sends, tuple(locals_)))
    scratch = [r.stop for slot, r in regions.items() if slot.buffer is Buffer.SCRATCH]
    return RankProgram(tuple(steps), max(scratch, default=0))


def _transfer(
    lowered: LoweredAlgorithm,
    runs: MessageRuns,
    rank: int,
    run: int,
    parts: list[tuple[int, Region]],
) -> Transfer:
    """A message of regions, each with the place of its chunk."""
    first = lowered.messages[runs.members[run][0]]
    peer = first.destination if first.source == rank else first.source
    joined: list[Region] = []
    for _, region in sorted(parts, key=lambda part: part[0]):
        if joined and _adjoin(joined[-1], region):
            joined[-1] = _joined(joined[-1], region)
        else:
            joined.append(region)
    return Transfer(tuple(joined), peer, runs.tags[run])


def _append(locals_: list[Local], local: Local) -> None:
    """Appends a reduction or copy, or makes the last one longer."""
    if locals_ and len(locals_[-1].sources) == len(local.sources):
        last = locals_[-1]
        pairs = list(zip((*last.sources, last.target), (*local.sources, local.target), strict=True))
        if all(_adjoin(one, two) for one, two in pairs):
            *sources, target = (_joined(one, two) for one, two in pairs)
            if not any(_overlap(source, target) for source in sources):
                locals_[-1] = Local(tuple(sources), target)
                return
    locals_.append(local)


def _adjoin(one: Region, two: Region) -> bool:
    return one.buffer == two.buffer and one.stop == two.start


def _joined(one: Region, two: Region) -> Region:
    return Region(one.buffer, one.start, two.stop)


def _overlap(source: Region, target: Region) -> bool:
    """Whether they overlap without being equal: then one element's result is another's source."""
    apart = source.buffer != target.buffer or min(source.stop, target.stop) <= max(
        source.start, target.start
    )
    return not apart and source != target


def _regions(
    lowered: LoweredAlgorithm, runs: MessageRuns, rank: int, shares: BufferShares
) -> dict[Slot, Region]:
    """The place of each slot; the slots of a buffer are consecutive, and in scratch the slots of
    one message are neighbours."""
    layout, operations = lowered.layout, lowered.ranks[rank].operations
    arrivals: dict[Slot, tuple[int, int]] = {}
    lengths: dict[Slot, int] = {}
    for buffer, places in ((Buffer.INPUT, layout.inputs), (Buffer.OUTPUT, layout.outputs)):
        for chunk in np.flatnonzero(places[:, rank] >= 0).tolist():
            lengths[Slot(buffer, int(places[chunk, rank]))] = int(shares.chunks[chunk])
    for one in operations:
        for slot in (*one.sources, *([] if one.target is None else [one.target])):
            length = int(shares.chunks[one.chunk])
            assert lengths.setdefault(slot, length) == length, "a slot is of one chunk's length"
        if one.action is Action.RECEIVE and one.target is not None:
            assert one.message is not None
            if one.target.buffer is Buffer.SCRATCH:
                arrivals[one.target] = runs.of[one.message], int(runs.place[one.chunk])
    starts = dict.fromkeys(_BUFFERS, 0)
    result = {}
    last = len(runs.members), 0
    for slot in sorted(lengths, key=lambda slot: (slot.buffer, arrivals.get(slot, last), slot)):
        start = starts[slot.buffer]
        starts[slot.buffer] = stop = start + lengths[slot]
        result[slot] = Region(_BUFFERS.index(slot.buffer), start, stop)
    return result


def chunk_at(layout: Layout, rank: int, shares: BufferShares, element: int) -> int:
    """The chunk of an element of a rank's output."""
    chunks = layout.chunks_in(Buffer.OUTPUT, rank)
    return chunks[np.searchsorted(shares.chunks[chunks].cumsum(), element, side="right")]
