"""Program: the operations of every thread block, step by step.

In a step of the algorithm a thread block

1. signals senders that the slots that they will overwrite are free, if they were in use;
2. waits for the same from its receivers;
3. puts, and signals each receiver once for all its data;
4. waits for each sender that puts data here;
5. answers it, and waits for such answers, if a proxy's source will be overwritten; then
6. reduces and copies.

All ranks follow one common order, by step and then by these phases, and every wait comes after
its signal in this order.  So no ring of blocks waits for one another; and as signals of a channel
are sent and awaited in this order, the n-th wait is for the n-th signal.

Before it receives a put, a block signals that its rank's call has begun (``rlxsignal``), since the
memory is in other use until then.  A block of the receiver awaits every put, so no call ends while
its memory is written to.  Over port channels a proxy reads the source at any later time; so at the
end every receiver answers, and no call ends while its memory is read.

With packets (`syncoll_mscclpp.packets`) only the signals at the beginning remain: 3 is a put of
packets, 4 is part of their reads, and 1, 2 and 5 are not needed, since no slot is written while
others read it.  All packets of a call are read before it ends at their receiver, and are not sent
before it has begun there.  So scratch is never overwritten too early, also by other calls in
between.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from syncoll.errors import ExportError
from syncoll.runtime import Action, Buffer, Hazard, LoweredAlgorithm, Operation
from syncoll.wording import counted
from syncoll_mscclpp.blocks import Block, Division
from syncoll_mscclpp.limits import MOST_FILE, MOST_OPERATIONS, MOST_TABLE
from syncoll_mscclpp.packets import Packed, Packets
from syncoll_mscclpp.places import Cut, Places, Slice
from syncoll_mscclpp.script import KINDS, Channel, Event, Group, Move, Script, joined, merge

__all__ = ["CLOSE", "PlanProgram", "RankPlan", "program_of"]

CLOSE = 1.5
"""A division that needs more than so many times the operations that fit is far from fitting."""

_DIVISIONS = ((1, False), (1, True), (2, True), (4, True), (8, True))
"""The divisions that are tried: the divisor of the number of groups, and whether it is even."""

_WORTH = 0.9
"""The size of a file with fewer thread blocks, relative to the one before, that is worth them."""

_BLOCK_BYTES = 250
"""About the bytes of a thread block's tables in the file."""


@dataclass(frozen=True)
class RankPlan:
    """Peers of a rank's channels by kind, semaphores, scripts, and groups with their buffers."""

    peers: Mapping[str, Sequence[int]]
    semaphores: int
    scripts: tuple[Script, ...]
    switches: tuple[tuple[Group, Buffer], ...] = ()


@dataclass(frozen=True, eq=False)
class PlanProgram:
    """The programs of all ranks, the places of their data, and notes for the user."""

    places: Places
    ranks: tuple[RankPlan, ...]
    packets: bool = False
    switches: bool = False
    notes: tuple[str, ...] = ()

    @property
    def thread_blocks(self) -> int:
        """Of the rank that has most."""
        return max(len(one.scripts) for one in self.ranks)

    @cached_property
    def size(self) -> int:
        """About the bytes of its file, for each rank."""
        operations = sum(
            len(json.dumps(one, separators=(",", ":"))) + 1
            for rank in self.ranks
            for script in rank.scripts
            for one in script.operations
        )
        return operations // len(self.ranks) + _BLOCK_BYTES * self.thread_blocks


def program_of(
    lowered: LoweredAlgorithm,
    cut: Cut,
    kind: Callable[[int, int], str],
    most_blocks: int,
    packets: Packets | None = None,
    events: Sequence[Event] = (),
) -> PlanProgram:
    """The program of an algorithm, in packets or with signals, and with events through switches.

    It has as many thread blocks as allowed, or fewer, if the file is too large otherwise.

    Raises:
        ExportError: if a rank needs more than `most_blocks` thread blocks.
    """
    data: Sequence[Sequence[int]]
    data = packets.data if packets else _scratch(lowered, events)
    incoming = packets.incoming if packets else None
    places = Places(cut, lowered.layout, data, incoming, common=bool(events))
    others = [event.chunk for event in events]
    best: PlanProgram | None = None
    refused: _TooManyError | None = None
    for wanted, evenly in _DIVISIONS:
        if best is not None and best.size <= MOST_FILE:
            break
        if best is not None and wanted == 1:
            continue
        division = Division.of(lowered, cut, max(1, most_blocks // wanted), others, evenly=evenly)
        division.most = most_blocks
        try:
            found = _divided(lowered, kind, division, places, packets, events)
        except _TooManyError as error:
            refused = error
            if best is not None or not error.close:
                break
        else:
            if best is not None and found.size > _WORTH * best.size:
                break
            best = found
    if best is None:
        assert refused is not None
        raise refused
    return best


class _TooManyError(ExportError):
    """A rank needs too many thread blocks; `close` if fewer, larger ones might suffice."""

    close = False


def _divided(
    lowered: LoweredAlgorithm,
    kind: Callable[[int, int], str],
    division: Division,
    places: Places,
    packets: Packets | None,
    events: Sequence[Event],
) -> PlanProgram:
    """The program for a division, which is split where a limit needs it."""
    while True:
        draft = _Draft(lowered, kind, division, places, packets, events)
        scripts = {block: draft.script(block) for block in sorted(draft.steps)}
        groups: set[int] = set()
        for block, script in scripts.items():
            excess = _excess(script)
            if excess is None or block[1] in groups:
                continue
            groups.add(block[1])
            if not division.split(block, draft.steps_of(block)):
                error = _TooManyError(
                    f"rank {block[0]} needs more than {counted(division.most, 'thread block')}: "
                    f"one would have {excess}; take an algorithm with fewer chunks or steps"
                )
                needed = sum(
                    len(one.operations) for at, one in scripts.items() if at[0] == block[0]
                )
                error.close = needed <= CLOSE * division.most * MOST_OPERATIONS
                raise error
        if not groups:
            break
    ranks = []
    for rank in range(lowered.layout.collective.num_nodes):
        mine = [scripts[block] for block in sorted(scripts) if block[0] == rank]
        if not mine:
            idle = Script(rank, places, [])
            idle.nop()
            mine = [idle]
        ranks.append(
            RankPlan(draft.peers[rank], draft.semaphores[rank], tuple(mine), draft.switches[rank])
        )
    return PlanProgram(places, tuple(ranks), packets is not None)


def _scratch(lowered: LoweredAlgorithm, events: Sequence[Event]) -> list[list[int]]:
    """For each rank the stream in each slot of scratch; -1 for a slot that it does not use."""
    used: list[dict[int, int]] = [{} for _ in lowered.ranks]
    for rank in lowered.ranks:
        for operation in rank.operations:
            for slot in (*operation.sources, *([operation.target] if operation.target else [])):
                if slot.buffer is Buffer.SCRATCH:
                    used[rank.rank][slot.index] = operation.chunk
    for event in events:
        for member in event.group:
            for slot in (event.source, event.target):
                if slot.buffer is Buffer.SCRATCH:
                    used[member][slot.index] = event.chunk
    return [[one.get(i, -1) for i in range(max(one, default=-1) + 1)] for one in used]


def _excess(script: Script) -> str | None:
    """Describes an exceeded limit; None if a script keeps all."""
    channels = [len(script.switches), *(len(script.table(kind)) for kind in KINDS)]
    for count, most, what in (
        (len(script.operations), MOST_OPERATIONS, "operations"),
        (max(channels), MOST_TABLE, "channels"),
        (max(map(len, script.remotes.values()), default=0), MOST_TABLE, "remote buffers"),
    ):
        if count > most:
            return f"{count} {what}, and MSCCL++ allows {most}"
    return None


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


class _Draft:
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

    def overwrites(self, message: int | None) -> bool:
        """Whether the receiver must signal first that its memory is free."""
        assert message is not None
        there = self.lowered.messages[message]
        receive = self.lowered.ranks[there.destination].operations[there.receive]
        return bool(receive.dependencies)

    def part(self, operation: Operation) -> Slice | None:
        """The slice of an operation's stream."""
        return self.places.cut.slices[operation.chunk]

    def script(self, block: Block) -> Script:
        steps = [self.steps[block][step] for step in self.steps_of(block)]
        sends = {self.to(block, one.message) for step in steps for one in step.sends}
        receives = {self.to(block, one.message) for step in steps for one in step.receives}
        leads = {
            self.across(block, event, rank)
            for step in steps
            for event in step.leads
            for rank in event.others
        }
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
                self.packet_step(script, self.packets, self.packed[block, number])
        if block in self.after:
            script.semaphore("sem_release", self.after[block])
        script.synchronise("signal", sorted(one for one in receives if one[0] == "port"))
        script.synchronise("wait", sorted(one for one in sends if one[0] == "port"))
        return script

    def packet_step(self, script: Script, packets: Packets, done: Sequence[Packed]) -> None:
        """A step of a block by packets, in the order of the rank's list."""
        for one in done:
            remote = None
            if one.message is not None:
                peer = self.lowered.messages[one.message].destination
                remote = (peer, packets.arrivals[one.message])
            if one.name == "copy":
                assert one.target is not None
                script.copy(Move(-1, None, one.data[0], one.target))
            elif one.name == "re":
                assert one.target is not None
                script.reduce(one.data, one.target)
            else:
                script.packet(one.name, one.data, one.packets, one.target, remote)

    def multicast(self, block: Block, script: Script, step: _Step) -> None:
        """The events of a step, with the signals around."""
        ready = {self.across(block, one, one.root) for one in step.joins if one.gathers}
        script.synchronise("signal", sorted(ready))
        awaited, signalled = (
            {
                self.across(block, one, rank)
                for one in step.leads
                if (one.gathers, one.signals)[which]
                for rank in one.others
            }
            for which in (0, 1)
        )
        script.synchronise("wait", sorted(awaited))
        leads = sorted(step.leads, key=lambda one: (one.group, one.sums, one.source, one.target))
        for event in joined(leads, lambda one: (one.group, one.sums, one.part)):
            script.multicast(event, self.switches[block[0]])
        script.synchronise("signal", sorted(signalled))

    def step(self, block: Block, script: Script, step: _Step) -> None:
        def channels(
            operations: Sequence[Operation], chosen: Callable[[int | None], bool]
        ) -> list[Channel]:
            return sorted({self.to(block, o.message) for o in operations if chosen(o.message)})

        def every(_message: int | None) -> bool:
            return True

        script.synchronise("signal", channels(step.receives, self.overwrites))
        script.synchronise("wait", channels(step.sends, self.overwrites))
        self.multicast(block, script, step)
        moves = []
        for one in step.sends:
            assert one.message is not None
            message = self.lowered.messages[one.message]
            channel = self.to(block, one.message)
            moves.append(
                Move(
                    message.destination,
                    channel,
                    message.source_slot,
                    message.target_slot,
                    self.part(one),
                )
            )
        ranks = len(self.lowered.ranks)
        script.put(merge(moves, block[0], ranks))
        script.synchronise("signal", channels(step.sends, every))
        signalled = {self.across(block, one, one.root) for one in step.joins if one.signals}
        script.synchronise("wait", sorted(signalled))
        script.synchronise("wait", channels(step.receives, every))
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
    """Numbers channels at each rank by kind.

    The k-th channel of one rank to another is the other end of the k-th one back; so both take
    their common links in the same order.
    """
    peers: list[dict[str, list[int]]] = [{} for _ in range(num_ranks)]
    numbers: dict[tuple[Block, Block], Channel] = {}
    for one, other in links:
        name = kind(one[0], other[0])
        for here, there in ((one, other), (other, one)):
            mine = peers[here[0]].setdefault(name, [])
            numbers[here, there] = name, len(mine)
            mine.append(there[0])
    return peers, numbers
