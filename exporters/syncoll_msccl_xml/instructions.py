"""From operations to instructions: the steps of a thread block.

An instruction may receive, reduce, store and send at once.  There are two kinds of fusion, if the
order of a rank's list stays right:

* A received chunk that only a reduction in the same step reads is reduced as it comes (``rrc``),
  without a slot of its own.
* A chunk that is received in one step and sent on in the next, over the connection that the block
  also serves, goes on as it comes (``rcs``, ``rrcs``), and is not even stored if nothing else reads
  it (``rrs``).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from syncoll.runtime import Action, Buffer, Hazard, Operation, Slot

__all__ = ["Key", "Op", "XmlInstruction", "compact", "forward", "instructions_of", "waits"]

Key = tuple[int, int, int, int]
"""Step, phase and place in the rank's list: an order in which everything may be done."""

_PHASES = {Action.SEND: 0, Action.RECEIVE: 1, Action.REDUCE: 2, Action.COPY: 3}


class Op(StrEnum):
    """The types of steps."""

    SEND = "s"
    RECEIVE = "r"
    COPY = "cpy"
    REDUCE = "re"
    RECEIVE_REDUCE = "rrc"
    RECEIVE_SEND = "rcs"
    RECEIVE_REDUCE_SEND = "rrs"
    RECEIVE_REDUCE_STORE_SEND = "rrcs"


@dataclass(frozen=True)
class XmlInstruction:
    """A step without its thread block.

    Args:
        key: its place in the rank's order.
        source: the slot that it sends, copies or reduces; None for r and rcs.
        target: the slot that it writes; None for s and rrs.  ``re`` reads it too.
        incoming: the message that it receives.
        outgoing: the message that it sends.
    """

    op: Op
    key: Key
    source: Slot | None
    target: Slot | None
    incoming: int | None = None
    outgoing: int | None = None

    @property
    def reads(self) -> tuple[Slot, ...]:
        """Every slot that it reads."""
        slots = [self.source] if self.source is not None else []
        if self.op is Op.REDUCE and self.target is not None:
            slots.append(self.target)
        return tuple(slots)


def instructions_of(
    operations: Sequence[Operation], *, fuse: bool, apart: Collection[int] = ()
) -> list[XmlInstruction]:
    """The instructions of a rank; with `fuse`, messages but `apart` are reduced as they come."""
    absorbed = {
        receive: reduce
        for reduce, receive in (_reductions(operations) if fuse else {}).items()
        if operations[receive].message not in apart
    }
    reduced = set(absorbed.values())
    result: list[XmlInstruction] = []
    for i, operation in enumerate(operations):
        key = (operation.step, _PHASES[operation.action], i, 0)
        target, message = operation.target, operation.message
        match operation.action:
            case Action.SEND:
                result.append(
                    XmlInstruction(Op.SEND, key, operation.sources[0], None, outgoing=message)
                )
            case Action.RECEIVE if i in absorbed:
                reduce = operations[absorbed[i]]
                one, two = reduce.sources
                own = two if one == target else one
                result.append(XmlInstruction(Op.RECEIVE_REDUCE, key, own, reduce.target, message))
            case Action.RECEIVE:
                result.append(XmlInstruction(Op.RECEIVE, key, None, target, message))
            case Action.COPY:
                result.append(XmlInstruction(Op.COPY, key, operation.sources[0], target))
            case Action.REDUCE if i not in reduced:
                one, two = operation.sources
                if target == one:
                    one, two = two, one
                elif target != two:
                    result.append(XmlInstruction(Op.COPY, key, two, target))
                    key = (*key[:3], 1)
                result.append(XmlInstruction(Op.REDUCE, key, one, target))
    return result


def _reductions(operations: Sequence[Operation]) -> dict[int, int]:
    """For each reduction that can be done as something is received, that receive."""
    writers = [
        [d.operation for d in operation.dependencies if d.hazard is Hazard.READ_AFTER_WRITE]
        for operation in operations
    ]
    readers = Counter(writer for found in writers for writer in found)
    result: dict[int, int] = {}
    for i, operation in enumerate(operations):
        if operation.action is not Action.REDUCE or not writers[i]:
            continue
        last = max(writers[i])
        read = operations[last]
        if readers[last] != 1 or read.step != operation.step or read.action is not Action.RECEIVE:
            continue
        between = operations[last + 1 : i]
        if not any(operation.target in (*other.sources, other.target) for other in between):
            result[i] = last
    return result


def forward(
    instructions: Sequence[XmlInstruction], leads: Callable[[int, int], bool]
) -> list[XmlInstruction]:
    """Fuses receives with the sends that pass on their chunks, if `leads` allows it for two
    messages.
    """
    result: list[XmlInstruction | None] = list(instructions)
    uses: dict[Slot, list[int]] = {}
    for i, one in enumerate(instructions):
        for slot in {*one.reads, *([one.target] if one.target is not None else [])}:
            uses.setdefault(slot, []).append(i)
    for i, one in enumerate(instructions):
        if one.op not in (Op.RECEIVE, Op.RECEIVE_REDUCE):
            continue
        assert one.incoming is not None
        assert one.target is not None
        readers, overwritten = _fate(instructions, i, uses[one.target])
        for j in readers:
            send = instructions[j]
            if send.outgoing is None or send.key[0] != one.key[0] + 1:
                continue
            if result[j] is None or not leads(one.incoming, send.outgoing):
                continue
            forgotten = one.target.buffer is Buffer.SCRATCH or overwritten
            if one.op is Op.RECEIVE:
                fused = replace(one, op=Op.RECEIVE_SEND)
            elif readers == [j] and forgotten:
                fused = replace(one, op=Op.RECEIVE_REDUCE_SEND, target=None)
            else:
                fused = replace(one, op=Op.RECEIVE_REDUCE_STORE_SEND)
            result[i] = replace(fused, outgoing=send.outgoing)
            result[j] = None
            break
    return [one for one in result if one is not None]


def _fate(
    instructions: Sequence[XmlInstruction], i: int, uses: Sequence[int]
) -> tuple[list[int], bool]:
    """The readers of an instruction's result, and whether it is overwritten, by all uses of its
    slot.
    """
    slot, readers = instructions[i].target, []
    for j in uses[bisect_right(uses, i) :]:
        if slot in instructions[j].reads:
            readers.append(j)
        if instructions[j].target == slot:
            return readers, True
    return readers, False


def waits(instructions: Sequence[XmlInstruction]) -> list[tuple[int, ...]]:
    """For each instruction of a rank the earlier ones that must be done before it."""
    writer: dict[Slot | None, int] = {}
    readers: defaultdict[Slot | None, list[int]] = defaultdict(list)
    result = []
    for i, one in enumerate(instructions):
        found = {writer[slot] for slot in (*one.reads, one.target) if slot in writer}
        result.append(tuple(sorted(found.union(readers[one.target]))))
        for slot in one.reads:
            readers[slot].append(i)
        if one.target is not None:
            writer[one.target], readers[one.target] = i, []
    return result


def compact(instructions: Sequence[XmlInstruction]) -> tuple[list[XmlInstruction], int]:
    """The same with scratch numbered without gaps, and the number of its slots."""
    number: dict[Slot, Slot] = {}

    def renamed(slot: Slot | None) -> Slot | None:
        if slot is None or slot.buffer is not Buffer.SCRATCH:
            return slot
        return number.setdefault(slot, Slot(Buffer.SCRATCH, len(number)))

    result = [
        replace(one, source=renamed(one.source), target=renamed(one.target)) for one in instructions
    ]
    return result, len(number)
