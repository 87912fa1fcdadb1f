"""The messages and sums of all ranks as one table of numbered slots, for runtimes with sends.

A slot of a rank holds one chunk.  The slots of a rank are its input, its output and its scratch, in
this order; in place, input and output are the same slots.  Neighbouring slots are neighbours in
memory.  The table is the same for every size.

All messages of a step are concurrent.  Sums and copies follow when they have arrived, row by row.
"""

import keyword
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby
from operator import itemgetter
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np

from syncoll.arrays import Ints
from syncoll.model.groups import chunks_of, groups_of
from syncoll.plugins import Exported, ExportRequest, Options
from syncoll.runtime.graphs import MessageRuns, chunk_numbers
from syncoll.runtime.layout import Buffer, Kind, Layout, Slot, layout_of
from syncoll.runtime.lowering import LoweredAlgorithm, lower
from syncoll.runtime.rounds import by_rounds
from syncoll.wording import counted

_WIDTH = 96
"""Letters of a line of a head."""


class PlaceRow(NamedTuple):
    """Consecutive slots of a rank, with the chunks from `chunk` on.  They hold input (0), output
    (1), both (2) or scratch (3)."""

    rank: int
    holds: int
    chunk: int
    slots: int


class MessageRow(NamedTuple):
    """Neighbouring slots of a message.  Rows of one step, pair of ranks and tag are one message."""

    step: int
    source: int
    destination: int
    tag: int
    sent: int
    stored: int
    slots: int


class SumRow(NamedTuple):
    """The sum of slots `one` and `other`, or a copy of `one` (`other` is -1), into `target`.  In a
    sum in the order of ranks the contributions of `one` are of lower ranks."""

    step: int
    rank: int
    target: int
    one: int
    other: int
    slots: int


@dataclass(frozen=True)
class MessageTable:
    """An algorithm as messages and sums.

    Chunk g is part g mod `share` of block g div `share` mod `blocks`.  A message of n elements is
    cut into blocks, and each block into its parts, as by ``numpy.array_split``.

    Args:
        kind: the collective.
        root: its root; None without one.
        chunks: G.
        combining: whether data are summed.
        places: the slots of each rank, in order.
        messages: by step, and within a step by round (`syncoll.runtime.rounds`).
        sums: by step and rank, in a valid order; step -1 is before all messages.
    """

    kind: Kind
    root: int | None
    nodes: int
    chunks: int
    blocks: int
    share: int
    combining: bool
    places: tuple[PlaceRow, ...]
    messages: tuple[MessageRow, ...]
    sums: tuple[SumRow, ...]

    @property
    def in_place(self) -> bool:
        """Whether input and output of a rank that has both are the same slots."""
        return self.kind in _IN_PLACE


_IN_PLACE = (Kind.ALLREDUCE, Kind.REDUCE)


def table_of(request: ExportRequest, *, groups: bool = True) -> MessageTable:
    """The table of an algorithm: allreduce and reduce in place, others out of place.  Allreduces of
    `groups` are one allreduce, or a custom collective.  Raises as `lower`."""
    instance = request.instance
    layout = layout_of(instance, in_place=False)
    numbers, share = chunk_numbers(layout), layout.collective.share
    blocks = layout.collective.blocks
    if layout.collective.kind is Kind.CUSTOM:
        share, blocks = 1, instance.num_chunks
    whole = layout.collective
    if groups and instance.combining and (instance.pre == instance.post).all():
        each = [chunks_of(instance, nodes) for nodes in groups_of(instance)]
        if len({len(chunks) for chunks in each}) == 1:
            share, blocks = len(each[0]), 1
            numbers = np.argsort(np.concatenate(each)).astype(np.int64)
            whole = replace(whole, kind=Kind.ALLREDUCE, share=share)
    in_place = whole.kind in _IN_PLACE
    placed = layout_of(instance, in_place=in_place, collective=whole)
    lowered = lower(replace(request, in_place=in_place), zero_copy=True, layout=placed)
    rows = _Rows(lowered, numbers)
    sums = [row for rank in lowered.ranks for row in rows.sums(rank.rank)]
    return MessageTable(
        whole.kind,
        whole.root,
        whole.num_nodes,
        instance.num_chunks,
        blocks,
        share,
        instance.combining,
        tuple(rows.places),
        tuple(by_rounds(list(rows.messages()), instance.topology)),
        tuple(sorted(sums, key=itemgetter(0, 1))),
    )


def _function(request: ExportRequest, table: MessageTable) -> str:
    """The collective's name without its arguments, as an identifier of a programming language."""
    name = request.collective if table.kind is Kind.CUSTOM else table.kind
    found = re.match(r"[A-Za-z]\w*", name)
    name = found[0].lower() if found and found[0].isascii() else "collective"
    return f"{name}_" if keyword.iskeyword(name) else name


def _head(request: ExportRequest, table: MessageTable) -> str:
    """A description of an algorithm, with the proved bounds on its cost, for the head of a file."""
    one = request.instance
    root = "" if table.root is None else f" of root {table.root}"
    messages = len({row[:4] for row in table.messages})
    proved = "Nothing is proved about its cost in the file that it is from."
    if request.claims:
        proved = "Proved in the frontier that it is from:"
    lines = [
        f"{request.collective}{root} on {one.topology.name}, written by syncoll.",
        "",
        f"The algorithm has S = {counted(one.steps, 'step')} of {one.rounds} rounds, and cuts the "
        f"data into C = {one.chunks}, so R/C = {Fraction(one.rounds) / one.chunks}. It sends "
        f"{counted(messages, 'message')}, and passed the verifier.",
        *("", proved, *request.claims),
    ]
    text = "\n".join(fill(line, _WIDTH, break_long_words=False) for line in lines)
    return re.sub(r'["*\\@]', "'", text)


@dataclass(frozen=True)
class TableExporter:
    """Writes an algorithm as one file with its table.

    Args:
        text: the file, of a table, the name of its function, and a head.
        suffix: of the file's name.
    """

    text: Callable[[Any, str, str], str]
    suffix: str

    def export(self, request: ExportRequest, options: Options) -> Exported:
        """See `syncoll.plugins.Exporter`."""
        table = table_of(request)
        name = _function(request, table)
        if table.kind is Kind.CUSTOM:  # the file may have another thing of this name
            others = self.text(table, "", "")
            while re.search(rf"\b{name}\b", others):
                name += "_"
        text = self.text(table, name, _head(request, table))
        return Exported({f"{request.name}{self.suffix}": text.encode()})


class _Rows:
    """The rows of a lowered algorithm."""

    def __init__(self, lowered: LoweredAlgorithm, numbers: Ints) -> None:
        self.lowered, self.runs, self.numbers = lowered, MessageRuns.in_(lowered), numbers
        self.places: list[PlaceRow] = []
        self.slot = [self._place(rank) for rank in range(len(lowered.ranks))]
        """The number of each slot of each rank."""

    def _place(self, rank: int) -> dict[Slot, int]:
        """Numbers the slots of a rank; in scratch the slots of one message are neighbours."""
        layout: Layout = self.lowered.layout
        chunk: dict[Slot, tuple[int, tuple[int, int], int]] = {}
        both = layout.shift[rank] is not None
        for buffer, at in ((Buffer.INPUT, layout.inputs), (Buffer.OUTPUT, layout.outputs)):
            for one in layout.chunks_in(buffer, rank):
                if not both or buffer is Buffer.INPUT:
                    holds = 2 if both else int(buffer is Buffer.OUTPUT)
                    chunk[Slot(buffer, int(at[one, rank]))] = holds, (0, 0), one
        for operation in self.lowered.ranks[rank].operations:
            slot = operation.target
            if slot is not None and slot.buffer is Buffer.SCRATCH and slot not in chunk:
                arrival = len(self.runs.members), 0
                if operation.message is not None:
                    place = int(self.runs.place[operation.chunk])
                    arrival = self.runs.of[operation.message], place
                chunk[slot] = 3, arrival, operation.chunk
        found: dict[Slot, int] = {}
        for slot in sorted(chunk, key=lambda one: (*chunk[one][:2], one.index)):
            holds, number = chunk[slot][0], int(self.numbers[chunk[slot][2]])
            last = self.places[-1] if found else None
            found[slot] = len(found)
            if last and last.holds == holds and last.chunk + last.slots == number:
                self.places[-1] = last._replace(slots=last.slots + 1)
            else:
                self.places.append(PlaceRow(rank, holds, number, 1))
        return found

    def messages(self) -> Iterator[MessageRow]:
        """The messages in order of steps."""
        listed = self.lowered.messages
        for run, members in enumerate(self.runs.members):
            first = listed[members[0]]
            ends = first.step, first.source, first.destination, self.runs.tags[run]
            sent, stored = self.slot[first.source], self.slot[first.destination]
            pairs = [(sent[listed[i].source_slot], stored[listed[i].target_slot]) for i in members]
            # A piece is a run along which both slots advance together.
            for _, piece in groupby(
                enumerate(pairs), lambda one: (one[1][0] - one[0], one[1][1] - one[0])
            ):
                (_, start), *more = piece
                yield MessageRow(*ends, *start, 1 + len(more))

    def sums(self, rank: int) -> Iterator[SumRow]:
        """The sums and copies of a rank, neighbours as one."""
        slot, last = self.slot[rank], None
        lowest: dict[Slot, int] = {}
        for one in self.lowered.ranks[rank].operations:
            if one.target is None:
                continue
            if one.message is None:
                parts = sorted(one.sources, key=lambda source: lowest.get(source, rank))
                first, other = [*(slot[part] for part in parts), -1][:2]
                row = SumRow(one.step, rank, slot[one.target], first, other, 1)
                if last and _continues(last, row):
                    last = last._replace(slots=last.slots + 1)
                else:
                    if last:
                        yield last
                    last = row
            lowest[one.target] = min(one.contributions, default=0)
        if last:
            yield last


def _continues(last: SumRow, row: SumRow) -> bool:
    """Whether two rows can be one row; no result may be a part of another one."""
    count = last.slots
    aligned = (row.step, row.target, row.one) == (last.step, last.target + count, last.one + count)
    parts = [part for part in (last.one, last.other) if part >= 0]
    apart = all(part == last.target or abs(part - last.target) > count for part in parts)
    other = last.other + count if last.other >= 0 else -1
    return aligned and row.other == other and apart
