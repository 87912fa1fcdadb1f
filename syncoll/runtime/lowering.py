"""From an algorithm to what every rank does: values, where they are stored, operations.

`values` says what must be computed, `slots` where it is stored; here both become lists of
operations, and what each waits for is read off the slots.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from syncoll.plugins import ExportRequest
from syncoll.runtime.layout import Layout, Slot, layout_of
from syncoll.runtime.operations import (
    Action,
    Dependency,
    Hazard,
    LoweredAlgorithm,
    Message,
    Operation,
    RankOperations,
)
from syncoll.runtime.slots import RECEIVE, REDUCE, SEND, START, Lifetime, Moment, store
from syncoll.runtime.values import Value, Values, values_of
from syncoll.trust import require_valid

__all__ = ["lower"]


def lower(
    request: ExportRequest, *, zero_copy: bool = False, reuse_scratch: bool = False
) -> LoweredAlgorithm:
    """The operations of every rank.

    Args:
        request: the algorithm, and whether input and output are one buffer.
        zero_copy: whether a sender writes into the receiver's memory.  Then nothing is received
            into a slot that is read in the same step, so that no two ranks wait for one another.
        reuse_scratch: whether a slot of scratch may be received into again when what was in it is
            not needed any more.  Less memory, more waiting.

    Raises:
        VerificationError: when the algorithm does not solve its instance.
        ExportError: when in place is not defined for its collective.
    """
    require_valid(request.instance, request.algorithm)
    layout = layout_of(request.instance, in_place=request.in_place)
    values = values_of(request.instance, request.algorithm)
    ranks, ends = [], {}
    numbers = {id(sent): i for i, sent in enumerate(values.messages)}
    for rank in range(layout.collective.num_nodes):
        drafts, scratch = _drafts(rank, layout, values, numbers, zero_copy, reuse_scratch)
        for index, draft in enumerate(drafts):
            if draft.message is not None:
                ends[draft.action, draft.message] = index
        ranks.append(
            RankOperations(
                rank,
                tuple(_with_dependencies(drafts)),
                layout.input_chunks[rank],
                layout.output_chunks[rank],
                scratch,
            )
        )
    messages = []
    for number, sent in enumerate(values.messages):
        send, receive = ends[Action.SEND, number], ends[Action.RECEIVE, number]
        source = ranks[sent.value.rank].operations[send]
        target = ranks[sent.destination].operations[receive].target
        assert target is not None
        messages.append(
            Message(
                sent.value.chunk,
                source.contributions,
                sent.value.rank,
                sent.destination,
                sent.step,
                send,
                receive,
                source.sources[0],
                target,
            )
        )
    return LoweredAlgorithm(layout, request.algorithm.steps, tuple(ranks), tuple(messages))


@dataclass
class _Draft:
    """An operation before its dependencies are known."""

    moment: Moment
    action: Action
    value: Value
    sources: tuple[Slot, ...]
    target: Slot | None
    message: int | None = None
    peer: int | None = None


def _drafts(
    rank: int,
    layout: Layout,
    values: Values,
    numbers: dict[int, int],
    zero_copy: bool,
    reuse_scratch: bool,
) -> tuple[list[_Draft], int]:
    """The operations of a rank in order, and the slots of scratch that they use."""
    lives = {}
    for value in values.values:
        if value.rank == rank:
            lives[value.number] = Lifetime(value, _made(value, numbers))
    for value in values.values:
        if value.rank == rank:
            for part in value.parts:
                lives[part.number].reads.append(lives[value.number].made)
    for (chunk, node), value in values.finals.items():
        if node == rank:
            lives[value.number].final = layout.output_slot(chunk, node)
    outgoing = [sent for sent in values.messages if sent.value.rank == rank]
    for sent in outgoing:
        lives[sent.value.number].reads.append((sent.step, SEND, numbers[id(sent)]))
    storage = store(
        rank, list(lives.values()), layout, zero_copy=zero_copy, reuse_scratch=reuse_scratch
    )
    slots, drafts = storage.slots, []
    for sent in outgoing:
        number = numbers[id(sent)]
        moment: Moment = (sent.step, SEND, number)
        source = (slots[sent.value.number],)
        drafts.append(
            _Draft(moment, Action.SEND, sent.value, source, None, number, sent.destination)
        )
    for number, life in lives.items():
        value, slot = life.value, slots[number]
        if value.sent is not None:
            message, peer = numbers[id(value.sent)], value.sent.value.rank
            drafts.append(_Draft(life.made, Action.RECEIVE, value, (), slot, message, peer))
        elif value.parts:
            parts = tuple(slots[part.number] for part in value.parts)
            drafts.append(_Draft(life.made, Action.REDUCE, value, parts, slot))
    for moment, value, source_slot, target in storage.copies:
        drafts.append(_Draft(moment, Action.COPY, value, (source_slot,), target))
    drafts.sort(key=lambda draft: draft.moment)
    return drafts, storage.scratch


def _made(value: Value, numbers: dict[int, int]) -> Moment:
    if value.sent is not None:
        return (value.sent.step, RECEIVE, numbers[id(value.sent)])
    if value.parts:
        return (value.ready - 1, REDUCE, value.number)
    return START


@dataclass
class _Uses:
    """Who last wrote a slot, and who read it since."""

    writer: int | None = None
    readers: list[int] = field(default_factory=list)


def _with_dependencies(drafts: Iterable[_Draft]) -> list[Operation]:
    """The operations, each with those of the same rank that it must come after."""
    uses: dict[Slot, _Uses] = {}
    result: list[Operation] = []
    for index, draft in enumerate(drafts):
        found: dict[int, Hazard] = {}
        for slot in draft.sources:
            use = uses.setdefault(slot, _Uses())
            if use.writer is not None:
                found.setdefault(use.writer, Hazard.READ_AFTER_WRITE)
        if draft.target is not None:
            use = uses.setdefault(draft.target, _Uses())
            for reader in use.readers:
                found.setdefault(reader, Hazard.WRITE_AFTER_READ)
            if use.writer is not None and not use.readers:
                found.setdefault(use.writer, Hazard.WRITE_AFTER_WRITE)
        for slot in draft.sources:
            uses[slot].readers.append(index)
        if draft.target is not None:
            uses[draft.target] = _Uses(index)
        mask = draft.value.mask
        nodes = frozenset(n for n in range(mask.bit_length()) if mask >> n & 1)
        waits = tuple(Dependency(i, found[i]) for i in sorted(found))
        result.append(
            Operation(
                draft.action,
                int(draft.moment[0]),
                draft.value.chunk,
                nodes,
                draft.sources,
                draft.target,
                draft.message,
                draft.peer,
                waits,
            )
        )
    return result
