"""Ways of chunks on a machine of boxes, each around a switch that copies and reduces.

The ways of a chunk:

* within a box: its ranks sum the chunk and all get the sum;
* by roots: each box sums to one rank; these ranks exchange, and spread the result;
* boxes first: each box sums and spreads, then ranks of different boxes add their sums;
* boxes last: ranks of different boxes add, then each box sums and spreads;
* by itself: none of these, with separate sends.

Operations through switches are *events* (`syncoll_mscclpp.script`), the rest *parts*: messages of a
chunk among some ranks, which begin with results of events and end with sources of later events.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import networkx as nx
import numpy as np

from syncoll.model import Algorithm, Counting, Instance, Topology
from syncoll.model.width_clusters import boxes_by_copies, shared_memory_boxes
from syncoll.runtime import Buffer, Layout, Slot, bit_masks
from syncoll_mscclpp.script import Event, Group


@dataclass(frozen=True)
class Send:
    """A send of a chunk; the mask has the ranks whose contributions it carries."""

    source: int
    destination: int
    step: int
    mask: int

    @staticmethod
    def by_chunk(instance: Instance, algorithm: Algorithm) -> "list[list[Send]]":
        """The sends of each chunk."""
        sends = algorithm.sends.tolist()
        if algorithm.contributions is None:
            masks = [1 << int(instance.pre[one[0]].argmax()) for one in sends]
        else:
            masks = bit_masks(algorithm.contributions)
        by_chunk: list[list[Send]] = [[] for _ in range(instance.num_chunks)]
        for (chunk, source, destination, step), mask in zip(sends, masks, strict=True):
            by_chunk[chunk].append(Send(source, destination, step, mask))
        return by_chunk


@dataclass
class Exchange:
    """Messages of a chunk among ranks, with the contributions and slots at the beginning.  The sum
    ends in the outputs; input slots in scratch are results of events, numbered from 0."""

    shares: dict[int, int]
    inputs: dict[int, Slot]
    outputs: dict[int, Slot]
    sends: list[Send]

    def fits(self) -> bool:
        """Whether all sends carry whole shares."""
        return all(
            sum(share for share in self.shares.values() if not share & ~one.mask) == one.mask
            for one in self.sends
        )


@dataclass
class ChunkWay:
    """The way of a chunk: events, parts, later events; and its slots of scratch for events."""

    first: list[Event] = field(default_factory=list)
    parts: list[Exchange] = field(default_factory=list)
    last: list[Event] = field(default_factory=list)
    places: int = 0


def around_one_switch(topology: Topology, root: int, group: Iterable[int], sums: bool) -> bool:
    """Whether one switch copies from a rank to a group and, if `sums`, reduces on the way back."""
    others = [rank for rank in group if rank != root]
    ways = [(Counting.SOURCES, {(root, rank) for rank in others})]
    if sums:
        ways.append((Counting.DESTINATIONS, {(rank, root) for rank in others}))
    return all(
        any(one.counts is counts and links <= {*one.links} for one in topology.bounds)
        for counts, links in ways
    )


class ChunkWays:
    """Finds the ways of chunks."""

    def __init__(self, instance: Instance, layout: Layout) -> None:
        self.instance = instance
        self.layout = layout
        self.topology = instance.topology
        self.box = boxes_by_copies(self.topology)
        self.memory = shared_memory_boxes(self.topology)
        self.known: dict[tuple[int, Group, bool], bool] = {}

    def of(self, algorithm: Algorithm) -> list[ChunkWay]:
        """The way of each chunk."""
        sends = Send.by_chunk(self.instance, algorithm)
        return [_Found(self, chunk, mine).way() for chunk, mine in enumerate(sends)]

    def around(self, root: int, group: Group, *, sums: bool = False) -> bool:
        """Whether a group is around one switch of its box; switches of a network do not count."""
        key = root, group, sums
        if key not in self.known:
            together = len(set(self.memory[list(group)].tolist())) == 1
            self.known[key] = together and around_one_switch(self.topology, root, group, sums)
        return self.known[key]


def collected(
    sends: Sequence[Send], group: Group, values: Mapping[int, int], result: int
) -> tuple[int | None, int] | None:
    """The root that sums and spreads the values of a group, and the last step of sends to it.  All
    ranks may send to all others: then there is no root.  Returns None for other sends."""
    to_all = [(a, b, values[a]) for a in group for b in group if a != b]
    given = sorted((one.source, one.destination, one.mask) for one in sends)
    if given == sorted(to_all):
        return None, max((one.step for one in sends), default=-1)
    for root in {one.destination for one in sends}:
        others = [node for node in group if node != root]
        came = [(node, root, values[node]) for node in others]
        went = [(root, node, result) for node in others]
        if given == sorted(came + went):
            return root, max(one.step for one in sends if one.destination == root)
    return None


_Ends = tuple[Slot | None, Slot | None]
"""The slots that an event loads and stores; None without a common one."""


class _Found:
    """One chunk and its possible ways; a method returns None if the chunk takes another way."""

    def __init__(self, ways: ChunkWays, chunk: int, sends: list[Send]) -> None:
        self.ways = ways
        self.chunk = chunk
        instance = ways.instance
        self.starts: list[int] = np.flatnonzero(instance.pre[chunk]).tolist()
        self.ends: list[int] = np.flatnonzero(instance.post[chunk]).tolist()
        self.copies = len(self.starts) > 1 and not instance.combining
        self.whole = sum(1 << node for node in self.starts)
        box = ways.box
        self.sends = sends
        self.inside: dict[int, list[Send]] = {}
        self.between: list[Send] = []
        for one in sends:
            if box[one.source] == box[one.destination]:
                self.inside.setdefault(int(box[one.source]), []).append(one)
            else:
                self.between.append(one)
        self.boxes = sorted({int(box[node]) for node in (*self.starts, *self.ends)})
        self.starting = {b: tuple(n for n in self.starts if box[n] == b) for b in self.boxes}
        self.ending = {b: tuple(n for n in self.ends if box[n] == b) for b in self.boxes}

    def way(self) -> ChunkWay:
        """The first way that fits."""
        for attempt in (self.within_a_box, self.by_roots, self.boxes_first, self.boxes_last):
            way = attempt()
            if way is not None and all(part.fits() for part in way.parts):
                return way
        return self.by_itself()

    def slot(self, buffer: Buffer, node: int) -> Slot:
        """The place where the chunk starts, or must end, at a rank."""
        layout = self.ways.layout
        places = layout.inputs if buffer is Buffer.INPUT else layout.outputs
        return Slot(buffer, int(places[self.chunk, node]))

    def common(self, buffer: Buffer, group: Group) -> Slot | None:
        """The common place of the chunk at all ranks of a group, in buffers of one size."""
        layout = self.ways.layout
        sizes = layout.input_chunks if buffer is Buffer.INPUT else layout.output_chunks
        slots = {self.slot(buffer, node) for node in group}
        if len(slots) > 1 or len({sizes[node] for node in group}) > 1:
            return None
        return slots.pop()

    def event(
        self, root: int, group: Group, step: int, ends: _Ends, *, sums: bool, signals: bool = True
    ) -> Event | None:
        """An event, if its group is around one switch and its data have one place."""
        source, target = ends
        if source is None or target is None or not self.ways.around(root, group, sums=sums):
            return None
        return Event(
            step, self.chunk, root, group, sums, source, target, gathers=False, signals=signals
        )

    def summed(
        self, sends: list[Send], group: Group, values: dict[int, int], result: int, ends: _Ends
    ) -> Event | None:
        """The event that sums values of a group, and stores the sum at all its ranks."""
        found = collected(sends, group, values, result)
        if found is None:
            return None
        root = group[self.chunk % len(group)] if found[0] is None else found[0]
        return self.event(root, group, found[1], ends, sums=True)

    def within_a_box(self) -> ChunkWay | None:
        """The way within one box: its ranks sum the chunk and all get the sum."""
        group = tuple(self.ends)
        if len(self.boxes) > 1 or self.between or self.copies or tuple(self.starts) != group:
            return None
        if len(group) == 1:
            return None
        single = {node: 1 << node for node in group}
        ends = self.common(Buffer.INPUT, group), self.common(Buffer.OUTPUT, group)
        event = self.summed(self.sends, group, single, self.whole, ends)
        return None if event is None else ChunkWay(first=[event])

    def by_roots(self) -> ChunkWay | None:
        """The way by roots: in each box to one rank, among these, and from each to its box."""
        if self.copies:
            return None
        way, part = ChunkWay(), Exchange({}, {}, {}, self.between)
        stored = Slot(Buffer.SCRATCH, 0)
        for b in self.boxes:
            members, goals = self.starting[b], self.ending[b]
            sends = self.inside.get(b, [])
            spread = [one for one in sends if one.mask == self.whole]
            gather = [one for one in sends if one.mask != self.whole]
            roots = {one.destination for one in gather} | {one.source for one in spread}
            if not roots:
                roots = {*members, *goals}
            if len(roots) != 1:
                return None
            (root,) = roots
            others = [node for node in members if node != root]
            meant = [(node, root, 1 << node) for node in others]
            meant += [(root, node, self.whole) for node in goals if node != root]
            if sorted((one.source, one.destination, one.mask) for one in sends) != sorted(meant):
                return None
            if (goals and root not in goals) or (others and root not in members):
                return None
            if members:
                part.shares[root] = sum(1 << node for node in members)
                part.inputs[root] = self.slot(Buffer.INPUT, root)
            if others:
                last = max(one.step for one in gather)
                ends = self.common(Buffer.INPUT, members), stored
                signals = not (len(goals) > 1 and set(members) <= set(goals))
                event = self.event(root, members, last, ends, sums=True, signals=signals)
                if event is None:
                    return None
                way.first.append(event)
                way.places = 1
                part.inputs[root] = stored
            if goals:
                whole = part.shares.get(root) == self.whole
                if whole and others and len(goals) == 1:
                    return None
                if not whole or len(goals) == 1:
                    part.outputs[root] = self.slot(Buffer.OUTPUT, root)
                origin = part.inputs[root] if whole else part.outputs[root]
            if len(goals) > 1:
                begin = min(one.step for one in spread)
                stores = origin, self.common(Buffer.OUTPUT, goals)
                event = self.event(root, goals, begin, stores, sums=False)
                if event is None:
                    return None
                way.last.append(event)
        if {node for one in self.between for node in (one.source, one.destination)} - {
            *part.shares,
            *part.outputs,
        }:
            return None
        if part.sends or part.outputs:
            way.parts.append(part)
        return way if way.first or way.last else None

    def boxes_first(self) -> ChunkWay | None:
        """Each box sums and spreads; then ranks of different boxes add their sums."""
        if self.copies or self.starts != self.ends or len(self.boxes) < 2:
            return None
        way, shares, inputs = ChunkWay(), dict[int, int](), dict[int, Slot]()
        for b in self.boxes:
            group = self.starting[b]
            result = sum(1 << node for node in group)
            for node in group:
                shares[node], inputs[node] = result, self.slot(Buffer.INPUT, node)
            if len(group) == 1:
                if self.inside.get(b):
                    return None
                continue
            single = {node: 1 << node for node in group}
            stored = Slot(Buffer.SCRATCH, 0)
            ends = self.common(Buffer.INPUT, group), stored
            event = self.summed(self.inside.get(b, []), group, single, result, ends)
            if event is None:
                return None
            way.first.append(event)
            way.places = 1
            inputs.update(dict.fromkeys(group, stored))
        for nodes in self.components():
            if sum(shares[node] for node in nodes) != self.whole or len(nodes) == 1:
                return None
            way.parts.append(self.part(nodes, shares, inputs, Buffer.OUTPUT))
        return way if way.first else None

    def boxes_last(self) -> ChunkWay | None:
        """Ranks of different boxes add; then each box sums and spreads."""
        if self.copies or self.starts != self.ends or len(self.boxes) < 2:
            return None
        way = ChunkWay(places=1)
        shares = {node: 1 << node for node in self.starts}
        inputs = {node: self.slot(Buffer.INPUT, node) for node in self.starts}
        values = dict[int, int]()
        for nodes in self.components():
            total = sum(shares[node] for node in nodes)
            values.update(dict.fromkeys(nodes, total))
            way.parts.append(self.part(nodes, shares, inputs, Buffer.SCRATCH))
        for b in self.boxes:
            group = self.starting[b]
            if sum(values[node] for node in group) != self.whole or len(group) == 1:
                return None
            ends = Slot(Buffer.SCRATCH, 0), self.common(Buffer.OUTPUT, group)
            event = self.summed(self.inside.get(b, []), group, values, self.whole, ends)
            if event is None:
                return None
            way.last.append(replace(event, gathers=True))
        return way

    def by_itself(self) -> ChunkWay:
        """The way of separate sends."""
        shares = {node: 1 << node for node in self.starts}
        if self.copies:
            shares = dict.fromkeys(self.starts, 1 << self.starts[0])
        inputs = {node: self.slot(Buffer.INPUT, node) for node in self.starts}
        outputs = {node: self.slot(Buffer.OUTPUT, node) for node in self.ends}
        return ChunkWay(parts=[Exchange(shares, inputs, outputs, self.sends)])

    def components(self) -> list[list[int]]:
        """The ranks between which the chunk goes from box to box, and the single ones."""
        graph = nx.Graph([(one.source, one.destination) for one in self.between])
        if not set(graph) <= {*self.starts}:
            return [self.starts]  # another rank relays: no share is whole
        graph.add_nodes_from(self.starts)
        return sorted(map(sorted, nx.connected_components(graph)))

    def part(
        self, nodes: list[int], shares: dict[int, int], inputs: dict[int, Slot], ending: Buffer
    ) -> Exchange:
        """The exchange among some ranks that leaves the sum at all of them."""
        scratch = ending is Buffer.SCRATCH
        return Exchange(
            {node: shares[node] for node in nodes},
            {node: inputs[node] for node in nodes},
            {node: Slot(ending, 0) if scratch else self.slot(ending, node) for node in nodes},
            [one for one in self.between if one.source in nodes],
        )
