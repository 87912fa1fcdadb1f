"""The program of an algorithm for a runtime: thread blocks for every rank, within all limits.

Plans are tried from the most to the least fused.  The last plan fuses nothing and never overwrites
a slot that is still sent in the same step.  It always has an order without cyclic waiting, since
every dependency is in earlier steps or in messages further ahead in a queue.  The messages of a
link are spread over more channels until no block has too many steps.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from syncoll.errors import ExportError
from syncoll.plugins import ExportRequest
from syncoll.runtime import LoweredAlgorithm, RankOperations, Slot, lower
from syncoll_msccl_xml.blocks import ThreadBlock, blocks_of
from syncoll_msccl_xml.connections import Connection, Place, channels_of, order_of, pairs_of
from syncoll_msccl_xml.instructions import (
    Apart,
    Op,
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
from syncoll_msccl_xml.limits import MOST_PER_CHANNEL, Runtime

__all__ = ["XmlProgram", "program_of"]


@dataclass(frozen=True, eq=False)
class XmlProgram:
    """A program for the writer.

    Both ends of a message state the same source and destination, or each end its own; `apart` is
    the number of messages that are therefore not fused at their receiver.
    """

    lowered: LoweredAlgorithm
    blocks: tuple[tuple[ThreadBlock, ...], ...]
    scratch: tuple[int, ...]
    channels: int
    stated: tuple[tuple[Slot, Slot], ...]
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
    """The program of an algorithm; each of its instances has channels of its own.

    Raises ExportError naming the limit that no plan keeps.
    """
    open_sends = proto in runtime.open_sends
    plans = [*(_FUSING if runtime.fuses else ()), *_PLAIN]
    shared = [replace(plan, share=True) for plan in plans]
    # A receive after a send in the same block ends the send without further means.
    plans = [*shared, *plans] if open_sends else [*plans, *shared]
    plans = [replace(plan, agree=same_ends) for plan in plans]
    lowered = {strict: lower(request, zero_copy=strict) for strict in (False, True)}
    refusal = None
    for plan in plans:
        try:
            program = _fitted(lowered[plan.strict], plan, runtime, instances, open_sends)
        except ExportError as error:
            refusal = error
            continue
        if program is not None:
            return program
    assert refusal is not None, "the plan that fuses nothing has an order"
    raise refusal


def _fitted(
    lowered: LoweredAlgorithm, plan: _Plan, runtime: Runtime, instances: int, open_sends: bool
) -> XmlProgram | None:
    """The program of a plan over as few channels as the limits allow; None if it could block."""
    spread = 1
    while True:
        program = _assemble(lowered, plan, runtime, spread, open_sends)
        if program is None:
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
    lowered: LoweredAlgorithm, plan: _Plan, runtime: Runtime, spread: int, open_sends: bool
) -> XmlProgram | None:
    nodes, messages = len(lowered.ranks), lowered.messages
    channels = channels_of(messages, nodes, spread, MOST_PER_CHANNEL)
    connections = tuple(
        (one.source, one.destination, channel)
        for one, channel in zip(messages, channels, strict=True)
    )
    fusion = _Fusion(lowered, plan, connections)
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
    return XmlProgram(
        lowered,
        tuple(tuple(one) for one, _ in divided),
        tuple(slots for _, slots in divided),
        max((channel for *_, channel in connections), default=0) + 1,
        tuple(stated_of(ranks, len(messages))) if plan.agree else (),
        len(fusion.apart.added | fusion.apart.stored | fusion.apart.unlike),
    )


class _Fusion:
    """The instructions of all ranks, fused by a plan, except for the messages `apart`."""

    def __init__(
        self, lowered: LoweredAlgorithm, plan: _Plan, connections: Sequence[Connection]
    ) -> None:
        self.lowered, self.plan, self.connections = lowered, plan, connections
        self.copies = copied(lowered) if plan.forward and plan.agree else {}
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

        Messages that are not fused for this reason are added to `apart`.
        """
        chosen = dict(self.copies)
        while True:
            fused = [self._forwarded(rank, chosen) for rank in self.lowered.ranks]
            if not self.plan.agree:
                return fused
            more = apart_of(fused)
            self.apart.add(more)
            steps = (one for instructions in fused for one in instructions)
            passed_on = {one.incoming for one in steps if one.op is Op.RECEIVE_SEND}
            # A copy pays only if it is passed on.
            needed = {message: slot for message, slot in chosen.items() if message in passed_on}
            if not more and needed == chosen:
                return fused
            chosen = needed

    def _forwarded(self, rank: RankOperations, copies: Mapping[int, Slot]) -> list[XmlInstruction]:
        """The instructions of one rank."""
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
            return not agree or one not in stored or alike(messages[one], messages[two], source)

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
