"""Script: the operations of one thread block, with ``nop`` between dependent ones.

Threads of a block only meet at a ``nop``.  It is written

* before a move of data, after a wait, or a move to or from the same slots;
* before a signal or release, after a move or wait, as the signal would not cover the operations of
  other threads;
* before a channel is used again in the same way, perhaps by another thread;
* before a put by a proxy that has a signal to send.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from syncoll.runtime import Buffer, Slot, distance
from syncoll_mscclpp.limits import MOST_BUFFERS, MOST_CHANNELS

__all__ = ["KINDS", "Channel", "Event", "Group", "Move", "Script", "joined", "merge"]

Group = tuple[int, ...]


@dataclass(frozen=True)
class Event:
    """An operation through a switch, between puts and signals.

    All ranks of a group bind a buffer to a multicast group.  One of them, the root, loads the sum
    over one place of all ranks, or takes a chunk of its own, and stores it at one place of all
    ranks.  If others made the loaded data, they signal the root first; if others use the stored
    data, the root signals them.

    Args:
        step: its step; it comes before all puts of the step.
        chunk: chunk of the lowered algorithm.
        root: the rank that executes it.
        group: the ranks where it stores, the root included.
        sums: whether it loads the sum over the group, or a chunk of the root.
        source: the loaded slot; for a sum at every rank.
        target: the stored slot, at every rank.
        gathers: whether the others signal the root first that the data are ready.
        signals: whether the root signals the others that it is stored.
        size: consecutive chunks.
    """

    step: int
    chunk: int
    root: int
    group: Group
    sums: bool
    source: Slot
    target: Slot
    gathers: bool
    signals: bool
    size: int = 1

    @property
    def others(self) -> Group:
        """The group without the root."""
        return tuple(rank for rank in self.group if rank != self.root)


KINDS = ("memory", "port")
"""Kinds of channels between two ranks: used by the GPU itself, or by a proxy."""

Channel = tuple[str, int]
"""A kind of channel, and its number at the rank."""

LETTERS = {Buffer.INPUT: "i", Buffer.OUTPUT: "o", Buffer.SCRATCH: "s"}


@dataclass(frozen=True)
class Move:
    """Consecutive chunks that go to consecutive slots of a rank; peer -1 is the own rank."""

    peer: int
    channel: Channel | None
    source: Slot
    target: Slot
    size: int = 1


_Piece = TypeVar("_Piece", Move, Event)


def joined(pieces: Iterable[_Piece], alike: Callable[[_Piece], object]) -> list[_Piece]:
    """Joins consecutive pieces that are adjacent and `alike`."""
    result: list[_Piece] = []
    for one in pieces:
        if result:
            last = result[-1]
            after = (_behind(last.source, last.size), _behind(last.target, last.size))
            if alike(last) == alike(one) and after == (one.source, one.target):
                result[-1] = replace(last, size=last.size + one.size)
                continue
        result.append(one)
    return result


def merge(moves: Sequence[Move], rank: int, num_ranks: int) -> list[Move]:
    """The moves with neighbours joined, in the order in which a rank sends to others."""

    def key(move: Move) -> tuple[Any, ...]:
        away = distance(rank, move.peer, num_ranks)
        return (away, move.channel, move.source, move.target)

    return joined(sorted(moves, key=key), lambda move: (move.peer, move.channel))


@dataclass
class Script:
    """The operations of one thread block, with its channels, remote buffers and switch channels.

    Operations refer to them by their position in tables by kind.
    """

    channels: list[Channel]
    remotes: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    switches: list[int] = field(default_factory=list)
    operations: list[dict[str, Any]] = field(default_factory=list)
    _read: set[Slot] = field(default_factory=set)
    _written: set[Slot] = field(default_factory=set)
    _moved: bool = False
    _waited: bool = False
    _used: set[tuple[bool, str, int]] = field(default_factory=set)

    def table(self, kind: str) -> list[int]:
        """The table of channels of a kind."""
        return [number for one, number in self.channels if one == kind]

    def nop(self) -> None:
        """The threads of the block meet."""
        self.operations.append({"name": "nop"})
        self._read, self._written = set(), set()
        self._moved = self._waited = False
        self._used = set()

    def synchronise(self, name: str, channels: Sequence[Channel]) -> None:
        """Signals or waits over channels, in as few operations as possible; ports never relaxed."""
        waits = name.endswith("wait")
        for kind in KINDS:
            table = self.table(kind)
            places = sorted(table.index(number) for one, number in set(channels) if one == kind)
            for start in range(0, len(places), MOST_CHANNELS):
                chosen = places[start : start + MOST_CHANNELS]
                uses = {(waits, kind, place) for place in chosen}
                if uses & self._used or (not waits and (self._moved or self._waited)):
                    self.nop()
                self._used |= uses
                self._waited = self._waited or waits
                called = name.removeprefix("rlx") if kind == "port" else name
                self.operations.append(
                    {"name": called, "channel_type": kind, "channel_ids": chosen}
                )

    def semaphore(self, name: str, number: int) -> None:
        """An acquire or release."""
        if name == "sem_release" and (self._moved or self._waited):
            self.nop()
        self._waited = self._waited or name == "sem_acquire"
        self.operations.append({"name": name, "semaphore_ids": [number]})

    def put(self, moves: Sequence[Move]) -> None:
        """Puts chunks to other ranks, an operation for each buffer and kind of channel."""
        by_buffer: dict[tuple[str, Buffer], list[Move]] = {}
        for move in moves:
            assert move.channel is not None
            by_buffer.setdefault((move.channel[0], move.source.buffer), []).append(move)
        for (kind, _), group in by_buffer.items():
            table = self.table(kind)
            for start in range(0, len(group), MOST_CHANNELS):
                chosen = group[start : start + MOST_CHANNELS]
                if kind == "port" and any(
                    not waits and one == kind for waits, one, _ in self._used
                ):
                    self.nop()  # two threads may use a proxy at the same time
                self._before(_slots((move.source, move.size) for move in chosen), set())
                operation: dict[str, Any] = {
                    "name": "put",
                    "channel_type": kind,
                    "src_buff": [_local(move.source, move.size) for move in chosen],
                    "dst_buff": [
                        self._place(kind, move.peer, move.target, move.size) for move in chosen
                    ],
                }
                if kind == "port":
                    operation["channel_ids"] = [
                        table.index(move.channel[1]) for move in chosen if move.channel is not None
                    ]
                self.operations.append(operation)

    def multicast(self, event: Event, bound: Sequence[tuple[Group, Buffer]]) -> None:
        """Adds an event:  ``glres`` sums over its group, ``gstore`` takes a chunk of this rank;
        both store at all ranks of the group.  `bound` has the rank's groups with their buffers.
        """
        self._before(_slots([(event.source, event.size)]), _slots([(event.target, event.size)]))

        def place(slot: Slot) -> dict[str, int | str]:
            channel = bound.index((event.group, slot.buffer))
            if channel not in self.switches:
                self.switches.append(channel)
            number = self.switches.index(channel)
            return {"switch_channel_id": number, "index": slot.index, "size": event.size}

        source = place(event.source) if event.sums else _local(event.source, event.size)
        self.operations.append(
            {
                "name": "glres" if event.sums else "gstore",
                "src_buff": [source],
                "dst_buff": [place(event.target)],
                "channel_type": "switch",
            }
        )

    def copy(self, move: Move) -> None:
        """Copies chunks within the own rank."""
        reads = _slots([(move.source, move.size)])
        self._before(reads, _slots([(move.target, move.size)]))
        self._data("copy", [move.source], move.target, move.size)

    def reduce(self, sources: Sequence[Slot], target: Slot) -> None:
        """Adds a reduction."""
        first = target if target in sources else sources[0]
        others = [slot for slot in sources if slot != first]
        for start in range(0, len(others), MOST_BUFFERS - 1):
            chosen = others[start : start + MOST_BUFFERS - 1]
            self._before({first, *chosen}, {target})
            self._data("re", [first, *chosen], target, 1)
            first = target

    def packet(
        self,
        name: str,
        data: Sequence[Slot],
        packets: Sequence[int],
        target: Slot | None = None,
        remote: tuple[int, int] | None = None,
    ) -> None:
        """Adds an operation on packets in scratch over memory channels, or extends the last
        operation.

        Args:
            name: ``ppkt``, ``rppkt``, ``upkt`` or ``repkt``.
            remote: the rank, and the slot of packets there, to which it puts.
        """
        scratch = [Slot(Buffer.SCRATCH, number) for number in packets]
        sources = [_local(slot, 1) for slot in (*data, *scratch)]
        targets: list[dict[str, Any]] = [_local(target, 1)] if target is not None else []
        if remote is not None:
            targets.append(self._place("memory", remote[0], Slot(Buffer.SCRATCH, remote[1]), 1))
        if self._joined(name, sources, targets):
            return
        before = len(self.operations)
        self._before(set(data), {target} if target is not None else set())
        last = self.operations[-1] if len(self.operations) == before and before else None
        if last is not None and last["name"] == name == "ppkt":
            same = last["src_buff"][0]["type"] == sources[0]["type"]
            if same and len(last["dst_buff"]) < MOST_CHANNELS:
                last["src_buff"] += sources
                last["dst_buff"] += targets
                return
        operation: dict[str, Any] = {"name": name, "src_buff": sources, "dst_buff": targets}
        if remote is not None:
            operation["channel_type"] = "memory"
        self.operations.append(operation)

    def _joined(
        self, name: str, sources: list[dict[str, Any]], targets: list[dict[str, Any]]
    ) -> bool:
        """Extends the last operation if the same threads can do both with the same data."""
        if not self.operations:
            return False
        last = self.operations[-1]
        if name == "rppkt" and last["name"] == "rppkt" and last["src_buff"] == sources:
            room = len(last["dst_buff"]) < MOST_CHANNELS
            last["dst_buff"] += targets if room else []
            return room
        if last["name"] not in ("repkt", "respkt") or last["dst_buff"][:1] != sources[:1]:
            return False
        if name == "repkt" and last["name"] == "repkt" and last["dst_buff"] == targets:
            room = len(last["src_buff"]) < MOST_BUFFERS
            last["src_buff"] += sources[1:] if room else []
            return room
        if name == "ppkt" and len(last["dst_buff"]) <= MOST_CHANNELS:
            last.update(name="respkt", channel_type="memory")
            last["dst_buff"] += targets
            return True
        return False

    def _data(self, name: str, sources: Sequence[Slot], target: Slot, size: int) -> None:
        self.operations.append(
            {
                "name": name,
                "src_buff": [_local(slot, size) for slot in sources],
                "dst_buff": [_local(target, size)],
            }
        )

    def _before(self, reads: set[Slot], writes: set[Slot]) -> None:
        """Adds a nop unless all threads have finished with these slots in any case."""
        clash = (reads & self._written) or (writes & self._written) or (writes & self._read)
        if self._waited or clash:
            self.nop()
        self._moved = True
        self._read |= reads
        self._written |= writes

    def _place(self, kind: str, peer: int, slot: Slot, size: int) -> dict[str, int]:
        remotes, remote = self.remotes.setdefault(kind, []), (peer, LETTERS[slot.buffer])
        if remote not in remotes:
            remotes.append(remote)
        return {"buffer_id": remotes.index(remote), "index": slot.index, "size": size}


def _local(slot: Slot, size: int) -> dict[str, int | str]:
    return {"type": LETTERS[slot.buffer], "index": slot.index, "size": size}


def _slots(pieces: Iterable[tuple[Slot, int]]) -> set[Slot]:
    return {_behind(slot, i) for slot, size in pieces for i in range(size)}


def _behind(slot: Slot, size: int) -> Slot:
    return Slot(slot.buffer, slot.index + size)
