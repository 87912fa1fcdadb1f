"""Data races: two thread blocks touch a slot, at least one writes, and nothing orders them.

Order is what the program itself guarantees: within a thread block, from a message's send to its
receive, from a counter's post to the wait that needs it, and across a barrier.  That a sender waits
for room in a connection is no such guarantee, since how much fits in depends on protocol and
message size.  Nor does the counter of an instruction that `still_reads` order its own reads; that
of the next instruction of its thread block does.  These edges are the same in every execution, so
the order ("happens before") is too, and looking at one execution suffices: each access is compared
with the slot's last write and, if it writes, with the reads since then.  If an access is unordered
with an earlier write, it is unordered with the last one or that one raced itself.

The order is kept in vector clocks, for every thread block twice the number of instructions of each
other one that lie before it, and one more where the next lies before it but for its reads.  A clock
is only copied when a message or a flag brings news.

A step's chunks are moved by many threads at a time or one after the other, as the size has it.
Hence a step must not write a chunk that it also reads, or writes, as another one of its chunks.

How many chunks are in a message is not relied on either: an order that holds chunk by chunk holds
for pieces of any size.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from syncoll.errors import VerificationError
from syncoll_threadblocks.program import Program
from syncoll_threadblocks.schedule import Schedule

__all__ = ["require_race_free"]

Clock = npt.NDArray[np.int32]

_MOST_WORK = 20_000_000_000
"""Bound on clock entries that are compared; a machine of 512 ranks comes to a tenth of it."""

_MOST_THREADS = 32_768
"""Each may need a clock with an entry for each other one."""


def require_race_free(program: Program, schedule: Schedule) -> None:
    """Passes a program without data races.

    Args:
        program: what `schedule` is an execution of.
        schedule: one of its executions; whichever it is, the answer is the same.

    Raises:
        VerificationError: naming both accesses, or when the program is too large to tell.
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
    """Clocks of threads, and who touched which slot last."""

    def __init__(self, program: Program, schedule: Schedule) -> None:
        self.program = program
        self.order = schedule.order
        zero = np.zeros(len(program.threads), dtype=np.int32)
        zero.setflags(write=False)
        self.zero = zero
        self.clock: list[Clock] = [zero] * len(program.threads)
        self.queue: list[deque[Snapshot]] = [deque() for _ in program.connections]
        self.counters = _Counters(program)
        self.written: dict[int, tuple[int, int]] = {}
        self.read: defaultdict[int, dict[int, int]] = defaultdict(dict)

    def run(self) -> None:
        threads, order = self.program.threads, self.order
        at = 0
        while at < len(order):
            t, position = order[at]
            barrier = threads[t].instructions[position].barrier
            end = at + 1
            if barrier >= 0:
                group = {t}
                while end < len(order) and order[end][0] not in group:
                    x, p = order[end]
                    if threads[x].instructions[p].barrier != barrier:
                        break
                    group.add(x)
                    end += 1
                self.meet(order[at:end])
            else:
                self.step(t, position)
            at = end

    def meet(self, group: Sequence[tuple[int, int]]) -> None:
        """What lies before a barrier at one thread lies before it at all that meet there."""
        snapshots = [(t, 2 * position, self.clock[t]) for t, position in group]
        for t, _ in group:
            for snapshot in snapshots:
                self.join(t, snapshot)

    def join(self, t: int, snapshot: Snapshot) -> None:
        """What lies before the snapshot, and it itself, lies before thread t's next event."""
        other, time, clock = snapshot
        mine = self.clock[t]
        if other == t or mine[other] >= time:
            return
        merged = np.maximum(mine, clock)
        merged[other] = time
        merged.setflags(write=False)
        self.clock[t] = merged

    def step(self, t: int, position: int) -> None:
        instruction = self.program.threads[t].instructions[position]
        for counter, count in instruction.waits:
            for snapshot in self.counters.before(counter, count):
                self.join(t, snapshot)
        if instruction.receive >= 0:
            self.join(t, self.queue[instruction.receive].popleft())
        for slot in instruction.reads:
            self.after(t, position, slot, self.written.get(slot), "reads", "writes")
            self.read[slot][t] = position
        for slot in instruction.writes:
            self.after(t, position, slot, self.written.get(slot), "writes", "writes")
            for reader in self.read.pop(slot, {}).items():
                self.after(t, position, slot, reader, "writes", "reads")
            self.written[slot] = (t, position)
        snapshot = (t, 2 * position + 2, self.clock[t])
        if instruction.send >= 0:
            self.queue[instruction.send].append(snapshot)
        if instruction.still_reads:
            snapshot = (t, 2 * (position - instruction.part) + 1, self.clock[t])
        for counter in instruction.posts:
            self.counters.post(counter, snapshot)
        if position + 1 == len(self.program.threads[t].instructions):
            self.clock[t] = self.zero  # nobody asks again, and clocks are long

    def after(
        self,
        t: int,
        position: int,
        slot: int,
        earlier: tuple[int, int] | None,
        what: str,
        other_what: str,
    ) -> None:
        """Passes when an earlier access lies before this one."""
        if earlier is None:
            return
        other, there = earlier
        program = self.program
        if other == t or self.clock[t][other] > 2 * there + 1:
            return
        why = "nothing orders the two"
        if what == "writes" and program.threads[other].instructions[there].still_reads:
            why += (
                "; that step may end before its reads are done, and only a later step of its "
                "thread block waits for them"
            )
        raise program.fail(
            t,
            position,
            f"race: it {what} {program.memory.describe(slot)}, which "
            f"{program.place(other, there)} {other_what}, and {why}",
        )


def _require_disjoint_chunks(program: Program) -> None:
    """Passes when no step writes what it also touches as another one of its chunks."""
    for t, thread in enumerate(program.threads):
        for position, first in enumerate(thread.instructions):
            if first.parts == 1 or first.part:
                continue
            positions = range(position, position + first.parts)
            written: dict[int, int] = {}
            for p in positions:
                for slot in thread.instructions[p].writes:
                    if slot in written:
                        _overlap(program, t, p, slot, written[slot])
                    written[slot] = p
            for p in positions:
                for slot in thread.instructions[p].reads:
                    if written.get(slot, p) != p:
                        _overlap(program, t, p, slot, written[slot])


def _overlap(program: Program, t: int, position: int, slot: int, other: int) -> None:
    part = program.threads[t].instructions[other].part
    raise program.fail(
        t,
        position,
        f"the chunks of this step overlap: {program.memory.describe(slot)} is written as its chunk "
        f"{part + 1} too",
    )


class _Counters:
    """Which posts lie before a wait, whatever the schedule.

    A wait for count v of a counter that several threads post lies behind the m-th post of one of
    them for certain if the others cannot make up more than v - m.
    """

    def __init__(self, program: Program) -> None:
        self.kept: dict[tuple[int, int], dict[int, Snapshot]] = {}
        self.done: list[dict[int, int]] = [{} for _ in program.counters]
        self.total: list[dict[int, int]] = [{} for _ in program.counters]
        waits: set[tuple[int, int]] = set()
        for t, thread in enumerate(program.threads):
            for instruction in thread.instructions:
                for counter in instruction.posts:
                    self.total[counter][t] = self.total[counter].get(t, 0) + 1
                waits.update(instruction.waits)
        # For each (counter, thread, how many posts) the waits that it is the newest news for.
        self.for_whom: defaultdict[tuple[int, int, int], list[tuple[int, int]]] = defaultdict(list)
        for counter, count in waits:
            posts = self.total[counter]
            all_posts = sum(posts.values())
            for t, own in posts.items():
                certain = count - (all_posts - own)
                if certain >= 1:
                    self.for_whom[counter, t, certain].append((counter, count))

    def post(self, counter: int, snapshot: Snapshot) -> None:
        t = snapshot[0]
        done = self.done[counter][t] = self.done[counter].get(t, 0) + 1
        for wait in self.for_whom.get((counter, t, done), ()):
            self.kept.setdefault(wait, {})[t] = snapshot

    def before(self, counter: int, count: int) -> Sequence[Snapshot]:
        return list(self.kept.get((counter, count), {}).values())
