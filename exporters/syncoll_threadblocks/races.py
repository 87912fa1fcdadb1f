"""Data races: two thread blocks touch a slot, at least one writes, and nothing orders them.

The program itself guarantees an order: within a thread block, from a message's send to its receive,
from a counter's post to the wait that needs it, and across a barrier.  That a sender waits for room
in a connection is no such guarantee, since the room depends on protocol and message size.  Nor does
the counter of an instruction that `still_reads` order its own reads; that of the next instruction
of its thread block does.  These edges are the same in every execution, so the order ("happens
before") is too, and one execution suffices: each access is compared with the slot's last write and,
if it writes, with the reads since then.  If an access is unordered with an earlier write, it is
unordered with the last one or that one raced itself.

The order is kept in vector clocks: for every thread block twice the number of instructions of each
other one that lie before it, and one more if the next lies before it but for its reads.  A clock is
only copied when a message or a flag brings news.

The chunks of a step are moved by many threads at a time or one after the other, depending on the
size.  Hence a step must not write a chunk that it also reads, or writes, as another one of its
chunks.  An order that holds chunk by chunk holds for pieces of any size.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from syncoll.errors import VerificationError
from syncoll_threadblocks.program import Place, Program
from syncoll_threadblocks.schedule import Schedule, meeting

__all__ = ["require_race_free"]

Clock = npt.NDArray[np.int32]

_MOST_WORK = 20_000_000_000
"""Most clock entries that are compared; a machine of 512 ranks needs a tenth of it."""

_MOST_THREADS = 32_768
"""Most thread blocks; each may need a clock with an entry for each other one."""


def require_race_free(program: Program, schedule: Schedule) -> None:
    """Raises VerificationError if a program has a data race; one execution suffices.

    The error names both accesses; a program that is too large is an error as well.
    """
    _require_disjoint_chunks(program)
    joins = sum(
        (i.receive >= 0) + len(i.waits) + (i.barrier >= 0)
        for thread in program.threads
        for i in thread.instructions
    )
    num = len(program.threads)
    if num > _MOST_THREADS or joins * num > _MOST_WORK:
        raise VerificationError(
            f"{num} thread blocks with {joins} receives and waits are too many to check for races"
        )
    _Detector(program, schedule).run()


Snapshot = tuple[int, int, Clock]
"""A thread, its own entry in the clocks of later threads, and its clock at that moment."""


class _Detector:
    """The clocks of threads, and the last accesses to each slot."""

    def __init__(self, program: Program, schedule: Schedule) -> None:
        self.program = program
        self.order = schedule.order
        zero = np.zeros(len(program.threads), dtype=np.int32)
        zero.setflags(write=False)
        self.zero = zero
        self.clock: list[Clock] = [zero] * len(program.threads)
        self.queue: list[deque[Snapshot]] = [deque() for _ in program.connections]
        self.counters = _Counters(program)
        self.written: dict[int, Place] = {}
        self.read: defaultdict[int, dict[int, int]] = defaultdict(dict)

    def run(self) -> None:
        at = 0
        while at < len(self.order):
            if self.program.at(self.order[at]).barrier < 0:
                self.step(self.order[at])
                at += 1
            else:
                group = meeting(self.program, self.order, at)
                self.meet(group)
                at += len(group)

    def meet(self, group: Sequence[Place]) -> None:
        """Joins the clocks of all threads that meet at a barrier."""
        snapshots = [(t, 2 * position, self.clock[t]) for t, position in group]
        for t, _ in group:
            for snapshot in snapshots:
                self.join(t, snapshot)

    def join(self, t: int, snapshot: Snapshot) -> None:
        """Orders a snapshot, and all before it, before thread t's next event."""
        other, time, clock = snapshot
        mine = self.clock[t]
        if other == t or mine[other] >= time:
            return
        merged = np.maximum(mine, clock)
        merged[other] = time
        merged.setflags(write=False)
        self.clock[t] = merged

    def step(self, place: Place) -> None:
        (t, position), instruction = place, self.program.at(place)
        for counter, count in instruction.waits:
            for snapshot in self.counters.before(counter, count):
                self.join(t, snapshot)
        if instruction.receive >= 0:
            self.join(t, self.queue[instruction.receive].popleft())
        for slot in instruction.reads:
            self.after(place, slot, self.written.get(slot), "reads", "writes")
            self.read[slot][t] = position
        for slot in instruction.writes:
            self.after(place, slot, self.written.get(slot), "writes", "writes")
            for reader in self.read.pop(slot, {}).items():
                self.after(place, slot, reader, "writes", "reads")
            self.written[slot] = place
        snapshot = (t, 2 * position + 2, self.clock[t])
        if instruction.send >= 0:
            self.queue[instruction.send].append(snapshot)
        if instruction.still_reads:
            snapshot = (t, 2 * (position - instruction.part) + 1, self.clock[t])
        for counter in instruction.posts:
            self.counters.post(counter, snapshot)
        if position + 1 == len(self.program.threads[t].instructions):
            self.clock[t] = self.zero  # it is not needed again, and clocks are long

    def after(self, place: Place, slot: int, earlier: Place | None, does: str, did: str) -> None:
        """Raises VerificationError unless an earlier access is ordered before this one."""
        if earlier is None:
            return
        other, there = earlier
        program = self.program
        if other == place[0] or self.clock[place[0]][other] > 2 * there + 1:
            return
        why = "nothing orders the two"
        if does == "writes" and program.at(earlier).still_reads:
            why += (
                "; that step may end before its reads are done, and only a later step of its "
                "thread block waits for them"
            )
        raise program.fail(
            place,
            f"race: it {does} {program.memory.describe(slot)}, which "
            f"{program.words(earlier)} {did}, and {why}",
        )


def _require_disjoint_chunks(program: Program) -> None:
    """Raises VerificationError if a step writes a slot of another one of its chunks."""
    for (t, position), first in program.places():
        if first.parts == 1 or first.part:
            continue
        places = [(t, position + part) for part in range(first.parts)]
        writes = [(place, slot) for place in places for slot in program.at(place).writes]
        reads = [(place, slot) for place in places for slot in program.at(place).reads]
        written = {slot: place for place, slot in reversed(writes)}
        for place, slot in (*writes, *reads):
            if (other := written.get(slot, place)) != place:
                raise program.fail(
                    place,
                    f"the chunks of this step overlap: {program.memory.describe(slot)} is written "
                    f"as its chunk {program.at(other).part + 1} too",
                )


class _Counters:
    """The posts that come before a wait in every execution.

    Several threads may post a counter.  A wait for count v comes after the m-th post of one of them
    if the others post less than v - m + 1 times.
    """

    def __init__(self, program: Program) -> None:
        self.kept: defaultdict[tuple[int, int], dict[int, Snapshot]] = defaultdict(dict)
        self.done: list[Counter[int]] = [Counter() for _ in program.counters]
        total: list[Counter[int]] = [Counter() for _ in program.counters]
        waits: set[tuple[int, int]] = set()
        for (t, _), instruction in program.places():
            for counter in instruction.posts:
                total[counter][t] += 1
            waits.update(instruction.waits)
        # For each (counter, thread, posts) the waits for which it is the latest post.
        self.for_whom: defaultdict[tuple[int, int, int], list[tuple[int, int]]] = defaultdict(list)
        for counter, count in waits:
            for t, own in total[counter].items():
                certain = count - (total[counter].total() - own)
                if certain >= 1:
                    self.for_whom[counter, t, certain].append((counter, count))

    def post(self, counter: int, snapshot: Snapshot) -> None:
        t = snapshot[0]
        self.done[counter][t] += 1
        for wait in self.for_whom.get((counter, t, self.done[counter][t]), ()):
            self.kept[wait][t] = snapshot

    def before(self, counter: int, count: int) -> Sequence[Snapshot]:
        return list(self.kept.get((counter, count), {}).values())
