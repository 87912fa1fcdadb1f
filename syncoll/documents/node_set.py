"""Sets of nodes in files: each node, or on large topologies runs of nodes."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from msgspec import Meta

from syncoll.documents.record import Node
from syncoll.errors import FileFormatError

NodeEntry = Node | Annotated[list[Node], Meta(min_length=2, max_length=2)]
"""A node, or the first and the last of a run of nodes (a list: msgspec 0.22 mistakes the length of
a tuple for a limit of the other type)."""

MOST_LISTED_NODES = 256
"""P up to which files list every node, which needs version 1."""


def set_entries(
    nodes: Sequence[int], of: int, *, runs: bool | None = None
) -> tuple[NodeEntry, ...]:
    """The entries of an ascending set of P nodes; runs are allowed by default for large P."""
    if not (of > MOST_LISTED_NODES if runs is None else runs) or len(nodes) < 3:
        return tuple(nodes)
    numbers = np.asarray(nodes)
    breaks = np.flatnonzero(np.diff(numbers) != 1)
    first = numbers[np.concatenate([[0], breaks + 1])].tolist()
    last = numbers[np.concatenate([breaks, [-1]])].tolist()
    return tuple(a if a == z else [a, z] for a, z in zip(first, last, strict=True))


def nodes_of(
    entries: Sequence[NodeEntry], of: int, noun: str, known: dict[object, tuple[int, ...]]
) -> tuple[int, ...]:
    """The set, its nodes in the order of the entries; `known` is a cache of sets.  Raises
    `FileFormatError`, with the noun, for an unknown or repeated node, or a run that ends before it
    begins."""
    key = tuple(one if isinstance(one, int) else tuple(one) for one in entries)
    if key not in known:
        found: list[int] = []
        for entry in key:
            first, last = (entry, entry) if isinstance(entry, int) else entry
            if max(first, last) >= of:
                raise FileFormatError(
                    f"{noun} names node {max(first, last)}; the nodes are 0 to {of - 1}"
                )
            if last < first:
                raise FileFormatError(f"{noun} has a run of nodes from {first} to {last}")
            found += range(first, last + 1)
            if len(found) > of:
                break
        if len(set(found)) < len(found):
            twice = next(node for node in found if found.count(node) > 1)
            raise FileFormatError(f"{noun} names node {twice} twice")
        known[key] = tuple(found)
    return known[key]
