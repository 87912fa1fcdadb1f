"""Turns: the order of trees in a time step.

Turns by root serve symmetric networks; on others trees with larger remaining height go first
(MultiTree paper, section III.C.1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from syncoll.arrays import IntArray
from syncoll.deadline import NEVER, Deadline
from syncoll.errors import ModelError

__all__ = ["TURNS", "Turns"]

TURNS = ("root", "height", "missing")
"""``root``: in the order of the roots.  ``height``: first what lacks the nodes farthest from it.
``missing``: first what lacks most nodes."""


class Turns:
    """The nodes that trees lack, and the order of turns that follows.

    Args:
        kind: one of `TURNS`.
        roots: of each tree; the order where nothing else decides.
        distances: gives ``[P, P]``, sends between nodes; called for ``height`` only.
        until: no time step begins after it.

    Raises:
        ModelError: on an unknown kind.
    """

    def __init__(
        self,
        kind: str,
        roots: Sequence[int],
        num_nodes: int,
        distances: Callable[[], IntArray],
        until: Deadline = NEVER,
    ) -> None:
        self._until = until
        if kind not in TURNS:
            raise ModelError(f"turns {kind!r}", None, "one of " + ", ".join(TURNS))
        self._kind = kind
        self.missing = [num_nodes - 1] * len(roots)
        if kind == "height":
            self._distances = distances()
            self._to_node = [self._distances[root].copy() for root in roots]
            self._heights = [int(row.max()) for row in self._to_node]

    def sort(self, trees: list[int]) -> None:
        """Sorts trees for the next time step; raises OutOfTimeError if it is too late for one."""
        self._until.check()
        missing = self.missing
        if self._kind == "height":
            heights = self._heights
            trees.sort(key=lambda tree: (-heights[tree], -missing[tree], tree))
        elif self._kind == "missing":
            trees.sort(key=lambda tree: (-missing[tree], tree))

    def end_step(self, fresh: Mapping[int, Sequence[int]]) -> None:
        """Takes note of the nodes that each tree got in a time step."""
        if self._kind != "height":
            return
        for tree, nodes in fresh.items():
            row = self._to_node[tree]
            np.minimum(row, self._distances[list(nodes)].min(axis=0), out=row)
            self._heights[tree] = int(row.max())
