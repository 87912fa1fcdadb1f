"""Threads: the program of a plan's thread blocks.

Each operation becomes instructions of the abstract machine, one for every piece of a chunk that it
moves.  The machine treats a thread block as one thread.  This suffices to decide whether the plan
ends, and its result if it has no races: the first thread takes part in all operations, and the
others wait for less.  The threads of each operation are in its `Effect`, for
`syncoll_mscclpp.reading.ordering`.

A channel is a pair of counters, one for each direction: the n-th wait of a rank waits for the n-th
signal of its peer.  The k-th channel of a rank to a peer is the other end of the k-th channel of
that peer to the rank.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from syncoll.errors import VerificationError
from syncoll_mscclpp.reading.grid import Grid
from syncoll_mscclpp.reading.operations import SIGNATURES, in_packets
from syncoll_mscclpp.reading.plan import (
    ExecutionPlan,
    PlanBlock,
    PlanGpu,
    PlanOperation,
    PlanReference,
)
from syncoll_mscclpp.reading.rules import PlanStep
from syncoll_threadblocks import (
    AddressSpace,
    Instruction,
    OwnSpecification,
    Program,
    Specification,
    Thread,
)


class EffectKind(Enum):
    """The kind of an instruction with regard to order."""

    MOVE = auto()
    """All threads touch memory."""
    PUSH = auto()
    """One thread requests the proxy of a channel to move data."""
    POST = auto()
    """Threads raise counters: signals, or semaphores that they release."""
    AWAIT = auto()
    SYNC = auto()
    """The threads of the block meet."""
    NOTHING = auto()


@dataclass(frozen=True)
class Effect:
    """The execution of an instruction.

    Args:
        operation: a number that the instructions of one operation share.
        thread: of the block, for a push.
        proxy: the channel of a push.
        needs: the awaited counters, the n-th by thread n, and how often each must be raised.
        channels: whether the counters are of channels.
        relaxed: whether a signal or wait does not order memory.
    """

    kind: EffectKind
    operation: int
    thread: int = 0
    proxy: int = -1
    needs: tuple[tuple[int, int], ...] = ()
    channels: bool = False
    relaxed: bool = False


PACKET_BUFFER = "packet s"
"""The name of the part of scratch that holds packets."""


Key = tuple[int, str, int]
"""A rank, a type of channel, and its number among the rank's channels of that type."""


@dataclass
class PlanThreads:
    """A plan, ready to be executed; see `threads_of`.

    Args:
        units: the number of pieces of each chunk.
        scratch: the same of scratch; larger chunks wrap around in pipelines.
        grid: the pieces of several chunks, if chunks are not cut; None for one chunk a piece.
        effects: of each instruction of each thread.
        shared: for each rank the first slots, and sizes, of the caller's buffers.
        proxies: the port channels by their numbers in effects.
        semaphores: the initial value of each semaphore, by its counter.
        packets: for each written slot of packets the number of writes in a call.
    """

    plan: ExecutionPlan
    units: int
    scratch: int
    grid: Grid | None = None
    memory: AddressSpace = field(default_factory=AddressSpace)
    starts: list[dict[str, int]] = field(default_factory=list)
    shared: list[list[tuple[int, int]]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    barriers: list[str] = field(default_factory=list)
    signals: dict[Key, int] = field(default_factory=dict)
    awaited: dict[Key, int] = field(default_factory=dict)
    proxies: dict[Key, int] = field(default_factory=dict)
    semaphores: dict[int, int] = field(default_factory=dict)
    semaphore_of: dict[tuple[int, int], int] = field(default_factory=dict)
    barrier_of: dict[tuple[int, int | None], int] = field(default_factory=dict)
    packets: Counter[int] = field(default_factory=Counter)
    packet_counter: dict[int, int] = field(default_factory=dict)
    acquirers: dict[int, set[int]] = field(default_factory=dict)
    acquires: Counter[int] = field(default_factory=Counter)
    posted: Counter[int] = field(default_factory=Counter)
    taken: Counter[int] = field(default_factory=Counter)
    users: dict[tuple[str, int], int] = field(default_factory=dict)
    threads: list[Thread] = field(default_factory=list)
    effects: list[list[Effect]] = field(default_factory=list)

    @property
    def program(self) -> Program:
        """The program of its threads."""
        return Program(self.threads, (), self.memory, self.names, self.barriers)

    def firsts(self, buffer: str) -> tuple[int, ...]:
        """The first slot of each rank's buffer."""
        return tuple(start[buffer] for start in self.starts)

    def add_buffers(self, gpu: PlanGpu, spec: OwnSpecification | None) -> None:
        """Gives each slot an address; in place, slots of both buffers have the same ones."""
        sizes = {kind: self.index(gpu.id, kind, gpu.chunks(kind)) for kind in "ios"}
        if self.plan.inplace and isinstance(spec, Specification):
            i_start, o_start = (self.index(gpu.id, "i", start) for start in spec.in_place(gpu.id))
            i, o = self.memory.add_in_place(gpu.id, (sizes["i"], sizes["o"]), (i_start, o_start))
            starts = {"i": i, "o": o}
            self.shared.append([(i - i_start, max(sizes["i"], sizes["o"]))])
        else:
            starts = {kind: self.memory.add(gpu.id, kind, sizes[kind]).start for kind in "io"}
            self.shared.append([(starts[kind], sizes[kind]) for kind in "io"])
        packed = self.plan.protocol == "LL"
        room = self.index(gpu.id, "s", (2 if packed else 1) * gpu.scratch_chunks)
        starts["s"] = self.memory.add(gpu.id, "s", room).start
        if packed:  # `require_loadable` checks that data and packets are apart
            room = self.index(gpu.id, "packets", gpu.scratch_chunks)
            starts["packets"] = self.memory.add(gpu.id, PACKET_BUFFER, room).start
        self.starts.append(starts)

    def index(self, rank: int, buffer: str, chunk: int) -> int:
        """The piece of a buffer that begins with a chunk."""
        if self.grid is not None:
            return self.grid.index(rank, buffer, chunk)
        return chunk * (self.units if buffer in "io" else self.scratch)

    def add_counters(self, gpu: PlanGpu) -> None:
        """Counters of the rank's signals, and its semaphores and barriers."""
        for kind, peers in gpu.channels.items():
            for number, peer in enumerate(peers):
                self.signals[gpu.id, kind, number] = len(self.names)
                self.names.append(f"a signal of rank {gpu.id} ({kind} channel {number} to {peer})")
                if kind == "port":
                    self.proxies[gpu.id, kind, number] = len(self.proxies)
        for number, semaphore in enumerate(gpu.semaphores):
            counter = self.semaphore_of[gpu.id, number] = len(self.names)
            self.semaphores[counter] = semaphore.value
            self.names.append(f"semaphore {number} of rank {gpu.id}")
        for block in gpu.blocks:
            for _, op, _ in block.flat:
                if op.name == "barrier" and (gpu.id, op.barrier) not in self.barrier_of:
                    self.barrier_of[gpu.id, op.barrier] = len(self.barriers)
                    self.barriers.append(f"barrier {op.barrier} of rank {gpu.id}")
                for one in op.semaphores if op.name == "sem_acquire" else ():
                    counter = self.semaphore_of[gpu.id, one]
                    self.acquirers.setdefault(counter, set()).add(block.id)

    def add_waits(self, gpu: PlanGpu) -> None:
        """The counter of the peer's signals for each channel; none if the peer has no such end."""
        seen: Counter[tuple[str, int]] = Counter()
        for kind, peers in gpu.channels.items():
            for number, peer in enumerate(peers):
                nth = seen[kind, peer]
                seen[kind, peer] += 1
                back = self.plan.gpus[peer].channels[kind]
                ends = [i for i, other in enumerate(back) if other == gpu.id]
                if nth < len(ends):
                    self.awaited[gpu.id, kind, number] = self.signals[peer, kind, ends[nth]]

    def add_block(self, gpu: PlanGpu, block: PlanBlock) -> None:
        """Adds a thread block, with pipelines unrolled."""
        maker = _Maker(self, gpu, block)
        number = 0
        for op in block.operations:
            if op.name != "pipeline":
                maker.add(number, op)
                number += 1
                continue
            for start in range(op.loop.chunks * self.units):
                for i, inner in enumerate(op.inner):
                    maker.add(number + 1 + i, inner, (start, start + 1))
            number += 1 + len(op.inner)
        self.threads.append(Thread(gpu.id, block.id, maker.instructions))
        self.effects.append(maker.effects)

    def require_even(self) -> None:
        """Raises VerificationError if a signal is not awaited: the next call would consume it."""
        for counter, name in enumerate(self.names):
            posted, taken = self.posted[counter], self.taken[counter]
            if posted != taken:
                if counter in self.packet_counter.values():
                    continue  # flags belong to one call
                what = "released" if counter in self.semaphores else "sent"
                if counter not in self.semaphores and posted < taken:
                    continue  # reported as waiting forever, with its place
                raise VerificationError(
                    f"{name} is {what} {posted} times and awaited {taken} times; the rest "
                    "stays for the next call, which then continues too early"
                )


def threads_of(
    plan: ExecutionPlan,
    spec: OwnSpecification | None,
    units: int,
    scratch: int,
    grid: Grid | None = None,
) -> PlanThreads:
    """The program of a plan that `require_loadable` passed, with each chunk in `units` pieces, and
    of scratch in `scratch`, or with the pieces of a grid.

    Raises VerificationError if the numbers of signals and waits of a channel differ.
    """
    result = PlanThreads(plan, units, scratch, grid)
    for gpu in plan.gpus:
        result.add_buffers(gpu, spec)
    for gpu in plan.gpus:
        result.add_counters(gpu)
    for gpu in plan.gpus:
        result.add_waits(gpu)
    for gpu, block in plan.blocks:
        result.add_block(gpu, block)
    result.require_even()
    return result


class _Maker:
    """Makes the instructions of one thread block, operation by operation."""

    def __init__(self, build: PlanThreads, gpu: PlanGpu, block: PlanBlock) -> None:
        self.build, self.gpu, self.block = build, gpu, block
        self.instructions: list[Instruction] = []
        self.effects: list[Effect] = []
        self.operation = 0
        self.acquired: Counter[int] = Counter()

    def add(self, number: int, op: PlanOperation, window: tuple[int, int] | None = None) -> None:
        """Adds an operation, or one round of an operation in a pipeline."""
        self.operation += 1
        self.number, self.op, self.window = number, op, window
        self.step = PlanStep(self.build.plan, self.gpu, self.block, number, op)
        if op.name in ("signal", "rlxsignal"):
            self.signal()
        elif op.name in ("wait", "rlxwait"):
            self.wait()
        elif op.name == "sem_release":
            counters = self.semaphores("release")
            self.build.posted.update(counters)
            self.append(EffectKind.POST, posts=counters)
        elif op.name == "sem_acquire":
            self.acquire()
        elif op.name == "nop":
            self.append(EffectKind.SYNC)
        elif op.name == "barrier":
            barrier = self.build.barrier_of[self.gpu.id, op.barrier]
            self.append(EffectKind.NOTHING, barrier=barrier)
        elif op.name == "flush":  # it flushes nothing
            self.append(EffectKind.NOTHING)
        elif op.channel_type == "port":
            self.push()
        else:
            self.move()

    def append(
        self,
        kind: EffectKind,
        thread: int = 0,
        proxy: int = -1,
        needs: tuple[tuple[int, int], ...] = (),
        *,
        channels: bool = False,
        relaxed: bool = False,
        **what: Any,
    ) -> None:
        """An instruction of the machine (`what`), with its effect."""
        self.instructions.append(Instruction(self.number, self.op.name, **what))
        effect = Effect(kind, self.operation, thread, proxy, needs, channels, relaxed)
        self.effects.append(effect)

    def fail(self, message: str) -> VerificationError:
        return VerificationError(f"{self.step.place}: {message}")

    def use(self, what: str, counters: tuple[int, ...], only: str | None) -> None:
        """Records the users of channels; the counter at an end belongs to one block."""
        if len(set(counters)) < len(counters):
            raise self.fail("the same one twice, by two threads at a time")
        for counter in counters if only is not None else ():
            user = self.build.users.setdefault((what, counter), self.block.id)
            if user != self.block.id:
                raise self.fail(
                    f"thread block {user} {only} the same channel; the counter at this end is for "
                    "one"
                )

    def keys(self) -> list[Key]:
        table = self.block.channels[self.op.channel_type]
        return [(self.gpu.id, self.op.channel_type, table[one]) for one in self.op.channels]

    def signal(self) -> None:
        counters = tuple(self.build.signals[key] for key in self.keys())
        self.use("signal", counters, "signals over")
        self.build.posted.update(counters)
        if self.op.channel_type == "memory":
            relaxed = self.op.name == "rlxsignal"
            self.append(EffectKind.POST, channels=True, relaxed=relaxed, posts=counters)
            return
        for thread, (key, counter) in enumerate(zip(self.keys(), counters, strict=True)):
            proxy = self.build.proxies[key]
            self.append(EffectKind.PUSH, thread, proxy, posts=(counter,))

    def wait(self) -> None:
        found = []
        for key in self.keys():
            if key not in self.build.awaited:
                _, kind, channel = key
                raise self.fail(
                    f"waits forever: rank {self.gpu.channels[kind][channel]} has no {kind} "
                    f"channel that is the other end of channel {channel}"
                )
            found.append(self.build.awaited[key])
        counters = tuple(found)
        self.use("wait", counters, "waits at")
        self.build.taken.update(counters)
        waits = tuple((counter, self.build.taken[counter]) for counter in counters)
        relaxed = self.op.name == "rlxwait" and self.op.channel_type != "port"
        self.append(EffectKind.AWAIT, needs=waits, channels=True, relaxed=relaxed, waits=waits)

    def semaphores(self, what: str) -> tuple[int, ...]:
        counters = tuple(self.build.semaphore_of[self.gpu.id, one] for one in self.op.semaphores)
        self.use(what, counters, None)
        return counters

    def acquire(self) -> None:
        """If several blocks acquire, in any order, each waits for all releases."""
        counters = self.semaphores("acquire")
        waits, needs = [], []
        for counter in counters:
            self.build.taken[counter] += 1
            self.acquired[counter] += 1
            needs.append((counter, self.acquired[counter] - self.build.semaphores[counter]))
            count = self.build.taken[counter]
            if len(self.build.acquirers[counter]) > 1:
                count = self.total(counter)
            if (count := count - self.build.semaphores[counter]) > 0:
                waits.append((counter, count))
        self.append(EffectKind.AWAIT, needs=tuple(needs), waits=tuple(waits))

    def total(self, counter: int) -> int:
        """The number of times that the rank acquires a semaphore."""
        acquires, units = self.build.acquires, self.build.units
        if counter not in acquires:
            for block in self.gpu.blocks:
                for op in block.operations:
                    for one, times in ((op, 1), *((x, op.loop.chunks * units) for x in op.inner)):
                        for number in one.semaphores if one.name == "sem_acquire" else ():
                            acquires[self.build.semaphore_of[self.gpu.id, number]] += times
        return acquires[counter]

    def slots(self, one: PlanReference, packed: bool) -> list[Sequence[int]]:
        """The addresses of a piece, in each memory where it is."""
        op, build = self.op, self.build
        result: list[Sequence[int]] = []
        for owner, buffer in self.step.owners(one):
            name = "packets" if packed else buffer
            base = build.starts[owner.id][name]
            start = build.index(owner.id, name, one.index)
            size = build.index(owner.id, name, one.index + one.size) - start
            if self.window is not None and build.scratch < build.units and name == "s":
                offset = self.window[0] % build.scratch
                within = self.window[0] < one.size * build.units
                result.append(range(base + start + offset, base + start + offset + within))
                continue
            first = _share(size, op.group.number, op.group.size)
            last = _share(size, op.group.number + 1, op.group.size)
            if self.window is not None:
                first, last = (min(first + bound, last) for bound in self.window)
            result.append(range(base + start + first, base + start + last))
        return result

    def pieces(self) -> list[list[tuple[tuple[int, ...], tuple[int, ...]]]]:
        """The reads and writes of each instruction, separately for each target of a put."""
        every = list(zip(self.op.pieces, in_packets(self.op), strict=True))
        sides = every[: len(self.op.sources)], every[len(self.op.sources) :]
        pairs = [sides]
        if SIGNATURES[self.op.name].paired:
            pairs = [([a], [b]) for a, b in zip(*sides, strict=True)]
        result = []
        for pair in pairs:
            read, written = (
                [slots for one, packed in side for slots in self.slots(one, packed)]
                for side in pair
            )
            result.append(
                list(zip(zip(*read, strict=True), zip(*written, strict=True), strict=True))
            )
        return result

    def move(self) -> None:
        pieces = [piece for target in self.pieces() for piece in target]
        for i, (reads, every) in enumerate(pieces):
            # A packet that is stored where it was read stays the same.
            writes = tuple(x for x in every if x not in reads or self.op.name != "gstorepkt")
            written = [slot for slot in writes if self.is_packet(slot)]
            self.build.packets.update(written)
            self.append(
                EffectKind.MOVE,
                reads=reads,
                writes=writes,
                waits=self.flags(reads),
                posts=tuple(map(self.packet, written)),
                part=i,
                parts=len(pieces),
            )

    def flags(self, reads: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
        """The packets among the slots that an instruction reads; it waits for their flags."""
        return tuple((self.packet(slot), 1) for slot in reads if self.is_packet(slot))

    def is_packet(self, slot: int) -> bool:
        if self.build.plan.protocol != "LL":
            return False
        return self.build.memory.owner(slot).name == PACKET_BUFFER

    def packet(self, slot: int) -> int:
        """The counter of this call's writes to a slot of packets; readers await its flag."""
        counter = self.build.packet_counter.get(slot)
        if counter is None:
            counter = self.build.packet_counter[slot] = len(self.build.names)
            self.build.names.append(f"the packets of {self.build.memory.describe(slot)}")
        return counter

    def push(self) -> None:
        """Thread n hands the n-th put to the proxy of the n-th channel.  Before an ``rppkt`` all
        threads wait for its packets, and meet."""
        keys, targets = self.keys(), self.pieces()
        if self.op.name == "rppkt":
            (pieces,) = targets
            for i, (reads, _) in enumerate(pieces):
                waits, parts = self.flags(reads), len(pieces)
                self.append(EffectKind.MOVE, reads=reads, waits=waits, part=i, parts=parts)
            self.append(EffectKind.SYNC)
            targets = [[(reads, (one[n],)) for reads, one in pieces] for n in range(len(keys))]
        counters = tuple(self.build.signals[key] for key in keys)
        if self.op.name == "pws":
            self.use("signal", counters, "signals over")
        for thread, pieces in enumerate(targets):
            proxy = self.build.proxies[keys[thread]]
            for reads, writes in pieces:
                written = [slot for slot in writes if self.is_packet(slot)]
                self.build.packets.update(written)
                posts = tuple(map(self.packet, written))
                self.append(EffectKind.PUSH, thread, proxy, reads=reads, writes=writes, posts=posts)
            if self.op.name == "pws":
                self.build.posted[counters[thread]] += 1
                self.append(EffectKind.PUSH, thread, proxy, posts=(counters[thread],))


def _share(size: int, number: int, group: int) -> int:
    """The start of a thread block's part in a group, as the runtime computes it."""
    least, rest = divmod(size, group)
    return number * least + min(number % size, rest)
