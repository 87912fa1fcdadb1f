"""Agreement: both ends of a message state the same source and destination.

A step has one source and one destination.  The runtimes read only the ones that they use: of ``s``
the source, of ``r`` the destination, of ``rrs`` the slot that it adds.  The others are for people,
and for programs that compare the ends of every message: msccl-tools writes the sender's source and
the receiver's destination on both, and a public verifier (*MSCCL-XML-Verifier* of dromniscience)
refuses a file in which they differ, or in which an ``rcs`` has two.

A step that receives and sends has one pair for both of its messages.  So all messages of a *chain*,
from an ``s`` over such steps to the step that keeps the chunk, have one source and one destination,
and every slot that a step of the chain uses must be one of these two:

======== ============================== ==============================
step     its source is                  its destination is
======== ============================== ==============================
``s``    what it reads                  free
``r``    free                           where it stores
``rcs``  where it stores                where it stores
``rrc``  what it adds                   where it stores
``rrs``  what it adds                   free
``rrcs`` what it adds                   where it stores
======== ============================== ==============================

If they do not fit, a step is not fused: a chunk is stored before it is sent on, or received before
it is added.  Scratch of two ranks is never taken for the same slot.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from syncoll.runtime import Action, Buffer, LoweredAlgorithm, Message, Slot
from syncoll_msccl_xml.instructions import Op, XmlInstruction

__all__ = ["Apart", "alike", "apart_of", "copied", "read_copies", "stated_of"]

_Name = Slot | tuple[int, Slot]
"""A slot as it is called in the file; of scratch with its rank, as it is numbered later."""


@dataclass
class Apart:
    """Messages at whose receiver a step is not fused, since their ends differ: stored before they
    are sent on, stored before they are added, or, of one slot unlike the ends', not sent on at
    once.
    """

    stored: set[int] = field(default_factory=set)
    added: set[int] = field(default_factory=set)
    unlike: set[int] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.stored or self.added)

    def add(self, other: Apart) -> None:
        """Adds the messages of another one."""
        self.stored |= other.stored
        self.added |= other.added


def alike(one: Message, other: Message, source: Slot) -> bool:
    """Whether the step that stores a message, read from `source`, can send it on."""
    slot = one.target_slot
    return slot.buffer is not Buffer.SCRATCH and source == slot == other.target_slot


def apart_of(ranks: Sequence[Sequence[XmlInstruction]]) -> Apart:
    """The first step of each chain that must not be fused, as its ends differ.

    Without it another one may not fit.
    """
    result = Apart()
    for chain in _chains(ranks):
        source, target = _used(*chain[0])
        for before, (rank, step) in pairwise(chain):
            own, kept = _used(rank, step)
            message = step.incoming
            assert message is not None
            if own is not None and own != source:
                (result.stored if step.op is Op.RECEIVE_SEND else result.added).add(message)
                break
            if None not in (kept, target) and kept != target:
                earlier = before[1].incoming
                assert earlier is not None
                result.stored.add(earlier)
                break
            target = target if kept is None else kept
    return result


def stated_of(ranks: Sequence[Sequence[XmlInstruction]], messages: int) -> list[tuple[Slot, Slot]]:
    """The source and destination of each message that both ends state, scratch as in the file."""
    nowhere = Slot(Buffer.INPUT, -1)
    result = [(nowhere, nowhere)] * messages
    for chain in _chains(ranks):
        source, last = chain[0][1].source, chain[-1][1].target
        assert source is not None
        assert last is not None
        for _, step in chain:
            if step.incoming is not None:
                result[step.incoming] = (source, last)
    return result


def copied(lowered: LoweredAlgorithm) -> dict[int, Slot]:
    """Messages whose sender could read its own copy of a chunk in place of its input.

    An input goes on from rank to rank by ``rcs`` only if all store it in one slot, the sender too;
    out of place it has a copy there anyway.

    Returns:
        The slot of the copy for each such message.
    """
    result: dict[int, Slot] = {}
    for rank in lowered.ranks:
        touched: set[Slot] = set()
        copies: dict[Slot, Slot] = {}
        for operation in rank.operations:
            if operation.action is Action.COPY and operation.target not in touched:
                (source,) = operation.sources
                if source.buffer is Buffer.INPUT and operation.target is not None:
                    copies[source] = operation.target
            touched.update(slot for slot in (*operation.sources, operation.target) if slot)
        for operation in rank.operations:
            if operation.message is not None and operation.action is Action.SEND:
                copy = copies.get(operation.sources[0])
                if copy == lowered.messages[operation.message].target_slot:
                    result[operation.message] = copy
    return result


def read_copies(
    instructions: Sequence[XmlInstruction], chosen: Mapping[int, Slot]
) -> Sequence[XmlInstruction]:
    """The instructions of a rank with some messages read from a copy, which is made first."""
    wanted = {
        (one.source, chosen[one.outgoing])
        for one in instructions
        if one.op is Op.SEND and one.outgoing is not None and one.outgoing in chosen
    }
    if not wanted:
        return instructions
    first, rest = [], []
    for one in instructions:
        if one.op is Op.COPY and (one.source, one.target) in wanted:
            first.append(replace(one, key=(-1, *one.key[1:])))
        elif one.op is Op.SEND and one.outgoing is not None and one.outgoing in chosen:
            rest.append(replace(one, source=chosen[one.outgoing]))
        else:
            rest.append(one)
    return [*first, *rest]


def _chains(
    ranks: Sequence[Sequence[XmlInstruction]],
) -> Iterator[list[tuple[int, XmlInstruction]]]:
    """From every ``s`` the steps that pass its chunk on, to the one that keeps it."""
    receivers = {
        one.incoming: (rank, one)
        for rank, instructions in enumerate(ranks)
        for one in instructions
        if one.incoming is not None
    }
    for rank, instructions in enumerate(ranks):
        for one in instructions:
            if one.op is not Op.SEND:
                continue
            chain = [(rank, one)]
            while (message := chain[-1][1].outgoing) is not None:
                chain.append(receivers[message])
            yield chain


def _used(rank: int, step: XmlInstruction) -> tuple[_Name | None, _Name | None]:
    """The source and the destination that a step needs; None if free."""
    source = step.target if step.op is Op.RECEIVE_SEND else step.source
    return _name(rank, source), _name(rank, step.target)


def _name(rank: int, slot: Slot | None) -> _Name | None:
    return (rank, slot) if slot is not None and slot.buffer is Buffer.SCRATCH else slot
