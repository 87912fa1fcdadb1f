"""The demands of a collective: classes of chunks with their counts.

A bound is about such classes.  It holds for every C whose classes are these in proportion, so one
certificate serves all of them.  For combining collectives a bound may be about a part of the
demands only, see `DemandView`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from math import gcd
from typing import Annotated

import numpy as np
import numpy.typing as npt

from syncoll.arrays import Ints
from syncoll.certificates.set_pairs import NodeSetPairs
from syncoll.errors import ModelError
from syncoll.model import Instance, RelationTable, ranges
from syncoll.model.node_sets import NodeSets

NodeNumber = Annotated[int, "node"]
"""Whole numbers in certificates that are no nodes are positions or steps."""


@dataclass(frozen=True, order=True)
class Demand:
    """Chunks with the same sources and the same destinations.

    Args:
        sources: the nodes of pre.
        destinations: the nodes of post that lack it at the start; never empty.
    """

    sources: tuple[int, ...]
    destinations: tuple[int, ...]
    count: int


class DemandList(NodeSetPairs[Demand]):
    """Demands in ascending order."""

    record = Demand
    names = ("sources", "destinations", "count")

    @cached_property
    def needing(self) -> tuple[Ints, Ints]:
        """Each destination of each demand, and the demand's position; ascending."""
        sizes, every = self.listed
        count = sizes[self.second]
        node = every[ranges((np.cumsum(sizes) - sizes)[self.second], count)]
        demand = np.repeat(np.arange(len(count)), count)
        order = np.argsort(node, kind="stable")
        return node[order], demand[order]


def demands(table: RelationTable | Instance) -> DemandList:
    """The demands of a pre and a post in a fixed order; chunks that are at their goal have none."""
    return _missing(ChunkClasses.of(table, 1).classes)


def _missing(classes: "ClassList", *, turned: bool = False) -> DemandList:
    """The demands of some classes; with `turned` from the ends of chunks to their starts."""
    sets, first, second, count = classes.sets, classes.first, classes.second, classes.counts
    if turned:
        first, second = second, first
    single = classes.singles
    if ((single[first] >= 0) & (single[second] >= 0)).all():
        moving = first != second
        return DemandList.made(sets, first[moving], second[moving], count[moving])
    members = np.packbits(classes.members(1 + int(classes.listed[1].max(initial=0))), axis=1)
    missing = members[second] & ~members[first]
    kept = missing.any(axis=1)
    needed = NodeSets.of_packed(missing[kept], 8 * members.shape[1])
    second = len(sets) + needed.number
    return DemandList.made([*sets, *needed.tuples()], first[kept], second, count[kept])


class DemandView(StrEnum):
    """The demands of a shape that a bound is about, and their topology.

    An algorithm run backwards turns a gathering into a distribution, so the last two are about the
    topology with every link reversed.
    """

    MOVING = "moving"
    """All of them; chunks are copied, and nothing is combined."""

    SPREAD = "spread"
    """The contribution of one node to each chunk must reach every node that needs the result; where
    the given node does not contribute, the least contributor is taken."""

    COLLECT = "collect"
    """One node that needs a chunk must get every contribution to it; where the given node does not
    need it, the least one that does is taken (reversed topology)."""

    INVERSE = "inverse"
    """Each chunk is needed at one node at most, which gets every contribution (reversed)."""

    @property
    def mirrored(self) -> bool:
        """Whether it is about the reversed topology."""
        return self in (DemandView.COLLECT, DemandView.INVERSE)


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


class ClassList(NodeSetPairs[ChunkClass]):
    """Classes of chunks in ascending order."""

    record = ChunkClass
    names = ("pre", "post", "count")


@dataclass(frozen=True)
class ChunkClasses:
    """The chunk classes for one C.

    Args:
        classes: in ascending order, no pre and post twice; a list of them becomes a `ClassList`.
        combining: whether the nodes of pre contribute to the chunk.
    """

    chunks: int
    classes: ClassList
    combining: bool = False

    def __init__(self, chunks: int, classes: Iterable[ChunkClass], combining: bool = False) -> None:
        object.__setattr__(self, "chunks", chunks)
        object.__setattr__(self, "classes", ClassList.of(classes))
        object.__setattr__(self, "combining", combining)

    @classmethod
    def of(
        cls, table: RelationTable | Instance, chunks: int, *, combining: bool = False
    ) -> "ChunkClasses":
        """The shape of a table, or of an instance."""
        if isinstance(table, Instance):
            table = table.table
        sets = [*table.starts.tuples(), *table.ends.tuples()]
        first, second, count = table.kinds
        classes = ClassList.made(sets, first, len(table.starts.sets) + second, count)
        return cls(chunks, classes, combining)

    def proportional(self, other: "ChunkClasses") -> bool:
        """Whether the classes are the same, with counts in proportion to C."""
        return (
            self.combining == other.combining
            and self.classes.same_pairs(other.classes)
            and bool((self._times(other.chunks) == other._times(self.chunks)).all())
        )

    @cached_property
    def _common(self) -> int:
        """The greatest common divisor of the counts."""
        return gcd(*np.unique(self.classes.counts).tolist())

    def _times(self, factor: int) -> npt.NDArray[np.object_]:
        """The counts times a number of any size."""
        result: npt.NDArray[np.object_] = self.classes.counts.astype(object) * factor
        return result

    @property
    def ends_alone(self) -> bool:
        """Whether every chunk is needed at one node at most."""
        return bool((self.classes.listed[0][self.classes.second] <= 1).all())

    def allows(self, chunks: int) -> bool:
        """Whether the classes in proportion to C = `chunks` have whole counts."""
        return self._common * chunks % self.chunks == 0

    def scaled(self, chunks: int) -> "ChunkClasses":
        """The classes in proportion to another C. Raises `ModelError` when counts would not be
        whole."""
        if not self.allows(chunks):
            raise ModelError(f"C = {chunks} cannot have the shape of C = {self.chunks}")
        own = self.classes
        counts = (self._times(chunks) // self.chunks).tolist()
        parts = zip(own.first.tolist(), own.second.tolist(), counts, strict=True)
        classes = ClassList.of_parts((own.sets[i], own.sets[j], n) for i, j, n in parts)
        return ChunkClasses(chunks, classes, self.combining)

    def inverse(self, chunks: int) -> "ChunkClasses":
        """Pre and post exchanged, for an inverse whose C is `chunks`."""
        return ChunkClasses(chunks, self._turned, not self.combining)

    @cached_property
    def _turned(self) -> ClassList:
        return self.classes.turned()

    def demands(self, reading: DemandView, node: int | None = None) -> DemandList:
        """The demands that a bound is about, in a fixed order.
        Raises `ModelError` if the shape has no such reading.

        Args:
            reading: see `DemandView`.
            node: for `DemandView.SPREAD` and `DemandView.COLLECT`.
        """
        if (reading is DemandView.MOVING) == self.combining:
            kind = "combines" if self.combining else "combines nothing"
            raise ModelError(f"a bound by {reading}, but the collective {kind}")
        if (node is None) == (reading in (DemandView.SPREAD, DemandView.COLLECT)):
            named = "no node" if node is None else f"node {node}"
            raise ModelError(f"a bound by {reading} that names {named}")
        own = self.classes
        if reading is DemandView.MOVING:
            return self._moving
        if reading is DemandView.INVERSE:
            several = next((one.post for one in own if len(one.post) > 1), None)
            if several is not None:
                raise ModelError(f"a bound by {reading}, but a chunk is needed at {several}")
            kept = own.listed[0][own.second] > 0
            needed = ClassList(own.sets, own.first[kept], own.second[kept], own.counts[kept])
            return _missing(needed, turned=True)
        assert node is not None
        return DemandList.of_parts(self._of_one(reading, node))

    @cached_property
    def _moving(self) -> DemandList:
        return _missing(self.classes)

    def _of_one(
        self, reading: DemandView, node: int
    ) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], int]]:
        for pre, post, count in self.classes.triples():
            inside, others = (pre, post) if reading is DemandView.SPREAD else (post, pre)
            if not inside:
                continue
            one = node if node in inside else inside[0]
            missing = tuple(n for n in others if n != one)
            if missing:
                yield (one,), missing, count

    def table(self, nodes: int) -> RelationTable:
        """A table of this shape, its chunks class by class."""
        own = self.classes
        sets = own.members(nodes)
        counts = own.counts.astype(np.int64)
        return RelationTable(
            *(NodeSets(sets, np.repeat(part, counts)).pruned() for part in (own.first, own.second))
        )
