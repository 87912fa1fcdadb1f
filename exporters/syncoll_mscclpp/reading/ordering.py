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
  same flag.  A proxy that puts packets waits for no flag; before an ``rppkt`` its threads do.
* After a write through a switch (multicast) that only relaxed signals follow, the hardware decides
  whether the data are visible, and plans of this kind rely on it.  This is not judged.
* A call begins at a rank when that rank's caller has filled its input and has finished with its
  output, and ends when all its thread blocks end; then the caller reads the output and fills the
  input again.  Its begin and end at other ranks are unknown.  So the plan is followed for two calls
  in a row (three if two halves of scratch take turns), with the callers' accesses in between.

Each thread has a clock of its own.  A write must be visible to later accesses; a read must only be
earlier.
"""

from dataclasses import dataclass, field

from syncoll_mscclpp.reading.operations import MULTICAST
from syncoll_mscclpp.reading.threads import PACKET_BUFFER, Effect, EffectKind, PlanThreads
from syncoll_threadblocks import Access, Block, Clock, Detector, Place, Schedule


def require_ordered(
    threads: PlanThreads, schedule: Schedule, *, double_scratch: bool
) -> str | None:
    """Checks the order of accesses to the same memory; one execution suffices.

    Returns the remaining doubt; None if all accesses could be judged.  Raises VerificationError
    naming both accesses; UncheckedError if the plan is too large.
    """
    detector = _Calls(threads, schedule, double_scratch)
    detector.run()
    return detector.doubt


@dataclass
class _Pushed:
    """The accesses that one thread handed to a proxy since the threads met."""

    reads: set[int] = field(default_factory=set)
    writes: set[int] = field(default_factory=set)
    signals: bool = False

    def clashes(self, other: "_Pushed") -> bool:
        """Whether the order of two operations matters."""
        if self.signals or other.signals:
            return True
        return bool(self.writes & (other.reads | other.writes) or self.reads & other.writes)


Instants = int
"""Instructions that write packets and whose reads are done; each has a bit for each call."""


@dataclass
class _Threads(Block):
    """A thread block, with the later clocks of some of its threads.  Packets order single
    instructions of others: before all threads (`known`), or some (`heard`)."""

    news: dict[int, Clock] = field(default_factory=dict)
    known: Instants = 0
    heard: Instants = 0
    users: dict[tuple[str, int], int] = field(default_factory=dict)
    pushed: dict[int, dict[int, _Pushed]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.start = self.clock.seen

    def of(self, thread: int) -> Clock:
        return self.news.get(thread, self.clock)

    def relaxed(self, clock: Clock) -> Clock:
        """A clock in which only data from before the call are visible."""
        visible = int(self.start[clock.agent])
        return Clock(clock.before, self.start, clock.agent, clock.count, visible)


_UNPACKED = -1
"""Stands for a thread: the readers of packets."""


class _Calls(Detector):
    """Follows calls in a row.  The agents are thread blocks, callers and proxies."""

    blocks: list[_Threads]  # type: ignore[assignment]

    def __init__(self, threads: PlanThreads, schedule: Schedule, double_scratch: bool) -> None:
        self.threads = threads
        self.calls = 3 if double_scratch else 2
        self.halves = 2 if double_scratch else 1
        num, ranks = len(threads.effects), len(threads.starts)
        super().__init__(threads.program, schedule, num + ranks + len(threads.proxies), self.calls)
        self.ranks = self.clocks[num : num + ranks]
        self.proxies = self.clocks[num + ranks :]
        self.known: list[Instants] = [0] * ranks
        self.instants: dict[tuple[int, Place], int] = {}
        self.call = 0
        self.pushes = [0] * len(threads.proxies)
        self.packed: dict[int, tuple[Clock, Instants]] = {}
        self.doubt: str | None = None

    def run(self) -> None:
        for call in range(self.calls):
            self.call = call
            self.begin()
            super().run()
            self.end()
        self.call = self.calls
        self.begin()

    def begin(self) -> None:
        """The callers touch their buffers, and start the plan."""
        nothing, starts = self.clocks[0], []
        for rank, clock in enumerate(self.ranks):
            for start, size in self.threads.shared[rank]:
                for slot in range(start, start + size):
                    self.write(slot, (clock.agent, self.call, -1, (-1 - rank, 0), False), clock)
            self.ranks[rank] = clock.done(self.call + 1)
            starts.append(nothing.join(self.ranks[rank]))
        stretches = [block.stretch for block in self.blocks]
        self.blocks = []
        for t, thread in enumerate(self.program.threads):
            base = starts[thread.rank]
            clock = Clock(base.before, base.seen, t, stretches[t], stretches[t])
            self.blocks.append(_Threads(clock, stretches[t], known=self.known[thread.rank]))
        self.posts.clear()
        self.posted.clear()
        self.packed.clear()

    def end(self) -> None:
        """A rank's call ends when all its blocks do."""
        for t, thread in enumerate(self.program.threads):
            self.meet(t)
            self.ranks[thread.rank] = self.ranks[thread.rank].join(self.blocks[t].clock)
            self.known[thread.rank] |= self.blocks[t].known

    def meet(self, t: int) -> None:
        block = self.blocks[t]
        for news in block.news.values():
            block.clock = block.clock.join(news)
        super().meet(t)
        block.known |= block.heard
        block.news, block.users, block.pushed = {}, {}, {}

    def step(self, place: Place) -> None:
        (t, position), block = place, self.blocks[place[0]]
        effect = self.threads.effects[t][position]
        if effect.kind is EffectKind.SYNC:
            self.meet(t)
        elif effect.kind is EffectKind.MOVE:
            multicast = self.program.at(place).name in MULTICAST
            who = (t, block.stretch, effect.operation, place, multicast)
            self.touch(place, who, *self.unpack(place))
        elif effect.kind is EffectKind.PUSH:
            self.push(place, effect)
        elif effect.kind is EffectKind.POST:
            for thread, counter in enumerate(self.program.at(place).posts):
                if effect.channels:
                    self.alone(place, thread, "signals", counter)
                clock = block.of(thread)
                relaxed = block.relaxed(clock)
                self.post(t, counter, relaxed if effect.relaxed else clock, relaxed)
        elif effect.kind is EffectKind.AWAIT:
            for thread, (counter, count) in enumerate(effect.needs):
                if effect.channels:
                    self.alone(place, thread, "waits", counter)
                clock = block.of(thread)
                block.news[thread] = self.awaited(counter, count, clock, relaxed=effect.relaxed)

    def alone(self, place: Place, thread: int, use: str, number: int) -> None:
        """An end of a channel has a counter in plain memory, for one thread at a time."""
        user = self.blocks[place[0]].users.setdefault((use, number), thread)
        if user != thread:
            why = f"threads {user} and {thread} use the same channel with no nop in between"
            raise self.program.fail(place, f"race: {why}")

    def push(self, place: Place, effect: Effect) -> None:
        """Hands an operation of a thread to a proxy, which executes it later, in order."""
        number, block, instruction = effect.proxy, self.blocks[place[0]], self.program.at(place)
        clock = self.proxies[number].join(block.of(effect.thread))
        self.require_unmixed(place, effect)
        if not instruction.writes:
            for counter in instruction.posts:
                self.post(place[0], counter, clock, block.relaxed(clock))
        else:
            who = (clock.agent, self.pushes[number], -1 - self.pushes[number], place, False)
            self.pushes[number] += 1
            done = clock.done(self.pushes[number])
            self.touch(place, who, clock, block.known, done)
            clock = done
        self.proxies[number] = clock

    def require_unmixed(self, place: Place, effect: Effect) -> None:
        """Raises VerificationError if two threads hand a proxy operations whose order matters."""
        instruction = self.program.at(place)
        writes = set(instruction.writes)
        mine = _Pushed(set(instruction.reads), writes, signals=not writes)
        pushed = self.blocks[place[0]].pushed.setdefault(effect.proxy, {})
        for thread, others in pushed.items():
            if thread != effect.thread and mine.clashes(others):
                raise self.program.fail(
                    place,
                    f"race: threads {thread} and {effect.thread} use the same channel with no nop "
                    "in between, so that its proxy may do either first",
                )
        there = pushed.setdefault(effect.thread, _Pushed())
        there.reads |= mine.reads
        there.writes |= mine.writes
        there.signals = there.signals or mine.signals

    def unpack(self, place: Place) -> tuple[Clock, Instants]:
        """The clock before an instruction of all threads, which waits for packets that it reads."""
        block = self.blocks[place[0]]
        clock, known = block.clock, block.known
        for slot in self.program.at(place).reads:
            if self.threads.packets.get(slot) == 1:
                there, heard = self.packed[slot]
                clock = clock.join(Clock(there.before, clock.seen, there.agent, there.count, 0))
                known |= heard
        if clock is not block.clock:
            block.news[_UNPACKED] = block.of(_UNPACKED).join(clock)
            block.heard |= known
        return clock, known

    def touch(
        self,
        place: Place,
        who: Access,
        clock: Clock,
        known: Instants = 0,
        done: Clock | None = None,
    ) -> None:
        """Reads and writes the slots of an instruction; of a proxy with its clock after them."""
        instruction, packets = self.program.at(place), self.threads.packets
        awaited = done is None or instruction.name == "rppkt"
        packs = any(slot in packets for slot in instruction.writes)
        part = self.instants.setdefault((self.call, place), len(self.instants)) if packs else -1
        for slot in instruction.reads:
            if packets.get(slot) == 1 and awaited:
                self.reads[self.turned(slot)][who[0], who[2], part] = who
            else:
                self.read(self.turned(slot), who, clock, part)
        for slot in instruction.writes:
            self.write(self.turned(slot), who, clock, known)
            if slot in packets:
                self.packed[slot] = done or clock, known | 1 << part

    def turned(self, slot: int) -> int:
        """The address in this call; scratch may have two halves."""
        if self.call % self.halves and self.program.memory.owner(slot).name in ("s", PACKET_BUFFER):
            return -1 - slot
        return slot

    def words(self, place: Place) -> str:
        if place[0] >= 0:
            return super().words(place)
        return f"the caller at rank {-1 - place[0]}, between two calls,"

    def unsure(self, who: Access, earlier: Access, text: str) -> bool:
        if not (who[4] or earlier[4]):
            return False
        self.doubt = self.doubt or (
            f"cannot be judged: {self.words(who[3])}: it {text}; only relaxed signals follow the "
            "access through a switch, so the hardware decides whether it is visible"
        )
        return True
