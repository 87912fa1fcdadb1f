"""Rules: what a runtime needs of a file before anything runs.

Some of it the runtimes check when they load a file.  The rest they do not check, and then read
beyond a buffer, connect to nobody, or wait for ever.  A missing message or flag and a wrong result
are not looked for here but by executing the file.
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import NoReturn, Protocol

from syncoll.errors import VerificationError
from syncoll_msccl_xml.limits import (
    LAST_AWAITED,
    LAST_OFFSET,
    LONGEST_NAME,
    MOST_NODES,
    MOST_PER_CHANNEL,
    TAKEN_NAME,
    Runtime,
)
from syncoll_msccl_xml.reading.algorithm import XmlAlgorithm, XmlBlock, XmlGpu, XmlStep, place
from syncoll_threadblocks import STANDARD, Specification

__all__ = ["READS", "RECEIVES", "SENDS", "WRITES", "require_loadable", "specification_of"]

_KINDS = ("s", "r", "rcs", "rrc", "rrs", "rrcs", "cpy", "re", "nop")
SENDS = frozenset({"s", "rcs", "rrs", "rrcs"})
RECEIVES = frozenset({"r", "rcs", "rrc", "rrs", "rrcs"})
READS = frozenset({"s", "rrc", "rrs", "rrcs", "cpy", "re"})
"""The kinds that read their source."""
WRITES = frozenset({"r", "rcs", "rrc", "rrcs", "cpy", "re"})
"""The kinds that write their destination; re reads it too."""

_PROTOCOLS = ("Simple", "LL", "LL128")
_BUFFERS = ("i", "o", "s")
_MOST_COUNT = 71
_MOST_CHILDREN = 1024
"""Elements directly within another one."""

_FUSION = 16
"""Reductions into one place that a kernel has room for at a time."""

_MOST_BYTES = 1 << 27
"""Of messages where the file does not say it."""


class _Fail(Protocol):
    """Raises an error that names the place."""

    def __call__(self, message: str) -> NoReturn: ...


def require_loadable(algorithm: XmlAlgorithm, dialect: Runtime) -> None:
    """Passes a file that a runtime loads, launches, and reads as it was meant.

    Raises:
        VerificationError: naming the rule that is broken, and where.
    """
    _require_header(algorithm, dialect)
    _require_ranks(algorithm)
    for gpu in algorithm.gpus:
        _require_blocks(algorithm, gpu, dialect)
    _require_both_ends(algorithm)
    for gpu in algorithm.gpus:
        for block in gpu.blocks:
            for position, step in enumerate(block.steps):
                _require_step(gpu, block, position, step, dialect)
            _require_dependencies(gpu, block)
            _require_fusion(gpu, block)


def specification_of(algorithm: XmlAlgorithm, dialect: Runtime) -> Specification | None:
    """The collective of a file, its root unknown; None where the file does not say what it does.

    Raises:
        VerificationError: when nchunksperloop or the sizes of buffers do not suit it.
    """
    name = dialect.collectives[algorithm.coll]
    if name not in STANDARD:
        return None
    ranks, chunks = algorithm.ngpus, algorithm.nchunksperloop
    share = chunks
    if name in ("allgather", "reducescatter", "alltoall"):
        share, rest = divmod(chunks, ranks)
        if rest or not share:
            raise VerificationError(
                f"line {algorithm.line}: nchunksperloop is {chunks}, and in {algorithm.coll} it "
                f"must be a multiple of ngpus = {ranks}"
            )
    spec = Specification(name, ranks, share)
    for gpu in algorithm.gpus:
        for key, declared, actual in (
            ("i_chunks", gpu.i_chunks, spec.input_size),
            ("o_chunks", gpu.o_chunks, spec.output_size),
        ):
            if declared > actual or (dialect.sizes_checked and declared not in (0, actual)):
                raise VerificationError(
                    f"rank {gpu.id}, line {gpu.line}: {key} is {declared}, but that buffer of "
                    f"{algorithm.coll} has {actual} chunks with nchunksperloop = {chunks}"
                )
    return spec


def _require_header(algorithm: XmlAlgorithm, dialect: Runtime) -> None:
    def fail(message: str) -> NoReturn:
        raise VerificationError(f"line {algorithm.line}: {message}")

    present = {
        "name": algorithm.name,
        "outofplace": algorithm.outofplace,
        "minBytes": algorithm.min_bytes,
        "maxBytes": algorithm.max_bytes,
    }
    for key in dialect.needs:
        if present[key] is None:
            fail(f"attribute {key} of algo not found, which {dialect.title} needs")
    if algorithm.proto not in _PROTOCOLS:
        fail(f"proto is {algorithm.proto!r}; it must be Simple, LL or LL128")
    if algorithm.coll not in dialect.collectives:
        known = ", ".join(dialect.collectives)
        fail(f"coll is {algorithm.coll!r}; {dialect.title} knows {known}")
    if algorithm.coll in dialect.uncalled:
        fail(f"{algorithm.coll} is never chosen: {dialect.title} runs no such call from a file")
    if dialect.names_checked and algorithm.name is not None:
        if len(algorithm.name) > LONGEST_NAME:
            fail(f"the name has more than {LONGEST_NAME} characters")
        if algorithm.name == TAKEN_NAME and algorithm.coll == "alltoall":
            fail("an alltoall of the name 2D is not executed; the runtime has one of its own")
        if algorithm.nthreads is not None and (algorithm.nthreads < 0 or algorithm.nthreads % 32):
            fail(f"nthreads is {algorithm.nthreads}; it must be a multiple of 32")
    if not 1 <= algorithm.nchannels <= dialect.most_channels:
        fail(f"nchannels is {algorithm.nchannels}; it must be 1 to {dialect.most_channels}")
    if not 1 <= algorithm.ngpus <= _MOST_CHILDREN:
        fail(f"ngpus is {algorithm.ngpus}; it must be 1 to {_MOST_CHILDREN}")
    if not 1 <= algorithm.nchunksperloop <= LAST_OFFSET + 1:
        fail(
            f"nchunksperloop is {algorithm.nchunksperloop}; it must be 1 to {LAST_OFFSET + 1}, "
            "since no step can name a chunk beyond"
        )
    _require_placement(algorithm, dialect, fail)
    least = algorithm.min_bytes or 0
    most = _MOST_BYTES if algorithm.max_bytes is None else algorithm.max_bytes
    if least < 0 or most < 0:
        fail("minBytes and maxBytes must not be negative")
    if most == 0 and not dialect.exclusive_end:
        return  # no limit
    if most < least or (dialect.exclusive_end and most == least):
        what = "below" if dialect.exclusive_end else "of at most"
        fail(f"no message has at least minBytes = {least} and is {what} maxBytes = {most}")
    most -= dialect.exclusive_end
    if most // algorithm.nchunksperloop * algorithm.nchunksperloop < max(1, least):
        fail(
            f"no message of {least} to {most} bytes is a multiple of nchunksperloop = "
            f"{algorithm.nchunksperloop}, so that it is never chosen"
        )


def _require_placement(algorithm: XmlAlgorithm, dialect: Runtime, fail: _Fail) -> None:
    both = (("inplace", algorithm.inplace), ("outofplace", algorithm.outofplace))
    for key, value in both:
        if value not in (None, 0, 1):
            fail(f"{key} is {value}; it must be 0 or 1")
    if "outofplace" in dialect.needs:
        if not algorithm.inplace and not algorithm.outofplace:
            fail("inplace and outofplace are both 0, so it is never chosen")
    elif algorithm.inplace and algorithm.coll in dialect.not_in_place:
        fail(f"{dialect.title} refuses an {algorithm.coll} in place")


def _require_ranks(algorithm: XmlAlgorithm) -> None:
    if len(algorithm.gpus) > _MOST_CHILDREN:
        raise VerificationError(f"{len(algorithm.gpus)} gpus; the parser has room for 1024")
    seen: set[int] = set()
    for gpu in algorithm.gpus:
        if not 0 <= gpu.id < algorithm.ngpus:
            raise VerificationError(
                f"line {gpu.line}: gpu id {gpu.id}, but ngpus is {algorithm.ngpus}"
            )
        if gpu.id in seen:
            raise VerificationError(f"line {gpu.line}: a second gpu of id {gpu.id}")
        seen.add(gpu.id)
    missing = [rank for rank in range(algorithm.ngpus) if rank not in seen]
    if missing:
        raise VerificationError(f"rank {missing[0]} of {algorithm.ngpus} has no gpu element")


def _require_blocks(algorithm: XmlAlgorithm, gpu: XmlGpu, dialect: Runtime) -> None:
    here = f"rank {gpu.id}, line {gpu.line}"
    for key, value in (("i", gpu.i_chunks), ("o", gpu.o_chunks), ("s", gpu.s_chunks)):
        if value < 0:
            raise VerificationError(f"{here}: {key}_chunks is {value}; it must be at least 0")
    if len(gpu.blocks) > dialect.most_blocks:
        raise VerificationError(
            f"{here}: {len(gpu.blocks)} thread blocks; {dialect.title} has room for "
            f"{dialect.most_blocks}"
        )
    nodes = 1 + len(algorithm.gpus) + sum(1 + len(block.steps) for block in gpu.blocks)
    if nodes > MOST_NODES:
        raise VerificationError(
            f"{here}: it reads {nodes} elements; the parser has room for {MOST_NODES}"
        )
    for expected, block in enumerate(gpu.blocks):
        if block.id != expected:
            raise VerificationError(
                f"{place(gpu.id, block)}: thread block ids must be 0, 1, 2, …, each once; "
                f"{expected} was expected"
            )
    sending: Counter[int] = Counter()
    receiving: Counter[int] = Counter()
    for block in gpu.blocks:
        _require_block(algorithm, gpu, block, dialect)
        sending[block.chan] += block.send >= 0
        receiving[block.chan] += block.recv >= 0
        if max(sending[block.chan], receiving[block.chan]) > MOST_PER_CHANNEL:
            raise VerificationError(
                f"{place(gpu.id, block)}: more than {MOST_PER_CHANNEL} thread blocks send or "
                f"receive on channel {block.chan}"
            )


def _require_block(algorithm: XmlAlgorithm, gpu: XmlGpu, block: XmlBlock, dialect: Runtime) -> None:
    here = place(gpu.id, block)
    for key, peer in (("send", block.send), ("recv", block.recv)):
        if peer == gpu.id:
            raise VerificationError(f"{here}: {key} is the rank itself")
        if not -1 <= peer < algorithm.ngpus:
            raise VerificationError(
                f"{here}: {key} is {peer}; it must be -1 or a rank below {algorithm.ngpus}"
            )
    if not 0 <= block.chan < algorithm.nchannels:
        raise VerificationError(
            f"{here}: chan is {block.chan}; with nchannels = {algorithm.nchannels} it must be 0 to "
            f"{algorithm.nchannels - 1}"
        )
    if len(block.steps) > dialect.most_steps:
        raise VerificationError(
            f"{here}: {len(block.steps)} steps; {dialect.title} has room for {dialect.most_steps}"
        )


def _require_both_ends(algorithm: XmlAlgorithm) -> None:
    """Every connection has one thread block at each end, whether or not anything is sent."""
    sending: dict[tuple[int, int, int], str] = {}
    receiving: dict[tuple[int, int, int], str] = {}
    for gpu in algorithm.gpus:
        for block in gpu.blocks:
            here = place(gpu.id, block)
            for ends, peer, key, verb in (
                (sending, block.send, (gpu.id, block.send, block.chan), "sends to"),
                (receiving, block.recv, (block.recv, gpu.id, block.chan), "receives from"),
            ):
                if peer < 0:
                    continue
                if key in ends:
                    raise VerificationError(
                        f"{here}: it {verb} rank {peer} on channel {block.chan}, as does "
                        f"{ends[key]}; thread blocks cannot share a connection"
                    )
                ends[key] = here
    for (a, b, channel), here in sending.items():
        if (a, b, channel) not in receiving:
            raise VerificationError(
                f"{here}: it sends to rank {b} on channel {channel}, where no thread block of "
                f"rank {b} receives from rank {a}; setting up the connection hangs"
            )
    for (a, b, channel), here in receiving.items():
        if (a, b, channel) not in sending:
            raise VerificationError(
                f"{here}: it receives from rank {a} on channel {channel}, where no thread block of "
                f"rank {a} sends to rank {b}; setting up the connection hangs"
            )


def _require_step(
    gpu: XmlGpu, block: XmlBlock, position: int, step: XmlStep, dialect: Runtime
) -> None:
    def fail(message: str) -> NoReturn:
        raise VerificationError(f"{place(gpu.id, block, position)}: {message}")

    if step.type not in _KINDS:
        fail(f"type {step.type!r} is none of {', '.join(_KINDS)}, those that are executed")
    if step.type in RECEIVES - {"r"} and not dialect.fuses:
        fail(
            f"{dialect.title} refuses {step.type} when it is launched; it runs only s, r, cpy, "
            "re and nop"
        )
    if step.s != position:
        fail(f"s is {step.s}; runtimes count steps as they stand in the file, from 0")
    for key, buffer in (("srcbuf", step.srcbuf), ("dstbuf", step.dstbuf)):
        if buffer not in _BUFFERS:
            fail(f"{key} is {buffer!r}; it must be i, o or s")
    if step.type == "nop":
        return
    if not 1 <= step.cnt <= _MOST_COUNT:
        fail(f"cnt is {step.cnt}; it must be 1 to {_MOST_COUNT}")
    if step.hasdep not in (0, 1):
        fail(f"hasdep is {step.hasdep}; it must be 0 or 1")
    if step.type in SENDS and block.send < 0:
        fail("it sends, but its thread block has no send peer")
    if step.type in RECEIVES and block.recv < 0:
        fail("it receives, but its thread block has no recv peer")
    sizes = {"i": gpu.i_chunks, "o": gpu.o_chunks, "s": gpu.s_chunks}
    for used, buffer, offset, side in (
        (step.type in READS, step.srcbuf, step.srcoff, "source"),
        (step.type in WRITES, step.dstbuf, step.dstoff, "destination"),
    ):
        if not used:
            continue
        if offset < 0 or offset + step.cnt > sizes[buffer]:
            fail(
                f"out of bounds: its {side} is {buffer}[{offset}] to "
                f"{buffer}[{offset + step.cnt - 1}], and {buffer}_chunks is {sizes[buffer]}"
            )
        if offset + step.cnt - 1 > LAST_OFFSET:
            fail(f"{side} {buffer}[{offset}]: an offset is kept in 16 bits")


def _require_dependencies(gpu: XmlGpu, block: XmlBlock) -> None:
    """Dependencies name a step that exists; nops stand right before the step they belong to."""
    for position, step in enumerate(block.steps):
        here = place(gpu.id, block, position)
        if step.depid < -1:
            raise VerificationError(f"{here}: depid is {step.depid}; it must be -1 or more")
        if step.depid > LAST_AWAITED:
            raise VerificationError(
                f"{here}: depid is {step.depid}; it is kept in 8 bits, so it must be at most "
                f"{LAST_AWAITED}"
            )
        if step.depid >= 0:
            if step.depid >= len(gpu.blocks):
                raise VerificationError(
                    f"{here}: waits for thread block {step.depid}, but rank {gpu.id} has "
                    f"{len(gpu.blocks)}"
                )
            awaited = gpu.blocks[step.depid].steps
            if not 0 <= step.deps < len(awaited):
                raise VerificationError(
                    f"{here}: waits for step {step.deps} of thread block {step.depid}, which has "
                    f"{len(awaited)} steps"
                )
        if step.type == "nop":
            if step.depid < 0:
                raise VerificationError(
                    f"{here}: a nop without a dependency; runtimes drop it and miscount the steps "
                    "behind it"
                )
            if position + 1 == len(block.steps):
                raise VerificationError(
                    f"{here}: a nop at the end; runtimes drop it with its dependency"
                )
            after = block.steps[position + 1]
            if after.depid < 0:
                raise VerificationError(
                    f"{here}: a nop must be followed by a step with a dependency of its own; step "
                    f"{position + 1} ({after.type}) has none"
                )


def _require_fusion(gpu: XmlGpu, block: XmlBlock) -> None:
    """Reductions into the same place that follow one another are done at once.

    A runtime counts those of a thread block over all its steps, and ends a run when the count is
    16; a run that begins later can outgrow the kernel's array.
    """
    number = 0  # of reductions so far
    runs = groupby(enumerate(_runs(block.steps)), key=lambda pair: pair[1])
    for run, members in runs:
        positions = [position for position, _ in members]
        if run < 0:
            continue
        first = block.steps[positions[0]]
        length = 0
        for position in positions:
            number += 1
            length += 1
            if block.steps[position].cnt != first.cnt:
                raise VerificationError(
                    f"{place(gpu.id, block, position)}: runtimes do it at once with the reductions "
                    f"before it, and their cnt differ ({first.cnt} and {block.steps[position].cnt})"
                )
            if length > _FUSION:
                raise VerificationError(
                    f"{place(gpu.id, block, position)}: more than {_FUSION} reductions into one "
                    "place in a row, which overflow an array of the kernel; another step or "
                    'hasdep="1" in between prevents it'
                )
            if number == _FUSION:
                length = 0


def _runs(steps: list[XmlStep]) -> list[int]:
    """For each step the number of the run of reductions it is in; -1 for others."""
    result: list[int] = []
    run = -1
    before: XmlStep | None = None
    for step in steps:
        if step.type == "re":
            together = (
                before is not None
                and before.type == "re"
                and (before.dstbuf, before.dstoff, before.srcbuf)
                == (step.dstbuf, step.dstoff, step.srcbuf)
                and step.depid == -1
                and before.hasdep == 0
            )
            run += not together
            result.append(run)
        else:
            result.append(-1)
        before = step
    return result
