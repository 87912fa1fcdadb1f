"""What one node holds, and what it can compute from it.

Of each chunk a node keeps every piece of data that it has or receives beside the others, labelled
with the nodes whose contributions are reduced in it.  From pieces whose labels are disjoint it can
form the piece with all their labels, so that no contribution counts twice.  Plain copies, as
collectives that only move data send them, have no label.
"""

from __future__ import annotations

from functools import reduce

from syncoll.trust.data.workload import Array, ReduceOp

__all__ = ["COPY", "Label", "NodeMemory"]

Label = frozenset[int]

COPY: Label = frozenset()
"""The label of a chunk that nothing is reduced into."""


class NodeMemory:
    """The pieces of data at one node.

    Args:
        operation: how pieces are reduced.
    """

    def __init__(self, operation: ReduceOp) -> None:
        self._operation = operation
        self._pieces: dict[int, dict[Label, Array]] = {}

    def keep(self, chunk: int, label: Label, data: Array) -> None:
        """Stores a copy of a piece, in place of one with the same label."""
        piece = data.copy()
        piece.setflags(write=False)
        self._pieces.setdefault(chunk, {})[label] = piece

    def form(self, chunk: int, label: Label) -> Array | None:
        """The piece with this label, reduced from others where need be; None if it cannot be."""
        pieces = self._pieces.get(chunk, {})
        if label in pieces:
            return pieces[label]
        parts = _parts(label, [have for have in pieces if have and have <= label], set())
        return reduce(self._operation, [pieces[part] for part in parts]) if parts else None

    def labels(self, chunk: int) -> list[Label]:
        """Those of the pieces held of a chunk."""
        return list(self._pieces.get(chunk, {}))


def _parts(label: Label, have: list[Label], hopeless: set[Label]) -> list[Label] | None:
    """Disjoint labels out of `have` with `label` as their union; None if there are none.

    Whoever is to be in the union is in exactly one part: each that has the least of them is tried.
    """
    if not label:
        return []
    if label in hopeless:
        return None
    least = min(label)
    for part in have:
        if least in part and part <= label:
            rest = _parts(label - part, have, hopeless)
            if rest is not None:
                return [part, *rest]
    hopeless.add(label)
    return None
