"""What the nodes have before the first step.

A node's data is cut into C chunks of equal length, rounded up: the last ones are shorter, and empty
where there are more chunks than elements.  Chunk c has the length of its place among the chunks
that start at the first node of its pre, so that C chunks of one node add up to the node's data.
"""

from __future__ import annotations

import numpy as np

from syncoll.model import Instance
from syncoll.trust.data.workload import Array, Workload

__all__ = ["Inputs"]


class Inputs:
    """The data of every chunk at every node of its pre.

    In a combining instance each node has data of its own for a chunk, its contribution; in another
    all nodes of a chunk's pre have the same.

    Args:
        instance: whose pre says what starts where.
        workload: how much data, and of which type.
    """

    def __init__(self, instance: Instance, workload: Workload) -> None:
        pre = instance.pre
        owner = pre.argmax(axis=1)
        at_owner = (pre.cumsum(axis=0) - 1)[np.arange(len(pre)), owner]
        pieces = max(instance.chunks, int(pre.sum(axis=0).max()))
        longest = -(-workload.elements // pieces)
        lengths = np.clip(workload.elements - at_owner * longest, 0, longest)
        lengths[~pre.any(axis=1)] = 0
        self.lengths: list[int] = lengths.tolist()
        """Elements of each chunk."""
        self._data: dict[tuple[int, int], Array] = {}
        for node in range(pre.shape[1]):
            mine = pre[:, node] if instance.combining else pre[:, node] & (owner == node)
            chunks = np.flatnonzero(mine)
            ends = lengths[chunks].cumsum()
            drawn = workload.draw(int(lengths[chunks].sum()), node)
            drawn.setflags(write=False)
            for chunk, end in zip(chunks.tolist(), ends.tolist(), strict=True):
                self._data[chunk, node] = drawn[end - self.lengths[chunk] : end]
        if not instance.combining:
            for chunk, node in np.argwhere(pre).tolist():
                self._data[chunk, node] = self._data[chunk, int(owner[chunk])]

    def of(self, chunk: int, node: int) -> Array:
        """What a node of pre has of a chunk."""
        return self._data[chunk, node]
