"""Script: the operations of one thread block, with ``nop`` between dependent ones.

Threads of a block only meet at a ``nop``.  It is written

* before a move of data, after a wait, or a move to or from the same slots;
* before a signal or release, after a move or wait, as the signal would not cover the operations of
  other threads;
* before a channel is used again in the same way, perhaps by another thread;
* before a put by a proxy that has a signal to send.

Operations on the same data without one of these between them are one: adjacent waits, sums into one
slot, and a sum with its puts over memory channels (``res``).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from syncoll.runtime import Buffer, Slot, distance
from syncoll.runtime.places import Places, Slice
from syncoll_mscclpp.limits import MOST_BUFFERS, MOST_CHANNELS
from syncoll_mscclpp.packets import Packed

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
        chunk: stream of the lowered algorithm.
        root: the rank that executes it.
        group: the ranks where it stores, the root included.
        sums: whether it loads the sum over the group, or a chunk of the root.
        source: the loaded slot; for a sum at every rank.
        target: the stored slot, at every rank.
        gathers: whether the others signal the root first that the data are ready.
        signals: whether the root signals the others that it is stored.
        part: the slice, if it is not whole chunks.
        size: consecutive slots.
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
    part: Slice | None = None
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
    """Consecutive slots that go to consecutive slots of a rank; peer -1 is the own rank.  Streams
    that are slices of a chunk only move with others of the same slice."""

    peer: int
    channel: Channel | None
    source: Slot
    target: Slot
    part: Slice | None = None
    size: int = 1


_Piece = TypeVar("_Piece", Move, Event)


def joined(pieces: Iterable[_Piece], alike: Callable[[_Piece], object]) -> list[_Piece]:
    """Joins consecutive pieces that are adjacent and `alike`."""
    result: list[_Piece] = []
    for one in pieces:
        if result:
            last = result[-1]
            after = (_behind(last.source, last.size), _behind(last.target, last.size))
            if alike(last) == alike(one) and not one.part and after == (one.source, one.target):
                result[-1] = replace(last, size=last.size + one.size)
                continue
        result.append(one)
    return result


def merge(moves: Sequence[Move], rank: int, num_ranks: int) -> list[Move]:
    """The moves with neighbours joined, in the order in which a rank sends to others."""

    def key(move: Move) -> tuple[Any, ...]:
        away = distance(rank, move.peer, num_ranks)
        return (away, move.channel, move.source, move.target)

    return joined(sorted(moves, key=key), lambda move: (move.peer, move.channel, move.part))


@dataclass
class Script:
    """The operations of one thread block, with its channels, remote buffers and switch channels.

    Operations refer to them by their position in `tables` by kind.

    Args:
        rank: of the thread block.
        places: of the slots of all ranks.
    """

    rank: int
    places: Places
    channels: list[Channel]
    remotes: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    switches: list[int] = field(default_factory=list)
    operations: list[dict[str, Any]] = field(default_factory=list)
    _read: set[Slot] = field(default_factory=set)
    _written: set[Slot] = field(default_factory=set)
    _moved: bool = False
    _waited: bool = False
    _used: set[tuple[bool, str, int]] = field(default_factory=set)
    _sums: dict[Slot, dict[str, Any]] = field(default_factory=dict)
    """The sums since the last other operation, by slot."""

    def __post_init__(self) -> None:
        self.tables = {
            kind: [number for one, number in self.channels if one == kind] for kind in KINDS
        }
        self._at = {
            (kind, number): place
            for kind, table in self.tables.items()
            for place, number in enumerate(table)
        }

    def nop(self) -> None:
        """The threads of the block meet."""
        self._append({"name": "nop"})
        self._read, self._written = set(), set()
        self._moved = self._waited = False
        self._used = set()

    def synchronise(self, name: str, channels: Sequence[Channel]) -> None:
        """Signals or waits over channels, in as few operations as possible; ports never relaxed."""
        waits = name.endswith("wait")
        for kind in KINDS:
            places = sorted(self._at[one] for one in set(channels) if one[0] == kind)
            for start in range(0, len(places), MOST_CHANNELS):
                chosen = places[start : start + MOST_CHANNELS]
                uses = {(waits, kind, place) for place in chosen}
                if uses & self._used or (not waits and (self._moved or self._waited)):
                    self.nop()
                self._used |= uses
                self._waited = self._waited or waits
                called = name.removeprefix("rlx") if kind == "port" else name
                last: dict[str, Any] = self.operations[-1] if self.operations else {"name": ""}
                joined = sorted([*last.get("channel_ids", ()), *chosen])
                same = (last["name"], last.get("channel_type")) == (called, kind)
                if same and len(joined) <= MOST_CHANNELS:
                    last["channel_ids"] = joined
                else:
                    self._append({"name": called, "channel_type": kind, "channel_ids": chosen})

    def semaphore(self, name: str, number: int) -> None:
        """An acquire or release."""
        if name == "sem_release" and (self._moved or self._waited):
            self.nop()
        self._waited = self._waited or name == "sem_acquire"
        self._append({"name": name, "semaphore_ids": [number]})

    def put(self, moves: Sequence[Move]) -> None:
        """Puts streams to other ranks, an operation for each buffer, kind of channel and slice."""
        alike: dict[tuple[str, Buffer, Slice | None], list[Move]] = {}
        for move in moves:
            assert move.channel is not None
            if self._put_sum(move):
                continue
            alike.setdefault((move.channel[0], move.source.buffer, move.part), []).append(move)
        for (kind, _, part), group in alike.items():
            for start in range(0, len(group), MOST_CHANNELS):
                chosen = group[start : start + MOST_CHANNELS]
                if kind == "port" and any(
                    not waits and one == kind for waits, one, _ in self._used
                ):
                    self.nop()  # two threads may use a proxy at the same time
                self._before(_slots((move.source, move.size) for move in chosen), set())
                operation = self._operation(
                    "put",
                    [self._local(move.source, move.size) for move in chosen],
                    [self._place(kind, move.peer, move.target, move.size) for move in chosen],
                    part,
                    kind,
                )
                if kind == "port":
                    operation["channel_ids"] = [
                        self._at[move.channel] for move in chosen if move.channel is not None
                    ]

    def _put_sum(self, move: Move) -> bool:
        """Puts a slot with the sum that has just been made in it, if one operation can do both."""
        one = self._sums.get(move.source)
        if one is None or move.size > 1 or move.channel is None or move.channel[0] != "memory":
            return False
        if len(one["dst_buff"]) > MOST_CHANNELS or _part_of(one) != move.part:
            return False
        one.update(name="res", channel_type="memory")
        one["dst_buff"].append(self._place("memory", move.peer, move.target, 1))
        return True

    def multicast(self, event: Event, bound: Sequence[tuple[Group, Buffer]]) -> None:
        """Adds an event:  ``glres`` sums over its group, ``gstore`` takes a stream of this rank;
        both store at all ranks of the group.  `bound` has the rank's groups with their buffers."""
        self._before(_slots([(event.source, event.size)]), _slots([(event.target, event.size)]))

        def place(slot: Slot) -> dict[str, Any]:
            channel = bound.index((event.group, slot.buffer))
            if channel not in self.switches:
                self.switches.append(channel)
            index, size = self.places.place(event.root, slot, event.size)
            number = self.switches.index(channel)
            return {"switch_channel_id": number, "index": index, "size": size}

        source = place(event.source) if event.sums else self._local(event.source, event.size)
        name = "glres" if event.sums else "gstore"
        self._operation(name, [source], [place(event.target)], event.part, "switch")

    def copy(self, move: Move) -> None:
        """Copies streams within the own rank."""
        reads = _slots([(move.source, move.size)])
        self._before(reads, _slots([(move.target, move.size)]))
        self._data("copy", [move.source], move.target, move.size)

    def reduce(self, sources: Sequence[Slot], target: Slot) -> None:
        """Adds a reduction."""
        first = target if target in sources else sources[0]
        others = [slot for slot in sources if slot != first]
        before = self._sums.get(target)
        if (
            before is not None
            and before["name"] == "re"
            and first == target
            and not self._written.intersection(others)
        ):
            room = MOST_BUFFERS - len(before["src_buff"])
            before["src_buff"] += [self._local(slot, 1) for slot in others[:room]]
            self._read.update(others[:room])
            others = others[room:]
        for start in range(0, len(others), MOST_BUFFERS - 1):
            chosen = others[start : start + MOST_BUFFERS - 1]
            self._before({first, *chosen}, {target})
            self._sums[target] = self._data("re", [first, *chosen], target, 1)
            first = target

    def packet(
        self, one: Packed, remote: tuple[int, int] | None = None, channel: Channel | None = None
    ) -> None:
        """Adds an operation on packets in scratch, or extends the last operation.  It may put to a
        rank, and the number of its packet (`remote`), over a channel."""
        name, data, packets, target = one.name, one.data, one.packets, one.target
        kind = None if channel is None else channel[0]

        def packed(number: int) -> dict[str, Any]:
            return {"type": "s", **_piece(self.places.packet(self.rank, number))}

        sources = [*(self._local(slot, 1) for slot in data), *map(packed, packets)]
        targets: list[dict[str, Any]] = [self._local(target, 1)] if target is not None else []
        if one.stored is not None:
            targets.append(packed(one.stored))
        if remote is not None and kind is not None:
            to = self._remote(kind, (remote[0], "s"))
            targets.append({"buffer_id": to, **_piece(self.places.packet(*remote))})
        ports = [self._at[channel]] if channel is not None and kind == "port" else []
        part = (
            self.places.part(self.rank, data[0])
            if data
            else self.places.packet_part(self.rank, packets[0])
        )
        if self._joined(name, sources, targets, part, ports):
            return
        before = len(self.operations)
        self._before(set(data), {target} if target is not None else set())
        last = self.operations[-1] if len(self.operations) == before and before else None
        if last is not None and last["name"] == name == "ppkt" and _part_of(last) == part:
            same = last["src_buff"][0]["type"] == sources[0]["type"]
            if same and len(last["dst_buff"]) < MOST_CHANNELS:
                last["src_buff"] += sources
                last["dst_buff"] += targets
                return
        operation = self._operation(name, sources, targets, part, kind)
        if ports:
            operation["channel_ids"] = ports

    def _joined(
        self,
        name: str,
        sources: list[dict[str, Any]],
        targets: list[dict[str, Any]],
        part: Slice | None,
        ports: list[int],
    ) -> bool:
        """Extends the last operation if the same threads can do both with the same data."""
        if not self.operations or _part_of(self.operations[-1]) != part:
            return False
        last = self.operations[-1]
        if name == "rppkt" and last["name"] == "rppkt" and last["src_buff"] == sources:
            room = len(last["dst_buff"]) < MOST_CHANNELS and bool(ports) == ("channel_ids" in last)
            last["dst_buff"] += targets if room else []
            if room and ports:
                last["channel_ids"] += ports
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

    def _data(self, name: str, sources: Sequence[Slot], target: Slot, size: int) -> dict[str, Any]:
        return self._operation(
            name,
            [self._local(slot, size) for slot in sources],
            [self._local(target, size)],
            self.places.part(self.rank, target),
        )

    def _operation(
        self,
        name: str,
        sources: list[dict[str, Any]],
        targets: list[dict[str, Any]],
        part: Slice | None,
        kind: str | None = None,
    ) -> dict[str, Any]:
        """Adds an operation on pieces of one slice."""
        operation: dict[str, Any] = {"name": name, "src_buff": sources, "dst_buff": targets}
        if kind is not None:
            operation["channel_type"] = kind
        if part is not None:
            operation["tbg_info"] = {"tb_id": part[0], "tbg_size": part[1]}
        return self._append(operation)

    def _append(self, operation: dict[str, Any]) -> dict[str, Any]:
        if operation["name"] not in ("re", "copy"):
            self._sums = {}
        self.operations.append(operation)
        return operation

    def _before(self, reads: set[Slot], writes: set[Slot]) -> None:
        """Adds a nop unless all threads have finished with these slots in any case."""
        clash = (reads & self._written) or (writes & self._written) or (writes & self._read)
        if self._waited or clash:
            self.nop()
        self._moved = True
        self._read |= reads
        self._written |= writes

    def _local(self, slot: Slot, size: int) -> dict[str, Any]:
        return {"type": LETTERS[slot.buffer], **_piece(self.places.place(self.rank, slot, size))}

    def _place(self, kind: str, peer: int, slot: Slot, size: int) -> dict[str, Any]:
        number = self._remote(kind, (peer, LETTERS[slot.buffer]))
        return {"buffer_id": number, **_piece(self.places.place(peer, slot, size))}

    def _remote(self, kind: str, remote: tuple[int, str]) -> int:
        """The position of a remote buffer in the table of a kind."""
        remotes = self.remotes.setdefault(kind, [])
        if remote not in remotes:
            remotes.append(remote)
        return remotes.index(remote)


def _piece(place: tuple[int, int]) -> dict[str, int]:
    return {"index": place[0], "size": place[1]}


def _part_of(operation: dict[str, Any]) -> Slice | None:
    """The slice on which an operation works."""
    info = operation.get("tbg_info")
    return None if info is None else (info["tb_id"], info["tbg_size"])


def _slots(pieces: Iterable[tuple[Slot, int]]) -> set[Slot]:
    return {_behind(slot, i) for slot, size in pieces for i in range(size)}


def _behind(slot: Slot, size: int) -> Slot:
    return Slot(slot.buffer, slot.index + size)
