"""A set of nodes for every chunk, kept as the distinct sets and the number of each chunk's set.

An alltoall among 1024 nodes has a million chunks, which start and end at one node each: a table of
chunks and nodes has 2^30 cells, the distinct sets 2^20.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from syncoll.arrays import Bools, Ints, frozen
from syncoll.errors import ModelError
from syncoll.wording import counted

ByteArray = npt.NDArray[np.uint8]

MOST_DENSE_CELLS = 1 << 28
"""Chunks times nodes of a dense table, a byte each; an algorithm needs several such tables."""


@dataclass(frozen=True, eq=False)
class NodeSets:
    """For every chunk a set of nodes: the distinct ``[K, P]``, and ``[G]`` the number of each
    chunk's."""

    sets: Bools
    number: Ints

    @classmethod
    def of(cls, table: Bools) -> "NodeSets":
        """The rows of a table ``[G, P]``."""
        return cls.of_packed(np.packbits(table, axis=1), table.shape[1])

    @classmethod
    def of_packed(cls, rows: ByteArray, nodes: int) -> "NodeSets":
        """Rows of P bits each, as `numpy.packbits` packs them."""
        first, number = _distinct(rows)
        sets = np.unpackbits(rows[first], axis=1, count=nodes).view(bool)
        return cls(frozen(sets), frozen(number))

    def __len__(self) -> int:
        """G."""
        return len(self.number)

    @property
    def num_nodes(self) -> int:
        """P."""
        return int(self.sets.shape[1])

    @property
    def cells(self) -> int:
        """G * P."""
        return len(self) * self.num_nodes

    @cached_property
    def dense(self) -> Bools:
        """``[G, P]``, read-only; raises ModelError if it would be too large."""
        self.require_dense()
        if len(self.sets) == 1:  # rows of its own would take most of an allreduce's memory
            return np.broadcast_to(self.sets[0], (len(self), self.num_nodes))
        return frozen(self.sets[self.number])

    def require_dense(self) -> None:
        """Raises ModelError if the dense table would be too large."""
        if self.cells > MOST_DENSE_CELLS:
            raise ModelError(
                f"{counted(len(self), 'chunk')} on {counted(self.num_nodes, 'node')}: too many for "
                "an algorithm",
                None,
                f"at most {MOST_DENSE_CELLS} pairs of chunk and node (`syncoll bounds` takes more)",
            )

    @cached_property
    def sizes(self) -> Ints:
        """``[G]``, the size of each chunk's set."""
        found: Ints = self.sets.sum(axis=1)[self.number]
        return found

    @cached_property
    def per_node(self) -> Ints:
        """``[P]``, the number of chunks whose set has each node."""
        found: Ints = np.bincount(self.number, minlength=len(self.sets)) @ self.sets
        return found

    def tuples(self) -> list[tuple[int, ...]]:
        """The nodes of each distinct set."""
        nodes = self.sets.nonzero()[1].tolist()
        ends = np.cumsum(self.sets.sum(axis=1)).tolist()
        return [tuple(nodes[a:b]) for a, b in zip([0, *ends], ends, strict=False)]

    def take(self, chunks: Ints) -> "NodeSets":
        """The sets of some chunks, in this order; unused sets are left out."""
        taken = self.number[chunks]
        used = np.bincount(taken, minlength=len(self.sets)) > 0
        return NodeSets(frozen(self.sets[used]), frozen((np.cumsum(used) - 1)[taken]))

    def pruned(self) -> "NodeSets":
        """The same without unused sets."""
        return self.take(np.arange(len(self)))

    def tile(self, pieces: int) -> "NodeSets":
        """Every chunk cut: chunk c becomes c, c + G, c + 2 G and so on."""
        return NodeSets(self.sets, frozen(np.tile(self.number, pieces)))


def paired(ours: tuple[NodeSets, ...], theirs: tuple[NodeSets, ...]) -> Ints | None:
    """For each of our chunks one of theirs with the same sets, each used once: the identity if it
    fits, else chunks paired in order; None if the chunks differ."""
    if len(ours[0]) != len(theirs[0]) or ours[0].num_nodes != theirs[0].num_nodes:
        return None
    count = len(ours[0])
    kind = np.zeros(2 * count, dtype=np.int64)
    for one, other in zip(ours, theirs, strict=True):
        common = np.concatenate(common_numbers(one, other))
        _, kind = np.unique(kind * (int(common.max(initial=0)) + 1) + common, return_inverse=True)
    mine, yours = kind[:count], kind[count:]
    if np.array_equal(mine, yours):
        return np.arange(count)
    order, place = np.argsort(mine, kind="stable"), np.argsort(yours, kind="stable")
    if not np.array_equal(mine[order], yours[place]):
        return None
    result = np.empty(count, dtype=np.int64)
    result[order] = place
    return result


def common_numbers(one: NodeSets, other: NodeSets) -> tuple[Ints, Ints]:
    """``[G]`` of both: the number of each chunk's set, the same for equal sets of the two."""
    _, common = _distinct(np.packbits(np.concatenate([one.sets, other.sets]), axis=1))
    return common[one.number], common[other.number + len(one.sets)]


def _distinct(rows: ByteArray) -> tuple[Ints, Ints]:
    """The first position of each distinct row, ascending, and each row's place among them.  Rows
    are grouped by a random 64-bit key and then compared: sorting millions of rows is slow."""
    count, width = rows.shape
    if not width or not count:
        first = np.zeros(min(1, count), dtype=np.int64)
        return first, np.zeros(count, dtype=np.int64)
    padded = np.zeros((count, -(-width // 8) * 8), dtype=np.uint8)
    padded[:, :width] = rows
    words = padded.view(np.uint64)
    factors = np.random.default_rng(20220103).integers(
        1 << 63, size=words.shape[1], dtype=np.uint64
    ) | np.uint64(1)
    keys = (words ^ (words >> np.uint64(31))) @ factors
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    if not np.array_equal(words[first][number], words):  # two rows have one key
        whole = words.view(f"V{8 * words.shape[1]}").ravel()
        _, first, number = np.unique(whole, return_index=True, return_inverse=True)
    return by_first(first, number)


def by_first(first: Ints, number: Ints) -> tuple[Ints, Ints]:
    """Kinds renumbered in the order of their first members: these, and ``[G]`` the new numbers."""
    order = np.argsort(first)
    return first[order], np.argsort(order)[number]
