"""The standard collective of an instance, and the places of its chunks in a rank's buffers.

A runtime defines a collective by the places of each rank's data in its buffers.  An instance only
has the starts and ends of chunks, so the collective is read off its pre and post, never off its
name.  Chunks are put in the runtime's order: first by rank, then, among chunks that start and end
alike, by their numbers.

With k the share of `StandardCollective` and P ranks (`loc` counts chunks that start and end alike):

| collective    | input of rank r        | output of rank r   | in place                    |
|---------------|------------------------|--------------------|-----------------------------|
| allgather     | k: loc                 | P*k: source*k+loc  | i[j] is o[r*k + j]          |
| reducescatter | P*k: destination*k+loc | k: loc             | o[j] is i[r*k + j]          |
| allreduce     | k                      | k                  | i[j] is o[j]                |
| alltoall      | P*k: destination*k+loc | P*k: source*k+loc  | i[j] is o[j]                |
| broadcast     | k at the root          | k                  | i[j] is o[j] at the root    |
| reduce        | k                      | k at the root      | i[j] is o[j] at the root    |
| gather        | k: loc                 | P*k at the root    | i[j] is o[root*k + j] there |
| scatter       | P*k at the root        | k: loc             | o[j] is i[root*k + j] there |
| custom        | its chunks in order    | its chunks in order | not defined                |
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from syncoll.arrays import Bools, Ints
from syncoll.errors import ExportError
from syncoll.model import Instance


class Kind(StrEnum):
    """The collectives of runtimes, by their usual names."""

    ALLGATHER = "allgather"
    REDUCESCATTER = "reducescatter"
    ALLREDUCE = "allreduce"
    ALLTOALL = "alltoall"
    BROADCAST = "broadcast"
    REDUCE = "reduce"
    GATHER = "gather"
    SCATTER = "scatter"
    CUSTOM = "custom"


@dataclass(frozen=True)
class StandardCollective:
    """The collective of an instance, in a runtime's terms.

    Args:
        share: k, see above; 0 for a custom one.
        root: of broadcast, reduce, gather and scatter; otherwise None.
        reason: why a custom collective is not one of the others; otherwise empty.
    """

    kind: Kind
    num_nodes: int
    share: int
    root: int | None = None
    reason: str = ""

    @property
    def combining(self) -> bool:
        """Whether it reduces; of a custom one only its instance has the answer."""
        return self.kind in (Kind.REDUCESCATTER, Kind.ALLREDUCE, Kind.REDUCE)

    @property
    def blocks(self) -> int:
        """Blocks of k chunks in the larger of input and output."""
        whole = self.kind in (Kind.ALLREDUCE, Kind.BROADCAST, Kind.REDUCE)
        return 1 if whole else self.num_nodes

    @property
    def loop_chunks(self) -> int:
        """Chunks of the larger of input and output; 0 for a custom one."""
        return self.share * self.blocks

    def __str__(self) -> str:
        return str(self.kind) if self.root is None else f"{self.kind} (root {self.root})"


def kind_of(instance: Instance) -> StandardCollective:
    """Recognises the collective of an instance; otherwise it is custom, with the reason."""
    return kind_of_tables(instance.pre, instance.post, combining=instance.combining)


def kind_of_tables(pre: Bools, post: Bools, *, combining: bool) -> StandardCollective:
    """Recognises the collective of a pre and a post ``[G, P]``."""
    chunks, nodes = pre.shape
    starts, ends = pre.sum(axis=1), post.sum(axis=1)

    def custom(reason: str) -> StandardCollective:
        return StandardCollective(Kind.CUSTOM, nodes, 0, None, reason)

    def standard(kind: Kind, share: int, root: int | None = None) -> StandardCollective:
        return StandardCollective(kind, nodes, share, root)

    if nodes == 1:
        return custom("a collective needs at least two nodes")
    if (ends == 0).any():
        return custom(f"chunk {int((ends == 0).argmax())} ends nowhere")
    to_all, to_one = bool((ends == nodes).all()), bool((ends == 1).all())
    at_end = post.sum(axis=0)
    if combining:
        if not (starts == nodes).all():
            chunk = int((starts != nodes).argmax())
            return custom(f"only {int(starts[chunk])} of {nodes} nodes contribute to chunk {chunk}")
        if to_all:
            return standard(Kind.ALLREDUCE, chunks)
        if to_one and np.count_nonzero(at_end) == 1:
            return standard(Kind.REDUCE, chunks, int(at_end.argmax()))
        if to_one and (at_end == at_end[0]).all():
            return standard(Kind.REDUCESCATTER, int(at_end[0]))
        if to_one:
            return custom(f"the nodes end with {_range(at_end)} results each, not equally many")
        return custom("each result ends neither at every node nor at one alone")
    if not (starts == 1).all():
        chunk = int((starts != 1).argmax())
        return custom(f"chunk {chunk} starts at {int(starts[chunk])} nodes, not at one")
    at_start = pre.sum(axis=0)
    one_root = np.count_nonzero(at_start) == 1
    evenly = bool((at_start == at_start[0]).all())
    if to_all:
        if one_root:
            return standard(Kind.BROADCAST, chunks, int(at_start.argmax()))
        if evenly:
            return standard(Kind.ALLGATHER, int(at_start[0]))
        return custom(f"the nodes start with {_range(at_start)} chunks each, not equally many")
    if not to_one:
        return custom("each chunk ends neither at every node nor at one alone")
    if one_root and (at_end == at_end[0]).all():
        return standard(Kind.SCATTER, int(at_end[0]), int(at_start.argmax()))
    if evenly and np.count_nonzero(at_end) == 1:
        return standard(Kind.GATHER, int(at_start[0]), int(at_end.argmax()))
    places = pre.argmax(axis=1) * nodes + post.argmax(axis=1)  # each has one
    pairs = np.bincount(places, minlength=nodes * nodes).reshape(nodes, nodes)
    if (pairs == pairs[0, 0]).all():
        return standard(Kind.ALLTOALL, int(pairs[0, 0]))
    return custom(f"from one node to another go {_range(pairs)} chunks, not equally many")


def _range(counts: Ints) -> str:
    return f"{int(counts.min())} to {int(counts.max())}"


_OUTPUT_HOLDS_BOTH = (Kind.ALLGATHER, Kind.GATHER, Kind.BROADCAST)


class Buffer(StrEnum):
    """A rank's buffers."""

    INPUT = "input"
    OUTPUT = "output"
    SCRATCH = "scratch"


@dataclass(frozen=True, order=True)
class Slot:
    """A place for one chunk at a rank; the index counts chunks."""

    buffer: Buffer
    index: int

    def __str__(self) -> str:
        return f"{self.buffer}[{self.index}]"


@dataclass(frozen=True, eq=False)
class Layout:
    """The places of chunks in buffers.

    Args:
        in_place: whether input and output of a rank are one buffer.
        inputs: ``[G, P]``, the index in the input of node n at which chunk c starts; -1 if it does
            not start there.
        outputs: ``[G, P]``, the index in its output at which chunk c must end; -1 if it need not.
        input_chunks: chunks of each rank's input, 0 without input; in place also the caller's.
        output_chunks: chunks of each rank's output.
        shift: in place, for each rank the d for which ``i[j]`` is ``o[j + d]``; None at a rank with
            only one of both, and out of place.
    """

    collective: StandardCollective
    in_place: bool
    inputs: Ints
    outputs: Ints
    input_chunks: tuple[int, ...]
    output_chunks: tuple[int, ...]
    shift: tuple[int | None, ...]

    def input_slot(self, chunk: int, node: int) -> Slot | None:
        """The slot where a chunk starts, or None.  In place equal slots are equal memory: they are
        in the output for allgather, gather and broadcast, and in the input for the others."""
        return self._slot(Buffer.INPUT, int(self.inputs[chunk, node]), node)

    def output_slot(self, chunk: int, node: int) -> Slot | None:
        """The slot where a chunk must end, or None; in place as in `input_slot`."""
        return self._slot(Buffer.OUTPUT, int(self.outputs[chunk, node]), node)

    def chunks_in(self, buffer: Buffer, node: int) -> list[int]:
        """The chunks of a node's input or output, in their order there."""
        places = (self.inputs if buffer is Buffer.INPUT else self.outputs)[:, node]
        chunks: list[int] = np.argsort(places, kind="stable")[(places < 0).sum() :].tolist()
        return chunks

    def _slot(self, buffer: Buffer, index: int, node: int) -> Slot | None:
        shift, held = self.shift[node], self.collective.kind in _OUTPUT_HOLDS_BOTH
        if shift is not None and index >= 0 and held is not (buffer is Buffer.OUTPUT):
            return Slot(Buffer.OUTPUT, index + shift) if held else Slot(Buffer.INPUT, index - shift)
        return Slot(buffer, index) if index >= 0 else None


def layout_of(
    instance: Instance, *, in_place: bool, collective: StandardCollective | None = None
) -> Layout:
    """The layout of an instance's chunks; ExportError for a custom collective in place.

    Args:
        collective: the collective whose places it takes; None for the instance's own.  The chunks
            may be parts of different sizes, and a rank may have any number of them.
    """
    collective = kind_of(instance) if collective is None else collective
    kind, nodes = collective.kind, collective.num_nodes
    if in_place and kind is Kind.CUSTOM:
        raise ExportError(
            f"{instance.collective} is not one of the collectives for which in place is defined: "
            f"{collective.reason}; use it out of place"
        )
    inputs, outputs = _indices(instance, collective)
    input_chunks = tuple(int(n) for n in instance.pre.sum(axis=0))
    output_chunks = tuple(int(n) for n in instance.post.sum(axis=0))
    shift: tuple[int | None, ...] = (None,) * nodes
    if in_place:
        moved = kind in (Kind.ALLGATHER, Kind.GATHER, Kind.REDUCESCATTER, Kind.SCATTER)
        shift = tuple(
            _shift(inputs[:, node], outputs[:, node], moved)
            if input_chunks[node] and output_chunks[node]
            else None
            for node in range(nodes)
        )
    return Layout(collective, in_place, inputs, outputs, input_chunks, output_chunks, shift)


def _shift(inputs: Ints, outputs: Ints, moved: bool) -> int:
    """How far the output of a rank is ahead of its input, by a chunk that is in both."""
    both = np.flatnonzero((inputs >= 0) & (outputs >= 0))
    return int(outputs[both[0]] - inputs[both[0]]) if moved else 0


def _indices(instance: Instance, collective: StandardCollective) -> tuple[Ints, Ints]:
    pre, post = instance.pre, instance.post
    inputs = np.full(pre.shape, -1, dtype=np.int64)
    outputs = np.full(pre.shape, -1, dtype=np.int64)
    sources, ends = pre.argmax(axis=1), post.argmax(axis=1)
    # Lexicographic by the rank at the other end, then by number: a stable sort by rank.
    by_end = collective.kind in (Kind.REDUCESCATTER, Kind.ALLTOALL, Kind.SCATTER)
    by_source = collective.kind in (Kind.ALLGATHER, Kind.ALLTOALL, Kind.GATHER)
    in_order = np.argsort(ends, kind="stable") if by_end else np.arange(len(pre))
    out_order = np.argsort(sources, kind="stable") if by_source else np.arange(len(pre))
    for node in range(pre.shape[1]):
        mine = in_order[pre[in_order, node]]
        inputs[mine, node] = np.arange(len(mine))
        wanted = out_order[post[out_order, node]]
        outputs[wanted, node] = np.arange(len(wanted))
    return inputs, outputs
