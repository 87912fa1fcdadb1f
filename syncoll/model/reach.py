"""Reach: the distances over which a collective's chunks must go on a topology."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from syncoll.arrays import Bools, Ints
from syncoll.errors import ModelError, Origin
from syncoll.model.rows import RelationTable
from syncoll.model.topology import UNREACHABLE, Topology
from syncoll.wording import few

_PAIRS_AT_ONCE = 1 << 22
"""Approximate number of pairs of a chunk and a node that are computed together."""


@dataclass(frozen=True, eq=False)
class Reach:
    """Distances of chunks from pre to post; in a `combining` collective from all of pre."""

    topology: Topology
    table: RelationTable
    combining: bool

    _last: "ClassVar[Reach | None]" = None

    @classmethod
    def of(cls, topology: Topology, table: RelationTable, combining: bool) -> "Reach":
        """The last reach, with its cached parts, if the objects are the same; else a new one."""
        last = cls._last
        same = last is not None and last.topology is topology and last.table is table
        if last is None or not same or last.combining != combining:
            last = cls._last = cls(topology, table, combining)
        return last

    @cached_property
    def distances(self) -> Ints:
        """``[K, P]``: for each set of `table.starts` the fewest steps until a node has all of a
        chunk that starts there: from the nearest node of the set, or for a combining collective
        from the farthest; `UNREACHABLE` from an empty set."""
        return self._from(self.table.starts.sets)

    def _from(self, sets: Bools) -> Ints:
        far = self.topology.distances
        result = np.full(sets.shape, UNREACHABLE, dtype=np.int64)
        single = sets.sum(axis=1) == 1
        result[single] = far[sets[single].argmax(axis=1)]
        several = np.flatnonzero(sets.sum(axis=1) > 1)
        if len(several):
            some, nearest = sets[several], np.maximum if self.combining else np.minimum
            found = np.full(some.shape, 0 if self.combining else UNREACHABLE, dtype=np.int64)
            for node in np.flatnonzero(some.any(axis=0)).tolist():
                own = some[:, node]
                found[own] = nearest(found[own], far[node])
            result[several] = found
        return result

    @cached_property
    def least_steps(self) -> int:
        """The distance bound on S: no chunk travels faster than one link a step."""
        starts, ends = self.table.starts.sets, self.table.ends.sets
        one, other = self.table.kinds[:2]
        least = 0
        if self.combining:
            needed, held = np.asarray(ends.any(axis=1)), np.asarray(starts.any(axis=1))
            if (needed[other] & ~held[one]).any():
                return UNREACHABLE
        else:
            alone = ends.sum(axis=1)[other] == 1
            last = ends.argmax(axis=1)[other[alone]]
            least = int(self.distances[one[alone], last].max(initial=0))
            one, other = one[~alone], other[~alone]
        at_once = max(1, _PAIRS_AT_ONCE // max(1, self.table.num_nodes))
        for low in range(0, len(one), at_once):
            i, j = one[low : low + at_once], other[low : low + at_once]
            if self.combining:
                # Chunks with the same destinations are as far as all their contributors together.
                some, joined = _joined(j, starts[i])
                steps = self._from(joined).max(initial=0, where=ends[some])
            else:
                some, needed = _joined(i, ends[j])
                steps = self.distances[some].max(initial=0, where=needed)
            least = max(least, int(steps))
        return least

    def require(self, name: str, origin: Origin | None) -> None:
        """Raises ModelError if a chunk of the collective `name` cannot reach its post."""
        if self.least_steps < UNREACHABLE:
            return
        chunk, node = self._first(UNREACHABLE)
        starts = np.flatnonzero(self.table.starts.sets[self.table.starts.number[chunk]]).tolist()
        if self.combining and not starts:
            where = "no node contributes to it"
        elif self.combining:
            cut = [i for i in starts if self.topology.distances[i, node] >= UNREACHABLE]
            where = f"no path leads there from {_nodes(cut or starts)}, which contribute to it"
        else:
            where = f"no path leads there from {_nodes(starts)}" if starts else "it starts nowhere"
        raise ModelError(
            f"collective {name} on {self.topology.name}: chunk {chunk} must reach "
            f"node {node}, but {where}",
            origin,
            "a post that can be reached over the topology's links",
        )

    @property
    def farthest(self) -> tuple[int, int] | None:
        """The first chunk that must go `least_steps` links, and its destination; None if 0."""
        return self._first(self.least_steps) if self.least_steps else None

    def _first(self, far: int) -> tuple[int, int]:
        """The first chunk that must go `far` links or more, and the first such destination."""
        starts, ends = self.table.starts, self.table.ends
        at_once = max(1, _PAIRS_AT_ONCE // max(1, self.table.num_nodes))
        for low in range(0, len(self.table), at_once):
            own = slice(low, low + at_once)
            is_far = ends.sets[ends.number[own]] & (self.distances[starts.number[own]] >= far)
            for chunk, node in np.argwhere(is_far)[:1].tolist():
                return low + chunk, node
        raise AssertionError(f"no chunk goes {far} links")


def _joined(number: Ints, sets: Bools) -> tuple[Ints, Bools]:
    """The distinct numbers, and for each the union of the sets with this number."""
    order = np.argsort(number, kind="stable")
    some, first = np.unique(number[order], return_index=True)
    joined = sets[order]
    return some, np.logical_or.reduceat(joined, first, axis=0) if len(some) else joined


def _nodes(nodes: list[int]) -> str:
    return f"node {nodes[0]}" if len(nodes) == 1 else f"nodes {few(nodes, 6)}"
