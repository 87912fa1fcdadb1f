"""The program of an algorithm for a runtime: thread blocks for every rank, within all limits.

Plans are tried from the most to the least fused.  The last one fuses nothing and never overwrites
what is still sent in the same step; for it there is always an order without a ring of waiting,
since whatever a step needs then comes from earlier steps or from messages further ahead in a queue.
The messages of a link are spread over more channels until no block has too many steps.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from syncoll.errors import ExportError
from syncoll.plugins import ExportRequest
from syncoll.runtime import LoweredAlgorithm, RankOperations, Slot, lower
from syncoll_msccl_xml.agreement import Apart, alike, apart_of, copied, read_copies, stated_of
from syncoll_msccl_xml.blocks import Block, blocks_of
from syncoll_msccl_xml.channels import Connection, channels_of, pairs_of
from syncoll_msccl_xml.instructions import Instruction, Op, compact, forward, instructions_of, waits
from syncoll_msccl_xml.ordering import Place, order_of
from syncoll_msccl_xml.runtimes import Runtime

__all__ = ["Program", "program_of"]


@dataclass(frozen=True, eq=False)
class Program:
    """What is written.

    Args:
        lowered: the algorithm as operations.
        blocks: of every rank.
        scratch: slots of every rank.
        channels: used, from 0.
        connections: of every message.
        stated: of every message the source and destination that both ends state; empty where each
            end states its own.
        apart: messages at whose receiver a step is not fused, for that.
    """

    lowered: LoweredAlgorithm
    blocks: tuple[tuple[Block, ...], ...]
    scratch: tuple[int, ...]
    channels: int
    connections: tuple[Connection, ...]
    stated: tuple[tuple[Slot, Slot], ...]
    apart: int


@dataclass(frozen=True)
class _Plan:
    """How much is fused.

    Args:
        reduce: what is received, with its reduction.
        forward: what is received, with the send that passes it on.
        strict: whether slots are not received into in the step in which they are read.
        share: whether one block receives and sends wherever it can, so that there are fewer.
        agree: whether only that is fused of which both ends of a message can say the same.
    """

    reduce: bool
    forward: bool
    strict: bool
    share: bool = False
    agree: bool = True


_FUSING = (_Plan(True, True, False), _Plan(True, False, False))
_PLAIN = (_Plan(False, False, False), _Plan(False, False, True))

_MOST_UNFUSED = 30
"""How often a plan is tried again without the fusions that blocked it."""


def program_of(request: ExportRequest, runtime: Runtime, instances: int, proto: str) -> Program:
    """The program of an algorithm.

    Args:
        request: the algorithm.
        runtime: whose limits hold.
        instances: copies of the program, each on channels of its own, that must fit beside.
        proto: the protocol.

    Raises:
        ExportError: naming the limit that no plan keeps.
    """
    open_sends = proto in runtime.open_sends
    plans = [*(_FUSING if runtime.fuses else ()), *_PLAIN]
    shared = [replace(plan, share=True) for plan in plans]
    # A block that receives after it sends needs nothing else to know that it has sent.
    plans = [*shared, *plans] if open_sends else [*plans, *shared]
    plans = [replace(plan, agree=runtime.same_ends) for plan in plans]
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
) -> Program | None:
    """The program of a plan over as few channels as keep the limits; None if it could block."""
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
        # Messages that a block cannot hold need another channel; less is never enough.
        spread = min(runtime.most_channels, max(spread + 1, spread * longest // runtime.most_steps))


def _require_blocks(program: Program, runtime: Runtime, instances: int, spread: int) -> None:
    """Passes a program whose channels and thread blocks are not too many.

    Raises:
        ExportError: naming the limit.
    """
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
) -> Program | None:
    nodes, messages = len(lowered.ranks), lowered.messages
    channels = channels_of(messages, nodes, spread, runtime.most_blocks_per_channel)
    connections = tuple(
        (one.source, one.destination, channel)
        for one, channel in zip(messages, channels, strict=True)
    )
    ranks = [instructions_of(rank.operations, fuse=plan.reduce) for rank in lowered.ranks]
    copies = copied(lowered) if plan.forward and plan.agree else {}
    pairs: dict[Connection, Connection] = {}
    for instructions in ranks:
        may = _alike(lowered, plan, instructions, copies)
        gains = _gains(instructions, connections, may) if plan.forward else Counter()
        ends = _ends(instructions, connections) if plan.share else ()
        pairs.update(pairs_of(gains, ends))
    apart = Apart()
    ordered = _ordered(lowered, plan, connections, pairs if plan.forward else {}, copies, apart)
    if ordered is None:
        return None
    fused, waiting, places = ordered
    compacted = [compact(instructions) for instructions in fused]
    ranks = [instructions for instructions, _ in compacted]
    orders: dict[int, list[int]] = defaultdict(list)
    for rank, i in places:
        orders[rank].append(i)
    divided = [
        blocks_of(
            instructions,
            waiting[rank],
            orders[rank],
            connections,
            pairs,
            runtime.most_steps,
            scratch,
            open_sends=open_sends,
        )
        for rank, (instructions, scratch) in enumerate(compacted)
    ]
    blocks = tuple(tuple(one) for one, _ in divided)
    scratch = tuple(slots for _, slots in divided)
    used = max((channel for *_, channel in connections), default=0) + 1
    stated = tuple(stated_of(ranks, len(messages))) if plan.agree else ()
    return Program(
        lowered,
        blocks,
        scratch,
        used,
        connections,
        stated,
        len(apart.added | apart.stored | apart.unlike),
    )


def _ordered(
    lowered: LoweredAlgorithm,
    plan: _Plan,
    connections: Sequence[Connection],
    pairs: Mapping[Connection, Connection],
    copies: Mapping[int, Slot],
    apart: Apart,
) -> tuple[list[list[Instruction]], list[list[tuple[int, ...]]], tuple[Place, ...]] | None:
    """The instructions fused as far as they do not block, what they wait for, and an order.

    Args:
        lowered: what every rank does.
        plan: what is fused.
        connections: of every message.
        pairs: incoming connections whose messages may be passed on as they come, and where to.
        copies: see `copied`.
        apart: what is not fused; what must not be besides is added.
    """
    for _ in range(_MOST_UNFUSED):
        fused = _fused(lowered, plan, connections, pairs, copies, apart)
        waiting = [waits(instructions) for instructions in fused]
        order = order_of(fused, waiting, connections)
        if not order.blocked:
            return fused, waiting, order.places
        blocked = [fused[rank][i] for rank, i in order.blocked]
        both = [one.incoming for one in blocked if one.outgoing is not None]
        again = {message for message in both if message is not None}
        if not again:
            return None
        apart.stored |= again
    return None


def _fused(
    lowered: LoweredAlgorithm,
    plan: _Plan,
    connections: Sequence[Connection],
    pairs: Mapping[Connection, Connection],
    copies: Mapping[int, Slot],
    apart: Apart,
) -> list[list[Instruction]]:
    """The instructions of all ranks, fused as far as both ends of each message can agree.

    What had to be taken apart for that is added to `apart`.
    """
    chosen = dict(copies)
    while True:
        fused = [
            _forwarded(rank, lowered, plan, connections, pairs, chosen, apart)
            for rank in lowered.ranks
        ]
        if not plan.agree:
            return fused
        more = apart_of(fused)
        apart.add(more)
        passed_on = {one.incoming for steps in fused for one in steps if one.op is Op.RECEIVE_SEND}
        # Nothing is gained by waiting for a copy where nobody passes it on.
        needed = {message: slot for message, slot in chosen.items() if message in passed_on}
        if not more and needed == chosen:
            return fused
        chosen = needed


def _forwarded(
    rank: RankOperations,
    lowered: LoweredAlgorithm,
    plan: _Plan,
    connections: Sequence[Connection],
    pairs: Mapping[Connection, Connection],
    copies: Mapping[int, Slot],
    apart: Apart,
) -> list[Instruction]:
    """The instructions of one rank, for `_fused`."""
    plain = instructions_of(rank.operations, fuse=plan.reduce, apart=apart.added)
    plain = list(read_copies(plain, copies))
    may = _alike(lowered, plan, plain, copies)

    def leads(one: int, two: int) -> bool:
        if one in apart.stored or pairs.get(connections[one]) != connections[two]:
            return False
        if not may(one, two):
            apart.unlike.add(one)
            return False
        return True

    return forward(plain, leads)


def _alike(
    lowered: LoweredAlgorithm,
    plan: _Plan,
    instructions: Sequence[Instruction],
    copies: Mapping[int, Slot],
) -> Callable[[int, int], bool]:
    """Whether one step may receive the first message and send the second, as far as slots go."""
    stored = {one.incoming for one in instructions if one.op is Op.RECEIVE}
    messages = lowered.messages

    def may(one: int, two: int) -> bool:
        source = copies.get(one, messages[one].source_slot)
        return not plan.agree or one not in stored or alike(messages[one], messages[two], source)

    return may


def _ends(
    instructions: Sequence[Instruction], connections: Sequence[Connection]
) -> list[tuple[Connection, Connection]]:
    """Every incoming connection of a rank with every outgoing one."""
    incoming = {connections[one.incoming] for one in instructions if one.incoming is not None}
    outgoing = {connections[one.outgoing] for one in instructions if one.outgoing is not None}
    return [(one, two) for one in sorted(incoming) for two in sorted(outgoing)]


def _gains(
    instructions: Sequence[Instruction],
    connections: Sequence[Connection],
    may: Callable[[int, int], bool],
) -> Counter[tuple[Connection, Connection]]:
    """How many messages of each pair of connections could be passed on as they come."""
    gains: Counter[tuple[Connection, Connection]] = Counter()

    def note(one: int, two: int) -> bool:
        gains[connections[one], connections[two]] += may(one, two)
        return False

    forward(instructions, note)
    return gains
