"""Where each chunk lies in a rank's input and output, in the order of the runtimes.

With k the share of `StandardCollective` and P ranks (`loc` counts chunks that start and end alike):

============== ===================== ======================= ===========================
collective     input of rank r       output of rank r        in place
============== ===================== ======================= ===========================
allgather      k: loc                P*k: source*k + loc     i[j] is o[r*k + j]
reducescatter  P*k: destination*k+loc k: loc                 o[j] is i[r*k + j]
allreduce      k                     k                       i[j] is o[j]
alltoall       P*k: destination*k+loc P*k: source*k + loc    i[j] is o[j]
broadcast      k at the root         k                       i[j] is o[j] at the root
reduce         k                     k at the root           i[j] is o[j] at the root
gather         k: loc                P*k at the root         i[j] is o[root*k + j] there
scatter        P*k at the root       k: loc                  o[j] is i[root*k + j] there
custom         its chunks in order   its chunks in order     not defined
============== ===================== ======================= ===========================
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from syncoll.errors import ExportError
from syncoll.model import Instance
from syncoll.runtime.collectives import Kind, StandardCollective, kind_of

__all__ = ["Buffer", "Layout", "Slot", "layout_of"]

IntArray = npt.NDArray[np.int64]

_OUTPUT_HOLDS_BOTH = (Kind.ALLGATHER, Kind.GATHER, Kind.BROADCAST)


class Buffer(StrEnum):
    """A rank's buffers."""

    INPUT = "input"
    OUTPUT = "output"
    SCRATCH = "scratch"


@dataclass(frozen=True, order=True)
class Slot:
    """Room for one chunk at a rank.

    Args:
        buffer: which.
        index: in chunks.
    """

    buffer: Buffer
    index: int

    def __str__(self) -> str:
        return f"{self.buffer}[{self.index}]"


@dataclass(frozen=True, eq=False)
class Layout:
    """Where chunks lie.

    Args:
        collective: what the instance is.
        in_place: whether input and output of a rank are one buffer.
        inputs: ``[G, P]``, the index in the input of node n at which chunk c starts; -1 where it
            does not start there.
        outputs: ``[G, P]``, the index in its output at which chunk c must end; -1 where it need
            not.
        input_chunks: chunks of each rank's input, 0 where it has none; in place, too, of what the
            caller passes as input.
        output_chunks: the same of the output.
        shift: in place, for each rank the d for which ``i[j]`` is ``o[j + d]``; None at a rank that
            has only one of both, and everywhere out of place.
    """

    collective: StandardCollective
    in_place: bool
    inputs: IntArray
    outputs: IntArray
    input_chunks: tuple[int, ...]
    output_chunks: tuple[int, ...]
    shift: tuple[int | None, ...]

    def input_slot(self, chunk: int, node: int) -> Slot | None:
        """Where a chunk starts.

        In place the slot has one name only, so that equal slots are equal memory: of allgather,
        gather and broadcast the output's, of the others the input's.
        """
        index, shift = int(self.inputs[chunk, node]), self.shift[node]
        if index < 0:
            return None
        if shift is not None and self.collective.kind in _OUTPUT_HOLDS_BOTH:
            return Slot(Buffer.OUTPUT, index + shift)
        return Slot(Buffer.INPUT, index)

    def output_slot(self, chunk: int, node: int) -> Slot | None:
        """Where a chunk must end; in place by the name that `input_slot` says."""
        index, shift = int(self.outputs[chunk, node]), self.shift[node]
        if index < 0:
            return None
        if shift is not None and self.collective.kind not in _OUTPUT_HOLDS_BOTH:
            return Slot(Buffer.INPUT, index - shift)
        return Slot(Buffer.OUTPUT, index)


def layout_of(instance: Instance, *, in_place: bool) -> Layout:
    """The layout of an instance's chunks.

    Args:
        instance: any.
        in_place: whether input and output are one buffer.

    Raises:
        ExportError: for a custom collective in place, of which nobody knows what that means.
    """
    collective = kind_of(instance)
    kind, nodes = collective.kind, collective.num_nodes
    if in_place and kind is Kind.CUSTOM:
        raise ExportError(
            f"{instance.collective} is none of the collectives for which in place is defined: "
            f"{collective.reason}"
        )
    inputs, outputs = _indices(instance, collective)
    input_chunks = tuple(int(n) for n in instance.pre.sum(axis=0))
    output_chunks = tuple(int(n) for n in instance.post.sum(axis=0))
    shift: tuple[int | None, ...] = (None,) * nodes
    if in_place:
        shift = tuple(
            _shift(collective, node) if input_chunks[node] and output_chunks[node] else None
            for node in range(nodes)
        )
    return Layout(collective, in_place, inputs, outputs, input_chunks, output_chunks, shift)


def _indices(instance: Instance, collective: StandardCollective) -> tuple[IntArray, IntArray]:
    pre, post = instance.pre, instance.post
    inputs = np.full(pre.shape, -1, dtype=np.int64)
    outputs = np.full(pre.shape, -1, dtype=np.int64)
    sources, ends = pre.argmax(axis=1), post.argmax(axis=1)
    # Lexicographic by the rank at the other end, then by number; a stable order by rank is that.
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


def _shift(collective: StandardCollective, node: int) -> int:
    if collective.kind in (Kind.ALLGATHER, Kind.GATHER):
        return node * collective.share
    if collective.kind in (Kind.REDUCESCATTER, Kind.SCATTER):
        return -node * collective.share
    return 0
