"""Drafts: the operations of every thread block for one division, step by step.

docs/mscclpp.md ("How a plan is made") has the phases of a step.  All ranks follow one common order,
by step and then by these phases, and every wait comes after its signal in this order.  So no ring
of blocks waits for one another; and as signals of a channel are sent and awaited in this order, the
n-th wait is for the n-th signal.

With packets (`syncoll_mscclpp.packets`) only the signals at the beginning remain, since no slot is
written while others read it.  All packets of a call are read before it ends at their receiver, and
are not sent before it has begun there.  So scratch is never overwritten too early, also by other
calls in between.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from syncoll.runtime import Action, Buffer, Hazard, LoweredAlgorithm, Operation
from syncoll.runtime.places import Places, Slice
from syncoll_mscclpp.blocks import Block, Division
from syncoll_mscclpp.packets import Packed, Packets
from syncoll_mscclpp.script import Channel, Event, Group, Move, Script, joined, merge

Link = tuple[Block, Block]
"""Two blocks that communicate, the smaller first."""


@dataclass
class _Step:
    """The operations and events of a block in one step."""

    sends: list[Operation] = field(default_factory=list)
    receives: list[Operation] = field(default_factory=list)
    local: list[Operation] = field(default_factory=list)
    leads: list[Event] = field(default_factory=list)
    joins: list[Event] = field(default_factory=list)


class Draft:
    """Scripts for one division of the operations."""

    def __init__(
        self,
        lowered: LoweredAlgorithm,
        kind: Callable[[int, int], str],
        division: Division,
        places: Places,
        packets: Packets | None,
        events: Sequence[Event],
    ) -> None:
        self.lowered = lowered
        self.places = places
        self.packets = packets
        self.owner = division.owner()
        owners = [
            [self.owner(rank.rank, one.chunk, one.step) for one in rank.operations]
            for rank in lowered.ranks
        ]
        self.packed: defaultdict[tuple[Block, int], list[Packed]] = defaultdict(list)
        self.steps: defaultdict[Block, dict[int, _Step]] = defaultdict(dict)
        for rank in lowered.ranks:
            for index, operation in enumerate(rank.operations):
                block = owners[rank.rank][index]
                step = self.steps[block].setdefault(operation.step, _Step())
                if packets is not None:
                    self.packed[block, operation.step] += packets.operations[rank.rank][index]
                if operation.action is Action.SEND:
                    step.sends.append(operation)
                elif operation.action is Action.RECEIVE:
                    step.receives.append(operation)
                else:
                    step.local.append(operation)
        self.ends: list[Link] = []
        """The sending and the receiving block of each message."""
        links: set[Link] = set()
        for message in lowered.messages:
            sender = owners[message.source][message.send]
            receiver = owners[message.destination][message.receive]
            self.ends.append((sender, receiver))
            links.add((min(sender, receiver), max(sender, receiver)))
        made: set[tuple[Group, Buffer]] = set()
        for event in events:
            root = self.owner(event.root, event.chunk, event.step)
            self.steps[root].setdefault(event.step, _Step()).leads.append(event)
            for other in event.others:
                block = self.owner(other, event.chunk, event.step)
                self.steps[block].setdefault(event.step, _Step()).joins.append(event)
                links.add((min(root, block), max(root, block)))
            made.add((event.group, event.target.buffer))
            if event.sums:
                made.add((event.group, event.source.buffer))
        self.switches = [
            tuple(one for one in sorted(made) if rank in one[0])
            for rank in range(len(lowered.ranks))
        ]
        self.peers, self.channel = _channels(sorted(links), len(lowered.ranks), kind)
        # Only a proxy may still read its source after later operations have begun.
        self.answered = {
            message
            for message in _overwritten(lowered, events)
            if self.to(self.ends[message][0], message)[0] == "port"
        }
        self.semaphores = [0] * len(lowered.ranks)
        self.before: dict[Block, int] = {}
        self.after: dict[Block, int] = {}
        for block in sorted(self.steps):
            following = (*block[:2], block[2] + 1)
            if following in self.steps:
                number = self.semaphores[block[0]]
                self.semaphores[block[0]] += 1
                self.after[block] = self.before[following] = number

    def steps_of(self, block: Block) -> list[int]:
        """The steps in which a block has operations."""
        return sorted(self.steps[block])

    def to(self, block: Block, message: int | None) -> Channel:
        """The channel of a block for a message."""
        assert message is not None
        sender, receiver = self.ends[message]
        return self.channel[block, receiver if block == sender else sender]

    def across(self, block: Block, event: Event, rank: int) -> Channel:
        """The channel of a block for an event, to the block of another rank."""
        return self.channel[block, self.owner(rank, event.chunk, event.step)]

    def others(self, block: Block, events: Iterable[Event]) -> list[Channel]:
        """The channels of a block to the other ranks of events."""
        return sorted({self.across(block, one, rank) for one in events for rank in one.others})

    def part(self, operation: Operation) -> Slice | None:
        """The slice of an operation's stream."""
        return self.places.cut.slices[operation.chunk]

    def script(self, block: Block) -> Script:
        """The operations of a block."""
        steps = [self.steps[block][step] for step in self.steps_of(block)]
        out = [one.message for step in steps for one in step.sends]
        into = [one.message for step in steps for one in step.receives]
        sends, receives = ({self.to(block, one) for one in each} for each in (out, into))
        leads = {*self.others(block, (event for step in steps for event in step.leads))}
        joins = {self.across(block, event, event.root) for step in steps for event in step.joins}
        script = Script(block[0], self.places, sorted(sends | receives | leads | joins))
        script.synchronise("rlxsignal", sorted(receives | joins))
        script.synchronise("rlxwait", sorted(sends | leads))
        if block in self.before:
            script.semaphore("sem_acquire", self.before[block])
        for number, step in zip(self.steps_of(block), steps, strict=True):
            if self.packets is None:
                self.step(block, script, step)
            else:
                self.packet_step(block, script, self.packets, self.packed[block, number])
        if block in self.after:
            script.semaphore("sem_release", self.after[block])
        for name, each in (("signal", into), ("wait", out)):
            read = each if self.packets is None else self.packets.relayed.intersection(each)
            answered = {self.to(block, one) for one in read}
            script.synchronise(name, sorted(one for one in answered if one[0] == "port"))
        return script

    def packet_step(
        self, block: Block, script: Script, packets: Packets, done: Sequence[Packed]
    ) -> None:
        """A step of a block by packets, in the order of the rank's list."""
        for one in done:
            remote = channel = None
            if one.message is not None:
                peer = self.lowered.messages[one.message].destination
                remote, channel = (peer, packets.arrivals[one.message]), self.to(block, one.message)
            if one.name == "copy":
                assert one.target is not None
                script.copy(Move(-1, None, one.data[0], one.target))
            elif one.name == "re":
                assert one.target is not None
                script.reduce(one.data, one.target)
            else:
                script.packet(one, remote, channel)

    def multicast(self, block: Block, script: Script, step: _Step) -> None:
        """The events of a step, with the signals around."""
        ready = {self.across(block, one, one.root) for one in step.joins if one.gathers}
        script.synchronise("signal", sorted(ready))
        script.synchronise("wait", self.others(block, (x for x in step.leads if x.gathers)))
        leads = sorted(step.leads, key=lambda one: (one.group, one.sums, one.source, one.target))
        for event in joined(leads, lambda one: (one.group, one.sums, one.part)):
            script.multicast(event, self.switches[block[0]])
        script.synchronise("signal", self.others(block, (x for x in step.leads if x.signals)))

    def step(self, block: Block, script: Script, step: _Step) -> None:
        """A step of a block, in the phases of docs/mscclpp.md."""

        def channels(
            operations: Sequence[Operation], chosen: Callable[[int | None], bool] = lambda _: True
        ) -> list[Channel]:
            return sorted({self.to(block, o.message) for o in operations if chosen(o.message)})

        script.synchronise("signal", channels(step.receives, self.lowered.unordered.__contains__))
        script.synchronise("wait", channels(step.sends, self.lowered.unordered.__contains__))
        self.multicast(block, script, step)
        moves = []
        for one in step.sends:
            assert one.message is not None
            message, channel = self.lowered.messages[one.message], self.to(block, one.message)
            slots = message.source_slot, message.target_slot
            moves.append(Move(message.destination, channel, *slots, self.part(one)))
        ranks = len(self.lowered.ranks)
        script.put(merge(moves, block[0], ranks))
        script.synchronise("signal", channels(step.sends))
        signalled = {self.across(block, one, one.root) for one in step.joins if one.signals}
        script.synchronise("wait", sorted(signalled))
        script.synchronise("wait", channels(step.receives))
        script.synchronise("signal", channels(step.receives, self.answered.__contains__))
        script.synchronise("wait", channels(step.sends, self.answered.__contains__))
        copies = [
            Move(-1, None, one.sources[0], one.target, self.part(one))
            for one in step.local
            if one.action is Action.COPY and one.target is not None
        ]
        for one in step.local:
            if one.action is Action.REDUCE:
                assert one.target is not None
                script.reduce(one.sources, one.target)
        for move in merge(copies, block[0], ranks):
            script.copy(move)


def _overwritten(lowered: LoweredAlgorithm, events: Sequence[Event]) -> set[int]:
    """The messages whose sources are overwritten later."""
    stored = {(rank, event.target) for event in events for rank in event.group}
    found = {
        number
        for number, message in enumerate(lowered.messages)
        if (message.source, message.source_slot) in stored
    }
    for rank in lowered.ranks:
        for operation in rank.operations:
            for dependency in operation.dependencies:
                message = rank.operations[dependency.operation].message
                if dependency.hazard is Hazard.WRITE_AFTER_READ and message is not None:
                    found.add(message)
    return found


def _channels(
    links: Sequence[Link], num_ranks: int, kind: Callable[[int, int], str]
) -> tuple[list[dict[str, list[int]]], Mapping[tuple[Block, Block], Channel]]:
    """Numbers channels at each rank by kind.  The k-th channel of one rank to another is the other
    end of the k-th one back; so both take their common links in the same order."""
    peers: list[dict[str, list[int]]] = [{} for _ in range(num_ranks)]
    numbers: dict[tuple[Block, Block], Channel] = {}
    for one, other in links:
        name = kind(one[0], other[0])
        for here, there in ((one, other), (other, one)):
            mine = peers[here[0]].setdefault(name, [])
            numbers[here, there] = name, len(mine)
            mine.append(there[0])
    return peers, numbers
