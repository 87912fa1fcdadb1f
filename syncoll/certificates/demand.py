"""Demands: pre and post as classes of chunks with the same start and the same needs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from syncoll.model import BoolArray, Instance, RelationTable

__all__ = ["Demand", "demands"]


@dataclass(frozen=True, order=True)
class Demand:
    """So many chunks that start at the same nodes and are needed at the same nodes.

    Args:
        sources: the nodes of pre.
        destinations: the nodes of post that lack it at the start; never empty.
    """

    sources: tuple[int, ...]
    destinations: tuple[int, ...]
    count: int


def demands(table: RelationTable | Instance, *, combining: bool = False) -> tuple[Demand, ...]:
    """The demands of a pre and a post in a fixed order; chunks that are at their goal have none.

    For a combining collective every chunk that is needed at all counts, with all nodes that need
    it as destinations, since a contributor needs the others' contributions.
    """
    missing = table.post if combining else table.post & ~table.pre
    counter: Counter[tuple[tuple[int, ...], tuple[int, ...]]] = Counter()
    for starts, needs in zip(table.pre, missing, strict=True):
        if needs.any():
            counter[_positions(starts), _positions(needs)] += 1
    return tuple(sorted(Demand(a, b, count) for (a, b), count in counter.items()))


def _positions(row: BoolArray) -> tuple[int, ...]:
    return tuple(np.flatnonzero(row).tolist())
