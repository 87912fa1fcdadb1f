"""Reach: how far away what a collective asks for is on a topology."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from syncoll.arrays import IntArray
from syncoll.errors import ModelError, Origin
from syncoll.model.rows import RelationTable
from syncoll.model.topology import UNREACHABLE, Topology

__all__ = ["Reach"]


_PAIRS_AT_ONCE = 1 << 22
"""About how many kinds of chunks and their nodes are looked at together."""


@dataclass(frozen=True, eq=False)
class Reach:
    """Distances from where chunks start to where they must end.

    Args:
        combining: whether the nodes of pre hold contributions, not copies.
    """

    topology: Topology
    table: RelationTable
    combining: bool

    _last: ClassVar[Reach | None] = None

    @classmethod
    def of(cls, topology: Topology, table: RelationTable, combining: bool) -> Reach:
        """The last one with its computed parts if the objects are the same, or a new one."""
        last = cls._last
        if (
            last is None
            or last.topology is not topology
            or last.table is not table
            or last.combining != combining
        ):
            last = cls._last = cls(topology, table, combining)
        return last

    @cached_property
    def distances(self) -> IntArray:
        """``[K, P]``: for each set of `table.starts` the fewest steps after which a node can have
        all of a chunk that starts there.

        That is the distance from the nearest node of the set, or for a combining collective from
        the farthest.  No node can have a chunk to which no node contributes.
        """
        far, sets = self.topology.distances, self.table.starts.sets
        result = np.full(sets.shape, UNREACHABLE, dtype=np.int64)
        single = sets.sum(axis=1) == 1
        result[single] = far[sets[single].argmax(axis=1)]
        for i in np.flatnonzero(~single).tolist():
            row = sets[i]
            if row.any():
                result[i] = far[row].max(axis=0) if self.combining else far[row].min(axis=0)
        return result

    @cached_property
    def least_steps(self) -> int:
        """The distance bound on S: no chunk travels faster than one link a step."""
        return int(self._steps.max(initial=0))

    @cached_property
    def _steps(self) -> IntArray:
        """For each kind of chunk, see `RelationTable.kinds`, the steps to the last of its goals."""
        starts, ends, _ = self.table.kinds
        sets = self.table.ends.sets
        sizes = sets.sum(axis=1)
        result = np.zeros(len(starts), dtype=np.int64)
        one = np.flatnonzero(sizes[ends] == 1)
        result[one] = self.distances[starts[one], sets.argmax(axis=1)[ends[one]]]
        several = np.flatnonzero(sizes[ends] > 1)
        several = several[np.argsort(ends[several], kind="stable")]
        cuts = np.flatnonzero(np.diff(ends[several])) + 1
        for alike in np.split(several, cuts) if len(several) else ():
            goals = np.flatnonzero(sets[ends[alike[0]]])
            at_once = max(1, _PAIRS_AT_ONCE // len(goals))
            for low in range(0, len(alike), at_once):
                part = alike[low : low + at_once]
                result[part] = self.distances[starts[part]][:, goals].max(axis=1)
        return result

    def require(self, name: str, origin: Origin | None) -> None:
        """Passes when every chunk can get to where it must end.

        Args:
            name: of the collective.
            origin: where a spec file defines it.

        Raises:
            ModelError: when one cannot.
        """
        lost = self._lost()
        if lost is None:
            return
        chunk, node = lost
        starts = np.flatnonzero(self.table.starts.sets[self.table.starts.number[chunk]]).tolist()
        if self.combining and not starts:
            where = "no node contributes to it"
        elif self.combining:
            cut = [i for i in starts if self.topology.distances[i, node] >= UNREACHABLE]
            where = f"no path leads there from {_nodes(cut or starts)}, which contribute to it"
        else:
            begins = f"starts at {_nodes(starts)}" if starts else "starts nowhere"
            where = f"it {begins}, from where no path leads there"
        raise ModelError(
            f"collective {name} on {self.topology.name}: chunk {chunk} must reach "
            f"node {node}, but {where}",
            origin,
            "a post that can be reached over the topology's links",
        )

    @property
    def farthest(self) -> tuple[int, int] | None:
        """The first chunk that has to go `least_steps` links, and where to; None without any."""
        return self._first(self.least_steps) if self.least_steps else None

    def _lost(self) -> tuple[int, int] | None:
        """The first chunk that cannot get to a node where it must end, and the first such node."""
        return None if self.least_steps < UNREACHABLE else self._first(UNREACHABLE)

    def _first(self, far: int) -> tuple[int, int]:
        """The first chunk with a way of so many steps or more, and the first node of that kind."""
        kinds = np.flatnonzero(self._steps >= far)
        starts, ends = self.table.starts.number, self.table.ends
        i, j = (part[kinds] for part in self.table.kinds[:2])
        width = len(ends.sets)
        chunk = int(np.flatnonzero(np.isin(starts * width + ends.number, i * width + j))[0])
        goals = np.flatnonzero(ends.sets[ends.number[chunk]])
        steps = self.distances[starts[chunk], goals]
        return chunk, int(goals[np.flatnonzero(steps >= far)[0]])


def _nodes(nodes: list[int]) -> str:
    shown = ", ".join(str(n) for n in nodes[:6]) + (", …" if len(nodes) > 6 else "")
    return f"node {shown}" if len(nodes) == 1 else f"nodes {shown}"
