"""Places: the chunks of the runtime that hold each stream.

A block of data, the streams of one start and end, is cut *by weight* into a power of two of chunks,
or *by slices* of one chunk (``tbg_info``); docs/mscclpp.md has the messages that fit.  In scratch a
stream has a place of the same size, in chunks or slices, for each of its slots.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, zip_longest

import numpy as np

from syncoll.arrays import Ints
from syncoll.model.counting import bound_loads
from syncoll.runtime.layout import Buffer, Kind, Layout, Slot
from syncoll.runtime.streams import Streams

ENOUGH = 0.02
"""A relative increase of R/C that is worth no more chunks."""

Slice = tuple[int, int]
"""The number of a slice, and the number of equal slices of its chunk."""


@dataclass(frozen=True, eq=False)
class Cut:
    """How the data of a collective are cut.

    Args:
        streams: with one chunk for each.
        share: chunks of a block; 0 for a custom collective.
        weights: chunks of each stream; by slices 1.
        slices: the slice of each stream; None for whole chunks.
        longer: the relative increase of R/C.
    """

    streams: Streams
    share: int
    weights: Ints
    slices: tuple[Slice | None, ...]
    longer: float = 0.0

    @property
    def most_slices(self) -> int:
        """The slices of a chunk, at most."""
        return max((one[1] for one in self.slices if one), default=1)

    @property
    def consistent(self) -> bool:
        """Whether input and output have the same borders where they are one buffer."""
        layout = self.streams.layout
        if layout.collective.kind is not Kind.ALLTOALL or not layout.in_place:
            return True
        sizes = list(zip(self.weights.tolist(), self.slices, strict=True))
        return all(
            [sizes[i] for i in layout.chunks_in(Buffer.INPUT, node)]
            == [sizes[i] for i in layout.chunks_in(Buffer.OUTPUT, node)]
            for node in range(layout.collective.num_nodes)
        )


def by_weight(streams: Streams, most: int, least: int = 1, enough: float = ENOUGH) -> Cut:
    """Blocks of `least` to `most` chunks, a power of two; each stream has about its part of them.

    It takes the fewest chunks with which R/C grows by at most `enough`, or else the best.  Streams
    may get none.  A custom collective keeps its chunks.
    """
    if streams.collective.kind is Kind.CUSTOM:
        return Cut(streams, 0, streams.sizes, (None,) * len(streams.sizes))
    found: list[Cut] = []
    share = 1 << (least - 1).bit_length()
    while (share <= most or not found) and not (found and found[-1].longer <= enough):
        weights = _apportioned(streams, share)
        kept = streams.repeated((weights > 0).astype(np.int64))
        longer = _longer(streams, weights)
        found.append(Cut(kept, share, weights[weights > 0], (None,) * len(kept.sizes), longer))
        share *= 2
    return min(found, key=lambda cut: (max(cut.longer, enough), cut.share))


def by_slices(streams: Streams) -> Cut:
    """Blocks of one chunk in equal slices; a stream has one of them, or several copies of it."""
    common = np.zeros(len(streams.sizes), dtype=np.int64)
    for block in np.unique(streams.blocks):
        mine = streams.blocks == block
        common[mine] = np.gcd.reduce(streams.sizes[mine])
    times = streams.sizes // common
    split = replace(streams.repeated(times), sizes=np.repeat(common, times))
    counts = np.bincount(split.blocks)
    first = np.cumsum(counts) - counts
    slices = tuple(
        (int(i - first[b]), int(counts[b])) if counts[b] > 1 else None
        for i, b in enumerate(split.blocks)
    )
    return Cut(split, 1, np.ones(len(slices), dtype=np.int64), slices)


def _longer(streams: Streams, weights: Ints) -> float:
    """The relative increase of R/C if a block is cut by these weights."""
    one = streams.request
    moved = streams.repeated(weights).request.algorithm
    seconds = np.zeros(moved.steps)
    for bound, load in zip(
        one.instance.topology.bounds, bound_loads(one.instance.topology, moved), strict=True
    ):
        np.maximum(seconds, load / float(bound.chunks_per_round), out=seconds)
    first = streams.blocks == streams.blocks[0]
    before = float(one.instance.rounds) / int(streams.sizes[first].sum())
    return max(0.0, float(seconds.sum()) / int(weights[first].sum()) / before - 1)


def _apportioned(streams: Streams, share: int) -> Ints:
    """Whole parts of `share` for the streams of each block, by the largest remainders."""
    weights = np.zeros(len(streams.sizes), dtype=np.int64)
    for block in np.unique(streams.blocks):
        mine = np.flatnonzero(streams.blocks == block)
        sizes = streams.sizes[mine]
        whole, rest = np.divmod(sizes * share, sizes.sum())
        late = np.argsort(-rest, kind="stable")[: share - int(whole.sum())]
        whole[late] += 1
        weights[mine] = whole
    return weights


@dataclass(eq=False)
class Places:
    """The places of a cut in the buffers of all ranks.

    Args:
        cut: of the data.
        layout: the places of streams.
        data: for each rank the stream in each slot of scratch; -1 if it does not use the slot.
        packets: for each rank the stream of each packet in scratch, which come after the data.
        common: whether slots of scratch have the same place at all ranks.
    """

    cut: Cut
    layout: Layout
    data: Sequence[Sequence[int]]
    packets: Sequence[Sequence[int]] | None = None
    common: bool = False
    scratch: list[int] = field(default_factory=list)
    """Chunks of scratch of each rank."""

    def __post_init__(self) -> None:
        self._tables: list[dict[Buffer, tuple[list[int], list[Slice | None]]]] = []
        self._packets: list[tuple[list[int], list[Slice | None]]] = []
        widest = [
            max(map(self._width, at)) for at in zip_longest(*self.data, fillvalue=-1) if self.common
        ]
        for rank, data in enumerate(self.data):
            table = {
                buffer: self._in_order(self.layout.chunks_in(buffer, rank))
                for buffer in (Buffer.INPUT, Buffer.OUTPUT)
            }
            if self.common:
                starts = [0, *accumulate(widest)]
                size = starts[-1]
            else:
                starts, size = self._stacked(data)
            table[Buffer.SCRATCH] = starts, self._slices(data)
            self._tables.append(table)
            if self.packets is None:
                self.scratch.append(size)
                continue
            first, (places, used) = -(-size // 2), self._stacked(self.packets[rank])
            self._packets.append(
                ([first + one for one in places], self._slices(self.packets[rank]))
            )
            self.scratch.append(first + used)

    @property
    def idle(self) -> float:
        """Blocks of scratch beyond the data in it, at most: slices of a chunk that none uses."""
        most = 0.0
        for rank, scratch in enumerate(self.scratch):
            held = [*self.data[rank], *(self.packets[rank] if self.packets is not None else ())]
            used = sum(self._width(one) / (self.cut.slices[one] or (0, 1))[1] for one in held)
            most = max(most, (scratch - used) / max(1, self.cut.share))
        return most

    def chunks(self, rank: int) -> tuple[int, int]:
        """Chunks of a rank's input and output, as far as they hold streams."""
        table = self._tables[rank]
        return table[Buffer.INPUT][0][-1], table[Buffer.OUTPUT][0][-1]

    def place(self, rank: int, slot: Slot, size: int = 1) -> tuple[int, int]:
        """The first chunk, and the chunks, of consecutive slots."""
        starts, slices = self._tables[rank][slot.buffer]
        start = starts[slot.index]
        if slices[slot.index] is not None:
            return start, 1
        if slot.buffer is Buffer.SCRATCH and self.cut.share == 1:
            return start, size
        return start, starts[slot.index + size] - start

    def part(self, rank: int, slot: Slot) -> Slice | None:
        """The slice of a slot; None if it is whole."""
        return self._tables[rank][slot.buffer][1][slot.index]

    def packet(self, rank: int, number: int) -> tuple[int, int]:
        """The first chunk, and the chunks, of a packet."""
        assert self.packets is not None
        return self._packets[rank][0][number], self._width(self.packets[rank][number])

    def packet_part(self, rank: int, number: int) -> Slice | None:
        """The slice of a packet; None if it is whole."""
        return self._packets[rank][1][number]

    def _width(self, stream: int) -> int:
        return 0 if stream < 0 else int(self.cut.weights[stream])

    def _slices(self, streams: Iterable[int]) -> list[Slice | None]:
        return [None if one < 0 else self.cut.slices[one] for one in streams]

    def _in_order(self, streams: Sequence[int]) -> tuple[list[int], list[Slice | None]]:
        """The first chunk of each stream of a buffer, and its chunks at the end."""
        cut = self.cut
        if cut.share != 1:
            return [0, *accumulate(map(self._width, streams))], self._slices(streams)
        blocks = cut.streams.blocks[list(streams)] if streams else np.zeros(0, dtype=np.int64)
        numbers = np.cumsum(np.diff(blocks, prepend=-1) != 0) - 1
        return [*numbers.tolist(), int(numbers[-1]) + 1 if len(numbers) else 0], self._slices(
            streams
        )

    def _stacked(self, streams: Sequence[int]) -> tuple[list[int], int]:
        """The first chunk of each slot of scratch, and all its chunks.  Slots of different slices
        share a chunk; slices of another size take other chunks."""
        cut = self.cut
        if cut.share != 1:
            starts = [0, *accumulate(map(self._width, streams))]
            return starts, starts[-1]
        turns: defaultdict[Slice, int] = defaultdict(int)
        drafts = []
        for one in streams:
            number, count = cut.slices[one] or (0, 1)
            drafts.append((count, turns[number, count]))
            turns[number, count] += 1
        high: defaultdict[int, int] = defaultdict(int)
        for (_, count), used in turns.items():
            high[count] = max(high[count], used)
        ends = dict(zip(sorted(high), accumulate(high[n] for n in sorted(high)), strict=True))
        starts = [ends[count] - high[count] + turn for count, turn in drafts]
        return starts, max(ends.values(), default=0)
