"""What a collective asks for: classes of chunks with their counts, and the demands that these make.

A bound speaks of such classes.  It holds for every C whose classes are these in proportion, so one
certificate serves all of them.  For combining collectives a bound may speak of a part of what is
asked only, see `DemandView`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from syncoll.errors import ModelError
from syncoll.model import BoolArray, Instance, RelationTable

__all__ = ["ChunkClass", "ChunkClasses", "Demand", "DemandView", "demands"]


@dataclass(frozen=True, order=True)
class Demand:
    """Chunks that start at the same nodes and are needed at the same nodes.

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


class DemandView(StrEnum):
    """Which demands of a shape a bound speaks of, and on which topology.

    An algorithm run backwards turns what is gathered into what is distributed, so the last ones
    speak of the topology with every link reversed.
    """

    MOVING = "moving"
    """All of them; chunks are copied, and nothing is combined."""

    SPREAD = "spread"
    """What one node contributes must reach every node that needs a result with it."""

    COLLECT = "collect"
    """One node must get every contribution to what it needs (reversed topology)."""

    INVERSE = "inverse"
    """Each chunk is needed at one node at most, which gets every contribution (reversed)."""

    @property
    def mirrored(self) -> bool:
        """Whether it speaks of the reversed topology."""
        return self in (DemandView.COLLECT, DemandView.INVERSE)

    @property
    def of_one_node(self) -> bool:
        """Whether it is about what one node contributes, or gets."""
        return self in (DemandView.SPREAD, DemandView.COLLECT)


@dataclass(frozen=True, order=True)
class ChunkClass:
    """Chunks with the same pre and post.

    Args:
        pre: the nodes of pre, ascending.
        post: the nodes of post, ascending.
    """

    pre: tuple[int, ...]
    post: tuple[int, ...]
    count: int


@dataclass(frozen=True)
class ChunkClasses:
    """The chunk classes for one C.

    Args:
        classes: in ascending order, no pre and post twice.
        combining: whether pre says who contributes.
    """

    chunks: int
    classes: tuple[ChunkClass, ...]
    combining: bool = False

    @classmethod
    def of(
        cls, table: RelationTable | Instance, chunks: int, *, combining: bool = False
    ) -> ChunkClasses:
        """The shape of a table, or of an instance."""
        counter: Counter[tuple[bytes, bytes]] = Counter()
        for pre, post in zip(np.packbits(table.pre, 1), np.packbits(table.post, 1), strict=True):
            counter[pre.tobytes(), post.tobytes()] += 1
        nodes = table.pre.shape[1]
        sets = [_nodes([pair[i] for pair in counter], nodes) for i in (0, 1)]
        classes = (
            ChunkClass(pre, post, count)
            for pre, post, count in zip(*sets, counter.values(), strict=True)
        )
        return cls(chunks, tuple(sorted(classes)), combining)

    def proportional(self, other: ChunkClasses) -> bool:
        """Whether the classes are the same, with counts in proportion to C."""
        return (
            self.combining == other.combining
            and len(self.classes) == len(other.classes)
            and all(
                (a.pre, a.post) == (b.pre, b.post)
                and a.count * other.chunks == b.count * self.chunks
                for a, b in zip(self.classes, other.classes, strict=True)
            )
        )

    def allows(self, chunks: int) -> bool:
        """Whether the classes in proportion to C = `chunks` have whole counts."""
        return all(one.count * chunks % self.chunks == 0 for one in self.classes)

    def scaled(self, chunks: int) -> ChunkClasses:
        """The classes in proportion to another C.

        Raises:
            ModelError: when that leaves parts of chunks.
        """
        if not self.allows(chunks):
            raise ModelError(f"C = {chunks} cannot have the shape of C = {self.chunks}")
        classes = (
            ChunkClass(one.pre, one.post, one.count * chunks // self.chunks) for one in self.classes
        )
        return ChunkClasses(chunks, tuple(classes), self.combining)

    def inverse(self, chunks: int) -> ChunkClasses:
        """Pre and post exchanged, for an inverse whose C is `chunks`."""
        classes = (ChunkClass(one.post, one.pre, one.count) for one in self.classes)
        return ChunkClasses(chunks, tuple(sorted(classes)), not self.combining)

    def demands(self, reading: DemandView, node: int | None = None) -> tuple[Demand, ...]:
        """The demands that a bound speaks of, in a fixed order.

        Args:
            reading: see `DemandView`.
            node: for `DemandView.SPREAD` and `DemandView.COLLECT`.

        Raises:
            ModelError: when the shape cannot be read so.
        """
        counter: Counter[tuple[tuple[int, ...], tuple[int, ...]]] = Counter()
        for sources, destinations, count in self._read(reading, node):
            missing = tuple(n for n in destinations if n not in sources)
            if missing:
                counter[sources, missing] += count
        return tuple(sorted(Demand(a, b, count) for (a, b), count in counter.items()))

    def _read(
        self, reading: DemandView, node: int | None
    ) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], int]]:
        if (reading is DemandView.MOVING) == self.combining:
            raise ModelError(f"a bound by {reading} about a collective of the other kind")
        if (node is None) == reading.of_one_node:
            named = "no node" if node is None else f"node {node}"
            raise ModelError(f"a bound by {reading} that names {named}")
        for one in self.classes:
            if reading is DemandView.MOVING:
                yield one.pre, one.post, one.count
            elif reading is DemandView.INVERSE:
                if len(one.post) > 1:
                    raise ModelError(f"a bound by {reading}, but a chunk is needed at {one.post}")
                if one.post:
                    yield one.post, one.pre, one.count
            elif node is None:
                continue
            elif reading is DemandView.SPREAD and node in one.pre:
                yield (node,), one.post, one.count
            elif reading is DemandView.COLLECT and node in one.post:
                yield (node,), one.pre, one.count

    def table(self, nodes: int) -> RelationTable:
        """A table of this shape, its chunks class by class."""
        counts = [one.count for one in self.classes]
        first = np.zeros((len(self.classes), nodes), dtype=bool)
        last = np.zeros_like(first)
        for i, one in enumerate(self.classes):
            first[i, list(one.pre)] = True
            last[i, list(one.post)] = True
        return RelationTable(np.repeat(first, counts, 0), np.repeat(last, counts, 0))


def _positions(row: BoolArray) -> tuple[int, ...]:
    return tuple(np.flatnonzero(row).tolist())


def _nodes(packed: list[bytes], nodes: int) -> list[tuple[int, ...]]:
    """The nodes of packed rows."""
    known: dict[bytes, tuple[int, ...]] = {}
    for row in packed:
        if row not in known:
            bits = np.unpackbits(np.frombuffer(row, dtype=np.uint8), count=nodes)
            known[row] = _positions(bits > 0)
    return [known[row] for row in packed]
