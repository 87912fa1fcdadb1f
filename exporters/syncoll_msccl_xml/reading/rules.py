"""Rules: the requirements of a runtime before anything runs.

Runtimes check some of them when they load a file; if others are violated, they read beyond a
buffer, connect to no rank, or wait forever.  Missing messages or flags and wrong results are found
by executing the file, not here.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from syncoll.errors import VerificationError
from syncoll_msccl_xml.limits import (
    LAST_AWAITED,
    LAST_OFFSET,
    LONGEST_NAME,
    MOST_COUNT,
    MOST_NODES,
    MOST_PER_CHANNEL,
    TAKEN_NAME,
    Runtime,
)
from syncoll_msccl_xml.reading.algorithm import XmlAlgorithm, XmlBlock, XmlGpu, place
from syncoll_threadblocks import STANDARD, Specification

_KINDS = ("s", "r", "rcs", "rrc", "rrs", "rrcs", "cpy", "re", "nop")
SENDS = frozenset({"s", "rcs", "rrs", "rrcs"})
RECEIVES = frozenset({"r", "rcs", "rrc", "rrs", "rrcs"})
READS = frozenset({"s", "rrc", "rrs", "rrcs", "cpy", "re"})
"""The kinds that read their source."""
WRITES = frozenset({"r", "rcs", "rrc", "rrcs", "cpy", "re"})
"""The kinds that write their destination; re reads it too."""

_PROTOCOLS = ("Simple", "LL", "LL128")
_BUFFERS = ("i", "o", "s")
_VERBS = ("sends to", "receives from")
_SURE_CHANNELS = 2
"""Channels of any communicator: one ring, doubled."""

_MOST_CHILDREN = 1024
"""Most elements directly within another one."""

_FUSION = 16
"""Most reductions into one place that a kernel does at once."""

_MOST_BYTES = 1 << 27
"""The largest message if the file does not state it."""


def require_loadable(algorithm: XmlAlgorithm, dialect: Runtime) -> None:
    """Raises VerificationError unless a runtime loads and reads a file as it was meant."""
    for wrong in _wrong(algorithm, dialect):
        raise VerificationError(wrong)


def specification_of(algorithm: XmlAlgorithm, dialect: Runtime) -> Specification | None:
    """The collective of a file, its root unknown; None if the file does not define it.  Raises
    VerificationError if nchunksperloop or the sizes of buffers do not suit it."""
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
            ("i_chunks", gpu.i_chunks, spec.inputs_of(gpu.id)),
            ("o_chunks", gpu.o_chunks, spec.outputs_of(gpu.id)),
        ):
            if declared > actual or (dialect.sizes_checked and declared not in (0, actual)):
                raise VerificationError(
                    f"rank {gpu.id}, line {gpu.line}: {key} is {declared}, but that buffer of "
                    f"{algorithm.coll} has {actual} chunks with nchunksperloop = {chunks}"
                )
    return spec


def _wrong(algorithm: XmlAlgorithm, dialect: Runtime) -> Iterator[str]:
    """The errors of a file, each with its place."""
    yield from _at(f"line {algorithm.line}", _wrong_header(algorithm, dialect))
    yield from _wrong_ranks(algorithm)
    for gpu in algorithm.gpus:
        yield from _at(f"rank {gpu.id}, line {gpu.line}", _wrong_gpu(algorithm, gpu, dialect))
        yield from _wrong_blocks(algorithm, gpu, dialect)
    yield from _wrong_ends(algorithm)
    for gpu in algorithm.gpus:
        for block in gpu.blocks:
            places = [place(gpu.id, block, i) for i in range(len(block.steps))]
            for i, here in enumerate(places):
                yield from _at(here, _wrong_step(gpu, block, i, dialect))
            for i, here in enumerate(places):
                yield from _at(here, _wrong_dependency(gpu, block, i))
            for i, wrong in _wrong_fusion(block):
                yield f"{places[i]}: {wrong}"


def _at(here: str, wrongs: Iterable[str]) -> Iterator[str]:
    return (f"{here}: {wrong}" for wrong in wrongs)


def _wrong_header(algorithm: XmlAlgorithm, dialect: Runtime) -> Iterator[str]:
    present = {
        "name": algorithm.name,
        "outofplace": algorithm.outofplace,
        "minBytes": algorithm.min_bytes,
        "maxBytes": algorithm.max_bytes,
    }
    for key in dialect.needs:
        if present[key] is None:
            yield f"attribute {key} of algo not found, which {dialect.title} needs"
    if algorithm.proto not in _PROTOCOLS:
        yield f"proto is {algorithm.proto!r}; it must be Simple, LL or LL128"
    if algorithm.coll not in dialect.collectives:
        known = ", ".join(dialect.collectives)
        yield f"coll is {algorithm.coll!r}; {dialect.title} knows {known}"
    if algorithm.coll in dialect.uncalled:
        yield f"{algorithm.coll} is never chosen: {dialect.title} runs no such call from a file"
    if dialect.names_checked and algorithm.name is not None:
        if len(algorithm.name) > LONGEST_NAME:
            yield f"the name has more than {LONGEST_NAME} characters"
        if algorithm.name == TAKEN_NAME and algorithm.coll == "alltoall":
            yield "an alltoall of the name 2D runs the runtime's own code instead of the file"
        if algorithm.nthreads is not None and (algorithm.nthreads < 0 or algorithm.nthreads % 32):
            yield f"nthreads is {algorithm.nthreads}; it must be a multiple of 32"
    if not 1 <= algorithm.nchannels <= dialect.most_channels:
        yield f"nchannels is {algorithm.nchannels}; it must be 1 to {dialect.most_channels}"
    if not 1 <= algorithm.ngpus <= _MOST_CHILDREN:
        yield f"ngpus is {algorithm.ngpus}; it must be 1 to {_MOST_CHILDREN}"
    if not 1 <= algorithm.nchunksperloop <= LAST_OFFSET + 1:
        yield (
            f"nchunksperloop is {algorithm.nchunksperloop}; it must be 1 to {LAST_OFFSET + 1}, "
            "since no step can name a chunk beyond"
        )
    for key, value in (("inplace", algorithm.inplace), ("outofplace", algorithm.outofplace)):
        if value not in (None, 0, 1):
            yield f"{key} is {value}; it must be 0 or 1"
    if "outofplace" in dialect.needs:
        if not algorithm.inplace and not algorithm.outofplace:
            yield "inplace and outofplace are both 0, so it is never chosen"
    elif algorithm.inplace and algorithm.coll in dialect.not_in_place:
        yield f"{dialect.title} refuses an {algorithm.coll} in place"
    least = algorithm.min_bytes or 0
    most = _MOST_BYTES if algorithm.max_bytes is None else algorithm.max_bytes
    if least < 0 or most < 0:
        yield "minBytes and maxBytes must not be negative"
    if most == 0 and not dialect.exclusive_end:
        return  # no limit
    if most < least or (dialect.exclusive_end and most == least):
        what = "below" if dialect.exclusive_end else "of at most"
        yield f"no message has at least minBytes = {least} and is {what} maxBytes = {most}"
    most -= dialect.exclusive_end
    if most // algorithm.nchunksperloop * algorithm.nchunksperloop < max(1, least):
        yield (
            f"no message of {least} to {most} bytes is a multiple of nchunksperloop = "
            f"{algorithm.nchunksperloop}, so that it is never chosen"
        )


def _wrong_ranks(algorithm: XmlAlgorithm) -> Iterator[str]:
    if len(algorithm.gpus) > _MOST_CHILDREN:
        yield f"{len(algorithm.gpus)} gpus; the parser allows 1024"
    seen: set[int] = set()
    for gpu in algorithm.gpus:
        if not 0 <= gpu.id < algorithm.ngpus:
            yield f"line {gpu.line}: gpu id {gpu.id}, but ngpus is {algorithm.ngpus}"
        if gpu.id in seen:
            yield f"line {gpu.line}: a second gpu of id {gpu.id}"
        seen.add(gpu.id)
    for rank in sorted({*range(algorithm.ngpus)} - seen):
        yield f"rank {rank} of {algorithm.ngpus} has no gpu element"


def _wrong_gpu(algorithm: XmlAlgorithm, gpu: XmlGpu, dialect: Runtime) -> Iterator[str]:
    for key, value in (("i", gpu.i_chunks), ("o", gpu.o_chunks), ("s", gpu.s_chunks)):
        if value < 0:
            yield f"{key}_chunks is {value}; it must be at least 0"
    if len(gpu.blocks) > dialect.most_blocks:
        yield f"{len(gpu.blocks)} thread blocks; {dialect.title} allows {dialect.most_blocks}"
    nodes = 1 + len(algorithm.gpus) + sum(1 + len(block.steps) for block in gpu.blocks)
    if nodes > MOST_NODES:
        yield f"it reads {nodes} elements; the parser allows {MOST_NODES}"


def _wrong_blocks(algorithm: XmlAlgorithm, gpu: XmlGpu, dialect: Runtime) -> Iterator[str]:
    for expected, block in enumerate(gpu.blocks):
        if block.id != expected:
            yield (
                f"{place(gpu.id, block)}: thread block ids must be 0, 1, 2, …, each once; "
                f"{expected} was expected"
            )
    sending: Counter[int] = Counter()
    receiving: Counter[int] = Counter()
    for block in gpu.blocks:
        here = place(gpu.id, block)
        yield from _at(here, _wrong_block(algorithm, gpu, block, dialect))
        sending[block.chan] += block.send >= 0
        receiving[block.chan] += block.recv >= 0
        if max(sending[block.chan], receiving[block.chan]) > MOST_PER_CHANNEL:
            yield (
                f"{here}: more than {MOST_PER_CHANNEL} thread blocks send or receive on channel "
                f"{block.chan}"
            )


def _wrong_block(
    algorithm: XmlAlgorithm, gpu: XmlGpu, block: XmlBlock, dialect: Runtime
) -> Iterator[str]:
    for key, peer in (("send", block.send), ("recv", block.recv)):
        if peer == gpu.id:
            yield f"{key} is the rank itself"
        if not -1 <= peer < algorithm.ngpus:
            yield f"{key} is {peer}; it must be -1 or a rank below {algorithm.ngpus}"
    if not 0 <= block.chan < algorithm.nchannels:
        yield (
            f"chan is {block.chan}; with nchannels = {algorithm.nchannels} it must be 0 to "
            f"{algorithm.nchannels - 1}"
        )
    if len(block.steps) > dialect.most_steps:
        yield f"{len(block.steps)} steps; {dialect.title} allows {dialect.most_steps}"


def open_end(algorithm: XmlAlgorithm, dialect: Runtime) -> tuple[str | None, bool]:
    """The first thread block with an unused peer that no block answers, in words, or None; and
    whether the runtime has connected the two ranks before.

    The runtime first connects the neighbours of its rings and trees, then the peers in the file.
    It skips connected peers, and waits for the other end of any other connection.
    """
    found = [one for one in _open_ends(algorithm) if not one[2]]
    few = algorithm.ngpus == 2 and all(key[2] < _SURE_CHANNELS for _, key, _ in found)
    return (found[0][0] if found else None), few and dialect.connects


def _ends(algorithm: XmlAlgorithm) -> Iterator[tuple[int, tuple[int, int, int], str, bool]]:
    """The ends of connections: 0 for the source, or 1; the connection; the thread block in words;
    and whether messages use it."""
    for gpu in algorithm.gpus:
        for block in gpu.blocks:
            here = place(gpu.id, block)
            keys = (gpu.id, block.send, block.chan), (block.recv, gpu.id, block.chan)
            for side, (key, types) in enumerate(zip(keys, (SENDS, RECEIVES), strict=True)):
                if key[1 - side] >= 0:
                    yield side, key, here, any(step.type in types for step in block.steps)


def _open_ends(algorithm: XmlAlgorithm) -> Iterator[tuple[str, tuple[int, int, int], bool]]:
    """The ends of connections without another one, each in words, and whether messages use it."""
    ends: list[dict[tuple[int, int, int], tuple[str, bool]]] = [{}, {}]
    for side, key, here, used in _ends(algorithm):
        ends[side].setdefault(key, (here, used))
    for side in (0, 1):
        for key in [key for key in ends[side] if key not in ends[1 - side]]:
            (here, used), peer = ends[side][key], key[1 - side]
            yield (
                f"{here}: it {_VERBS[side]} rank {peer} on channel {key[2]}, where no thread block "
                f"of rank {peer} {_VERBS[1 - side]} rank {key[side]}",
                key,
                used,
            )


def _wrong_ends(algorithm: XmlAlgorithm) -> Iterator[str]:
    """A connection has one thread block at each end, and messages need both."""
    first: dict[tuple[int, tuple[int, int, int]], str] = {}
    for side, key, here, _ in _ends(algorithm):
        if here != (other := first.setdefault((side, key), here)):
            yield (
                f"{here}: it {_VERBS[side]} rank {key[1 - side]} on channel {key[2]}, as does "
                f"{other}; thread blocks cannot share a connection"
            )
    for text, _, used in _open_ends(algorithm):
        if used:
            yield f"{text}; its messages have no other end"


def _wrong_step(gpu: XmlGpu, block: XmlBlock, position: int, dialect: Runtime) -> Iterator[str]:
    step = block.steps[position]
    if step.type not in _KINDS:
        yield f"type {step.type!r} is not executed; expected one of {', '.join(_KINDS)}"
    if step.type in RECEIVES - {"r"} and not dialect.fuses:
        yield (
            f"{dialect.title} refuses {step.type} when it is launched; it runs only s, r, cpy, "
            "re and nop"
        )
    if step.s != position:
        yield f"s is {step.s}; runtimes count steps in the order of the file, from 0"
    for key, buffer in (("srcbuf", step.srcbuf), ("dstbuf", step.dstbuf)):
        if buffer not in _BUFFERS:
            yield f"{key} is {buffer!r}; it must be i, o or s"
    if step.type == "nop":
        return
    if not 1 <= step.cnt <= MOST_COUNT:
        yield f"cnt is {step.cnt}; it must be 1 to {MOST_COUNT}"
    if step.hasdep not in (0, 1):
        yield f"hasdep is {step.hasdep}; it must be 0 or 1"
    if step.type in SENDS and block.send < 0:
        yield "it sends, but its thread block has no send peer"
    if step.type in RECEIVES and block.recv < 0:
        yield "it receives, but its thread block has no recv peer"
    sizes = {"i": gpu.i_chunks, "o": gpu.o_chunks, "s": gpu.s_chunks}
    for used, buffer, offset, side in (
        (step.type in READS, step.srcbuf, step.srcoff, "source"),
        (step.type in WRITES, step.dstbuf, step.dstoff, "destination"),
    ):
        last = offset + step.cnt - 1
        if used and (offset < 0 or last >= sizes[buffer]):
            yield (
                f"out of bounds: its {side} is {buffer}[{offset}] to {buffer}[{last}], and "
                f"{buffer}_chunks is {sizes[buffer]}"
            )
        if used and last > LAST_OFFSET:
            yield f"{side} {buffer}[{offset}]: an offset is kept in 16 bits"


def _wrong_dependency(gpu: XmlGpu, block: XmlBlock, position: int) -> Iterator[str]:
    """Dependencies name existing steps; a nop comes directly before its step."""
    step = block.steps[position]
    if step.depid < -1:
        yield f"depid is {step.depid}; it must be -1 or more"
    if step.depid > LAST_AWAITED:
        yield f"depid is {step.depid}; it is kept in 8 bits, so it must be at most {LAST_AWAITED}"
    if step.depid >= len(gpu.blocks):
        yield (f"waits for thread block {step.depid}, but rank {gpu.id} has {len(gpu.blocks)}")
    if step.depid >= 0:
        there = len(gpu.blocks[step.depid].steps)
        if not 0 <= step.deps < there:
            yield (
                f"waits for step {step.deps} of thread block {step.depid}, which has {there} steps"
            )
    if step.type != "nop":
        return
    if step.depid < 0:
        yield "a nop without a dependency; runtimes drop it and miscount the steps after it"
    if position + 1 == len(block.steps):
        yield "a nop at the end; runtimes drop it with its dependency"
    after = block.steps[position + 1]
    if after.depid < 0:
        yield (
            f"a nop must be followed by a step with a dependency of its own; step {position + 1} "
            f"({after.type}) has none"
        )


def _wrong_fusion(block: XmlBlock) -> Iterator[tuple[int, str]]:
    """Reductions into the same place that follow one another are done at once.

    A runtime counts the reductions of a thread block over all its steps, and ends a run when the
    count is 16; a run that begins later can overflow the kernel's array.
    """
    number = length = 0  # reductions so far, and in the run
    first = before = None
    for position, step in enumerate(block.steps):
        if step.type != "re":
            before = None
            continue
        ends = step.dstbuf, step.dstoff, step.srcbuf
        if (
            first is None
            or before is None
            or (before.dstbuf, before.dstoff, before.srcbuf) != ends
            or step.depid != -1
            or before.hasdep != 0
        ):
            first, length = step, 0
        before = step
        number += 1
        length += 1
        if step.cnt != first.cnt:
            yield (
                position,
                "runtimes do it at once with the reductions before it, and their cnt differ "
                f"({first.cnt} and {step.cnt})",
            )
        if length > _FUSION:
            yield (
                position,
                f"more than {_FUSION} reductions into one place in a row, which overflow an array "
                'of the kernel; another step or hasdep="1" in between prevents it',
            )
        if number == _FUSION:
            length = 0
