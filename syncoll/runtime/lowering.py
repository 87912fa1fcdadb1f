"""From an algorithm to the operations of every rank, with their dependencies.

`values` chooses the computed values, `slots` their storage; here both become lists of operations,
whose dependencies follow from the slots.

Steps are no barriers.  A rank may do its operations in any order, or concurrently, if each comes
after its dependencies and the message that it receives; the order of the list is one such order.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from syncoll.plugins import ExportRequest
from syncoll.runtime.layout import Layout, Slot, layout_of
from syncoll.runtime.slots import COPY, RECEIVE, REDUCE, SEND, START, Lifetime, Moment, Storage
from syncoll.runtime.values import Value, Values, values_of
from syncoll.trust import require_valid


class Action(StrEnum):
    """The kind of an operation."""

    SEND = "send"
    RECEIVE = "receive"
    REDUCE = "reduce"
    COPY = "copy"


_PHASES = {Action.SEND: SEND, Action.RECEIVE: RECEIVE, Action.REDUCE: REDUCE, Action.COPY: COPY}


class Hazard(StrEnum):
    """Why an operation must come after another of the same rank."""

    READ_AFTER_WRITE = "RAW"
    WRITE_AFTER_READ = "WAR"
    WRITE_AFTER_WRITE = "WAW"


@dataclass(frozen=True)
class Dependency:
    """An earlier operation, by its index in the rank's list, and the hazard."""

    operation: int
    hazard: Hazard


@dataclass(frozen=True)
class Operation:
    """An operation of a rank on one chunk in a step of the algorithm.

    Args:
        contributions: the nodes whose contributions are reduced in its result; empty for a
            collective that only moves data.
        sources: slots that it reads: one of a send or copy, two of a reduce, none of a receive.
        target: the slot that it writes; None for a send.  A reduce may write one of its sources.
        message: index into `LoweredAlgorithm.messages` of a send or receive; otherwise None.
        peer: the other end of the message; otherwise None.
        dependencies: at most one for each earlier operation, the strongest hazard first.
    """

    action: Action
    step: int
    chunk: int
    contributions: frozenset[int]
    sources: tuple[Slot, ...]
    target: Slot | None
    message: int | None
    peer: int | None
    dependencies: tuple[Dependency, ...]


@dataclass(frozen=True)
class Message:
    """A needed send from one rank to another, with the indices of its send and receive."""

    chunk: int
    source: int
    destination: int
    step: int
    send: int
    receive: int
    source_slot: Slot
    target_slot: Slot


@dataclass(frozen=True)
class RankOperations:
    """All operations of one rank, in a valid order, and the chunks of its buffers.  The order is by
    step, and within one sends, receives, reduces, copies."""

    rank: int
    operations: tuple[Operation, ...]
    input_chunks: int
    output_chunks: int
    scratch_chunks: int


@dataclass(frozen=True, eq=False)
class LoweredAlgorithm:
    """An algorithm as operations of every rank.

    Args:
        layout: the places of chunks, and the collective.
        messages: ordered by step, and within a step as in `syncoll.runtime.values`; sends of the
            algorithm that are not needed are left out.
    """

    layout: Layout
    steps: int
    ranks: tuple[RankOperations, ...]
    messages: tuple[Message, ...]

    @cached_property
    def unordered(self) -> frozenset[int]:
        """The messages whose target may still be in use at their receiver when they are sent.

        A message is sent after that use if its data come from it: for example, a receiver passes a
        partial sum on, and the total comes back into the same slot.
        """
        order = sorted(
            (one.step, _PHASES[one.action], rank.rank, index)
            for rank in self.ranks
            for index, one in enumerate(rank.operations)
        )
        found, count = set[int](), Counter[int]()
        own, history = dict[tuple[int, int], int](), dict[tuple[int, int], int]()
        for _, _, rank, index in order:
            operations = self.ranks[rank].operations
            one = operations[index]
            own[rank, index] = mine = 1 << count[one.chunk]
            count[one.chunk] += 1
            earlier = [each.operation for each in one.dependencies]
            if one.action is Action.RECEIVE and one.message is not None:
                sent = self.messages[one.message]
                past = history[sent.source, sent.send]
                if any(
                    operations[i].chunk != one.chunk or not own[rank, i] & past for i in earlier
                ):
                    found.add(one.message)
                mine |= past
            for i in earlier:
                if operations[i].chunk == one.chunk:
                    mine |= history[rank, i]
            history[rank, index] = mine
        return frozenset(found)


def lower(
    request: ExportRequest, *, zero_copy: bool = False, layout: Layout | None = None
) -> LoweredAlgorithm:
    """The operations of every rank.

    Args:
        request: the algorithm, and whether input and output share one buffer.
        zero_copy: whether a sender writes into the receiver's memory.  Then no message is received
            into a slot that is read in the same step, so no two ranks wait for one another.
        layout: the places of chunks; by default the places of the instance's collective.

    Raises:
        VerificationError: if the algorithm does not solve its instance.
        ExportError: if in place is not defined for its collective.
    """
    require_valid(request.instance, request.algorithm)
    if layout is None:
        layout = layout_of(request.instance, in_place=request.in_place)
    values = values_of(request.instance, request.algorithm)
    ranks, ends = [], {}
    numbers = {id(sent): i for i, sent in enumerate(values.messages)}
    by_rank = [Values() for _ in range(layout.collective.num_nodes)]
    for value in values.values:
        by_rank[value.rank].values.append(value)
    for sent in values.messages:
        by_rank[sent.value.rank].messages.append(sent)
    for place, value in values.finals.items():
        by_rank[place[1]].finals[place] = value
    for rank, mine in enumerate(by_rank):
        drafts, scratch = _drafts(rank, mine, layout, numbers, zero_copy)
        operations = tuple(_with_dependencies(drafts))
        ends.update({(one.action, one.message): i for i, one in enumerate(operations)})
        sizes = layout.input_chunks[rank], layout.output_chunks[rank], scratch
        ranks.append(RankOperations(rank, operations, *sizes))
    messages = []
    for number, sent in enumerate(values.messages):
        send, receive = ends[Action.SEND, number], ends[Action.RECEIVE, number]
        source, destination = sent.value.rank, sent.destination
        slot = ranks[source].operations[send].sources[0]
        target = ranks[destination].operations[receive].target
        assert target is not None
        where = source, destination, sent.step, send, receive
        messages.append(Message(sent.value.chunk, *where, slot, target))
    return LoweredAlgorithm(layout, request.algorithm.steps, tuple(ranks), tuple(messages))


_Draft = tuple[Moment, Action, Value, tuple[Slot, ...], Slot | None, int | None, int | None]
"""Moment, action, value, sources, target, message and peer of an operation."""


def _drafts(
    rank: int, mine: Values, layout: Layout, numbers: dict[int, int], zero_copy: bool
) -> tuple[list[_Draft], int]:
    """The operations of a rank in order, and the slots of scratch that they use.  Its own values,
    messages that it sends and final values are in `mine`."""
    lives = {value.number: Lifetime(value, _made(value, numbers)) for value in mine.values}
    for value in mine.values:
        for part in value.parts:
            lives[part.number].reads.append(lives[value.number].made)
    for (chunk, _), value in mine.finals.items():
        lives[value.number].final = layout.output_slot(chunk, rank)
    for sent in mine.messages:
        lives[sent.value.number].reads.append((sent.step, SEND, numbers[id(sent)]))
    storage = Storage(rank, layout, zero_copy=zero_copy)
    storage.store(list(lives.values()))
    slots, drafts = storage.slots, list[_Draft]()
    for sent in mine.messages:
        number = numbers[id(sent)]
        moment: Moment = (sent.step, SEND, number)
        source = (slots[sent.value.number],)
        drafts.append((moment, Action.SEND, sent.value, source, None, number, sent.destination))
    for number, life in lives.items():
        value, slot = life.value, slots[number]
        if value.sent is not None:
            message, peer = numbers[id(value.sent)], value.sent.value.rank
            drafts.append((life.made, Action.RECEIVE, value, (), slot, message, peer))
        elif value.parts:
            parts = tuple(slots[part.number] for part in value.parts)
            drafts.append((life.made, Action.REDUCE, value, parts, slot, None, None))
    for moment, value, source_slot, target in storage.copies:
        drafts.append((moment, Action.COPY, value, (source_slot,), target, None, None))
    drafts.sort(key=lambda draft: draft[0])
    return drafts, storage.scratch


def _made(value: Value, numbers: dict[int, int]) -> Moment:
    if value.sent is not None:
        return (value.sent.step, RECEIVE, numbers[id(value.sent)])
    if value.parts:
        return (value.ready - 1, REDUCE, value.number)
    return START


def _with_dependencies(drafts: Iterable[_Draft]) -> list[Operation]:
    """The operations, each with its dependencies on others of the same rank."""
    writers: dict[Slot, int] = {}
    readers: defaultdict[Slot, list[int]] = defaultdict(list)  # since the last write
    result: list[Operation] = []
    contributors: dict[int, frozenset[int]] = {}
    for index, (moment, action, value, sources, target, message, peer) in enumerate(drafts):
        found: dict[int, Hazard] = {}
        for slot in sources:
            if slot in writers:
                found.setdefault(writers[slot], Hazard.READ_AFTER_WRITE)
        if target is not None:
            for reader in readers[target]:
                found.setdefault(reader, Hazard.WRITE_AFTER_READ)
            if target in writers and not readers[target]:
                found.setdefault(writers[target], Hazard.WRITE_AFTER_WRITE)
        for slot in sources:
            readers[slot].append(index)
        if target is not None:
            writers[target] = index
            readers[target] = []
        nodes = contributors.get(value.mask)
        if nodes is None:
            nodes = frozenset(n for n in range(value.mask.bit_length()) if value.mask >> n & 1)
            contributors[value.mask] = nodes
        waits = tuple(Dependency(i, found[i]) for i in sorted(found))
        what = action, int(moment[0]), value.chunk, nodes, sources, target, message, peer
        result.append(Operation(*what, waits))
    return result
