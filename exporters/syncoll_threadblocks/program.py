"""Program: the instructions of every thread block of every rank.

An instruction works on one chunk.  A step of a file that moves several chunks becomes several
instructions, its *parts*: large messages are sent chunk by chunk, and a program that is right chunk
by chunk is right for larger pieces too (see `syncoll_threadblocks.schedule`).

In one indivisible event an instruction

1. waits for its counters, for a message on the connection that it receives from, and for space on
   the connection that it sends over;
2. reduces the message and the slots that it reads to a value;
3. writes the value to every slot that it writes and sends it;
4. raises its counters (an instruction that `still_reads` raises them before it reads);

or it only waits for others at a barrier.  This covers sends, receives, copies, reductions and their
fused forms, remote writes with signals, flags and semaphores.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from syncoll.errors import VerificationError

Place = tuple[int, int]
"""A thread block and the position of one of its instructions."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One event of a thread block.

    Args:
        step: the number of the step in its file, for errors; the parts of a step share it.
        name: the operation as the file writes it.
        receive: the connection from which it takes a message; -1 if none.
        send: the connection over which it sends its value; -1 if none.
        reads: slots whose contents are reduced to its value, with the message if there is one.
        writes: slots that get the value.
        waits: ``(counter, count)``: starts when the counter has been raised that often.
        posts: counters that are raised by one at its end.
        still_reads: whether its counters may be raised before it has read everything.
        barrier: ends only when all thread blocks of this barrier have reached it equally often; -1
            for no barrier.  An instruction with a barrier does nothing else.
        part: its number among the `parts` of the step.
        line: of the file; 0 if unknown.
    """

    step: int
    name: str
    receive: int = -1
    send: int = -1
    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    waits: tuple[tuple[int, int], ...] = ()
    posts: tuple[int, ...] = ()
    barrier: int = -1
    part: int = 0
    parts: int = 1
    line: int = 0
    still_reads: bool = False

    def __post_init__(self) -> None:
        assert self.barrier < 0 or not (
            self.reads or self.writes or self.waits or self.posts or self.receive + self.send > -2
        )


@dataclass(frozen=True)
class Thread:
    """A thread block: its rank, its number there, and its instructions in order."""

    rank: int
    number: int
    instructions: Sequence[Instruction]


@dataclass(frozen=True)
class ThreadConnection:
    """A queue from one rank to another on a channel, for up to `depth` messages, at least 1."""

    source: int
    destination: int
    channel: int
    depth: int

    def __str__(self) -> str:
        return f"rank {self.source} -> rank {self.destination}, channel {self.channel}"


@dataclass(frozen=True)
class ProgramBuffer:
    """A buffer of a rank: its name in the file, its size in chunks, and its first address."""

    rank: int
    name: str
    size: int
    start: int


@dataclass
class AddressSpace:
    """The addresses of every slot of every rank; untouched slots take no memory."""

    buffers: list[ProgramBuffer] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list)
    _end: int = 0

    def add(self, rank: int, name: str, size: int) -> ProgramBuffer:
        """A new buffer of `size` chunks behind all others."""
        buffer = ProgramBuffer(rank, name, size, self._end)
        self.buffers.append(buffer)
        self._starts.append(self._end)
        self._end += max(size, 1)  # an empty buffer has an address of its own, for `owner`
        return buffer

    def add_in_place(
        self, rank: int, sizes: tuple[int, int], starts: tuple[int, int]
    ) -> tuple[int, int]:
        """One new buffer for input and output, of their sizes and starts in it; the first slots."""
        common = self.add(rank, "o" if sizes[1] > sizes[0] else "i", max(sizes)).start
        return common + starts[0], common + starts[1]

    def owner(self, slot: int) -> ProgramBuffer:
        """The buffer that a slot belongs to."""
        return self.buffers[bisect_right(self._starts, slot) - 1]

    def describe(self, slot: int) -> str:
        """A slot in errors: ``o[3] of rank 2``."""
        buffer = self.owner(slot)
        return f"{buffer.name}[{slot - buffer.start}] of rank {buffer.rank}"


@dataclass(frozen=True)
class Program:
    """A call of a collective.  Instructions name connections, counters and barriers by position."""

    threads: Sequence[Thread]
    connections: Sequence[ThreadConnection]
    memory: AddressSpace
    counters: Sequence[str] = ()
    barriers: Sequence[str] = ()

    def places(self) -> Iterator[tuple[Place, Instruction]]:
        """All instructions with their places, thread by thread."""
        for t, thread in enumerate(self.threads):
            for position, instruction in enumerate(thread.instructions):
                yield (t, position), instruction

    def at(self, place: Place) -> Instruction:
        """The instruction at a place."""
        return self.threads[place[0]].instructions[place[1]]

    def words(self, place: Place) -> str:
        """An instruction in errors: ``rank 1, thread block 0, step 3 (rrc), line 57``."""
        block, there = self.threads[place[0]], self.at(place)
        text = f"rank {block.rank}, thread block {block.number}, step {there.step} ({there.name})"
        if there.parts > 1:
            text += f", chunk {there.part + 1} of {there.parts}"
        return text + (f", line {there.line}" if there.line else "")

    def fail(self, place: Place, message: str) -> VerificationError:
        """The error that an instruction causes."""
        return VerificationError(f"{self.words(place)}: {message}")
