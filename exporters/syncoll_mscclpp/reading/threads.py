"""Threads: the program that a plan's thread blocks execute.

Each operation becomes the instructions of the abstract machine, one for every piece of a chunk that
it moves.  The machine takes a thread block for one thread, which is right for the question whether
the plan ends and for what it computes if it has no races: all threads but the first, which takes
part in everything, wait for less.  Which thread does what, and so what is in order, is kept beside
it in `Effect`, for `syncoll_mscclpp.reading.ordering`.

A channel is a pair of counters, one for each direction: the n-th wait of a rank waits for the n-th
signal of its peer.  The k-th channel of a rank to a peer is the other end of the k-th channel of
that peer to the rank.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from syncoll.errors import VerificationError
from syncoll_mscclpp.reading.effects import Effect, EffectKind
from syncoll_mscclpp.reading.operations import MULTICAST, SIGNATURES, in_packets
from syncoll_mscclpp.reading.plan import Block, Gpu, Operation, Plan, Reference
from syncoll_mscclpp.reading.rules import flat
from syncoll_threadblocks import AddressSpace, Instruction, Program, Promise, Specification, Thread

__all__ = ["PACKET_BUFFER", "Threads", "threads_of"]

PACKET_BUFFER = "packet s"
"""Scratch as a place of packets."""


@dataclass(frozen=True)
class Threads:
    """A plan, ready to be executed.

    Args:
        program: what runs.
        effects: for each thread of it, what stands behind each instruction.
        inputs: the first slot of each rank's input.
        outputs: the first slot of each rank's output.
        shared: for each rank the first slots, and sizes, of what belongs to the caller.
        proxies: how many port channels there are; their numbers in effects are below.
        semaphores: for each semaphore, by its counter, the value at which it begins.
        packets: for each slot of packets that is written how often a call writes it.
    """

    program: Program
    effects: Sequence[Sequence[Effect]]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    shared: Sequence[Sequence[tuple[int, int]]]
    proxies: int
    semaphores: dict[int, int]
    packets: Mapping[int, int]


def threads_of(plan: Plan, spec: Promise | None, units: int) -> Threads:
    """The program of a plan that `require_loadable` passed.

    Args:
        plan: the file.
        spec: the collective; None where the file does not say.
        units: into how many pieces each chunk is cut.

    Raises:
        VerificationError: when signals and waits of a channel do not come out even.
    """
    build = _Build(plan, units)
    for gpu in plan.gpus:
        build.add_buffers(gpu, spec)
    for gpu in plan.gpus:
        build.add_counters(gpu)
    for gpu in plan.gpus:
        build.add_waits(gpu)
    for gpu in plan.gpus:
        for block in gpu.blocks:
            build.add_block(gpu, block)
    build.require_even()
    return Threads(
        Program(build.threads, (), build.memory, build.names, build.barriers),
        build.effects,
        tuple(start["i"] for start in build.starts),
        tuple(start["o"] for start in build.starts),
        build.shared,
        len(build.proxies),
        build.semaphores,
        build.packets,
    )


Key = tuple[int, str, int]
"""A rank, a type of channel, and its number among the rank's channels of that type."""


@dataclass
class _Build:
    """What is known while threads are made."""

    plan: Plan
    units: int
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
    barrier_of: dict[tuple[int, int], int] = field(default_factory=dict)
    packets: Counter[int] = field(default_factory=Counter)
    packet_counter: dict[int, int] = field(default_factory=dict)
    acquirers: dict[int, set[int]] = field(default_factory=dict)
    acquires: Counter[int] = field(default_factory=Counter)
    posted: Counter[int] = field(default_factory=Counter)
    taken: Counter[int] = field(default_factory=Counter)
    users: dict[tuple[str, int], int] = field(default_factory=dict)
    threads: list[Thread] = field(default_factory=list)
    effects: list[list[Effect]] = field(default_factory=list)

    def add_buffers(self, gpu: Gpu, spec: Promise | None) -> None:
        """Gives each slot an address; in place, slots of both buffers have the same ones."""
        sizes = {kind: gpu.chunks(kind) * self.units for kind in "ios"}
        if self.plan.inplace and isinstance(spec, Specification):
            name = "o" if sizes["o"] > sizes["i"] else "i"
            common = self.memory.add(gpu.id, name, max(sizes["i"], sizes["o"])).start
            i_start, o_start = spec.in_place(gpu.id)
            starts = {"i": common + i_start * self.units, "o": common + o_start * self.units}
            self.shared.append([(common, max(sizes["i"], sizes["o"]))])
        else:
            starts = {kind: self.memory.add(gpu.id, kind, sizes[kind]).start for kind in "io"}
            self.shared.append([(starts[kind], sizes[kind]) for kind in "io"])
        doubled = 2 if self.plan.protocol == "LL" else 1
        starts["s"] = self.memory.add(gpu.id, "s", doubled * sizes["s"]).start
        if doubled > 1:  # apart from the data there, as `require_loadable` has seen
            starts["packets"] = self.memory.add(gpu.id, PACKET_BUFFER, sizes["s"]).start
        self.starts.append(starts)

    def add_counters(self, gpu: Gpu) -> None:
        """Counters of what the rank signals, and its semaphores and barriers."""
        for kind, peers in gpu.channels.items():
            for number, peer in enumerate(peers):
                self.signals[gpu.id, kind, number] = len(self.names)
                self.names.append(f"a signal of rank {gpu.id} ({kind} channel {number} to {peer})")
                if kind == "port":
                    self.proxies[gpu.id, kind, number] = len(self.proxies)
        for number, value in enumerate(gpu.semaphores):
            counter = self.semaphore_of[gpu.id, number] = len(self.names)
            self.semaphores[counter] = value
            self.names.append(f"semaphore {number} of rank {gpu.id}")
        for block in gpu.blocks:
            for _, op, _ in flat(block):
                if op.barrier is not None and (gpu.id, op.barrier[0]) not in self.barrier_of:
                    self.barrier_of[gpu.id, op.barrier[0]] = len(self.barriers)
                    self.barriers.append(f"barrier {op.barrier[0]} of rank {gpu.id}")
                if op.name == "sem_acquire":
                    for one in op.semaphores:
                        self.acquirers.setdefault(self.semaphore_of[gpu.id, one], set()).add(
                            block.id
                        )

    def add_waits(self, gpu: Gpu) -> None:
        """For each channel the counter of what its peer signals; none if that has no such end."""
        seen: Counter[tuple[str, int]] = Counter()
        for kind, peers in gpu.channels.items():
            for number, peer in enumerate(peers):
                nth = seen[kind, peer]
                seen[kind, peer] += 1
                ends = [
                    i
                    for i, back in enumerate(self.plan.gpus[peer].channels[kind])
                    if back == gpu.id
                ]
                if nth < len(ends):
                    self.awaited[gpu.id, kind, number] = self.signals[peer, kind, ends[nth]]

    def add_block(self, gpu: Gpu, block: Block) -> None:
        """A thread block, with pipelines rolled out."""
        maker = _Maker(self, gpu, block)
        number = 0
        for op in block.operations:
            if op.name != "pipeline":
                maker.add(number, op)
                number += 1
                continue
            for start in range(op.loop_chunks * self.units):
                for i, inner in enumerate(op.inner):
                    maker.add(number + 1 + i, inner, (start, start + 1))
            number += 1 + len(op.inner)
        self.threads.append(Thread(gpu.id, block.id, maker.instructions))
        self.effects.append(maker.effects)

    def require_even(self) -> None:
        """A signal too many would be taken for one of the next call."""
        for counter, name in enumerate(self.names):
            posted, taken = self.posted[counter], self.taken[counter]
            if posted != taken:
                if counter in self.packet_counter.values():
                    continue  # a flag is of one call
                what = "released" if counter in self.semaphores else "sent"
                if counter not in self.semaphores and posted < taken:
                    continue  # found as waiting for ever, with the place
                raise VerificationError(
                    f"{name} is {what} {posted} times and awaited {taken} times; what is left over "
                    "stays for the next call, which then goes on too early"
                )


class _Maker:
    """Makes the instructions of one thread block."""

    def __init__(self, build: _Build, gpu: Gpu, block: Block) -> None:
        self.build = build
        self.gpu = gpu
        self.block = block
        self.instructions: list[Instruction] = []
        self.effects: list[Effect] = []
        self.operation = 0

    def add(self, number: int, op: Operation, window: tuple[int, int] | None = None) -> None:
        """An operation, or of one in a pipeline what it does in one round."""
        self.operation += 1
        if op.name in _SIGNALS:
            self.signal(number, op)
        elif op.name in _WAITS:
            self.wait(number, op)
        elif op.name == "sem_release":
            counters = tuple(self.build.semaphore_of[self.gpu.id, one] for one in op.semaphores)
            self.use(number, op, "release", counters, None)
            self.build.posted.update(counters)
            self.append(
                number, op, Effect(EffectKind.RELEASE, self.operation, 0, counters), posts=counters
            )
        elif op.name == "sem_acquire":
            self.acquire(number, op)
        elif op.name == "nop":
            self.append(number, op, Effect(EffectKind.SYNC, self.operation))
        elif op.name == "barrier":
            assert op.barrier is not None
            barrier = self.build.barrier_of[self.gpu.id, op.barrier[0]]
            self.append(number, op, Effect(EffectKind.BARRIER, self.operation), barrier=barrier)
        elif op.name == "flush":
            self.append(
                number, op, Effect(EffectKind.NOTHING, self.operation)
            )  # it flushes nothing
        elif op.channel_type == "port":
            self.push(number, op, window)
        else:
            self.move(number, op, window)

    def append(
        self,
        number: int,
        op: Operation,
        effect: Effect,
        *,
        reads: tuple[int, ...] = (),
        writes: tuple[int, ...] = (),
        waits: tuple[tuple[int, int], ...] = (),
        posts: tuple[int, ...] = (),
        barrier: int = -1,
        part: int = 0,
        parts: int = 1,
    ) -> None:
        self.instructions.append(
            Instruction(number, op.name, -1, -1, reads, writes, waits, posts, barrier, part, parts)
        )
        self.effects.append(effect)

    def fail(self, number: int, op: Operation, message: str) -> VerificationError:
        return VerificationError(
            f"rank {self.gpu.id}, thread block {self.block.id}, step {number} ({op.name}): "
            f"{message}"
        )

    def use(
        self,
        number: int,
        op: Operation,
        what: str,
        counters: tuple[int, ...],
        only: str | None,
    ) -> None:
        """Notes who uses channels; the counts at an end are plain numbers, of one block only."""
        if len(set(counters)) < len(counters):
            raise self.fail(number, op, "the same one twice, by two threads at a time")
        for counter in counters if only is not None else ():
            user = self.build.users.setdefault((what, counter), self.block.id)
            if user != self.block.id:
                raise self.fail(
                    number,
                    op,
                    f"thread block {user} {only} the same channel; the count at this end is not "
                    "made for two",
                )

    def key(self, op: Operation, channel: int) -> Key:
        return self.gpu.id, op.channel_type, self.block.channels[op.channel_type][channel]

    def signal(self, number: int, op: Operation) -> None:
        counters = tuple(self.build.signals[self.key(op, channel)] for channel in op.channels)
        self.use(number, op, "signal", counters, "signals over")
        self.build.posted.update(counters)
        if op.channel_type == "memory":
            relaxed = op.name == "rlxsignal"
            effect = Effect(EffectKind.SIGNAL, self.operation, 0, counters, relaxed)
            self.append(number, op, effect, posts=counters)
            return
        for thread, channel in enumerate(op.channels):
            proxy = self.build.proxies[self.key(op, channel)]
            effect = Effect(
                EffectKind.PUSH, self.operation, thread, (proxy,), signals=counters[thread]
            )
            self.append(number, op, effect, posts=(counters[thread],))

    def wait(self, number: int, op: Operation) -> None:
        counters = []
        for channel in op.channels:
            counter = self.build.awaited.get(self.key(op, channel))
            if counter is None:
                peer = self.gpu.channels[op.channel_type][self.key(op, channel)[2]]
                raise self.fail(
                    number,
                    op,
                    f"waits for ever: rank {peer} has no {op.channel_type} channel that is the "
                    f"other end of channel {self.key(op, channel)[2]}",
                )
            counters.append(counter)
        self.use(number, op, "wait", tuple(counters), "waits at")
        self.build.taken.update(counters)
        waits = tuple((counter, self.build.taken[counter]) for counter in counters)
        relaxed = op.name == "rlxwait" and op.channel_type != "port"
        effect = Effect(EffectKind.WAIT, self.operation, 0, tuple(counters), relaxed)
        self.append(number, op, effect, waits=waits)

    def acquire(self, number: int, op: Operation) -> None:
        """Where several blocks acquire, the last one may be first: each waits for all releases."""
        counters = tuple(self.build.semaphore_of[self.gpu.id, one] for one in op.semaphores)
        self.use(number, op, "acquire", counters, None)
        waits = []
        for counter in counters:
            self.build.taken[counter] += 1
            count = self.build.taken[counter]
            if len(self.build.acquirers[counter]) > 1:
                count = self.total(counter)
            if (count := count - self.build.semaphores[counter]) > 0:
                waits.append((counter, count))
        effect = Effect(EffectKind.ACQUIRE, self.operation, 0, counters)
        self.append(number, op, effect, waits=tuple(waits))

    def total(self, counter: int) -> int:
        if counter not in self.build.acquires:
            for block in self.gpu.blocks:
                for op, times in _rolled(block, self.build.units):
                    if op.name == "sem_acquire":
                        for one in op.semaphores:
                            self.build.acquires[self.build.semaphore_of[self.gpu.id, one]] += times
        return self.build.acquires[counter]

    def slots(
        self, op: Operation, one: Reference, window: tuple[int, int] | None, packed: bool
    ) -> list[range]:
        """The addresses of a piece, in each memory where it is."""
        units = self.build.units
        size = one.size * units
        first = _share(size, *op.group)
        last = _share(size, op.group[0] + 1, op.group[1])
        if window is not None:
            first, last = min(first + window[0], last), min(first + window[1], last)
        places: list[tuple[int, str]]
        if one.remote >= 0:
            table = self.block.remote_buffers[op.channel_type]
            remote = self.gpu.remote_buffers[table[one.remote]]
            places = [(remote.rank, remote.buffer)]
        elif one.switch >= 0:
            switch = self.gpu.switches[self.block.channels["switch"][one.switch]]
            places = [(rank, switch.buffer) for rank in switch.ranks]
        else:
            places = [(self.gpu.id, one.buffer)]
        result = []
        for rank, buffer in places:
            start = self.build.starts[rank]["packets" if packed else buffer] + one.index * units
            result.append(range(start + first, start + last))
        return result

    def pieces(
        self, op: Operation, window: tuple[int, int] | None
    ) -> list[list[tuple[tuple[int, ...], tuple[int, ...]]]]:
        """For each target of a put, else at once: what each instruction reads and writes."""
        flags = in_packets(op)
        sources = list(zip(op.sources, flags[0], strict=True))
        targets = list(zip(op.targets, flags[1], strict=True))
        pairs = [(sources, targets)]
        if SIGNATURES[op.name].paired:
            pairs = [([a], [b]) for a, b in zip(sources, targets, strict=True)]
        result = []
        for reads, writes in pairs:
            read = [slots for one, p in reads for slots in self.slots(op, one, window, p)]
            written = [slots for one, p in writes for slots in self.slots(op, one, window, p)]
            result.append(
                [
                    (tuple(slots[i] for slots in read), tuple(slots[i] for slots in written))
                    for i in range(len(read[0]))
                ]
            )
        return result

    def move(self, number: int, op: Operation, window: tuple[int, int] | None) -> None:
        pieces = [piece for target in self.pieces(op, window) for piece in target]
        effect = Effect(EffectKind.MOVE, self.operation, multicast=op.name in MULTICAST)
        for i, (reads, writes) in enumerate(pieces):
            waits = tuple((self.packet(slot), 1) for slot in reads if self.is_packet(slot))
            written = [slot for slot in writes if self.is_packet(slot)]
            self.build.packets.update(written)
            self.append(
                number,
                op,
                effect,
                reads=reads,
                writes=writes,
                waits=waits,
                posts=tuple(map(self.packet, written)),
                part=i,
                parts=len(pieces),
            )

    def is_packet(self, slot: int) -> bool:
        """Whether a slot is one of packets."""
        if self.build.plan.protocol != "LL":
            return False
        return self.build.memory.owner(slot).name == PACKET_BUFFER

    def packet(self, slot: int) -> int:
        """The counter of a slot of packets: how often this call has written there.

        Who reads it waits until its flag is that of the call.
        """
        counter = self.build.packet_counter.get(slot)
        if counter is None:
            counter = self.build.packet_counter[slot] = len(self.build.names)
            self.build.names.append(f"the packets of {self.build.memory.describe(slot)}")
        return counter

    def push(self, number: int, op: Operation, window: tuple[int, int] | None) -> None:
        """Thread n hands the n-th put to the proxy of the n-th channel."""
        counters = [self.build.signals[self.key(op, channel)] for channel in op.channels]
        if op.name == "pws":
            self.use(number, op, "signal", tuple(counters), "signals over")
        for thread, pieces in enumerate(self.pieces(op, window)):
            proxy = self.build.proxies[self.key(op, op.channels[thread])]
            effect = Effect(EffectKind.PUSH, self.operation, thread, (proxy,))
            for reads, writes in pieces:
                self.append(number, op, effect, reads=reads, writes=writes)
            if op.name == "pws":
                counter = counters[thread]
                self.build.posted[counter] += 1
                effect = Effect(EffectKind.PUSH, self.operation, thread, (proxy,), signals=counter)
                self.append(number, op, effect, posts=(counter,))


_SIGNALS = ("signal", "rlxsignal")
_WAITS = ("wait", "rlxwait")


def _share(size: int, number: int, group: int) -> int:
    """Where the part of a thread block in a group begins, as the runtime computes it."""
    least, rest = divmod(size, group)
    return number * least + min(number % size, rest)


def _rolled(block: Block, units: int) -> list[tuple[Operation, int]]:
    """The operations, with how often each is done."""
    result = []
    for op in block.operations:
        result.append((op, 1))
        result += [(inner, op.loop_chunks * units) for inner in op.inner]
    return result
