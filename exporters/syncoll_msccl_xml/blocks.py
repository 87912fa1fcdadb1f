"""Thread blocks: their instructions in order, and their dependencies.

A block waits for steps of other blocks of its rank, one dependency a step, so all but the last are
on ``nop`` steps before it.  A block does not wait again for a step that its earlier waits imply.

If a send ends without a barrier, its flag rises while it still reads.  A write to its source then
waits for the next step of the block.  A block without such a step gets a copy to unused scratch.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from syncoll.runtime import Buffer, Slot
from syncoll_msccl_xml.connections import Connection
from syncoll_msccl_xml.instructions import Op, XmlInstruction


@dataclass
class BlockStep:
    """A step (without an instruction a nop), its dependency, and whether others wait for it."""

    instruction: XmlInstruction | None
    waits: "tuple[ThreadBlock, int] | None"
    flagged: bool = False


@dataclass(eq=False)
class ThreadBlock:
    """A thread block and its connections of one channel; `spare` is scratch for barrier copies."""

    incoming: Connection | None
    outgoing: Connection | None
    steps: list[BlockStep] = field(default_factory=list)
    spare: Slot | None = None

    @property
    def awaited(self) -> bool:
        """Whether another block waits for one of its steps."""
        return any(step.flagged for step in self.steps)


def blocks_of(
    instructions: Sequence[XmlInstruction],
    waits: Sequence[tuple[int, ...]],
    order: Sequence[int],
    connections: Sequence[Connection],
    pairs: Mapping[Connection, Connection],
    most_steps: int,
    scratch: int,
    *,
    open_sends: bool = False,
) -> tuple[list[ThreadBlock], int]:
    """The blocks of a rank, and the number of slots of scratch that they use.

    Args:
        waits: for each instruction its predecessors.
        order: the indices of all, in the order of execution.
        pairs: incoming connections that share a block with an outgoing one.
        most_steps: of a block that only works on its own rank's memory.
        scratch: slots of scratch that the instructions use.
        open_sends: whether a send ends without a barrier.
    """
    blocks = _Blocks(connections, pairs, most_steps)
    at: dict[int, tuple[ThreadBlock, int]] = {}
    known: dict[tuple[ThreadBlock, int], dict[ThreadBlock, int]] = {}  # the steps that each implies
    now: dict[ThreadBlock, dict[ThreadBlock, int]] = defaultdict(dict)

    def note(block: ThreadBlock) -> None:
        """Records the steps that the last step of a block implies."""
        place = len(block.steps) - 1
        known[block, place] = {**now[block], block: place - (sent(block, place) is not None)}

    def sent(block: ThreadBlock, place: int) -> XmlInstruction | None:
        """The send of a step that may go on after the step has ended."""
        one = block.steps[place].instruction if block.steps else None
        return one if open_sends and one is not None and one.op is Op.SEND else None

    def closing(block: ThreadBlock, place: int) -> tuple[ThreadBlock, int]:
        """The step of a block with the first barrier after a send, added if missing."""
        nonlocal scratch
        for later in range(place + 1, len(block.steps)):
            if block.steps[later].instruction is not None:
                return block, later
        if block.spare is None:
            block.spare = Slot(Buffer.SCRATCH, scratch)
            scratch += 1
        one = sent(block, place)
        assert one is not None
        copy = replace(one, op=Op.COPY, target=block.spare, outgoing=None)
        block.steps.append(BlockStep(copy, None))
        note(block)
        return block, len(block.steps) - 1

    for i in order:
        beside = waits[i]
        if i + 1 < len(instructions) and instructions[i + 1].key[:3] == instructions[i].key[:3]:
            beside = waits[i + 1]  # a copy of a source of the next reduction
        block = blocks.choose(instructions[i], [at[j][0] for j in beside if j in at])
        done = now[block]
        latest: dict[ThreadBlock, int] = {}
        for j in waits[i]:
            other, place = at[j]
            if other is not block and done.get(other, -1) < place:
                latest[other] = max(latest.get(other, -1), place)
        needed = [
            (other, place) if sent(other, place) is None else closing(other, place)
            for other, place in latest.items()
            # No other awaited step comes after it.
            if not any(
                known[one].get(other, -1) >= place for one in latest.items() if one[0] is not other
            )
        ]
        for one in needed:
            for other, place in known[one].items():
                done[other] = max(done.get(other, -1), place)
        for number, (other, place) in enumerate(needed, start=1):
            other.steps[place].flagged = True
            last = number == len(needed)
            block.steps.append(BlockStep(instructions[i] if last else None, (other, place)))
        if not needed:
            # The threads of a reduction write data that other threads send.
            last_sent = sent(block, -1) if instructions[i].op is Op.REDUCE else None
            if last_sent is not None and last_sent.source == instructions[i].target:
                closing(block, len(block.steps) - 1)
            block.steps.append(BlockStep(instructions[i], None))
        at[i] = (block, len(block.steps) - 1)
        note(block)
    for block in blocks.all:
        _break_chains(block)
    return blocks.all, scratch


class _Blocks:
    """The blocks of a rank, made on demand."""

    def __init__(
        self,
        connections: Sequence[Connection],
        pairs: Mapping[Connection, Connection],
        most_steps: int,
    ) -> None:
        self.all: list[ThreadBlock] = []
        self._connections, self._pairs, self._most_steps = connections, pairs, most_steps
        self._reverse = {outgoing: incoming for incoming, outgoing in pairs.items()}
        self._of: dict[Connection, ThreadBlock] = {}
        self._local: ThreadBlock | None = None

    def choose(self, instruction: XmlInstruction, before: Sequence[ThreadBlock]) -> ThreadBlock:
        """The block of an instruction; `before` are the blocks that it waits for."""
        if instruction.incoming is not None:
            incoming = self._connections[instruction.incoming]
            return self._of.get(incoming) or self._add(incoming, self._pairs.get(incoming))
        if instruction.outgoing is not None:
            outgoing = self._connections[instruction.outgoing]
            return self._of.get(outgoing) or self._add(self._reverse.get(outgoing), outgoing)
        for block in reversed(before):  # the block that receives its source
            if block.incoming is not None:
                return block
        if self._local is None or len(self._local.steps) >= self._most_steps:
            self._local = self._add(None, None)
        return self._local

    def _add(self, incoming: Connection | None, outgoing: Connection | None) -> ThreadBlock:
        block = ThreadBlock(incoming, outgoing)
        self.all.append(block)
        self._of |= {one: block for one in (incoming, outgoing) if one is not None}
        return block


def _break_chains(block: ThreadBlock) -> None:
    """Keeps the runtime from fusing several reductions: it can count only a few."""
    for one, other in zip(block.steps, block.steps[1:], strict=False):
        ops = [step.instruction.op if step.instruction else None for step in (one, other)]
        if ops == [Op.REDUCE, Op.REDUCE]:
            one.flagged = True
