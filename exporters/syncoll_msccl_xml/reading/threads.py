"""Threads: the program of a file's thread blocks, for the abstract machine.

A step of cnt chunks becomes cnt instructions.  Steps with hasdep raise their thread block's flag to
their position; a wait for step d is a wait for the first flag of at least d.  A nop is no event of
its own: its dependency belongs to the next step.

A send without a barrier at its end (`Runtime.open_sends`) raises its flag, and some threads
continue while others still read.  The next step of the thread block begins with a barrier if it
sends or waits, and otherwise ends with one.  In the latter case ``r`` and ``cpy`` write each
element by the thread that sent the element at the same offset; ``re`` assigns elements differently.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from syncoll.errors import VerificationError
from syncoll_msccl_xml.reading.algorithm import XmlAlgorithm, XmlBlock, XmlGpu, XmlStep, place
from syncoll_msccl_xml.reading.rules import READS, RECEIVES, SENDS, WRITES
from syncoll_threadblocks import (
    AddressSpace,
    Instruction,
    Program,
    Specification,
    Thread,
    ThreadConnection,
)

_DEPTHS = {"Simple": 2, "LL": 8, "LL128": 8}
"""Messages that fit into a connection: a queue of 8 places; a message of Simple takes 4."""


def threads_of(
    algorithm: XmlAlgorithm, spec: Specification | None, in_place: bool, *, open_sends: bool = False
) -> tuple[Program, list[int], list[int]]:
    """The program of a file that `require_loadable` passed, and the starts of inputs and outputs.

    Without `spec` buffers have the declared sizes.  Raises VerificationError if a step overwrites
    data that the send before it may still read.
    """
    memory = AddressSpace()
    gpus = sorted(algorithm.gpus, key=lambda gpu: gpu.id)
    slots = {gpu.id: _buffers(memory, gpu, spec, in_place) for gpu in gpus}
    inputs, outputs = ([one[buffer] for one in slots.values()] for buffer in "io")
    depth = _DEPTHS[algorithm.proto]
    connections: dict[tuple[int, int, int], int] = {}
    for gpu in gpus:
        for block in gpu.blocks:
            if block.send >= 0:
                connections[gpu.id, block.send, block.chan] = len(connections)
    counters: list[str] = []
    threads: list[Thread] = []
    for gpu in gpus:
        first = len(counters)
        counters += [
            f"the flag of thread block {block.id} of rank {gpu.id}" for block in gpu.blocks
        ]
        flagged = [
            [i for i, step in enumerate(block.steps) if step.hasdep and step.type != "nop"]
            for block in gpu.blocks
        ]
        for block in gpu.blocks:
            maker = _Maker(
                block,
                slots[gpu.id],
                flagged,
                first,
                connections.get((gpu.id, block.send, block.chan), -1),
                connections.get((block.recv, gpu.id, block.chan), -1),
                open_sends,
            )
            threads.append(Thread(gpu.id, block.id, maker.instructions()))
            if open_sends:
                _require_sent(gpu.id, block, threads[-1].instructions)
    queues = [ThreadConnection(*ends, depth) for ends in connections]
    return Program(threads, queues, memory, counters), inputs, outputs


def _buffers(
    memory: AddressSpace, gpu: XmlGpu, spec: Specification | None, in_place: bool
) -> dict[str, int]:
    """The first slot of each buffer of a rank."""
    i_size = gpu.i_chunks if spec is None else spec.inputs_of(gpu.id)
    o_size = gpu.o_chunks if spec is None else spec.outputs_of(gpu.id)
    if in_place and spec is not None:
        i, o = memory.add_in_place(gpu.id, (i_size, o_size), spec.in_place(gpu.id))
    else:
        i, o = (memory.add(gpu.id, *one).start for one in (("i", i_size), ("o", o_size)))
    return {"i": i, "o": o, "s": memory.add(gpu.id, "s", gpu.s_chunks).start}


def _require_sent(rank: int, block: XmlBlock, instructions: Sequence[Instruction]) -> None:
    """Raises VerificationError if a thread block overwrites data that an earlier send may read."""
    sent: dict[int, int] = {}
    for one in instructions:
        if one.part == 0 and (one.waits or one.send >= 0):
            sent = {}  # all threads meet before it
        for slot in one.writes:
            if slot in sent and (one.name == "re" or sent[slot] != slot - one.part):
                raise VerificationError(
                    f"{place(rank, block, one.step)}: it overwrites data that the send before it "
                    "may still read: different threads do both, without a barrier between them"
                )
        if one.still_reads:
            sent.update((slot, slot - one.part) for slot in one.reads)
        elif one.part + 1 == one.parts:
            sent = {}


@dataclass
class _Maker:
    """Makes the instructions of one thread block."""

    block: XmlBlock
    slots: Mapping[str, int]
    flagged: list[list[int]]
    first_counter: int
    send: int
    recv: int
    open_sends: bool

    def instructions(self) -> list[Instruction]:
        result: list[Instruction] = []
        waits: list[tuple[int, int]] = []
        for position, step in enumerate(self.block.steps):
            if step.depid >= 0:
                # The flag is high enough after the first flagged step that is not before deps.
                count = bisect_left(self.flagged[step.depid], step.deps) + 1
                waits.append((self.first_counter + step.depid, count))
            if step.type != "nop":
                result += self.parts(position, step, tuple(waits))
                waits = []
        return result

    def parts(
        self, position: int, step: XmlStep, waits: tuple[tuple[int, int], ...]
    ) -> list[Instruction]:
        source = self.slots[step.srcbuf] + step.srcoff
        destination = self.slots[step.dstbuf] + step.dstoff
        posts = (self.first_counter + self.block.id,) if step.hasdep else ()
        reads, writes = step.type in READS, step.type in WRITES
        result: list[Instruction] = []
        for c in range(step.cnt):
            read = (source + c,) if reads else ()
            result.append(
                Instruction(
                    position,
                    step.type,
                    self.recv if step.type in RECEIVES else -1,
                    self.send if step.type in SENDS else -1,
                    (destination + c, *read) if step.type == "re" else read,
                    (destination + c,) if writes else (),
                    waits if c == 0 else (),
                    posts if c + 1 == step.cnt else (),
                    -1,
                    c,
                    step.cnt,
                    step.line,
                    self.open_sends and step.type == "s",
                )
            )
        return result
