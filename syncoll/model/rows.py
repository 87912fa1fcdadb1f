"""Tables of pre and post; chunks with equal rows are interchangeable."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from syncoll.arrays import Bools, Ints
from syncoll.model.node_sets import NodeSets, paired

MOST_CELLS = 20_000_000
"""Cells of the largest table that is made only for a comparison."""


class RelationTable:
    """Pre and post of a collective for one P and one C, each ``[G, P]`` or the sets of nodes."""

    def __init__(self, pre: Bools | NodeSets, post: Bools | NodeSets) -> None:
        self.starts, self.ends = (
            one if isinstance(one, NodeSets) else NodeSets.of(one) for one in (pre, post)
        )

    def __len__(self) -> int:
        """G."""
        return len(self.starts)

    @property
    def num_nodes(self) -> int:
        """P."""
        return self.starts.num_nodes

    @property
    def cells(self) -> int:
        """G * P."""
        return len(self) * self.num_nodes

    @property
    def pre(self) -> Bools:
        """``[G, P]``: chunk c starts at node n; raises `ModelError` if the table is too large."""
        return self.starts.dense

    @property
    def post(self) -> Bools:
        """``[G, P]``: chunk c must end at node n; raises `ModelError` if the table is too large."""
        return self.ends.dense

    @property
    def roots(self) -> Ints | None:
        """``[G]``: the node where each chunk starts; None unless it is one that all need."""
        if not len(self) or (self.starts.sizes != 1).any() or not self.ends.sets.all():
            return None
        return np.asarray(self.starts.sets.argmax(axis=1)[self.starts.number], dtype=np.int64)

    @cached_property
    def kinds(self) -> tuple[Ints, Ints, Ints]:
        """For each kind the positions of its sets in `starts` and `ends`, and its size."""
        codes, width = self.kind, max(1, len(self.ends.sets))
        if len(self.starts.sets) * width > 4 * len(codes):
            kinds, counts = np.unique(codes, return_counts=True)
        else:
            counts = np.bincount(codes)
            kinds = np.flatnonzero(counts)
            counts = counts[kinds]
        return kinds // width, kinds % width, counts

    @cached_property
    def kind(self) -> Ints:
        """``[G]``, the same number for the chunks of a kind."""
        return self.starts.number * max(1, len(self.ends.sets)) + self.ends.number

    def by_kind(self) -> Ints:
        """``[G]``, the chunks of each kind together, kinds in the order of their first chunks."""
        _, first, kind = np.unique(self.kind, return_index=True, return_inverse=True)
        return np.argsort(first[kind.reshape(-1)], kind="stable")

    def cut(self, pieces: int) -> RelationTable:
        """The table with every chunk cut: chunk c becomes c, c + G, c + 2 G and so on."""
        return RelationTable(self.starts.tile(pieces), self.ends.tile(pieces))

    def repeated(self, times: int | Ints) -> RelationTable:
        """Every chunk cut into `times` pieces (or ``[G]`` of each), next to one another."""
        order = np.repeat(np.arange(len(self)), times)
        return RelationTable(self.starts.take(order), self.ends.take(order))

    @classmethod
    def joined(cls, tables: Sequence[tuple[RelationTable, Ints]], nodes: int) -> RelationTable:
        """The chunks of several tables, each with the places ``[n]`` of its nodes among `nodes`."""
        starts, ends = (
            NodeSets.of_packed(
                np.concatenate([_spread(getattr(one, side), to, nodes) for one, to in tables]),
                nodes,
            )
            for side in ("starts", "ends")
        )
        return cls(starts, ends)

    def same_as(self, other: RelationTable) -> bool:
        """Whether the chunks are the same except for their numbers."""
        return self.matching(other) is not None

    def matching(self, other: RelationTable) -> Ints | None:
        """For each chunk one of another table that starts and ends alike; see `paired`."""
        return paired((self.starts, self.ends), (other.starts, other.ends))


def _spread(sets: NodeSets, to: Ints, nodes: int) -> npt.NDArray[np.uint8]:
    """The packed rows of a table's chunks on P nodes; `to` as in `joined`."""
    wide = np.zeros((len(sets.sets), nodes), dtype=np.bool_)
    wide[:, to] = sets.sets
    packed: npt.NDArray[np.uint8] = np.packbits(wide, axis=1)[sets.number]
    return packed


def ranges(firsts: Ints, counts: Ints) -> Ints:
    """For every i the numbers ``firsts[i], firsts[i] + 1, …``, ``counts[i]`` of them."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    found: Ints = np.arange(total, dtype=np.int64)
    found += np.repeat(firsts - (ends - counts), counts)
    return found


def ranks_among(keys: Ints) -> Ints:
    """For each key the number of equal keys before it."""
    order = np.argsort(keys, kind="stable")
    ranks = np.empty(len(keys), dtype=np.int64)
    ranks[order] = np.arange(len(keys)) - np.searchsorted(keys[order], keys[order])
    return ranks


def rows_within(ours: Ints, theirs: Ints) -> Bools:
    """For each row of `ours` whether it is a row of `theirs`; both ``[*, n]``, numbers from 0."""
    if not len(theirs):
        return np.zeros(len(ours), dtype=np.bool_)
    sizes = 1 + np.maximum(ours.max(axis=0, initial=0), theirs.max(axis=0))
    weights = np.concatenate([np.cumprod(sizes[:0:-1])[::-1], [1]])
    found: Bools = np.isin(ours @ weights, theirs @ weights)
    return found
