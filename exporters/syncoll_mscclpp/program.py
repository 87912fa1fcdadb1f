"""Program: what every thread block does, step by step.

In a step of the algorithm a thread block

1. tells senders that what they will overwrite is not needed any more (``signal``), where it is;
2. waits for the same from those to which it sends;
3. puts, and signals each receiver once for all that it got;
4. waits for each sender that puts something here,
5. answers it, and waits for such answers, where a proxy's source will be overwritten, and only then
6. adds and copies.

All of that is done in one common order of all ranks, by step and then by these phases, and whatever
is awaited comes earlier in that order.  So no ring of blocks waits for one another; and as signals
of a channel are sent and awaited in that order, the n-th wait is for the n-th signal.

Before anything is put to a block it says that its rank's call has begun (``rlxsignal``), since the
memory there belongs to somebody else until then.  Every put is awaited by a block of the rank where
it goes, so that no call ends while somebody writes to its memory.  Over port channels a proxy reads
the source at its leisure; so at the end every receiver answers, and no call ends while somebody
reads from its memory.

By packets (`syncoll_mscclpp.packets`) there are no signals but those at the beginning: 3 is a put
of packets, 4 is part of what reads them, and 1, 2 and 5 are not needed, since nobody writes to what
others read.  All packets of a call are read before it ends at their receiver, and are not sent
before it has begun there; so scratch is never overwritten too early, whatever was called in
between.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from syncoll.errors import ExportError
from syncoll.runtime import Action, Hazard, LoweredAlgorithm, Operation
from syncoll_mscclpp.blocks import Block, Division
from syncoll_mscclpp.packets import Packed, Packets
from syncoll_mscclpp.script import Move, Script, merge

__all__ = ["Program", "RankProgram", "program_of"]

MOST_OPERATIONS = 64
"""Of one thread block."""

MOST_TABLE = 16
"""Channels, and remote buffers, of one thread block."""


@dataclass(frozen=True)
class RankProgram:
    """What one rank does.

    Args:
        peers: the other end of each of its channels.
        semaphores: how many.
        scripts: one for each thread block.
    """

    peers: tuple[int, ...]
    semaphores: int
    scripts: tuple[Script, ...]


@dataclass(frozen=True, eq=False)
class Program:
    """What all ranks do.

    Args:
        lowered: the algorithm.
        ranks: one for each node.
        split: whether limits asked for more thread blocks than were wanted.
    """

    lowered: LoweredAlgorithm
    ranks: tuple[RankProgram, ...]
    split: bool


def program_of(
    lowered: LoweredAlgorithm, kind: str, most_blocks: int, packets: Packets | None = None
) -> Program:
    """The program of an algorithm.

    Args:
        lowered: what every rank does.
        kind: of the channels: memory or port.
        most_blocks: thread blocks of a rank, if no limit asks for more.
        packets: how it is done by packets; None for data with signals.

    Raises:
        ExportError: when a step of one chunk at one rank exceeds the limits of a thread block.
    """
    division = Division.of(lowered, most_blocks)
    split = False
    while True:
        draft = _Draft(lowered, kind, division.owners(lowered), packets)
        scripts = draft.scripts()
        groups: set[int] = set()
        for block, script in scripts.items():
            excess = _excess(script)
            if excess is None or block[1] in groups:
                continue
            groups.add(block[1])
            split = True
            if not division.split(block, draft.steps_of(block)):
                raise ExportError(
                    f"rank {block[0]} has {excess} in one step for one chunk; MSCCL++ has no room "
                    "for that in one thread block"
                )
        if not groups:
            break
    ranks = []
    for rank in range(lowered.layout.collective.num_nodes):
        mine = [scripts[block] for block in sorted(scripts) if block[0] == rank]
        if not mine:
            idle = Script(kind, [])
            idle.nop()
            mine = [idle]
        ranks.append(RankProgram(draft.peers[rank], draft.semaphores[rank], tuple(mine)))
    return Program(lowered, tuple(ranks), split)


def _excess(script: Script) -> str | None:
    """What there is too much of; None if nothing."""
    for count, most, what in (
        (len(script.operations), MOST_OPERATIONS, "operations"),
        (len(script.channels), MOST_TABLE, "channels"),
        (len(script.remotes), MOST_TABLE, "remote buffers"),
    ):
        if count > most:
            return f"{count} {what}"
    return None


Link = tuple[Block, Block]
"""Two blocks that talk to one another, the smaller first."""


@dataclass
class _Step:
    """What a block does in one step."""

    sends: list[Operation] = field(default_factory=list)
    receives: list[Operation] = field(default_factory=list)
    local: list[Operation] = field(default_factory=list)


class _Draft:
    """Scripts for one division of the operations."""

    def __init__(
        self,
        lowered: LoweredAlgorithm,
        kind: str,
        owners: Sequence[Sequence[Block]],
        packets: Packets | None,
    ) -> None:
        self.lowered = lowered
        self.kind = kind
        self.packets = packets
        self.packed: defaultdict[tuple[Block, int], list[Packed]] = defaultdict(list)
        self.steps: defaultdict[Block, dict[int, _Step]] = defaultdict(dict)
        for rank in lowered.ranks:
            for index, operation in enumerate(rank.operations):
                block = owners[rank.rank][index]
                step = self.steps[block].setdefault(operation.step, _Step())
                if packets is not None:
                    done = packets.operations[rank.rank][index]
                    self.packed[block, operation.step] += done
                if operation.action is Action.SEND:
                    step.sends.append(operation)
                elif operation.action is Action.RECEIVE:
                    step.receives.append(operation)
                else:
                    step.local.append(operation)
        self.ends: list[Link] = []
        """Of each message, the block that sends and the one that receives."""
        links: set[Link] = set()
        for message in lowered.messages:
            sender = owners[message.source][message.send]
            receiver = owners[message.destination][message.receive]
            self.ends.append((sender, receiver))
            links.add((min(sender, receiver), max(sender, receiver)))
        self.peers, self.channel = _channels(sorted(links), len(lowered.ranks))
        self.answered = _overwritten(lowered) if kind == "port" else set()
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
        """The steps in which a block does something."""
        return sorted(self.steps[block])

    def scripts(self) -> dict[Block, Script]:
        """The script of every block."""
        return {block: self.script(block) for block in sorted(self.steps)}

    def to(self, block: Block, message: int | None) -> int:
        """The channel over which a block talks of a message."""
        assert message is not None
        sender, receiver = self.ends[message]
        return self.channel[block, receiver if block == sender else sender]

    def overwrites(self, message: int | None) -> bool:
        """Whether the receiver must say first that its memory is free."""
        assert message is not None
        there = self.lowered.messages[message]
        receive = self.lowered.ranks[there.destination].operations[there.receive]
        return bool(receive.dependencies)

    def script(self, block: Block) -> Script:
        steps = [self.steps[block][step] for step in self.steps_of(block)]
        sends = {self.to(block, one.message) for step in steps for one in step.sends}
        receives = {self.to(block, one.message) for step in steps for one in step.receives}
        relaxed = "rlx" if self.kind == "memory" else ""
        script = Script(self.kind, sorted(sends | receives))
        script.synchronise(f"{relaxed}signal", sorted(receives))
        script.synchronise(f"{relaxed}wait", sorted(sends))
        if block in self.before:
            script.semaphore("sem_acquire", self.before[block])
        for number, step in zip(self.steps_of(block), steps, strict=True):
            if self.packets is None:
                self.step(block, script, step)
            else:
                self.packet_step(script, self.packets, self.packed[block, number])
        if block in self.after:
            script.semaphore("sem_release", self.after[block])
        if self.kind == "port":
            script.synchronise("signal", sorted(receives))
            script.synchronise("wait", sorted(sends))
        return script

    def packet_step(self, script: Script, packets: Packets, done: Sequence[Packed]) -> None:
        """What a block does in a step by packets, in the order of the rank's list."""
        for one in done:
            remote = None
            if one.message is not None:
                peer = self.lowered.messages[one.message].destination
                remote = (peer, packets.arrivals[one.message])
            if one.name == "copy":
                assert one.target is not None
                script.copy(Move(-1, -1, one.data[0], one.target))
            elif one.name == "re":
                assert one.target is not None
                script.reduce(one.data, one.target)
            else:
                script.packet(one.name, one.data, one.packets, one.target, remote)

    def step(self, block: Block, script: Script, step: _Step) -> None:
        def channels(
            operations: Sequence[Operation], chosen: Callable[[int | None], bool]
        ) -> list[int]:
            return sorted({self.to(block, o.message) for o in operations if chosen(o.message)})

        def every(_message: int | None) -> bool:
            return True

        script.synchronise("signal", channels(step.receives, self.overwrites))
        script.synchronise("wait", channels(step.sends, self.overwrites))
        moves = []
        for one in step.sends:
            assert one.message is not None
            message = self.lowered.messages[one.message]
            channel = self.to(block, one.message)
            moves.append(
                Move(message.destination, channel, message.source_slot, message.target_slot)
            )
        ranks = len(self.lowered.ranks)
        script.put(merge(moves, block[0], ranks))
        script.synchronise("signal", channels(step.sends, every))
        script.synchronise("wait", channels(step.receives, every))
        script.synchronise("signal", channels(step.receives, self.answered.__contains__))
        script.synchronise("wait", channels(step.sends, self.answered.__contains__))
        copies = [
            Move(-1, -1, one.sources[0], one.target)
            for one in step.local
            if one.action is Action.COPY and one.target is not None
        ]
        for one in step.local:
            if one.action is Action.REDUCE:
                assert one.target is not None
                script.reduce(one.sources, one.target)
        for move in merge(copies, block[0], ranks):
            script.copy(move)


def _overwritten(lowered: LoweredAlgorithm) -> set[int]:
    """The messages whose sources are written to later on."""
    found: set[int] = set()
    for rank in lowered.ranks:
        for operation in rank.operations:
            for dependency in operation.dependencies:
                message = rank.operations[dependency.operation].message
                if dependency.hazard is Hazard.WRITE_AFTER_READ and message is not None:
                    found.add(message)
    return found


def _channels(
    links: Sequence[Link], num_ranks: int
) -> tuple[list[tuple[int, ...]], Mapping[tuple[Block, Block], int]]:
    """Numbers channels at each rank.

    The k-th channel of one rank to another is the other end of the k-th one back; so both take
    their common links in the same order.
    """
    peers: list[list[int]] = [[] for _ in range(num_ranks)]
    numbers: dict[tuple[Block, Block], int] = {}
    for one, other in links:
        for here, there in ((one, other), (other, one)):
            numbers[here, there] = len(peers[here[0]])
            peers[here[0]].append(there[0])
    return [tuple(one) for one in peers], numbers
