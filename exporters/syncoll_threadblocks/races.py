"""Data races: two thread blocks touch a slot, at least one writes, and nothing orders them.

The program itself guarantees an order: within a thread block, from a message's send to its receive,
from a counter's post to the wait that needs it, and across a barrier.  That a sender waits for room
in a connection is no such guarantee, since the room depends on protocol and message size.  Nor does
the counter of an instruction that `still_reads` order its own reads; that of the next instruction
of its thread block does.  These edges are the same in every execution, so the order ("happens
before") is too, and one execution suffices: each access is compared with the slot's last write and,
if it writes, with the reads since then.  If an access is unordered with an earlier write, it is
unordered with the last one or that one raced itself.

The order is kept in vector clocks: for every agent the number of its finished intervals.  A thread
block begins an interval when its threads meet.  Formats with a weaker order have more agents, and
their accesses can be ordered without being visible.

The chunks of a step are moved by many threads at a time or one after the other, depending on the
size.  Hence a step must not write a chunk that it also reads, or writes, as another one of its
chunks.  An order that holds chunk by chunk holds for pieces of any size.
"""

from abc import ABC, abstractmethod
from collections import Counter, defaultdict, deque
from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt

from syncoll.errors import UncheckedError, VerificationError
from syncoll_threadblocks.program import Place, Program
from syncoll_threadblocks.schedule import Schedule, meeting

Vector = npt.NDArray[np.int32]

_MOST_WORK = 20_000_000_000
"""Most clock entries that are joined; a machine of 512 ranks needs a tenth of it."""

_MOST_AGENTS = 32_768
"""Most agents; each may need a clock with an entry for each other one."""


def require_race_free(program: Program, schedule: Schedule) -> None:
    """Raises VerificationError, naming both accesses, if a program has a data race.  One execution
    suffices.  Raises UncheckedError if the program is too large."""
    _InOrder(program, schedule).run()


@dataclass(frozen=True, slots=True)
class Clock:
    """The finished intervals of all agents before a moment, and the visible ones among them.  The
    entries of its own agent stand apart: vectors are long, and only news are worth a copy."""

    before: Vector
    seen: Vector
    agent: int
    count: int
    visible: int

    def join(self, other: "Clock") -> "Clock":
        """The agent's clock after both."""
        own = self.agent == other.agent
        before = _later(self.before, other.before, other.agent, 0 if own else other.count)
        seen = before
        alike = other.before is other.seen and other.count == other.visible
        if not (self.before is self.seen and alike):
            seen = _later(self.seen, other.seen, other.agent, 0 if own else other.visible)
        if not own:
            return Clock(before, seen, self.agent, self.count, self.visible)
        most = max(self.count, other.count), max(self.visible, other.visible)
        return Clock(before, seen, self.agent, *most)

    def done(self, count: int) -> "Clock":
        """The clock after the first intervals of its agent."""
        return Clock(self.before, self.seen, self.agent, count, count)

    def knows(self, agent: int, interval: int, *, visibly: bool = False) -> bool:
        """Whether an interval of an agent is before, or even visible."""
        if agent == self.agent:
            return (self.visible if visibly else self.count) > interval
        return bool((self.seen if visibly else self.before)[agent] > interval)


def _later(mine: Vector, theirs: Vector, agent: int, count: int) -> Vector:
    if mine is theirs and mine[agent] >= count:
        return mine
    merged: Vector = np.maximum(mine, theirs)
    merged[agent] = max(merged[agent], count)
    return merged


@dataclass
class Block:
    """A thread block: the clock of its threads when they last met, and the number of meetings."""

    clock: Clock
    stretch: int = 0


Access = tuple[int, int, int, Place, bool]
"""Agent, its interval, operation, place, and whether by multicast."""


class Detector(ABC):
    """Follows an execution; the `step` of a format follows one instruction.

    Several threads may post a counter.  A wait for count v comes after the m-th post of one of them
    if the others post less than v - m + 1 times.  The n-th receive waits for the n-th send.
    """

    def __init__(self, program: Program, schedule: Schedule, agents: int, calls: int = 1) -> None:
        self.program, self.order = program, schedule
        joins = sum((i.receive >= 0) + len(i.waits) + (i.barrier >= 0) for _, i in program.places())
        if agents > _MOST_AGENTS or joins * agents * calls > _MOST_WORK:
            raise UncheckedError(
                f"{len(program.threads)} thread blocks with {joins} receives and waits are too "
                "many to check for races"
            )
        _require_disjoint_chunks(program)
        zero = np.zeros(agents, dtype=np.int32)
        self.clocks = [Clock(zero, zero, agent, 0, 0) for agent in range(agents)]
        self.blocks = [Block(clock) for clock in self.clocks[: len(program.threads)]]
        self.posts: dict[tuple[int, int, int], tuple[Clock, Clock]] = {}
        self.posted: Counter[tuple[int, int]] = Counter()
        self.totals: defaultdict[int, Counter[int]] = defaultdict(Counter)
        self.writes: dict[int, Access] = {}
        self.reads: defaultdict[int, dict[tuple[int, int, int], Access]] = defaultdict(dict)
        for (t, _), instruction in program.places():
            for counter in instruction.posts:
                self.totals[counter][t] += 1

    def run(self) -> None:
        """Follows the execution once."""
        at = 0
        while at < len(self.order):
            place = self.order[at]
            if self.program.at(place).barrier < 0:
                self.step(place)
                at += 1
                continue
            group = [x for x, _ in meeting(self.program, self.order, at)]
            for x in group:
                self.meet(x)
            together = reduce(Clock.join, (self.blocks[x].clock for x in group))
            for x in group:
                self.blocks[x].clock = self.blocks[x].clock.join(together)
            at += len(group)

    @abstractmethod
    def step(self, place: Place) -> None:
        """Follows an instruction."""

    def meet(self, t: int) -> None:
        """All threads of a block meet and share their clocks."""
        block = self.blocks[t]
        block.stretch += 1
        block.clock = block.clock.done(block.stretch)

    def post(self, t: int, counter: int, clock: Clock, relaxed: Clock) -> None:
        """A thread block raises a counter; relaxed waits get another clock."""
        self.posted[counter, t] += 1
        self.posts[counter, t, self.posted[counter, t]] = clock, relaxed

    def awaited(self, counter: int, count: int, clock: Clock, *, relaxed: bool = False) -> Clock:
        """A clock after a wait: it joins the posts that come before in any order."""
        totals = self.totals[counter]
        for other, own in totals.items():
            certain = count - (totals.total() - own)
            if certain >= 1:
                clock = clock.join(self.posts[counter, other, certain][relaxed])
        return clock

    def read(self, slot: int, who: Access, clock: Clock, part: int = -1) -> None:
        """An access that reads; the write of a packet may order a part of its agent's reads."""
        if (earlier := self.writes.get(slot)) is not None:
            self.require(slot, who, clock, earlier, "reads", "writes")
        self.reads[slot][who[0], who[2], part] = who

    def write(self, slot: int, who: Access, clock: Clock, known: int = 0) -> None:
        """An access that writes after the parts of reads that are `known`, as bits."""
        if (earlier := self.writes.get(slot)) is not None:
            self.require(slot, who, clock, earlier, "writes", "writes")
        for (*_, part), reader in self.reads.pop(slot, {}).items():
            if part < 0 or not known & 1 << part:
                self.require(slot, who, clock, reader, "writes", "reads")
        self.writes[slot] = who

    def require(
        self, slot: int, who: Access, clock: Clock, earlier: Access, what: str, other_what: str
    ) -> None:
        """Checks that an access is ordered after an earlier one, and sees it if it is a write."""
        agent, interval, operation, place, _ = earlier
        known = clock.knows(agent, interval, visibly=other_what == "writes")
        if known or (agent, operation) == (who[0], who[2]):
            return
        where = self.program.memory.describe(slot if slot >= 0 else -1 - slot)
        text = f"{what} {where}, which {self.words(place)} {other_what}"
        if not (clock.knows(agent, interval) and self.unsure(who, earlier, text)):
            hint = self.hint(who, earlier, what)
            subject = self.words(who[3])
            subject += ": race: it" if who[3][0] >= 0 else " race:"
            raise VerificationError(f"{subject} {text}, and nothing orders the two{hint}")

    def words(self, place: Place) -> str:
        """The place of an access, for errors."""
        return self.program.words(place)

    def hint(self, who: Access, earlier: Access, what: str) -> str:
        """More about a race, for its error."""
        if what == "writes" and earlier[3][0] >= 0 and self.program.at(earlier[3]).still_reads:
            return (
                "; that step may end before its reads are done, and only a later step of its "
                "thread block waits for them"
            )
        return " (no nop is between them)" if who[0] == earlier[0] else ""

    def unsure(self, _who: Access, _earlier: Access, _text: str) -> bool:
        """Whether an access may be visible after all."""
        return False


class _InOrder(Detector):
    """A program whose threads meet after every instruction, and see all that is before."""

    def __init__(self, program: Program, schedule: Schedule) -> None:
        super().__init__(program, schedule, len(program.threads))
        self.queues: defaultdict[int, deque[Clock]] = defaultdict(deque)

    def step(self, place: Place) -> None:
        (t, position), instruction = place, self.program.at(place)
        block = self.blocks[t]
        clock = block.clock
        for counter, count in instruction.waits:
            clock = self.awaited(counter, count, clock)
        if instruction.receive >= 0:
            clock = clock.join(self.queues[instruction.receive].popleft())
        block.clock = clock
        who = (t, block.stretch, instruction.step, place, False)
        for slot in instruction.reads:
            self.read(slot, who, clock)
        for slot in instruction.writes:
            self.write(slot, who, clock)
        self.meet(t)
        done = block.clock
        if instruction.still_reads:  # its counters cover only the steps before
            done = clock.done(block.stretch - instruction.part - 1)
        for counter in instruction.posts:
            self.post(t, counter, done, done)
        if instruction.send >= 0:
            self.queues[instruction.send].append(block.clock)
        if position + 1 == len(self.program.threads[t].instructions):
            block.clock = self.clocks[t]  # it is not needed again, and clocks are long


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
