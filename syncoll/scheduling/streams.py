"""Streams: the chunks that go down a tree together, as arrays over all edges of all trees.

A collective's chunks fall into classes that start and end alike; what one tree gets of one class is
a stream.  The chunks of a stream are interchangeable, so a schedule need only say how many of them
take an edge in a step: they go first in, first out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from syncoll.model import RelationTable

__all__ = ["StreamClass", "Streams"]

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class StreamClass:
    """Chunks that start and end alike.

    Args:
        starts: the nodes that have them.
        needed: the nodes that need and do not have them; not empty.
        chunks: their numbers, ascending.
    """

    starts: IntArray
    needed: IntArray
    chunks: IntArray

    @classmethod
    def of(cls, table: RelationTable) -> list[StreamClass]:
        """The classes of a table whose chunks have to go anywhere."""
        missing = table.post & ~table.pre
        moving = np.flatnonzero(missing.any(axis=1))
        if not len(moving):
            return []
        packed = np.packbits(np.concatenate([table.pre[moving], missing[moving]], axis=1), axis=1)
        rows = np.ascontiguousarray(packed).view(f"V{packed.shape[1]}").ravel()
        _, first, which = np.unique(rows, return_index=True, return_inverse=True)
        order = np.argsort(which, kind="stable")
        ends = np.cumsum(np.bincount(which))[:-1]
        return [
            cls(np.flatnonzero(table.pre[moving[i]]), np.flatnonzero(missing[moving[i]]), chunks)
            for i, chunks in zip(first, np.split(moving[order], ends), strict=True)
        ]


@dataclass(frozen=True, eq=False)
class Streams:
    """All streams of one C; an entry is one edge of one stream's tree.

    Args:
        link: ``[E]``, the position of the entry's link in the topology.
        parent: ``[E]``, the entry that brings the chunks to where this one starts; -1 at a root.
        stream: ``[E]``, ascending.
        chunks: for each stream its chunks.
        tree: for each stream the number of its tree.
    """

    link: IntArray
    parent: IntArray
    stream: IntArray
    chunks: tuple[IntArray, ...]
    tree: tuple[int, ...]

    @cached_property
    def count(self) -> IntArray:
        """``[E]``, how many chunks take the entry."""
        return np.array([len(c) for c in self.chunks], dtype=np.int64)[self.stream]

    @cached_property
    def depth(self) -> IntArray:
        """``[E]``, how many sends come before this one: its first possible step."""
        depth = (self.parent >= 0).astype(np.int64)
        above = self.parent.copy()
        active = np.flatnonzero(above >= 0)
        while len(active):  # `depth` sends are between an entry and the ancestor `above`
            ancestor = above[active]
            depth[active] += depth[ancestor]
            above[active] = above[ancestor]
            active = active[above[active] >= 0]
        return depth

    @cached_property
    def below(self) -> IntArray:
        """``[E]``, how many sends must still come after this one."""
        below = np.zeros(len(self.parent), dtype=np.int64)
        order = np.argsort(-self.depth, kind="stable")
        ends = np.cumsum(np.bincount(self.depth)[::-1])
        for level in np.split(order, ends[:-1]):  # from the deepest level up
            inner = level[self.parent[level] >= 0]
            np.maximum.at(below, self.parent[inner], below[inner] + 1)
        return below

    @property
    def height(self) -> int:
        """The fewest steps in which all chunks can arrive."""
        return int(self.depth.max(initial=-1)) + 1

    @property
    def num_sends(self) -> int:
        """M."""
        return int(self.count.sum())
