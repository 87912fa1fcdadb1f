"""Rules: the requirements of the runtime before anything runs.

The loader checks almost nothing; an index out of range reads arbitrary memory.  The rules are from
the runtime's sources (execution_plan.cc, executor.cc, execution_kernel.hpp).  Missing signals,
races and wrong results are found by executing the plan, not here.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from syncoll.errors import UncheckedError, VerificationError
from syncoll_mscclpp.limits import MOST_MIN_SIZE, MOST_OPERATIONS, MOST_TABLE, VECTOR
from syncoll_mscclpp.reading.operations import PACKETS, SIGNATURES, in_packets, wrong_signature
from syncoll_mscclpp.reading.plan import (
    ExecutionPlan,
    PlanBlock,
    PlanGpu,
    PlanOperation,
    PlanReference,
)
from syncoll_threadblocks import STANDARD, OwnSpecification, Specification

_MOST_SYNCERS = 16
_MOST_SEMAPHORES = 16
"""Most semaphores of one operation; a rank has as many as its plan states."""

_MOST_THREADS = 1024
_MOST_BLOCKS = 1024
_MOST_UNITS = 64
_FIXED_SCRATCH = 1 << 26
"""Bytes of scratch of a plan with reuse_resources."""

_NO_WRAP = "chunks that are larger than a chunk of scratch of a fixed size are not followed here"
_REDUCE = ("re", "rre", "res", "rres")


def require_loadable(plan: ExecutionPlan) -> None:
    """Raises VerificationError unless the runtime loads a plan and reads it as it was meant.
    Raises UncheckedError for a feature that the checker does not follow."""
    for wrong in _wrong_header(plan):
        raise VerificationError(wrong)
    _require_some_size(plan)
    for gpu in plan.gpus:
        for wrong in _wrong_gpu(plan, gpu):
            raise VerificationError(f"gpus[{gpu.id}]: {wrong}")
        for block in gpu.blocks:
            for wrong in _wrong_tables(gpu, block):
                raise VerificationError(f"rank {gpu.id}, thread block {block.id}: {wrong}")
            for number, op, inner in block.flat:
                PlanStep(plan, gpu, block, number, op).require(inner)
        _require_barriers(plan, gpu)
    _require_switches(plan)
    _require_apart(plan)


def specification_of(plan: ExecutionPlan) -> OwnSpecification | None:
    """The collective of a plan, its root unknown; None if the plan does not define it.  Raises
    VerificationError if the sizes of buffers do not suit it."""
    name, stated, ranks = plan.collective, plan.stated, len(plan.gpus)
    if name not in STANDARD:
        if stated is None:
            return None
        for key, table in (("inputs", stated.inputs), ("outputs", stated.outputs)):
            if len(table) != ranks:
                raise VerificationError(
                    f"syncoll.{key}: of {len(table)} ranks, and there are {ranks} gpus"
                )
        own = OwnSpecification(stated.collective, stated.combining, stated.inputs, stated.outputs)
        require_sizes(plan, own)
        return own
    first = plan.gpus[0]
    small = first.output_chunks if name in ("reducescatter", "scatter") else first.input_chunks
    share = small // ranks if name == "alltoall" else small
    if share < 1:
        raise VerificationError(
            f"gpus[0]: {small} input_chunks for an alltoall of {ranks} ranks; expected a multiple"
        )
    spec = Specification(name, ranks, share)
    _require_buffers(plan, spec, f"where a rank's part has {share}")
    if plan.inplace:
        _require_same_offsets(plan, spec)
    return spec


def require_sizes(plan: ExecutionPlan, spec: OwnSpecification) -> None:
    """Raises VerificationError unless buffers suit a collective that is stated by its chunks."""
    if plan.inplace:
        raise VerificationError(
            f"inplace is true; this is not defined for {spec.collective}, which is not a standard "
            "collective"
        )
    _require_buffers(plan, spec, "there")


def _require_buffers(plan: ExecutionPlan, spec: OwnSpecification, where: str) -> None:
    for gpu in plan.gpus:
        for key, declared, wanted in (
            ("input_chunks", gpu.input_chunks, spec.inputs_of(gpu.id)),
            ("output_chunks", gpu.output_chunks, spec.outputs_of(gpu.id)),
        ):
            if declared != wanted:
                raise VerificationError(
                    f"gpus[{gpu.id}]: {key} is {declared}, but that buffer of {spec.collective} "
                    f"has {wanted} chunks {where}"
                )


def links_of(plan: ExecutionPlan) -> frozenset[tuple[int, int]]:
    """The ranks between which a plan that `require_loadable` passed moves data."""
    found = set()
    for step in steps_of(plan, plan.gpus):
        for i, reference in enumerate(step.op.pieces):
            for owner, _ in step.owners(reference):
                ends = owner.id, step.gpu.id
                found.add(ends if i < len(step.op.sources) else ends[::-1])
    return frozenset((a, b) for a, b in found if a != b)


def within_boxes_of(plan: ExecutionPlan) -> frozenset[tuple[str, int, int]]:
    """The channels that exist only within a box, memory and switch, as (kind, rank, rank)."""
    joined = [("memory", gpu.id, peer) for gpu in plan.gpus for peer in gpu.channels["memory"]]
    joined += [
        ("switch", *pair)
        for gpu in plan.gpus
        for ranks, _ in gpu.switches
        for pair in pairwise(ranks)
    ]
    return frozenset((f"{name} channel", min(a, b), max(a, b)) for name, a, b in joined)


def units_of(plan: ExecutionPlan) -> tuple[tuple[int, int], ...]:
    """The numbers of equal pieces of a chunk, and of a chunk of scratch, for which the plan is
    executed.

    One, unless groups of thread blocks share operations, or a pipeline moves chunks in pieces: then
    the borders of pieces depend on the size of a chunk, and two sizes are checked, if they are not
    too large (UncheckedError).  A pipeline in scratch of a fixed size is also checked for chunks
    that are larger than a chunk of scratch.
    """
    most, pipelined = 1, False
    for _, block in plan.blocks:
        for _, op, inner in block.flat:
            pipelined = pipelined or inner
            if op.pieces:
                most = max(most, -(-op.group.size // min(one.size for one in op.pieces)))
    if most > _MOST_UNITS:
        raise UncheckedError(f"a chunk shared by {most} thread blocks is not followed here")
    if pipelined:
        sizes = (most, most), (2 * most + 1, 2 * most + 1)
        return (*sizes, *_units_in_fixed_scratch(plan, most))
    return ((most, most), (most + 1, most + 1)) if most > 1 else ((1, 1),)


def _units_in_fixed_scratch(plan: ExecutionPlan, most: int) -> Iterator[tuple[int, int]]:
    """The pieces of chunks that wrap around in a chunk of scratch, if there are such messages.
    Raises UncheckedError for such chunks outside of pipelines, or if pieces have several sizes."""
    if not plan.reuse_resources:
        return
    for gpu in plan.gpus:
        room = (_FIXED_SCRATCH >> plan.double_scratch) // max(1, gpu.scratch_chunks)
        if gpu.scratch_chunks == 0 or plan.max_size // gpu.input_chunks <= room:
            continue
        steps = list(steps_of(plan, (gpu,)))
        units = {one.op.loop.unit for one in steps if one.op.name == "pipeline"}
        inner = {id(op) for step in steps for op in step.op.inner}
        for step in steps:
            if id(step.op) not in inner and any(
                buffer == "s" for one in step.op.pieces for _, buffer in step.owners(one)
            ):
                raise UncheckedError(f"{step.place}: {_NO_WRAP}")
        if units:
            unit = units.pop()
            pieces = room // max(1, unit)
            if units or most > 1 or room % unit or pieces + 2 > _MOST_UNITS:
                raise UncheckedError(f"rank {gpu.id}: {_NO_WRAP}")
            yield pieces + 2, pieces


def steps_of(plan: ExecutionPlan, gpus: Sequence[PlanGpu]) -> "Iterator[PlanStep]":
    """The operations of some ranks, with their places."""
    for gpu in gpus:
        for block in gpu.blocks:
            for number, op, _ in block.flat:
                yield PlanStep(plan, gpu, block, number, op)


def _wrong_header(plan: ExecutionPlan) -> Iterator[str]:
    least, most = plan.min_size, plan.max_size
    if plan.protocol not in ("Simple", "LL"):
        yield f"protocol is {plan.protocol!r}; it must be Simple or LL"
    if not 1 <= plan.threads <= _MOST_THREADS:
        yield f"num_threads_per_block is {plan.threads}; it must be 1 to {_MOST_THREADS}"
    if plan.alignment < 1:
        yield "buffer_alignment is 0; it must be at least 1"
    if least > MOST_MIN_SIZE:
        yield (
            f"min_message_size is {least}; the runtime reads it as a number of 32 bits, so "
            f"{MOST_MIN_SIZE} is the most"
        )
    if least > most:
        sizes = f"at least min_message_size = {least} and at most max_message_size = {most} bytes"
        yield f"no message has {sizes}"
    if not plan.gpus:
        yield "gpus is empty"
    for rank, gpu in enumerate(plan.gpus):
        if gpu.id != rank:
            yield f"gpus[{rank}]: id is {gpu.id}; it must be {rank}, its place"


def _require_some_size(plan: ExecutionPlan) -> None:
    """Raises VerificationError if no message has whole chunks of one size at each rank."""
    whole = plan.collective == "allgather"
    chunks = [max(1, gpu.output_chunks if whole else gpu.input_chunks) for gpu in plan.gpus]
    least = max(1, -(-plan.min_size // (plan.alignment * min(chunks))))
    if least * plan.alignment * max(chunks) > plan.max_size:
        raise VerificationError(
            f"no message of {plan.min_size} to {plan.max_size} bytes is a multiple of "
            f"{plan.alignment * max(chunks)} bytes, the alignment of {max(chunks)} chunks, so "
            "the plan never runs"
        )


def _wrong_gpu(plan: ExecutionPlan, gpu: PlanGpu) -> Iterator[str]:
    """The errors of a rank, except its thread blocks'."""
    ranks = len(plan.gpus)
    for key, chunks in (("input_chunks", gpu.input_chunks), ("output_chunks", gpu.output_chunks)):
        if chunks == 0:
            yield f"{key} is 0; the runtime divides by it"
    for kind, peers in gpu.channels.items():
        for peer in peers:
            if peer >= ranks or peer == gpu.id:
                yield f"a {kind} channel is connected to rank {peer}, which is not another rank"
    for i, remote in enumerate(gpu.remote_buffers):
        if remote.rank >= ranks or remote.rank == gpu.id:
            yield f"remote_buffers[{i}] is of rank {remote.rank}, which is not another rank"
        elif plan.gpus[remote.rank].chunks(remote.buffer) == 0:
            yield (
                f"remote_buffers[{i}] is the scratch of rank {remote.rank}, which has no chunks; "
                "nothing can be registered"
            )
    if not gpu.blocks:
        yield "no thread blocks; a kernel of none cannot be launched"
    if len(gpu.blocks) > _MOST_BLOCKS:
        yield f"{len(gpu.blocks)} thread blocks cannot all be resident at once"
    for number, block in enumerate(gpu.blocks):
        if block.id != number:
            yield (
                f"threadblocks[{number}]: id is {block.id}; ids must be 0, 1, 2, ... in the order "
                "of the file, since the runtime takes operations by place and channels by id"
            )


def _wrong_tables(gpu: PlanGpu, block: PlanBlock) -> Iterator[str]:
    """The errors in the tables of a thread block, or in the number of its operations."""
    for kind, ids in block.channels.items():
        there = len(gpu.switches) if kind == "switch" else len(gpu.channels[kind])
        if len(ids) > MOST_TABLE:
            yield f"{len(ids)} {kind} channels; a thread block has at most {MOST_TABLE}"
        for channel in ids:
            if channel >= there:
                yield f"{kind} channel {channel}, but the rank has {there} of them"
        if len(set(ids)) < len(ids):
            yield f"a {kind} channel is in its table twice"
    there = len(gpu.remote_buffers)
    for kind, ids in block.remote_buffers.items():
        if len(ids) > MOST_TABLE:
            yield f"{len(ids)} remote buffers by {kind}; a thread block has at most {MOST_TABLE}"
        for number in ids:
            if number >= there:
                yield f"remote buffer {number}, but the rank has {there} of them"
            elif kind not in gpu.remote_buffers[number].access:
                yield (
                    f"remote buffer {number} by {kind}, which is not among its "
                    "access_channel_types; the runtime takes another buffer instead"
                )
    if len(block.flat) > MOST_OPERATIONS:
        yield f"{len(block.flat)} operations; a thread block has at most {MOST_OPERATIONS}"


class PlanStep:
    """An operation with its place."""

    def __init__(
        self, plan: ExecutionPlan, gpu: PlanGpu, block: PlanBlock, number: int, op: PlanOperation
    ) -> None:
        self.plan, self.gpu, self.block, self.op = plan, gpu, block, op
        self.place = f"rank {gpu.id}, thread block {block.id}, step {number} ({op.name})"

    def require(self, inner: bool) -> None:
        """Raises VerificationError if an operation is invalid."""
        for wrong in self._wrong(inner):
            raise VerificationError(f"{self.place}: {wrong}")
        packets = in_packets(self.op)
        for i, reference in enumerate(self.op.pieces):
            for wrong in self._wrong_piece(i, reference, packets[i]):
                raise VerificationError(f"{self.place}: {wrong}")

    def _wrong(self, inner: bool) -> Iterator[str]:
        plan, gpu, op = self.plan, self.gpu, self.op
        if op.name in PACKETS:
            if plan.protocol != "LL":
                yield "an operation on packets needs the protocol LL, for which scratch is doubled"
            if op.name == "ppkt" and op.channel_type == "port" and not plan.reuse_resources:
                yield (
                    "over port channels the runtime of v0.9.0 takes the source from the memory of "
                    "the first plan that its process loaded; expected rppkt, or reuse_resources"
                )
        if op.name == "pwsf":
            yield (
                "the runtime of v0.8.0 and v0.9.0 passes an address instead of the source's "
                "offset (fixed after v0.9.0, in June 2026); expected pws"
            )
        if op.name not in SIGNATURES:
            yield "the runtime does not know this operation"
        if (wrong := wrong_signature(op)) is not None:
            yield wrong
        if inner and op.name in ("pipeline", "barrier", *PACKETS):
            raise UncheckedError(f"{self.place}: is not followed within a pipeline")
        if op.name == "pipeline":
            yield from self._wrong_pipeline()
        if op.name in ("sem_acquire", "sem_release"):
            if not 1 <= len(op.semaphores) <= _MOST_SEMAPHORES:
                yield (
                    f"{len(op.semaphores)} semaphores in one operation; expected 1 to "
                    f"{_MOST_SEMAPHORES}"
                )
            for one in op.semaphores:
                if one >= len(gpu.semaphores):
                    yield f"semaphore {one}, but the rank has {len(gpu.semaphores)} of them"
        if plan.threads < max(len(op.channels), len(op.semaphores)):
            yield f"one thread for each is needed, and a thread block has {plan.threads}"
        if op.name in _REDUCE and plan.alignment % VECTOR:
            yield (
                f"buffer_alignment is {plan.alignment}; a reduction works on {VECTOR} bytes at a "
                "time, so it must be a multiple"
            )
        if (table := self.block.channels.get(op.channel_type)) is not None:
            for channel in op.channels:
                if channel >= len(table):
                    yield (
                        f"channel_ids: {channel}, but the thread block's table of "
                        f"{op.channel_type} channels has {len(table)}"
                    )

    def _wrong_pipeline(self) -> Iterator[str]:
        op = self.op
        if not op.inner:
            yield "has no operations"
        if op.loop.unit < 1 or op.loop.chunks < 1:
            yield "unit_size and num_chunks of iter_context must be at least 1"
        for inner in op.inner:
            for one in inner.pieces:
                if one.size < op.loop.chunks:
                    yield (
                        f"covers {op.loop.chunks} chunks, and its {inner.name} has {one.size}; "
                        "the runtime runs beyond them"
                    )

    def _wrong_piece(self, i: int, reference: PlanReference, packed: bool) -> Iterator[str]:
        op, plan, end = self.op, self.plan, reference.index + reference.size
        for owner, buffer in self.owners(reference):
            size = owner.chunks(buffer)
            if packed and buffer != "s":
                yield f"puts packets to {buffer} of rank {owner.id}; they can only be in scratch"
            if buffer == "s" and plan.protocol == "LL" and not packed:
                size *= 2  # as a packet is half flags
            if end > size:
                yield (f"{buffer}[{end - 1}] of rank {owner.id}, whose {buffer} has {size} chunks")
        if op.channel_type == "port" and reference.remote is not None:
            target = self.gpu.remote_buffers[self.block.remote_buffers["port"][reference.remote]]
            channel = self.block.channels["port"][op.channels[i - len(op.sources)]]
            peer = self.gpu.channels["port"][channel]
            if target.rank != peer:
                yield (
                    f"puts to a buffer of rank {target.rank} over a channel to rank {peer}; "
                    "signals there do not cover the put"
                )

    def owners(self, one: PlanReference) -> list[tuple[PlanGpu, str]]:
        """The ranks and buffers of a reference; several through a switch channel."""
        gpus, block = self.plan.gpus, self.block
        if one.remote is not None:
            kind = self.op.channel_type
            table = block.remote_buffers.get(kind, ())
            if one.remote >= len(table):
                raise VerificationError(
                    f"{self.place}: buffer_id {one.remote}, but the thread block's table of remote "
                    f"buffers by {kind} has {len(table)}"
                )
            remote = self.gpu.remote_buffers[table[one.remote]]
            return [(gpus[remote.rank], remote.buffer)]
        if one.switch is not None:
            table = block.channels["switch"]
            if one.switch >= len(table):
                raise VerificationError(
                    f"{self.place}: switch_channel_id {one.switch}, but its table has {len(table)}"
                )
            ranks, buffer = self.gpu.switches[table[one.switch]]
            return [(gpus[rank], buffer) for rank in ranks if rank < len(gpus)]
        assert one.buffer is not None
        return [(self.gpu, one.buffer)]


def _require_apart(plan: ExecutionPlan) -> None:
    """Packets in scratch take twice the space, so they may overlap data there."""
    if plan.protocol != "LL":
        return
    packets: set[tuple[int, int]] = set()
    data: set[tuple[int, int]] = set()
    for step in steps_of(plan, plan.gpus):
        for packed, one in zip(in_packets(step.op), step.op.pieces, strict=True):
            for owner, buffer in step.owners(one):
                if buffer != "s":
                    continue
                places = range(one.index, one.index + one.size)
                if packed:
                    packets.update((owner.id, 2 * i + half) for i in places for half in (0, 1))
                else:
                    data.update((owner.id, i) for i in places)
    if both := packets & data:
        rank, place = min(both)
        raise UncheckedError(
            f"rank {rank} keeps data in s[{place}], where it has packets as well (s[{place // 2}] "
            "of the packets); that is not followed here"
        )


def _require_barriers(plan: ExecutionPlan, gpu: PlanGpu) -> None:
    """The thread blocks that reach a barrier must be as many as it waits for."""
    sizes: dict[int, int] = {}
    blocks: dict[int, set[int]] = {}
    for step in steps_of(plan, (gpu,)):
        op = step.op
        if op.barrier is None or op.barrier_size is None or op.name != "barrier":
            continue
        if op.barrier >= _MOST_SYNCERS:
            has = f"the runtime has {_MOST_SYNCERS} of them"
            raise VerificationError(f"{step.place}: barrier {op.barrier}; {has}")
        if (size := sizes.setdefault(op.barrier, op.barrier_size)) != op.barrier_size:
            both = f"for {op.barrier_size} thread blocks, elsewhere for {size}"
            raise VerificationError(f"{step.place}: {both}")
        blocks.setdefault(op.barrier, set()).add(step.block.id)
    for barrier, size in sizes.items():
        if len(blocks[barrier]) != size:
            raise VerificationError(
                f"rank {gpu.id}: barrier {barrier} is for {size} thread blocks, and "
                f"{len(blocks[barrier])} reach it"
            )


def _require_switches(plan: ExecutionPlan) -> None:
    """All ranks of a multicast group must make it, in the same order, of the same buffer."""
    made: Mapping[int, tuple[tuple[tuple[int, ...], str], ...]] = {
        gpu.id: gpu.switches for gpu in plan.gpus
    }
    for gpu in plan.gpus:
        for group, count in Counter(made[gpu.id]).items():
            ranks = group[0]
            words = f"gpus[{gpu.id}]: a switch channel of ranks {', '.join(map(str, ranks))}"
            if gpu.id not in ranks or len(set(ranks)) < len(ranks) or max(ranks) >= len(made):
                raise VerificationError(f"{words}; expected different ranks, itself among them")
            for other in ranks:
                if made[other].count(group) != count:
                    raise VerificationError(f"{words}, and rank {other} does not make the same one")


def _require_same_offsets(plan: ExecutionPlan, spec: Specification) -> None:
    """In place, one buffer begins at another offset at each rank; only the other is reachable."""
    i_start, o_start = spec.in_place(min(1, spec.num_ranks - 1))
    moving = {"i"} if i_start else {"o"} if o_start else set()
    for gpu in plan.gpus:
        for i, remote in enumerate(gpu.remote_buffers):
            if remote.buffer in moving:
                raise VerificationError(
                    f"gpus[{gpu.id}]: remote_buffers[{i}] is the {remote.buffer} of rank "
                    f"{remote.rank}; in place its offset differs by rank, and the runtime "
                    "adds the offset of the rank that reaches it"
                )
    for step in steps_of(plan, plan.gpus):
        for one in step.op.sources:
            if step.op.channel_type == "port" and one.buffer in moving:
                raise VerificationError(
                    f"{step.place}: a port channel takes {one.buffer} from the beginning of the "
                    "allocation, but in place it begins at an offset"
                )
