"""Order: accesses to the same memory must be ordered for any timing.

The happens-before order of the GPU, which is weaker than program order:

* All threads of a block move data together, each its part.  Between two operations that touch the
  same memory the threads must meet (``nop``, or ``barrier``).
* One thread for each channel or semaphore does a signal, wait, acquire or release.  It covers
  earlier operations of other threads, and delays their later ones, only with a ``nop`` between.
* A proxy does a port channel's put.  It reads the source some time later, in the order in which it
  got the puts and signals of that channel.  Only an answer from the other side proves that it is
  done.
* A relaxed signal or wait delays operations, but does not make writes visible: it orders a read
  before a later write, and data from before the call, but no write before other accesses.
* A packet has data and the flag of its call, and its reader waits for that flag.  So its data, and
  in time the earlier operations of its writer, come before the reads of this packet; no other data
  become visible by it.  A slot that a call writes twice orders nothing, as both packets have the
  same flag.
* After a write through a switch (multicast) that only relaxed signals follow, the hardware decides
  whether the data are visible, and plans of this kind rely on it.  This is not judged.
* A call begins at a rank when that rank's caller has filled its input and has finished with its
  output, and ends when all its thread blocks end; then the caller reads the output and fills the
  input again.  Its begin and end at other ranks are unknown.  So the plan is followed for two calls
  in a row (three if two halves of scratch take turns), with the callers' accesses in between.

Clocks are vectors with an entry for each thread block, caller and proxy: the number of its finished
intervals between two meetings.  Each thread has two clocks: for all earlier operations, and for the
visible ones.  A write must be visible to later accesses; a read must only be earlier.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
import numpy.typing as npt

from syncoll.errors import UncheckedError, VerificationError
from syncoll_mscclpp.reading.threads import PACKET_BUFFER, Effect, EffectKind, PlanThreads
from syncoll_threadblocks import Place, Schedule, meeting

__all__ = ["require_ordered"]

_MOST_WORK = 20_000_000_000
"""Most entries of clocks that are joined."""


def require_ordered(
    threads: PlanThreads, schedule: Schedule, *, double_scratch: bool
) -> str | None:
    """Checks the order of accesses to the same memory; one execution suffices.

    Returns the remaining doubt; None if all accesses could be judged.  Raises VerificationError
    naming both accesses; UncheckedError if the plan is too large.
    """
    agents = len(threads.effects) + len(threads.starts) + len(threads.proxies)
    if agents * len(schedule.order) > _MOST_WORK:
        raise UncheckedError(
            f"{len(threads.effects)} thread blocks with {len(schedule.order)} operations are too "
            "many to check for races"
        )
    detector = _Detector(threads, schedule, double_scratch)
    detector.run()
    return detector.doubt


Vector = npt.NDArray[np.int32]


@dataclass(frozen=True)
class _Clock:
    """The clock of a moment, and its visible part."""

    before: Vector
    seen: Vector

    def join(self, other: _Clock) -> _Clock:
        """The clock after both."""
        if other is self:
            return self
        return _Clock(np.maximum(self.before, other.before), np.maximum(self.seen, other.seen))

    def done(self, agent: int, count: int) -> _Clock:
        """The clock after the first intervals of an agent."""
        before, seen = self.before.copy(), self.seen.copy()
        before[agent] = max(before[agent], count)
        seen[agent] = max(seen[agent], count)
        return _Clock(before, seen)


@dataclass
class _Pushed:
    """The accesses that one thread handed to a proxy since the threads met."""

    reads: set[int]
    writes: set[int]
    signals: bool

    def clashes(self, other: _Pushed) -> bool:
        """Whether the order of two operations matters."""
        if self.signals or other.signals:
            return True
        return bool(self.writes & (other.reads | other.writes) or self.reads & other.writes)


Instant = tuple[int, int]
"""A thread block and an instruction, counted over calls, whose reads are done."""


@dataclass
class _Block:
    """A thread block: the clock of its threads when they last met, and later ones of some.

    Packets order single instructions of others: before all threads (`known`), or some (`heard`).
    """

    clock: _Clock
    start: Vector
    stretch: int = 0
    news: dict[int, _Clock] = field(default_factory=dict)
    known: frozenset[Instant] = frozenset()
    heard: frozenset[Instant] = frozenset()
    users: dict[tuple[str, int], int] = field(default_factory=dict)
    pushed: dict[int, dict[int, _Pushed]] = field(default_factory=dict)

    def of(self, thread: int) -> _Clock:
        """The clock of one thread."""
        return self.news.get(thread, self.clock)


Access = tuple[int, int, int, str, bool]
"""Agent, its interval, operation, description, and whether by multicast."""

_UNPACKED = -1
"""Stands for a thread: the readers of packets."""


class _Detector:
    """Follows an execution, call after call."""

    def __init__(self, threads: PlanThreads, schedule: Schedule, double_scratch: bool) -> None:
        self.threads = threads
        self.program = threads.program
        self.order = schedule.order
        self.calls = 3 if double_scratch else 2
        self.halves = 2 if double_scratch else 1
        blocks, ranks = len(threads.effects), len(threads.starts)
        self.caller = blocks
        self.proxy = blocks + ranks
        self.dims = blocks + ranks + len(threads.proxies)
        zero = _Clock(np.zeros(self.dims, dtype=np.int32), np.zeros(self.dims, dtype=np.int32))
        self.ranks = [zero] * ranks
        self.known: list[frozenset[Instant]] = [frozenset()] * ranks
        self.instructions = max(len(thread.instructions) for thread in self.program.threads)
        self.call = 0
        self.blocks: list[_Block] = []
        self.proxies = [zero] * len(threads.proxies)
        self.pushes = [0] * len(threads.proxies)
        self.signals: defaultdict[int, list[tuple[_Clock, Vector]]] = defaultdict(list)
        self.taken: defaultdict[int, int] = defaultdict(int)
        self.writes: dict[int, Access] = {}
        self.reads: defaultdict[int, dict[tuple[int, int, int], Access]] = defaultdict(dict)
        self.releases: defaultdict[int, dict[int, list[_Clock]]] = defaultdict(dict)
        self.acquired: defaultdict[int, int] = defaultdict(int)
        self.totals: defaultdict[int, Counter[int]] = defaultdict(Counter)
        self.shift = 0
        self.stretches = [0] * blocks
        self.packed: dict[int, tuple[_Clock, frozenset[Instant]]] = {}
        self.doubt: str | None = None
        for t, effects in enumerate(threads.effects):
            for effect in effects:
                if effect.kind is EffectKind.RELEASE:
                    for counter in effect.counters:
                        self.totals[counter][t] += 1

    def run(self) -> None:
        for call in range(self.calls):
            self.shift = call % self.halves
            self.begin(call)
            at = 0
            while at < len(self.order):
                at = self.follow(at)
            self.end()
        self.begin(self.calls)

    def begin(self, call: int) -> None:
        """The callers touch their buffers, and start the plan."""
        for rank, clock in enumerate(self.ranks):
            agent = self.caller + rank
            what = f"the caller at rank {rank}, between two calls,"
            for start, size in self.threads.shared[rank]:
                for slot in range(start, start + size):
                    self.write(slot, (agent, call, -1, what, False), clock)
            self.ranks[rank] = clock.done(agent, call + 1)
        self.call = call
        self.blocks = []
        for t, thread in enumerate(self.program.threads):
            clock = self.ranks[thread.rank]
            block = _Block(clock, clock.seen, self.stretches[t], known=self.known[thread.rank])
            self.blocks.append(block)
        self.releases.clear()
        self.acquired.clear()
        self.packed.clear()

    def end(self) -> None:
        """A rank's call ends when all its blocks do."""
        for t, thread in enumerate(self.program.threads):
            self.meet(t)
            self.stretches[t] = self.blocks[t].stretch
            self.ranks[thread.rank] = self.ranks[thread.rank].join(self.blocks[t].clock)
            self.known[thread.rank] |= self.blocks[t].known

    def follow(self, at: int) -> int:
        """Follows an instruction, or all that meet at a barrier; returns the next index."""
        t, position = self.order[at]
        effect = self.threads.effects[t][position]
        if effect.kind is not EffectKind.BARRIER:
            self.step(self.order[at], effect)
            return at + 1
        group = [x for x, _ in meeting(self.program, self.order, at)]
        for x in group:
            self.meet(x)
        together = reduce(_Clock.join, (self.blocks[x].clock for x in group))
        for x in group:
            self.blocks[x].clock = together
        return at + len(group)

    def meet(self, t: int) -> None:
        """All threads of a block meet and share their clocks."""
        block = self.blocks[t]
        clock = block.clock
        for news in block.news.values():
            clock = clock.join(news)
        block.stretch += 1
        block.clock = clock.done(t, block.stretch)
        block.known |= block.heard
        block.news = {}
        block.users = {}
        block.pushed = {}

    def step(self, place: Place, effect: Effect) -> None:
        t, block = place[0], self.blocks[place[0]]
        if effect.kind is EffectKind.SYNC:
            self.meet(t)
        elif effect.kind is EffectKind.MOVE:
            words = self.program.words(place)
            who = (t, block.stretch, effect.operation, words, effect.multicast)
            self.touch(place, who, *self.unpack(place))
        elif effect.kind is EffectKind.PUSH:
            self.push(place, effect)
        elif effect.kind is EffectKind.SIGNAL:
            for thread, counter in enumerate(effect.counters):
                self.alone(place, thread, "signals", counter)
                clock = block.of(thread)
                seen = block.start if effect.relaxed else clock.seen
                self.signals[counter].append((_Clock(clock.before, seen), block.start))
        elif effect.kind is EffectKind.WAIT:
            for thread, counter in enumerate(effect.counters):
                self.alone(place, thread, "waits", counter)
                clock, start = self.signals[counter][self.taken[counter]]
                self.taken[counter] += 1
                if effect.relaxed:
                    clock = _Clock(clock.before, start)
                block.news[thread] = block.of(thread).join(clock)
        elif effect.kind is EffectKind.RELEASE:
            for thread, counter in enumerate(effect.counters):
                self.releases[counter].setdefault(t, []).append(block.of(thread))
        elif effect.kind is EffectKind.ACQUIRE:
            for thread, counter in enumerate(effect.counters):
                block.news[thread] = self.acquire(t, counter, block.of(thread))

    def acquire(self, t: int, counter: int, clock: _Clock) -> _Clock:
        """Joins the releases that are certain for any order of several blocks.

        The n-th acquire of a block needs n - init releases.  It needs as many releases of one block
        as all other blocks together fall short of.
        """
        key = counter * len(self.blocks) + t
        self.acquired[key] += 1
        needed = self.acquired[key] - self.threads.semaphores[counter]
        totals = self.totals[counter]
        for other, own in totals.items():
            certain = needed - (totals.total() - own)
            if certain >= 1:
                clock = clock.join(self.releases[counter][other][certain - 1])
        return clock

    def alone(self, place: Place, thread: int, use: str, number: int) -> None:
        """An end of a channel has a counter in plain memory, for one thread at a time."""
        user = self.blocks[place[0]].users.setdefault((use, number), thread)
        if user != thread:
            why = f"threads {user} and {thread} use the same channel with no nop in between"
            raise self.program.fail(place, f"race: {why}")

    def push(self, place: Place, effect: Effect) -> None:
        """Hands an operation of a thread to a proxy, which executes it later, in order."""
        (number,) = effect.counters
        block = self.blocks[place[0]]
        clock = self.proxies[number].join(block.of(effect.thread))
        agent = self.proxy + number
        self.require_unmixed(place, effect, number)
        if effect.signals >= 0:
            self.signals[effect.signals].append((clock, block.start))
        else:
            words = self.program.words(place)
            who = (agent, self.pushes[number], -1 - self.pushes[number], words, False)
            self.touch(place, who, clock)
            self.pushes[number] += 1
            clock = clock.done(agent, self.pushes[number])
        self.proxies[number] = clock

    def require_unmixed(self, place: Place, effect: Effect, number: int) -> None:
        """Raises VerificationError if two threads hand a proxy operations whose order matters."""
        instruction = self.program.at(place)
        mine = _Pushed(set(instruction.reads), set(instruction.writes), signals=effect.signals >= 0)
        pushed = self.blocks[place[0]].pushed.setdefault(number, {})
        for thread, others in pushed.items():
            if thread != effect.thread and mine.clashes(others):
                raise self.program.fail(
                    place,
                    f"race: threads {thread} and {effect.thread} use the same channel with no nop "
                    "in between, so that its proxy may do either first",
                )
        there = pushed.setdefault(effect.thread, _Pushed(set(), set(), signals=False))
        there.reads |= mine.reads
        there.writes |= mine.writes
        there.signals = there.signals or mine.signals

    def unpack(self, place: Place) -> tuple[_Clock, frozenset[Instant]]:
        """The clock before an instruction of all threads, which waits for packets that it reads."""
        block = self.blocks[place[0]]
        clock, known = block.clock, block.known
        for slot in self.program.at(place).reads:
            if self.threads.packets.get(slot) == 1:
                there, heard = self.packed[slot]
                clock = clock.join(_Clock(there.before, clock.seen))
                known |= heard
        if clock is not block.clock:
            block.news[_UNPACKED] = block.of(_UNPACKED).join(clock)
            block.heard |= known
        return clock, known

    def touch(
        self, place: Place, who: Access, clock: _Clock, known: frozenset[Instant] = frozenset()
    ) -> None:
        """Reads and writes the slots of an instruction."""
        instruction, packets = self.program.at(place), self.threads.packets
        packs = any(slot in packets for slot in instruction.writes)
        instant = self.call * self.instructions + place[1]
        part = instant if packs else -1
        for slot in instruction.reads:
            if packets.get(slot) == 1:  # it waited for this packet
                self.reads[self.turned(slot)][who[0], who[2], part] = who
            else:
                self.read(self.turned(slot), who, clock, part)
        for slot in instruction.writes:
            self.write(self.turned(slot), who, clock, known)
            if slot in packets:
                self.packed[slot] = clock, known | {(place[0], instant)}

    def turned(self, slot: int) -> int:
        """The address in this call; scratch may have two halves."""
        if self.shift and self.program.memory.owner(slot).name in ("s", PACKET_BUFFER):
            return -1 - slot
        return slot

    def read(self, slot: int, who: Access, clock: _Clock, part: int = -1) -> None:
        if (earlier := self.writes.get(slot)) is not None:
            self.require(slot, who, clock, earlier, "reads", "writes")
        self.reads[slot][who[0], who[2], part] = who

    def write(
        self, slot: int, who: Access, clock: _Clock, known: frozenset[Instant] = frozenset()
    ) -> None:
        if (earlier := self.writes.get(slot)) is not None:
            self.require(slot, who, clock, earlier, "writes", "writes")
        for (agent, _, part), reader in self.reads.pop(slot, {}).items():
            if (agent, part) not in known:
                self.require(slot, who, clock, reader, "writes", "reads")
        self.writes[slot] = who

    def require(
        self, slot: int, who: Access, clock: _Clock, earlier: Access, what: str, other_what: str
    ) -> None:
        """Checks that an access is ordered after an earlier one, and sees it if it is a write."""
        agent, stretch, operation, place, multicast = earlier
        known = clock.seen if other_what == "writes" else clock.before
        if known[agent] > stretch or (agent == who[0] and operation == who[2]):
            return
        address = slot if slot >= 0 else -1 - slot
        where = self.program.memory.describe(address)
        subject = f"{who[3]}{'' if who[0] >= self.caller else ':'}"
        if clock.before[agent] > stretch and (multicast or who[4]):
            self.doubt = self.doubt or (
                f"cannot be judged: {subject} {what} {where}, which {place} {other_what}; only "
                "relaxed signals follow the access through a switch, so the hardware decides "
                "whether it is visible"
            )
            return
        hint = " (no nop is between them)" if agent == who[0] else ""
        raise VerificationError(
            f"{subject} race: {what} {where}, which {place} {other_what}, and nothing orders the "
            f"two{hint}"
        )
