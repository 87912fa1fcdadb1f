"""Plans by switch channels:  NVSwitches reduce (``glres``) and copy (``gstore``), in one operation.

docs/mscclpp.md ("Switches that copy and add up") has the chunks that are handled so, and the place
of a chunk.  The operations of different ranks are independent, so the steps follow the hardware.
The chunk defines the group: all ranks, the ranks of one group of an allreduce within groups, or the
receivers of one rank's data.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from syncoll.arrays import Ints
from syncoll.errors import ExportError
from syncoll.model import Algorithm, Instance, Topology
from syncoll.model.width_clusters import shared_memory_boxes
from syncoll.plugins import ExportRequest
from syncoll.runtime import Buffer, Layout, Slot
from syncoll.runtime.places import Cut, Places
from syncoll.wording import counted
from syncoll_mscclpp.limits import MOST_CHANNELS, MOST_OPERATIONS, MOST_TABLE
from syncoll_mscclpp.program import PlanProgram, RankPlan
from syncoll_mscclpp.script import Event, Group, Move, Script, joined
from syncoll_mscclpp.ways import Send, around_one_switch, collected

Bound = tuple[Group, Buffer]
"""A multicast group, and the buffer that it binds."""


@dataclass(frozen=True)
class _Way:
    """The group of a chunk, its root (None if all ranks send it to all others), and whether it
    sums."""

    group: Group
    root: int | None
    sums: bool


def switch_program(cut: Cut, most_blocks: int) -> PlanProgram:
    """The program of an algorithm; a note counts the chunks that all ranks send to all others.

    Raises ExportError if a chunk is not reduced to one rank of a group and sent from there to the
    whole group, or has different places there.
    """
    request, layout = cut.streams.request, cut.streams.layout
    nodes = layout.collective.num_nodes
    ways = _ways(request.instance, request.algorithm)
    exchanged, uses = 0, Counter(way.root for way in ways)
    events: list[list[Event]] = [[] for _ in range(nodes)]
    made: set[Bound] = set()
    for chunk, way in enumerate(ways):
        root = way.root
        if root is None:
            exchanged += int(cut.streams.sizes[chunk])
            root = min(way.group, key=lambda rank: uses[rank])
            uses[root] += 1
        event = _event(request, layout, chunk, way, root)
        if event is not None:
            events[root].append(replace(event, part=cut.slices[chunk]))
            if len(way.group) > 1:
                made.add((way.group, Buffer.OUTPUT))
                made |= {(way.group, Buffer.INPUT)} if way.sums else set()
    channels: list[list[Bound]] = [[] for _ in range(nodes)]
    for group, buffer in sorted(made):
        _require_alike(layout, group, buffer)
        for member in group:
            channels[member].append((group, buffer))
    peers = [
        sorted({peer for group, _ in mine for peer in group} - {number})
        for number, mine in enumerate(channels)
    ]
    for number, mine in enumerate(channels):
        counts = {"other ranks": len(peers[number]), "switch channels": len(mine)}
        for what, count in counts.items():
            if count > MOST_TABLE:
                raise ExportError(
                    f"rank {number} has groups with {count} {what}; a thread block has at most "
                    f"{MOST_TABLE}"
                )
    places = Places(cut, layout, [[] for _ in range(nodes)])
    moves = [joined(own, lambda one: (one.group, one.sums, one.part)) for own in events]
    signals = max(-(-len(mine) // MOST_CHANNELS) for mine in peers)
    room = MOST_OPERATIONS - 4 * signals - 2
    blocks = max(1, -(-max(map(len, moves)) // room))
    if blocks > most_blocks:
        raise ExportError(
            f"a rank has {max(map(len, moves))} chunks to store through switches, and needs "
            f"{counted(blocks, 'thread block')}; at most {most_blocks} are allowed"
        )
    programs = []
    for number, mine in enumerate(channels):
        count, scripts = len(peers[number]), []
        for block in range(blocks):
            to = [("memory", block * count + i) for i in range(count)]
            script = Script(number, places, to, switches=list(range(len(mine))))
            scripts.append(_script(script, moves[number][block::blocks], mine))
        own = {"memory": peers[number] * blocks}
        programs.append(RankPlan(own, 0, tuple(scripts), tuple(mine)))
    note = (
        f"the switch also reduces and copies {counted(exchanged, 'chunk')} that all ranks would "
        "send to all others, which loads every cable less"
    )
    return PlanProgram(places, tuple(programs), switches=True, notes=(note,) * bool(exchanged))


def _ways(instance: Instance, algorithm: Algorithm) -> list[_Way]:
    found: list[_Way] = []
    around: set[_Way] = set()
    box = shared_memory_boxes(instance.topology)
    for chunk, sends in enumerate(Send.by_chunk(instance, algorithm)):
        way = _way(instance, chunk, sends)
        found.append(way)
        if way not in around:
            _require_switch(instance.topology, box, chunk, way)
            around.add(way)
    return found


def _way(instance: Instance, chunk: int, sends: Sequence[Send]) -> _Way:
    starts = tuple(np.flatnonzero(instance.pre[chunk]).tolist())
    group = tuple(np.flatnonzero(instance.post[chunk]).tolist())
    if not instance.combining or len(starts) == 1:
        root = starts[0]
        pairs = sorted((one.source, one.destination) for one in sends)
        if root in group and pairs == [(root, node) for node in group if node != root]:
            return _Way(group, root, sums=False)
        raise ExportError(
            f"chunk {chunk} is not sent directly from one rank to all others of its group, "
            "as a switch would do"
        )
    if starts != group:
        raise ExportError(
            f"chunk {chunk} does not end at exactly the ranks that contribute to it, where a "
            "switch stores the sum"
        )
    single = {node: 1 << node for node in group}
    way = collected(sends, group, single, sum(single.values()))
    if way is None:
        raise ExportError(
            f"chunk {chunk} is not reduced at one rank and sent from there directly to its whole "
            "group, as a switch would do; algorithms of seed inswitch are, in one box"
        )
    return _Way(group, way[0], sums=True)


def _require_switch(topology: Topology, box: Ints, chunk: int, way: _Way) -> None:
    """Raises ExportError unless a group is in one box, and around one switch that can do it."""
    hub = way.group[0] if way.root is None else way.root
    together = len(set(box[list(way.group)].tolist())) == 1
    known = topology.counts_copies and len(way.group) > 1
    if not together or (known and not around_one_switch(topology, hub, way.group, way.sums)):
        what = "reduces and copies" if way.sums else "copies"
        raise ExportError(
            f"no switch of {topology.name} {what} between ranks "
            f"{', '.join(map(str, way.group))} of chunk {chunk}"
        )


def _event(
    request: ExportRequest, layout: Layout, chunk: int, way: _Way, root: int
) -> Event | None:
    """The event of a chunk; None if it needs none."""
    group = list(way.group)
    if len(group) == 1 and request.in_place:
        return None
    for places, buffer in ((layout.inputs, "input"), (layout.outputs, "output")):
        if (way.sums or buffer == "output") and len(set(places[chunk, group].tolist())) > 1:
            raise ExportError(
                f"chunk {chunk} has different places in its ranks' {buffer}s; a switch "
                "reads and writes one place at all ranks"
            )
    source = Slot(Buffer.INPUT, int(layout.inputs[chunk, root]))
    target = Slot(Buffer.OUTPUT, int(layout.outputs[chunk, root]))
    sums = way.sums and len(group) > 1
    return Event(0, chunk, root, way.group, sums, source, target, gathers=False, signals=False)


def _require_alike(layout: Layout, group: Group, buffer: Buffer) -> None:
    sizes = layout.input_chunks if buffer is Buffer.INPUT else layout.output_chunks
    if len({sizes[rank] for rank in group}) > 1:
        name = "inputs" if buffer is Buffer.INPUT else "outputs"
        raise ExportError(
            f"ranks {', '.join(map(str, group))} have {name} of different sizes, which cannot be "
            "bound to one multicast group"
        )


def _script(script: Script, events: list[Event], channels: list[Bound]) -> Script:
    """The script of a block: signals, its chunks, and signals."""
    mine = script.channels
    script.synchronise("rlxsignal", mine)
    script.synchronise("rlxwait", mine)
    script.nop()
    for one in events:
        if len(one.group) == 1:
            script.copy(Move(-1, None, one.source, one.target, one.part, one.size))
        else:
            script.multicast(one, channels)
    script.nop()
    script.synchronise("signal", mine)
    script.synchronise("wait", mine)
    return script
