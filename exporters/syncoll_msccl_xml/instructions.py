"""From operations to instructions: the steps of a thread block.

An instruction may receive, reduce, store and send at once.  There are two kinds of fusion, as far
as the order of a rank's list allows:

* A received chunk that only a reduction in the same step reads is reduced as it arrives (``rrc``),
  without a slot of its own.
* A chunk that is received in one step and sent on in the next is sent as it arrives (``rcs``,
  ``rrcs``), if the block serves both connections.  It is not stored if only the send reads it
  (``rrs``).

Both ends of a message should state the same source and destination.  The runtimes read only the
slots that they use: of ``s`` the source, of ``r`` the destination, of ``rrs`` the slot it adds.
The others serve readers, and programs that compare the ends of every message.  msccl-tools
writes the sender's source and the receiver's destination on both.  A public verifier
(*MSCCL-XML-Verifier* of dromniscience) refuses a file in which they differ, or an ``rcs`` with two
slots.

A step that receives and sends has one pair for both of its messages.  A *chain* leads from an ``s``
over such steps to the step that keeps the chunk.  All its messages have one source and one
destination, and every slot that a step of the chain uses must be one of these two:

| step     | source             | destination        |
|----------|--------------------|--------------------|
| ``s``    | the slot it reads  | free               |
| ``r``    | free               | the slot it writes |
| ``rcs``  | the slot it writes | the slot it writes |
| ``rrc``  | the slot it adds   | the slot it writes |
| ``rrs``  | the slot it adds   | free               |
| ``rrcs`` | the slot it adds   | the slot it writes |

If slots do not fit, a step is not fused: a chunk is stored before it is sent on, or received before
it is added.  Scratch slots of two ranks are always different.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise

from syncoll.runtime import Action, Buffer, Hazard, LoweredAlgorithm, Message, Operation, Slot

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
    """A step without its thread block: the slots it sends, copies, reduces and writes, and the
    stream that they hold.

    r and rcs have no source (None), s and rrs no target; ``re`` reads its target too.
    """

    op: Op
    key: Key
    source: Slot | None
    target: Slot | None
    incoming: int | None = None
    outgoing: int | None = None
    stream: int = 0

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
    """The instructions of a rank; with `fuse`, messages except `apart` are reduced on arrival."""
    absorbed = {
        receive: reduce
        for reduce, receive in (_reductions(operations) if fuse else {}).items()
        if operations[receive].message not in apart
    }
    reduced = set(absorbed.values())
    result: list[XmlInstruction] = []
    for i, operation in enumerate(operations):
        key = (operation.step, _PHASES[operation.action], i, 0)
        target, message, stream = operation.target, operation.message, operation.chunk
        match operation.action:
            case Action.SEND:
                result.append(
                    XmlInstruction(Op.SEND, key, operation.sources[0], None, None, message, stream)
                )
            case Action.RECEIVE if i in absorbed:
                reduce = operations[absorbed[i]]
                one, two = reduce.sources
                own = two if one == target else one
                what = key, own, reduce.target, message
                result.append(XmlInstruction(Op.RECEIVE_REDUCE, *what, stream=stream))
            case Action.RECEIVE:
                result.append(XmlInstruction(Op.RECEIVE, key, None, target, message, stream=stream))
            case Action.COPY:
                what = key, operation.sources[0], target, None
                result.append(XmlInstruction(Op.COPY, *what, stream=stream))
            case Action.REDUCE if i not in reduced:
                one, two = operation.sources
                if target == one:
                    one, two = two, one
                elif target != two:
                    result.append(XmlInstruction(Op.COPY, key, two, target, stream=stream))
                    key = (*key[:3], 1)
                result.append(XmlInstruction(Op.REDUCE, key, one, target, stream=stream))
    return result


def _reductions(operations: Sequence[Operation]) -> dict[int, int]:
    """For each reduction that can be fused with a receive, this receive."""
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
    """Fuses receives with the sends that pass on their chunks, if `leads` allows it."""
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
    """The readers of an instruction's result, and whether it is overwritten later."""
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
    """Renumbers scratch without gaps; returns the number of its slots, too."""
    number: dict[Slot, Slot] = {}

    def renamed(slot: Slot | None) -> Slot | None:
        if slot is None or slot.buffer is not Buffer.SCRATCH:
            return slot
        return number.setdefault(slot, Slot(Buffer.SCRATCH, len(number)))

    result = [
        replace(one, source=renamed(one.source), target=renamed(one.target)) for one in instructions
    ]
    return result, len(number)


Name = tuple[int, Buffer, int]
"""A slot by its name in the file: -1, buffer and first chunk.  Of scratch, which is renumbered
later: rank, buffer and index."""

Naming = Callable[[int, Slot], Name]
"""The name of a slot of a rank."""

Stated = tuple[int, Slot]
"""A slot with its rank."""


@dataclass
class Apart:
    """Messages whose receivers are not fused: stored first, or with different slots at the ends."""

    stored: set[int] = field(default_factory=set)
    added: set[int] = field(default_factory=set)
    unlike: set[int] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.stored or self.added)

    def add(self, other: "Apart") -> None:
        """Adds the messages of another one."""
        self.stored |= other.stored
        self.added |= other.added


def alike(one: Message, other: Message, source: Slot, naming: Naming) -> bool:
    """Whether the step that stores a message, read from `source`, can send it on."""
    name = naming(one.destination, one.target_slot)
    return (
        one.target_slot.buffer is not Buffer.SCRATCH
        and naming(one.source, source) == name
        and naming(other.destination, other.target_slot) == name
    )


def apart_of(ranks: Sequence[Sequence[XmlInstruction]], naming: Naming) -> Apart:
    """The first step of each chain whose ends differ; further ones may depend on it."""
    result = Apart()
    for chain in _chains(ranks):
        source, target = _used(*chain[0], naming)
        for before, (rank, step) in pairwise(chain):
            own, kept = _used(rank, step, naming)
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


def stated_of(
    ranks: Sequence[Sequence[XmlInstruction]], messages: int
) -> list[tuple[Stated, Stated]]:
    """The source and destination of each message that both ends state."""
    nowhere = -1, Slot(Buffer.INPUT, -1)
    result: list[tuple[Stated, Stated]] = [(nowhere, nowhere)] * messages
    for chain in _chains(ranks):
        (rank, first), (end, last) = chain[0], chain[-1]
        assert first.source is not None
        assert last.target is not None
        for _, step in chain:
            if step.incoming is not None:
                result[step.incoming] = (rank, first.source), (end, last.target)
    return result


def copied(lowered: LoweredAlgorithm, naming: Naming) -> dict[int, Slot]:
    """Messages whose sender could read its own copy of a chunk instead of its input, by slot.

    A chain of ``rcs`` needs one slot at all ranks, the sender included; out of place the sender has
    a copy there anyway.
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
                copy, message = copies.get(operation.sources[0]), operation.message
                if copy is None:
                    continue
                other = lowered.messages[message]
                if naming(rank.rank, copy) == naming(other.destination, other.target_slot):
                    result[message] = copy
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


def _used(rank: int, step: XmlInstruction, naming: Naming) -> tuple[Name | None, Name | None]:
    """The source and the destination that a step needs; None if free."""
    source = step.target if step.op is Op.RECEIVE_SEND else step.source
    return (
        None if source is None else naming(rank, source),
        None if step.target is None else naming(rank, step.target),
    )
