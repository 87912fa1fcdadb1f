"""Rules: what the runtime needs of a plan before anything runs.

The loader checks next to nothing; indices out of range read whatever lies there.  Facts are from
the runtime's sources (execution_plan.cc, executor.cc, execution_kernel.hpp).  A missing signal, a
race and a wrong result are not looked for here but by executing the plan.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import NoReturn, Protocol

from syncoll.errors import UncheckedError, VerificationError
from syncoll_mscclpp.reading.operations import PACKETS, SIGNATURES, in_packets, wrong_signature
from syncoll_mscclpp.reading.plan import Block, Gpu, Operation, Plan, Reference, Told
from syncoll_threadblocks import STANDARD, OwnSpecification, Promise, Specification

__all__ = [
    "flat",
    "links_of",
    "peers_of",
    "require_loadable",
    "require_sizes",
    "specification_of",
    "units_of",
    "within_boxes_of",
]

_MOST_OPERATIONS = 64
_MOST_TABLE = 16
_MOST_SYNCERS = 16
_MOST_SEMAPHORES = 16
"""Of one operation; a rank has as many as its plan asks for."""

_MOST_THREADS = 1024
_MOST_BLOCKS = 1024
_MOST_MIN_SIZE = (1 << 31) - 1
_VECTOR = 16
"""Bytes that a reduction works on at a time; it rounds offsets down to them."""

_MOST_UNITS = 64
_REDUCE = ("re", "rre", "res", "rres")
_NOT_FOLLOWED = ("gstorepkt",)


def require_loadable(plan: Plan) -> None:
    """Passes a plan that the runtime loads, and reads as it was meant.

    Raises:
        VerificationError: naming the rule that is broken, and where.
        UncheckedError: naming what is not followed here.
    """
    _require_header(plan)
    for rank, gpu in enumerate(plan.gpus):
        if gpu.id != rank:
            raise VerificationError(f"gpus[{rank}]: id is {gpu.id}; it must be {rank}, its place")
    _require_some_size(plan)
    for gpu in plan.gpus:
        _require_gpu(plan, gpu)
        _require_barriers(gpu)
    _require_switches(plan)
    _require_apart(plan)


def specification_of(plan: Plan) -> Promise | None:
    """The collective of a plan, its root unknown; None where the plan does not say what it does.

    Raises:
        VerificationError: when the sizes of buffers do not suit it.
    """
    name = plan.collective
    if name not in STANDARD:
        return None if plan.told is None else _told_specification(plan, plan.told)
    ranks = len(plan.gpus)
    first = plan.gpus[0]
    small = first.output_chunks if name in ("reducescatter", "scatter") else first.input_chunks
    share = small // ranks if name == "alltoall" else small
    if share < 1:
        raise VerificationError(
            f"gpus[0]: {small} input_chunks for an alltoall of {ranks} ranks; expected a multiple"
        )
    spec = Specification(name, ranks, share)
    for gpu in plan.gpus:
        for key, declared, wanted in (
            ("input_chunks", gpu.input_chunks, spec.input_size),
            ("output_chunks", gpu.output_chunks, spec.output_size),
        ):
            if declared != wanted:
                raise VerificationError(
                    f"gpus[{gpu.id}]: {key} is {declared}, but that buffer of {name} has {wanted} "
                    f"chunks where a rank's part has {share}"
                )
    if plan.inplace:
        _require_same_offsets(plan, spec)
    return spec


def _told_specification(plan: Plan, told: Told) -> OwnSpecification:
    for key, table in (("inputs", told.inputs), ("outputs", told.outputs)):
        if len(table) != len(plan.gpus):
            raise VerificationError(
                f"syncoll.{key}: of {len(table)} ranks, and there are {len(plan.gpus)} gpus"
            )
    spec = OwnSpecification(told.collective, told.combining, told.inputs, told.outputs)
    require_sizes(plan, spec)
    return spec


def require_sizes(plan: Plan, spec: OwnSpecification) -> None:
    """Passes a plan whose buffers are those of a collective that is told by its chunks.

    Raises:
        VerificationError: when the sizes of buffers do not suit it, or the plan is in place.
    """
    if plan.inplace:
        raise VerificationError(
            f"inplace is true; for {spec.collective}, which is none of the standard collectives, "
            "that is not defined"
        )
    for gpu in plan.gpus:
        for key, declared, wanted in (
            ("input_chunks", gpu.input_chunks, spec.inputs_of(gpu.id)),
            ("output_chunks", gpu.output_chunks, spec.outputs_of(gpu.id)),
        ):
            if declared != wanted:
                raise VerificationError(
                    f"gpus[{gpu.id}]: {key} is {declared}, but that buffer of {spec.collective} "
                    f"has {wanted} there"
                )


def links_of(plan: Plan) -> frozenset[tuple[int, int]]:
    """The ranks between which a plan that `require_loadable` passed moves data."""

    def fail(message: str) -> NoReturn:
        raise VerificationError(message)

    found = set()
    for gpu in plan.gpus:
        for block in gpu.blocks:
            for _, op, _ in flat(block):
                for references, comes in ((op.sources, True), (op.targets, False)):
                    for one in references:
                        for owner, _ in owners(plan, gpu, block, op, one, fail):
                            found.add((owner.id, gpu.id) if comes else (gpu.id, owner.id))
    return frozenset((a, b) for a, b in found if a != b)


def within_boxes_of(plan: Plan) -> frozenset[tuple[str, int, int]]:
    """The channels that exist only within a box, memory and switch, as (kind, rank, rank)."""
    joined = [("memory", gpu.id, peer) for gpu in plan.gpus for peer in gpu.channels["memory"]]
    joined += [
        ("switch", *pair)
        for gpu in plan.gpus
        for group in gpu.switches
        for pair in pairwise(group.ranks)
    ]
    return frozenset((f"{name} channel", min(a, b), max(a, b)) for name, a, b in joined)


def units_of(plan: Plan) -> tuple[int, ...]:
    """Into how many equal pieces chunks are cut to follow a plan, for each time it is followed.

    One, unless groups of thread blocks share operations, or a pipeline goes over chunks in pieces:
    then the pieces' borders depend on the size of a chunk, and two sizes are looked at.

    Raises:
        UncheckedError: when the groups are too large.
    """
    most, pipelined = 1, False
    for gpu in plan.gpus:
        for block in gpu.blocks:
            for _, op, inner in flat(block):
                pipelined = pipelined or inner
                if op.sources or op.targets:
                    smallest = min(one.size for one in (*op.sources, *op.targets))
                    most = max(most, -(-op.group[1] // smallest))
    if most > _MOST_UNITS:
        raise UncheckedError(f"a chunk shared by {most} thread blocks is not followed here")
    if pipelined:
        return most, 2 * most + 1
    return (most, most + 1) if most > 1 else (1,)


def flat(block: Block) -> Iterator[tuple[int, Operation, bool]]:
    """The operations as the runtime counts them, and whether each is in a pipeline."""
    number = 0
    for op in block.operations:
        yield number, op, False
        number += 1
        for inner in op.inner if op.name == "pipeline" else ():
            yield number, inner, True
            number += 1


def peers_of(gpu: Gpu, block: Block, kind: str, channel: int) -> int:
    """The rank at the other end of a thread block's channel."""
    return gpu.channels[kind][block.channels[kind][channel]]


def _require_some_size(plan: Plan) -> None:
    """Passes a plan that fits some message: each rank has whole chunks of one size."""
    whole = plan.collective == "allgather"
    chunks = [max(1, gpu.output_chunks if whole else gpu.input_chunks) for gpu in plan.gpus]
    least = max(1, -(-plan.min_size // (plan.alignment * min(chunks))))
    if least * plan.alignment * max(chunks) > plan.max_size:
        raise VerificationError(
            f"no message of {plan.min_size} to {plan.max_size} bytes is a multiple of "
            f"{plan.alignment * max(chunks)} bytes, the alignment of {max(chunks)} chunks, so that "
            "the plan never runs"
        )


def _require_header(plan: Plan) -> None:
    if plan.protocol not in ("Simple", "LL"):
        raise VerificationError(f"protocol is {plan.protocol!r}; it must be Simple or LL")
    if not 1 <= plan.threads <= _MOST_THREADS:
        raise VerificationError(f"num_threads_per_block is {plan.threads}; it must be 1 to 1024")
    if plan.alignment < 1:
        raise VerificationError("buffer_alignment is 0; it must be at least 1")
    if plan.min_size > _MOST_MIN_SIZE:
        raise VerificationError(
            f"min_message_size is {plan.min_size}; the runtime reads it as a number of 32 bits, so "
            f"{_MOST_MIN_SIZE} is the most"
        )
    if plan.min_size > plan.max_size:
        raise VerificationError(
            f"no message has at least min_message_size = {plan.min_size} and at most "
            f"max_message_size = {plan.max_size} bytes"
        )
    if not plan.gpus:
        raise VerificationError("gpus is empty")


def _require_gpu(plan: Plan, gpu: Gpu) -> None:
    place = f"gpus[{gpu.id}]"

    def fail(message: str) -> NoReturn:
        raise VerificationError(f"{place}: {message}")

    ranks = len(plan.gpus)
    for key, chunks in (("input_chunks", gpu.input_chunks), ("output_chunks", gpu.output_chunks)):
        if chunks == 0:
            fail(f"{key} is 0; the runtime divides by it")
    for kind, peers in gpu.channels.items():
        for peer in peers:
            if peer >= ranks or peer == gpu.id:
                fail(f"a {kind} channel is connected to rank {peer}, which is no other rank")
    for i, remote in enumerate(gpu.remote_buffers):
        if remote.rank >= ranks or remote.rank == gpu.id:
            fail(f"remote_buffers[{i}] is of rank {remote.rank}, which is no other rank")
        if plan.gpus[remote.rank].chunks(remote.buffer) == 0:
            fail(
                f"remote_buffers[{i}] is the scratch of rank {remote.rank}, which has no chunks; "
                "nothing can be registered"
            )
    if not gpu.blocks:
        fail("no thread blocks; a kernel of none cannot be launched")
    if len(gpu.blocks) > _MOST_BLOCKS:
        fail(f"{len(gpu.blocks)} thread blocks cannot all be resident at once")
    for number, block in enumerate(gpu.blocks):
        if block.id != number:
            fail(
                f"threadblocks[{number}]: id is {block.id}; ids must be 0, 1, 2, ... in the order "
                "of the file, since the runtime takes operations by place and channels by id"
            )
        _require_block(plan, gpu, block)


def _require_block(plan: Plan, gpu: Gpu, block: Block) -> None:
    place = f"rank {gpu.id}, thread block {block.id}"

    def fail(message: str) -> NoReturn:
        raise VerificationError(f"{place}: {message}")

    for kind, ids in block.channels.items():
        there = len(gpu.switches) if kind == "switch" else len(gpu.channels[kind])
        if len(ids) > _MOST_TABLE:
            fail(f"{len(ids)} {kind} channels; a thread block has room for {_MOST_TABLE}")
        for channel in ids:
            if channel >= there:
                fail(f"{kind} channel {channel}, but the rank has {there} of them")
        if len(set(ids)) < len(ids):
            fail(f"a {kind} channel is in its table twice")
    for kind, ids in block.remote_buffers.items():
        if len(ids) > _MOST_TABLE:
            fail(f"{len(ids)} remote buffers by {kind}; a thread block has room for {_MOST_TABLE}")
        for number in ids:
            if number >= len(gpu.remote_buffers):
                fail(f"remote buffer {number}, but the rank has {len(gpu.remote_buffers)} of them")
            if kind not in gpu.remote_buffers[number].access:
                fail(
                    f"remote buffer {number} by {kind}, which is not among its "
                    "access_channel_types; the runtime takes another buffer instead"
                )
    count = sum(1 for _ in flat(block))
    if count > _MOST_OPERATIONS:
        fail(f"{count} operations; a thread block has room for {_MOST_OPERATIONS}")
    for number, op, inner in flat(block):
        _require_operation(plan, gpu, block, number, op, inner)


def _require_operation(
    plan: Plan, gpu: Gpu, block: Block, number: int, op: Operation, inner: bool
) -> None:
    place = f"rank {gpu.id}, thread block {block.id}, step {number} ({op.name})"

    def fail(message: str) -> NoReturn:
        raise VerificationError(f"{place}: {message}")

    if op.name in PACKETS:
        if plan.protocol != "LL":
            fail("an operation on packets needs the protocol LL, for which scratch is doubled")
        if op.channel_type == "port":
            raise UncheckedError(f"{place}: packets over port channels are not followed here")
    if op.name == "pwsf":
        fail(
            "the runtime of v0.8.0 and v0.9.0 passes an address where the source's offset belongs "
            "(mended after v0.9.0, in June 2026); expected pws"
        )
    if op.name in _NOT_FOLLOWED:
        raise UncheckedError(f"{place}: the operation is not followed here")
    if op.name not in SIGNATURES:
        fail("the runtime knows no such operation")
    if (wrong := wrong_signature(op)) is not None:
        fail(wrong)
    if inner and op.name in ("pipeline", "barrier", *PACKETS):
        raise UncheckedError(f"{place}: is not followed within a pipeline")
    if op.name == "pipeline":
        _require_pipeline(plan, op, place, fail)
    if op.name in ("sem_acquire", "sem_release"):
        if not 1 <= len(op.semaphores) <= _MOST_SEMAPHORES:
            fail(f"{len(op.semaphores)} semaphores in one operation; expected 1 to 16")
        for one in op.semaphores:
            if one >= len(gpu.semaphores):
                fail(f"semaphore {one}, but the rank has {len(gpu.semaphores)} of them")
    if plan.threads < max(len(op.channels), len(op.semaphores)):
        fail(f"one thread for each is needed, and a thread block has {plan.threads}")
    if op.name in _REDUCE and plan.alignment % _VECTOR:
        fail(
            f"buffer_alignment is {plan.alignment}; a reduction works on {_VECTOR} bytes at a "
            "time, so it must be a multiple"
        )
    if op.channel_type in block.channels:
        for channel in op.channels:
            if channel >= len(block.channels[op.channel_type]):
                fail(
                    f"channel_ids: {channel}, but the thread block's table of {op.channel_type} "
                    f"channels has {len(block.channels[op.channel_type])}"
                )
    packets = [one for side in in_packets(op) for one in side]
    for i, reference in enumerate((*op.sources, *op.targets)):
        for owner, buffer in owners(plan, gpu, block, op, reference, fail):
            size = owner.chunks(buffer)
            if packets[i] and buffer != "s":
                fail(f"puts packets to {buffer} of rank {owner.id}; they can only be in scratch")
            if buffer == "s" and plan.protocol == "LL" and not packets[i]:
                size *= 2  # as a packet is half flags
            if reference.index + reference.size > size:
                fail(
                    f"{buffer}[{reference.index + reference.size - 1}] of rank {owner.id}, whose "
                    f"{buffer} has {size} chunks"
                )
        if op.channel_type == "port" and reference.remote >= 0:
            target = gpu.remote_buffers[block.remote_buffers["port"][reference.remote]]
            peer = peers_of(gpu, block, "port", op.channels[i - len(op.sources)])
            if target.rank != peer:
                fail(
                    f"puts to a buffer of rank {target.rank} over a channel to rank {peer}; what "
                    "is signalled there says nothing about it"
                )


class _Fail(Protocol):
    """Raises an error that names the place."""

    def __call__(self, message: str) -> NoReturn: ...


def _require_pipeline(plan: Plan, op: Operation, place: str, fail: _Fail) -> None:
    if not op.inner:
        fail("has no operations")
    if op.loop_unit < 1 or op.loop_chunks < 1:
        fail("unit_size and num_chunks of iter_context must be at least 1")
    if plan.reuse_resources:
        raise UncheckedError(f"{place}: a pipeline with reuse_resources is not followed here")
    for inner in op.inner:
        for one in (*inner.sources, *inner.targets):
            if one.size < op.loop_chunks:
                fail(
                    f"goes over {op.loop_chunks} chunks, and its {inner.name} has {one.size}; "
                    "the runtime runs beyond them"
                )


def owners(
    plan: Plan, gpu: Gpu, block: Block, op: Operation, one: Reference, fail: _Fail
) -> list[tuple[Gpu, str]]:
    """Whose buffers a reference means, and which; several through a switch channel."""
    if one.remote >= 0:
        kind = op.channel_type
        table = block.remote_buffers.get(kind, ())
        if one.remote >= len(table):
            fail(
                f"buffer_id {one.remote}, but the thread block's table of remote buffers by {kind} "
                f"has {len(table)}"
            )
        remote = gpu.remote_buffers[table[one.remote]]
        return [(plan.gpus[remote.rank], remote.buffer)]
    if one.switch >= 0:
        table = block.channels["switch"]
        if one.switch >= len(table):
            fail(f"switch_channel_id {one.switch}, but its table has {len(table)}")
        switch = gpu.switches[table[one.switch]]
        return [(plan.gpus[rank], switch.buffer) for rank in switch.ranks if rank < len(plan.gpus)]
    return [(gpu, one.buffer)]


def _require_apart(plan: Plan) -> None:
    """Packets in scratch take twice the room, so that data beside them may lie where they do."""
    if plan.protocol != "LL":
        return
    packets: set[tuple[int, int]] = set()
    data: set[tuple[int, int]] = set()

    def fail(message: str) -> NoReturn:
        raise VerificationError(message)

    for gpu in plan.gpus:
        for block in gpu.blocks:
            for _, op, _ in flat(block):
                flags = [one for side in in_packets(op) for one in side]
                for packed, one in zip(flags, (*op.sources, *op.targets), strict=False):
                    for owner, buffer in owners(plan, gpu, block, op, one, fail):
                        if buffer != "s":
                            continue
                        places = range(one.index, one.index + one.size)
                        if packed:
                            packets.update(
                                (owner.id, 2 * i + half) for i in places for half in (0, 1)
                            )
                        else:
                            data.update((owner.id, i) for i in places)
    if both := packets & data:
        rank, place = min(both)
        raise UncheckedError(
            f"rank {rank} keeps data in s[{place}], where it has packets as well (s[{place // 2}] "
            "of the packets); that is not followed here"
        )


def _require_barriers(gpu: Gpu) -> None:
    """As many thread blocks must come to each barrier as it waits for."""
    sizes: dict[int, int] = {}
    blocks: dict[int, set[int]] = {}
    for block in gpu.blocks:
        for number, op, _ in flat(block):
            if op.barrier is None:
                continue
            barrier, size = op.barrier
            place = f"rank {gpu.id}, thread block {block.id}, step {number} (barrier)"
            if barrier >= _MOST_SYNCERS:
                raise VerificationError(
                    f"{place}: barrier {barrier}; the runtime has {_MOST_SYNCERS} of them"
                )
            if sizes.setdefault(barrier, size) != size:
                raise VerificationError(
                    f"{place}: for {size} thread blocks, elsewhere for {sizes[barrier]}"
                )
            blocks.setdefault(barrier, set()).add(block.id)
    for barrier, size in sizes.items():
        if len(blocks[barrier]) != size:
            raise VerificationError(
                f"rank {gpu.id}: barrier {barrier} is for {size} thread blocks, and "
                f"{len(blocks[barrier])} come to it"
            )


def _require_switches(plan: Plan) -> None:
    """All ranks of a multicast group must make it, in the same order, of the same buffer.

    The size that a file states of it the runtime stores and never reads.
    """
    made: dict[int, list[tuple[tuple[int, ...], str]]] = {
        gpu.id: [(one.ranks, one.buffer) for one in gpu.switches] for gpu in plan.gpus
    }
    for gpu in plan.gpus:
        counts = Counter(made[gpu.id])
        for group, count in counts.items():
            ranks = group[0]
            if gpu.id not in ranks or len(set(ranks)) < len(ranks) or max(ranks) >= len(made):
                raise VerificationError(
                    f"gpus[{gpu.id}]: a switch channel of ranks {', '.join(map(str, ranks))}; "
                    "expected different ranks, itself among them"
                )
            for other in ranks:
                if made[other].count(group) != count:
                    raise VerificationError(
                        f"gpus[{gpu.id}]: a switch channel of ranks {', '.join(map(str, ranks))}, "
                        f"and rank {other} does not make the same one"
                    )


def _require_same_offsets(plan: Plan, spec: Specification) -> None:
    """In place, one of both buffers begins elsewhere at each rank; only the other is reachable."""
    i_start, o_start = spec.in_place(min(1, spec.num_ranks - 1))
    moving = {buffer for buffer, start in (("i", i_start), ("o", o_start)) if start}
    for gpu in plan.gpus:
        for i, remote in enumerate(gpu.remote_buffers):
            if remote.buffer in moving:
                raise VerificationError(
                    f"gpus[{gpu.id}]: remote_buffers[{i}] is the {remote.buffer} of rank "
                    f"{remote.rank}; in place it begins elsewhere at each rank, and the runtime "
                    "adds the offset of the rank that reaches it"
                )
        for block in gpu.blocks:
            for number, op, _ in flat(block):
                if op.channel_type != "port":
                    continue
                for one in op.sources:
                    if one.buffer in moving:
                        raise VerificationError(
                            f"rank {gpu.id}, thread block {block.id}, step {number} ({op.name}): "
                            f"a port channel takes {one.buffer} from the beginning of the "
                            "allocation, and in place it begins elsewhere"
                        )
