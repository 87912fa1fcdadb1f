"""Which standard collective an instance is, read off its pre and post; its name plays no part.

A runtime knows a collective by where each rank's data lies in its buffers.  An instance only says
where chunks start and end, so whatever numbers its chunks have, they are put in the runtime's
order: first by rank, then, among chunks that start and end alike, by their own numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from syncoll.model import Instance

__all__ = ["Kind", "StandardCollective", "kind_of"]


class Kind(StrEnum):
    """The collectives that runtimes know, by the names that most of them use."""

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
    """What an instance asks for, in a runtime's terms.

    Args:
        kind: which collective.
        num_nodes: P.
        share: k, the chunks of the unit from which its buffers are made.  Allgather and gather: of
            one rank's input.  Reducescatter and scatter: of one rank's output.  Alltoall: of what
            one rank has for one other.  Allreduce, broadcast and reduce: of the whole buffer.  0
            for a custom one.
        root: of broadcast, reduce, gather and scatter; else None.
        reason: why a custom collective is none of the others, in words; else empty.
    """

    kind: Kind
    num_nodes: int
    share: int
    root: int | None = None
    reason: str = ""

    @property
    def combining(self) -> bool:
        """Whether it reduces; a custom one is asked through its instance."""
        return self.kind in (Kind.REDUCESCATTER, Kind.ALLREDUCE, Kind.REDUCE)

    @property
    def loop_chunks(self) -> int:
        """Chunks in the buffer by which runtimes measure a message (``nchunksperloop``).

        Allgather and gather: the output.  Reducescatter, scatter and alltoall: the input.  Others:
        the buffer.  0 for a custom one.
        """
        whole = self.kind in (Kind.ALLREDUCE, Kind.BROADCAST, Kind.REDUCE)
        return self.share if whole else self.share * self.num_nodes

    def __str__(self) -> str:
        return str(self.kind) if self.root is None else f"{self.kind} (root {self.root})"


def kind_of(instance: Instance) -> StandardCollective:
    """Recognises the collective of an instance; a custom one, with the reason, where it is none."""
    pre, post, nodes = instance.pre, instance.post, instance.topology.num_nodes
    starts, ends = pre.sum(axis=1), post.sum(axis=1)

    def custom(reason: str) -> StandardCollective:
        return StandardCollective(Kind.CUSTOM, nodes, 0, None, reason)

    def standard(kind: Kind, share: int, root: int | None = None) -> StandardCollective:
        return StandardCollective(kind, nodes, share, root)

    if nodes == 1:
        return custom("one node has nobody to exchange data with")
    if (ends == 0).any():
        return custom(f"chunk {int((ends == 0).argmax())} ends nowhere")
    to_all, to_one = bool((ends == nodes).all()), bool((ends == 1).all())
    at_end = post.sum(axis=0)
    if instance.combining:
        if not (starts == nodes).all():
            chunk = int((starts != nodes).argmax())
            return custom(f"only {int(starts[chunk])} of {nodes} nodes contribute to chunk {chunk}")
        if to_all:
            return standard(Kind.ALLREDUCE, instance.num_chunks)
        if to_one and np.count_nonzero(at_end) == 1:
            return standard(Kind.REDUCE, instance.num_chunks, int(at_end.argmax()))
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
            return standard(Kind.BROADCAST, instance.num_chunks, int(at_start.argmax()))
        if evenly:
            return standard(Kind.ALLGATHER, int(at_start[0]))
        return custom(f"the nodes start with {_range(at_start)} chunks each, not equally many")
    if not to_one:
        return custom("each chunk ends neither at every node nor at one alone")
    if one_root and (at_end == at_end[0]).all():
        return standard(Kind.SCATTER, int(at_end[0]), int(at_start.argmax()))
    if evenly and np.count_nonzero(at_end) == 1:
        return standard(Kind.GATHER, int(at_start[0]), int(at_end.argmax()))
    pairs = pre.T.astype(np.int64) @ post.astype(np.int64)
    if (pairs == pairs[0, 0]).all():
        return standard(Kind.ALLTOALL, int(pairs[0, 0]))
    return custom(f"from one node to another go {_range(pairs)} chunks, not equally many")


def _range(counts: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> str:
    return f"{int(counts.min())} to {int(counts.max())}"
