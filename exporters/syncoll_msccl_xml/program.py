"""The program of an algorithm for a runtime: thread blocks for every rank, within all limits.

Plans are tried from the most to the least fused.  The last plan fuses nothing and never overwrites
a slot that is still sent in the same step.  It always has an order without cyclic waiting, since
every dependency is in earlier steps or in messages further ahead in a queue.  The messages of a
link are spread over more channels until no block has too many steps.

Chunks of equal ways are one stream, moved by one step of several chunks; a block of data is cut
into a power of two of chunks, and each stream gets about its part of them.  A runtime may need a
message for each of a step's chunks, more than a connection holds.  So every program is played chunk
by chunk, and one that could wait in a cycle is not used.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from syncoll.errors import ExportError
from syncoll.plugins import ExportRequest
from syncoll.runtime import Buffer, Layout, Slot, Streams, streams_of
from syncoll.runtime.lowering import LoweredAlgorithm, RankOperations, lower
from syncoll.runtime.places import Cut, Places, by_weight
from syncoll_msccl_xml.blocks import ThreadBlock, blocks_of
from syncoll_msccl_xml.connections import Connection, Place, channels_of, order_of, pairs_of
from syncoll_msccl_xml.instructions import (
    Apart,
    Name,
    Naming,
    Op,
    Stated,
    XmlInstruction,
    alike,
    apart_of,
    compact,
    copied,
    forward,
    instructions_of,
    read_copies,
    stated_of,
    waits,
)
from syncoll_msccl_xml.limits import MOST_COUNT, MOST_NODES, MOST_PER_CHANNEL, Runtime
from syncoll_msccl_xml.playing import ends

_MOST_SHARES = (1024, 256)
"""Chunks of a block of data at most, where streams have several trees; the finer cut first."""

_STEPS_PER_MESSAGE = 4
"""Steps of a rank for each message that it sends, at most: a receive, a reduction and a copy."""

_MOST_LOOP_CHUNKS = 1 << 14
"""With more, messages of 64 KiB would not fit, with elements of 4 bytes."""


@dataclass(frozen=True, eq=False)
class XmlProgram:
    """A program for the writer.

    Both ends of a message state the same source and destination, or each end its own; `apart` is
    the number of messages that are therefore not fused at their receiver.
    """

    cut: Cut
    places: Places
    blocks: tuple[tuple[ThreadBlock, ...], ...]
    channels: int
    stated: tuple[tuple[Stated, Stated], ...]
    apart: int


@dataclass(frozen=True)
class _Plan:
    """The degree of fusion.

    Args:
        reduce: receives with their reductions.
        forward: receives with the sends that pass on their chunks.
        strict: whether no slot is received into in the step in which it is read.
        share: whether blocks receive and send if possible, for fewer blocks.
        agree: whether both ends of a message must be able to state the same slots.
    """

    reduce: bool
    forward: bool
    strict: bool
    share: bool = False
    agree: bool = True


_FUSING = (_Plan(True, True, False), _Plan(True, False, False))
_PLAIN = (_Plan(False, False, False), _Plan(False, False, True))

_MOST_UNFUSED = 30
"""Most retries of a plan without the fusions that blocked it."""


def program_of(
    request: ExportRequest, runtime: Runtime, instances: int, proto: str, same_ends: bool
) -> XmlProgram:
    """The program of an algorithm; each of its instances has channels of its own.  Raises
    ExportError naming the limit that no plan keeps."""
    streams = streams_of(request)
    whole = streams.collective.blocks * instances
    room = max(1, _MOST_LOOP_CHUNKS // max(1, whole))
    fine, coarse = (_cut(streams, min(most, room)) for most in _MOST_SHARES)
    sends = fine.streams.request.algorithm.sends[:, 1]
    few = int(np.bincount(sends).max(initial=0)) * instances * _STEPS_PER_MESSAGE <= MOST_NODES
    if few and fine.share > coarse.share:
        with suppress(ExportError):
            return _program(fine, runtime, instances, proto, same_ends)
    return _program(coarse, runtime, instances, proto, same_ends)


def _program(cut: Cut, runtime: Runtime, instances: int, proto: str, same_ends: bool) -> XmlProgram:
    """The program of a cut; ExportError naming the limit that no plan keeps."""
    open_sends = proto in runtime.open_sends
    plans = [*(_FUSING if runtime.fuses else ()), *_PLAIN]
    shared = [replace(plan, share=True) for plan in plans]
    # A receive after a send in the same block ends the send without further means.
    plans = [*shared, *plans] if open_sends else [*plans, *shared]
    plans = [replace(plan, agree=same_ends) for plan in plans]
    _require_few(cut, runtime, instances)
    layout = cut.streams.layout
    lowered = {
        strict: lower(cut.streams.request, zero_copy=strict, layout=layout)
        for strict in (False, True)
    }
    refusal: ExportError | None = None
    for plan in plans:
        try:
            program = _fitted(cut, lowered[plan.strict], plan, runtime, instances, open_sends)
        except ExportError as error:
            refusal = error
            continue
        if program is not None:
            return program
    # Without fusion, no two ranks wait for one another.
    raise refusal or ExportError("every order of its messages may wait in a cycle")


def _cut(streams: Streams, most: int) -> Cut:
    """The streams with the chunks of each, of a block at most `most`, and of a stream at most
    `MOST_COUNT`."""
    cut = by_weight(streams, most)
    if not cut.consistent:  # in place, blocks of several shapes share a buffer
        apart = streams.repeated(streams.sizes)
        count = len(apart.sizes)
        cut = Cut(apart, apart.collective.share, np.ones(count, dtype=np.int64), (None,) * count)
    parts = -(-cut.weights // MOST_COUNT)
    if (parts == 1).all():
        return cut
    streams = cut.streams.repeated(parts)
    turn = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    each, more = np.divmod(np.repeat(cut.weights, parts), np.repeat(parts, parts))
    weights = each + (turn < more)
    return replace(cut, streams=streams, weights=weights, slices=(None,) * len(weights))


def _require_few(cut: Cut, runtime: Runtime, instances: int) -> None:
    """Raises ExportError if no program can keep the limits, by a count of messages."""
    instance, sends = cut.streams.request.instance, cut.streams.request.algorithm.sends
    nodes = instance.topology.num_nodes
    sent, received = (np.bincount(sends[:, side], minlength=nodes) for side in (1, 2))
    steps = np.maximum(sent, received) if runtime.fuses else sent + received
    rank = int(steps.argmax())
    peers = [len(np.unique(sends[sends[:, a] == rank][:, b])) for a, b in ((1, 2), (2, 1))]
    least = int(steps[rank]) * instances
    elements = 1 + nodes + least + max(peers) * instances
    if elements > MOST_NODES:
        raise ExportError(
            f"the runtimes keep at most {MOST_NODES} elements of a file; rank {rank} has "
            f"{max(int(sent[rank]), int(received[rank]))} messages, and needs at least {elements}; "
            "take fewer instances or chunks"
        )
    if max(peers) * instances > runtime.most_blocks:
        raise ExportError(
            f"{runtime.title} runs at most {runtime.most_blocks} thread blocks on a GPU; rank "
            f"{rank} needs at least {max(peers) * instances}, one for each rank and instance with "
            "which it exchanges messages; take fewer instances, or an algorithm with fewer links"
        )


def _fitted(
    cut: Cut,
    lowered: LoweredAlgorithm,
    plan: _Plan,
    runtime: Runtime,
    instances: int,
    open_sends: bool,
) -> XmlProgram | None:
    """The program of a plan over as few channels as the limits allow; None if it could block."""
    spread = 1
    while True:
        program = _assemble(cut, lowered, plan, runtime, spread, open_sends)
        if program is None or not ends(program.blocks, cut.weights.tolist()):
            return None
        longest = max((len(block.steps) for rank in program.blocks for block in rank), default=0)
        _require_blocks(program, runtime, instances, spread)
        if longest <= runtime.most_steps:
            return program
        if spread >= runtime.most_channels:
            raise ExportError(
                f"{runtime.title} runs at most {runtime.most_steps} steps in a thread block; this "
                f"algorithm needs {longest} in one, even over {spread} channels; take one with "
                "fewer chunks"
            )
        # Estimates the channels from the excess of steps.
        spread = min(runtime.most_channels, max(spread + 1, spread * longest // runtime.most_steps))


def _require_blocks(program: XmlProgram, runtime: Runtime, instances: int, spread: int) -> None:
    """Raises ExportError if a program has too many channels or thread blocks."""
    why = []
    if spread > 1:
        why.append(
            f"each link needs {spread} channels to keep to {runtime.most_steps} steps a block"
        )
    if instances > 1:
        why.append(f"there are {instances} instances")
    because = f" ({'; '.join(why)})" if why else ""
    channels = program.channels * instances
    if channels > runtime.most_channels:
        raise ExportError(
            f"{runtime.title} has at most {runtime.most_channels} channels; this needs "
            f"{channels}{because}; take fewer instances, or an algorithm with fewer chunks"
        )
    for rank, blocks in enumerate(program.blocks):
        if len(blocks) * instances > runtime.most_blocks:
            raise ExportError(
                f"{runtime.title} runs at most {runtime.most_blocks} thread blocks on a GPU; rank "
                f"{rank} needs {len(blocks) * instances}{because}; take fewer instances, or an "
                "algorithm with fewer chunks or links"
            )


def _assemble(
    cut: Cut,
    lowered: LoweredAlgorithm,
    plan: _Plan,
    runtime: Runtime,
    spread: int,
    open_sends: bool,
) -> XmlProgram | None:
    nodes, messages = len(lowered.ranks), lowered.messages
    channels = channels_of(messages, nodes, spread, MOST_PER_CHANNEL)
    connections = tuple(
        (one.source, one.destination, channel)
        for one, channel in zip(messages, channels, strict=True)
    )
    fusion = _Fusion(lowered, plan, connections, _naming(cut, lowered.layout))
    ordered = fusion.ordered()
    if ordered is None:
        return None
    fused, waiting, places = ordered
    compacted = [compact(instructions) for instructions in fused]
    orders: dict[int, list[int]] = defaultdict(list)
    for rank, i in places:
        orders[rank].append(i)
    divided = [
        blocks_of(
            *(instructions, waiting[rank], orders[rank], connections, fusion.pairs),
            runtime.most_steps,
            scratch,
            open_sends=open_sends,
        )
        for rank, (instructions, scratch) in enumerate(compacted)
    ]
    ranks = [instructions for instructions, _ in compacted]
    widest = int(cut.weights.argmax())
    data = [_held(one, slots, widest) for one, (_, slots) in zip(ranks, divided, strict=True)]
    return XmlProgram(
        cut,
        Places(cut, lowered.layout, data),
        tuple(tuple(one) for one, _ in divided),
        max((channel for *_, channel in connections), default=0) + 1,
        tuple(stated_of(ranks, len(messages))) if plan.agree else (),
        len(fusion.apart.added | fusion.apart.stored | fusion.apart.unlike),
    )


def _held(instructions: Sequence[XmlInstruction], slots: int, widest: int) -> list[int]:
    """The stream in each slot of a rank's scratch; `widest` in the slots of barrier copies."""
    found = [widest] * slots
    for one in instructions:
        for slot in (one.source, one.target):
            if slot is not None and slot.buffer is Buffer.SCRATCH:
                found[slot.index] = one.stream
    return found


def _naming(cut: Cut, layout: Layout) -> Naming:
    """The names of slots by the chunks at which they begin."""
    places = Places(cut, layout, [()] * layout.collective.num_nodes)

    def naming(rank: int, slot: Slot) -> Name:
        if slot.buffer is Buffer.SCRATCH:
            return rank, slot.buffer, slot.index
        return -1, slot.buffer, places.place(rank, slot)[0]

    return naming


class _Fusion:
    """The instructions of all ranks, fused by a plan, except for the messages `apart`."""

    def __init__(
        self,
        lowered: LoweredAlgorithm,
        plan: _Plan,
        connections: Sequence[Connection],
        naming: Naming,
    ) -> None:
        self.lowered, self.plan, self.connections = lowered, plan, connections
        self.naming = naming
        self.copies = copied(lowered, naming) if plan.forward and plan.agree else {}
        self.apart = Apart()
        self.pairs: dict[Connection, Connection] = {}
        for rank in lowered.ranks:
            instructions = instructions_of(rank.operations, fuse=plan.reduce)
            gains = self._gains(instructions) if plan.forward else Counter()
            self.pairs.update(pairs_of(gains, self._ends(instructions) if plan.share else ()))

    def ordered(
        self,
    ) -> tuple[list[list[XmlInstruction]], list[list[tuple[int, ...]]], list[Place]] | None:
        """The instructions fused as far as they do not block, their dependencies, and an order."""
        for _ in range(_MOST_UNFUSED):
            fused = self._fused()
            waiting = [waits(instructions) for instructions in fused]
            places, blocked = order_of(fused, waiting, self.connections)
            if not blocked:
                return fused, waiting, places
            stuck = [fused[rank][i] for rank, i in blocked]
            both = [one.incoming for one in stuck if one.outgoing is not None]
            again = {message for message in both if message is not None}
            if not again:
                return None
            self.apart.stored |= again
        return None

    def _fused(self) -> list[list[XmlInstruction]]:
        """The instructions of all ranks, fused as far as both ends of each message can agree.
        Messages that are not fused for this reason are added to `apart`."""
        chosen = dict(self.copies)
        while True:
            fused = [self._forwarded(rank, chosen) for rank in self.lowered.ranks]
            if not self.plan.agree:
                return fused
            more = apart_of(fused, self.naming)
            self.apart.add(more)
            steps = (one for instructions in fused for one in instructions)
            passed_on = {one.incoming for one in steps if one.op is Op.RECEIVE_SEND}
            # A copy pays only if it is passed on.
            needed = {message: slot for message, slot in chosen.items() if message in passed_on}
            if not more and needed == chosen:
                return fused
            chosen = needed

    def _forwarded(self, rank: RankOperations, copies: Mapping[int, Slot]) -> list[XmlInstruction]:
        plain = instructions_of(rank.operations, fuse=self.plan.reduce, apart=self.apart.added)
        plain = list(read_copies(plain, copies))
        may = self._alike(plain, copies)
        pairs = self.pairs if self.plan.forward else {}

        def leads(one: int, two: int) -> bool:
            led = pairs.get(self.connections[one])
            if one in self.apart.stored or led != self.connections[two]:
                return False
            if not may(one, two):
                self.apart.unlike.add(one)
                return False
            return True

        return forward(plain, leads)

    def _alike(
        self, instructions: Sequence[XmlInstruction], copies: Mapping[int, Slot]
    ) -> Callable[[int, int], bool]:
        """Whether one step may receive the first message and send the second, by their slots."""
        stored = {one.incoming for one in instructions if one.op is Op.RECEIVE}
        messages, agree = self.lowered.messages, self.plan.agree

        def may(one: int, two: int) -> bool:
            source = copies.get(one, messages[one].source_slot)
            if not agree or one not in stored:
                return True
            return alike(messages[one], messages[two], source, self.naming)

        return may

    def _ends(self, instructions: Sequence[XmlInstruction]) -> list[tuple[Connection, Connection]]:
        """Every incoming connection of a rank with every outgoing one."""
        of = self.connections
        incoming = {of[one.incoming] for one in instructions if one.incoming is not None}
        outgoing = {of[one.outgoing] for one in instructions if one.outgoing is not None}
        return list(product(sorted(incoming), sorted(outgoing)))

    def _gains(
        self, instructions: Sequence[XmlInstruction]
    ) -> Counter[tuple[Connection, Connection]]:
        """For each pair of connections the number of messages that could be fused."""
        gains: Counter[tuple[Connection, Connection]] = Counter()
        may = self._alike(instructions, self.copies)

        def note(one: int, two: int) -> bool:
            gains[self.connections[one], self.connections[two]] += may(one, two)
            return False

        forward(instructions, note)
        return gains
