"""Stages: events through switches within boxes, and single sends from box to box.

A multicast group is around one switch.  On a machine of several boxes an algorithm is composed of
events within boxes and parts between them (`syncoll_mscclpp.ways`).  A part is a chunk of its own
for `syncoll.runtime.lower`: the result of earlier events is its input, and the source of later ones
its output.  No operation of the runtime stores a sum at one rank only.  So a sum for one rank is
stored in scratch of its whole box, and the other ranks ignore it.
"""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from syncoll.errors import ExportError
from syncoll.model import Algorithm
from syncoll.plugins import ExportRequest
from syncoll.runtime import Action, LoweredAlgorithm, Message, Operation, RankOperations, lower
from syncoll.runtime.layout import Buffer, Layout, Slot
from syncoll.runtime.places import Cut
from syncoll.wording import counted
from syncoll_mscclpp.channels import Channels
from syncoll_mscclpp.program import PlanProgram, program_of
from syncoll_mscclpp.script import Event
from syncoll_mscclpp.ways import ChunkWay, ChunkWays, Exchange


def staged(cut: Cut, most_blocks: int) -> PlanProgram:
    """The program of an algorithm in stages: switches within boxes, port channels between them.
    Raises ExportError if no part of it can use switches, or it is in place."""
    request, layout = cut.streams.request, cut.streams.layout
    if request.in_place:
        raise ExportError(
            "in place, data from another box may overwrite data that a switch still has to sum; "
            "export it out of place"
        )
    ways = ChunkWays(request.instance, layout).of(request.algorithm)
    sizes = cut.streams.sizes.tolist()
    through = sum(n for n, way in zip(sizes, ways, strict=True) if way.first or way.last)
    if not through:
        raise ExportError(
            "no chunk is reduced to one rank of a box, or sent from one to all of it, as its "
            "switch could do; set another channel"
        )
    lowered, events = _placed(request, request.algorithm, layout, ways)
    events = [replace(one, part=cut.slices[one.chunk]) for one in events]
    kind = Channels(request, "auto").kind
    program = program_of(lowered, cut, kind, most_blocks, events=events)
    note = (
        f"{through} of {counted(sum(sizes), 'chunk')} go through switches; sends of other chunks "
        "are separate, which takes longer than R if R relies on switches for them"
    )
    notes = (note,) * (through < sum(sizes))
    return replace(program, switches=True, notes=notes)


def _placed(
    request: ExportRequest, algorithm: Algorithm, layout: Layout, ways: list[ChunkWay]
) -> tuple[LoweredAlgorithm, list[Event]]:
    """Lowers the parts, and assigns slots and steps."""
    parts = [(chunk, part) for chunk, way in enumerate(ways) for part in way.parts]
    lowered = _lowered(request, algorithm, [part for _, part in parts], layout)
    base = max((rank.scratch_chunks for rank in lowered.ranks), default=0)
    first = np.cumsum([base, *(way.places for way in ways)]).tolist()

    def real(slot: Slot, chunk: int) -> Slot:
        """A slot of a part or event, with its place in the whole scratch."""
        if slot.buffer is Buffer.SCRATCH:
            return Slot(Buffer.SCRATCH, first[chunk] + slot.index)
        return slot

    def placed(event: Event) -> Event:
        chunk = event.chunk
        return replace(event, source=real(event.source, chunk), target=real(event.target, chunk))

    names: list[dict[Slot, Slot]] = [{} for _ in lowered.ranks]
    for number, (chunk, part) in enumerate(parts):
        for places, find in (
            (part.inputs, lowered.layout.input_slot),
            (part.outputs, lowered.layout.output_slot),
        ):
            for node, slot in places.items():
                name = find(number, node)
                assert name is not None
                names[node][name] = real(slot, chunk)
    lowered = _renamed(lowered, names, [chunk for chunk, _ in parts])
    times = _Times(lowered)
    events = []
    for way in ways:
        ready = -1
        for here in map(placed, way.first):
            step = min(here.step, times.first_use(here))
            ready = max(ready, step)
            events.append(replace(here, step=step))
        for here in map(placed, way.last):
            made = max(ready, times.last_write(here))
            events.append(replace(here, step=max(here.step, made + 1)))
    return replace(lowered, layout=layout), events


def _lowered(
    request: ExportRequest, algorithm: Algorithm, parts: list[Exchange], layout: Layout
) -> LoweredAlgorithm:
    instance = request.instance
    if not parts:
        empty = tuple(RankOperations(r, (), 0, 0, 0) for r in range(layout.collective.num_nodes))
        return LoweredAlgorithm(layout, algorithm.steps, empty, ())
    nodes = instance.topology.num_nodes
    pre, post = (np.zeros((len(parts), nodes), dtype=bool) for _ in range(2))
    sends: list[tuple[int, int, int, int]] = []
    carried: list[npt.NDArray[np.bool_]] = []
    for number, part in enumerate(parts):
        pre[number, list(part.shares)] = True
        post[number, list(part.outputs)] = True
        for one in part.sends:
            sends.append((number, one.source, one.destination, one.step))
            row = np.zeros(nodes, dtype=bool)
            row[[node for node, share in part.shares.items() if not share & ~one.mask]] = True
            carried.append(row)
    contributions = None
    if instance.combining:
        contributions = np.array(carried, dtype=bool).reshape(-1, nodes)
    rows = np.array(sends, dtype=np.int64).reshape(-1, 4)
    moved = Algorithm(algorithm.rounds_per_step, rows, contributions)
    asked = replace(instance, pre=pre, post=post)
    return lower(replace(request, instance=asked, algorithm=moved, in_place=False), zero_copy=True)


def _renamed(
    lowered: LoweredAlgorithm, names: list[dict[Slot, Slot]], chunks: list[int]
) -> LoweredAlgorithm:
    """The same with the names of slots and chunks outside of parts."""

    def renamed(rank: int, slot: Slot) -> Slot:
        return names[rank].get(slot, slot)

    def operation(rank: int, one: Operation) -> Operation:
        return replace(
            one,
            chunk=chunks[one.chunk],
            sources=tuple(renamed(rank, slot) for slot in one.sources),
            target=None if one.target is None else renamed(rank, one.target),
        )

    def message(one: Message) -> Message:
        return replace(
            one,
            chunk=chunks[one.chunk],
            source_slot=renamed(one.source, one.source_slot),
            target_slot=renamed(one.destination, one.target_slot),
        )

    return replace(
        lowered,
        ranks=tuple(
            replace(rank, operations=tuple(operation(rank.rank, one) for one in rank.operations))
            for rank in lowered.ranks
        ),
        messages=tuple(map(message, lowered.messages)),
    )


class _Times:
    """The first reads and last writes of slots."""

    def __init__(self, lowered: LoweredAlgorithm) -> None:
        self.reads: dict[tuple[int, Slot, bool], int] = {}
        self.writes: dict[tuple[int, Slot], int] = {}
        for rank in lowered.ranks:
            for one in rank.operations:
                for slot in one.sources:
                    key = rank.rank, slot, one.action is Action.SEND
                    self.reads[key] = min(self.reads.get(key, one.step), one.step)
                if one.target is not None:
                    place = rank.rank, one.target
                    self.writes[place] = max(self.writes.get(place, one.step), one.step)

    def first_use(self, event: Event) -> int:
        """The last step of an event that is in time for the readers of its result."""
        far = 1 << 62
        uses = [far]
        for rank in event.group:
            late = int(rank != event.root)
            uses.append(self.reads.get((rank, event.target, True), far) - late)
            uses.append(self.reads.get((rank, event.target, False), far))
        return max(0, min(uses))

    def last_write(self, event: Event) -> int:
        """The last step in which an event's source is written; -1 if none."""
        group = event.group if event.sums else (event.root,)
        return max(self.writes.get((rank, event.source), -1) for rank in group)
