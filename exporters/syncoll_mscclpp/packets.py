"""Packets: the same operations, with every message as packets to scratch of the receiver.

docs/mscclpp.md ("Packets") has the reasons.  In doubled scratch chunk k of packets has the place of
chunks 2k and 2k + 1 of data (`syncoll.runtime.places`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from syncoll.runtime import Action, Buffer, LoweredAlgorithm, Operation, RankOperations, Slot


@dataclass(frozen=True)
class Packed:
    """An operation: the slots of data and the packets that it reads, and its target, message, or
    the packet that it stores."""

    name: str
    data: tuple[Slot, ...] = ()
    packets: tuple[int, ...] = ()
    target: Slot | None = None
    message: int | None = None
    stored: int | None = None


@dataclass(frozen=True)
class Packets:
    """The operations by packets of each rank, and the packets of messages.

    Args:
        arrivals: for each message the number of its packet among the receiver's.
        data: for each rank the chunk in each slot of scratch that holds data.
        incoming: for each rank the chunk of each packet in its scratch.
        relayed: the messages that a proxy passes on as they arrived.
    """

    operations: tuple[tuple[tuple[Packed, ...], ...], ...]
    arrivals: tuple[int, ...]
    data: tuple[tuple[int, ...], ...]
    incoming: tuple[tuple[int, ...], ...]
    relayed: frozenset[int] = frozenset()


def packets_of(lowered: LoweredAlgorithm, kind: Callable[[int, int], str]) -> Packets:
    """Replaces an algorithm's operations by operations on packets, over channels of a kind."""
    by_port = [kind(one.source, one.destination) == "port" for one in lowered.messages]
    ranks = [_Rank(rank, by_port) for rank in lowered.ranks]
    arrivals = [0] * len(lowered.messages)
    for rank in ranks:
        for number, (_, message) in enumerate(rank.incoming):
            if message is not None:
                arrivals[message] = number
    return Packets(
        tuple(tuple(map(tuple, rank.done)) for rank in ranks),
        tuple(arrivals),
        tuple(tuple(rank.held) for rank in ranks),
        tuple(tuple(chunk for chunk, _ in rank.incoming) for rank in ranks),
        frozenset(message for rank in ranks for message in rank.relayed),
    )


@dataclass
class _Rank:
    """The places of a rank's values during a pass over its operations."""

    rank: RankOperations
    by_port: Sequence[bool]
    incoming: list[tuple[int, int | None]] = field(default_factory=list)
    """The chunk of each packet, and its message; None for a packet of the rank's own data."""
    held: list[int] = field(default_factory=list)
    """The chunk in each scratch slot that holds data."""
    done: list[list[Packed]] = field(default_factory=list)
    relayed: set[int] = field(default_factory=set)
    packet: dict[Slot, int] = field(default_factory=dict)
    """Slots whose value is also, or only, in packets, which are numbered by arrival."""
    made: dict[Slot, int] = field(default_factory=dict)
    """Slots whose data is also in packets that this rank made."""
    stored: dict[Slot, Slot] = field(default_factory=dict)
    """Scratch slots that hold data at some time, with their new names."""
    absent: set[Slot] = field(default_factory=set)
    """Slots whose value is currently only in packets."""
    last: dict[Slot, int] = field(default_factory=dict)
    """The last operation that writes a slot."""

    def __post_init__(self) -> None:
        for index, operation in enumerate(self.rank.operations):
            if operation.target is not None:
                self.last[operation.target] = index
        self.done = [self.packed(i, operation) for i, operation in enumerate(self.rank.operations)]

    def packed(self, index: int, operation: Operation) -> list[Packed]:
        """The operations that replace one; packets are numbered by arrival."""
        sources, target = operation.sources, operation.target
        if operation.action is Action.SEND:
            (source,) = sources
            number, message = self.packet.get(source), operation.message
            assert message is not None
            first: list[Packed] = []
            if number is not None and self.by_port[message]:
                self.relayed.add(message)
            if number is None and not self.by_port[message]:
                return [Packed("ppkt", (self.data(source),), message=message)]
            if number is None and (number := self.made.get(source)) is None:
                number = self.made[source] = len(self.incoming)
                self.incoming.append((operation.chunk, None))
                first = [Packed("cpkt", (self.data(source),), stored=number)]
            return [*first, Packed("rppkt", (), (number,), message=message)]
        assert target is not None
        if operation.action is Action.RECEIVE:
            assert operation.message is not None
            number = len(self.incoming)
            self.incoming.append((operation.chunk, operation.message))
            self.packet[target] = number
            self.made.pop(target, None)
            # A value is stored if it stays; otherwise it is read from the packets.
            if target.buffer is Buffer.SCRATCH or self.last[target] != index:
                self.absent.add(target)
                return []
            self.absent.discard(target)
            return [Packed("upkt", (), (number,), target)]
        if operation.action is Action.COPY:
            (source,) = sources
            if source in self.packet:
                return [self.write(operation.chunk, "upkt", (), (source,), target)]
            return [self.write(operation.chunk, "copy", (source,), (), target)]
        for data, packet in (sources, sources[::-1]):
            if data not in self.absent and packet in self.packet:
                return [self.write(operation.chunk, "repkt", (data,), (packet,), target)]
        if not self.absent.intersection(sources):
            return [self.write(operation.chunk, "re", sources, (), target)]
        # Both are packets, and the sum needs one of them as data.
        number = self.packet[sources[1]]
        one = self.write(operation.chunk, "upkt", (), sources[:1], target)
        assert one.target is not None
        return [one, Packed("repkt", (one.target,), (number,), one.target)]

    def write(
        self, chunk: int, name: str, sources: Sequence[Slot], packets: Sequence[Slot], target: Slot
    ) -> Packed:
        """An operation on slots of data and slots in packets that writes data."""
        data = tuple(map(self.data, sources))
        numbers = tuple(self.packet[slot] for slot in packets)
        self.packet.pop(target, None)
        self.made.pop(target, None)
        self.absent.discard(target)
        if target.buffer is Buffer.SCRATCH and target not in self.stored:
            self.stored[target] = Slot(Buffer.SCRATCH, len(self.stored))
            self.held.append(chunk)
        return Packed(name, data, numbers, self.data(target))

    def data(self, slot: Slot) -> Slot:
        return self.stored.get(slot, slot)
