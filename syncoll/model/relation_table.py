"""RelationTable: where chunks start and must end, for one P and one C."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from syncoll.model.instance import BoolArray
from syncoll.model.rows import matching

__all__ = ["RelationTable"]


@dataclass(frozen=True)
class RelationTable:
    """The pre- and postcondition of a collective for one P and one C.

    Args:
        pre: ``[G, P]``, chunk c starts at node n.
        post: ``[G, P]``, chunk c must end at node n.
    """

    pre: BoolArray
    post: BoolArray

    def cut(self, pieces: int) -> RelationTable:
        """The table with every chunk cut: chunk c becomes c, c + G, c + 2 G and so on."""
        return RelationTable(np.tile(self.pre, (pieces, 1)), np.tile(self.post, (pieces, 1)))

    @property
    def rows(self) -> BoolArray:
        """``[G, 2 P]``: where each chunk starts, and where it must end."""
        return np.concatenate([self.pre, self.post], axis=1)

    def same_as(self, other: RelationTable) -> bool:
        """Whether the chunks are the same but for their numbers."""
        same = np.array_equal(self.pre, other.pre) and np.array_equal(self.post, other.post)
        return same or matching(self.rows, other.rows) is not None
