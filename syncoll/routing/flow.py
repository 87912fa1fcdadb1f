"""Maximum flows over one digraph whose capacities change between questions (OR-Tools)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from syncoll.arrays import IntArray
from syncoll.errors import UsageError

__all__ = ["LARGEST", "FlowNetwork", "require_small"]

LARGEST = 1 << 61
"""Capacities and their sums at one vertex stay below this, far from the end of 64 bits."""


class FlowNetwork:
    """A digraph for many maximum flows; raises UsageError if capacities exceed 64-bit flows."""

    def __init__(
        self,
        num_vertices: int,
        tails: Sequence[int] | IntArray,
        heads: Sequence[int] | IntArray,
        capacities: Sequence[int] | IntArray,
    ) -> None:
        from ortools.graph.python import max_flow

        self.num_vertices = num_vertices
        require_small(capacities)
        self._flow: Any = max_flow.SimpleMaxFlow()
        self._optimal = max_flow.SimpleMaxFlow.OPTIMAL
        self._arcs = self._flow.add_arcs_with_capacity(
            np.asarray(tails, dtype=np.int32),
            np.asarray(heads, dtype=np.int32),
            np.asarray(capacities, dtype=np.int64),
        )

    def set_capacity(self, arc: int, capacity: int) -> None:
        """Changes one arc."""
        if capacity > LARGEST:
            require_small([capacity])
        self._flow.set_arc_capacity(arc, capacity)

    def set_capacities(self, capacities: Sequence[int] | IntArray) -> None:
        """Changes all arcs."""
        require_small(capacities)
        self._flow.set_arcs_capacity(self._arcs, np.asarray(capacities, dtype=np.int64))

    def maximum(self, source: int, sink: int) -> int:
        """The value of a maximum flow."""
        status = self._flow.solve(source, sink)
        if status != self._optimal:
            raise UsageError(f"the maximum-flow solver stopped with {status}")
        return int(self._flow.optimal_flow())

    def source_side(self) -> list[int]:
        """The source's side of a minimum cut of the last flow."""
        return [int(v) for v in self._flow.get_source_side_min_cut()]

    def flows(self) -> IntArray:
        """The last flow's amount on each arc."""
        return np.asarray(self._flow.flows(self._arcs), dtype=np.int64)


def require_small(capacities: Iterable[int] | IntArray) -> None:
    """Raises UsageError if 64-bit flows cannot hold the sum of the capacities."""
    if isinstance(capacities, np.ndarray):
        total = float(capacities.sum(dtype=np.float64))
    else:
        total = float(sum(capacities))
    if total >= LARGEST:
        raise UsageError(
            f"the bandwidths need integers up to {total:.1e} once scaled to whole trees, more than "
            "64-bit flows can hold; round the bandwidths to fewer digits, or fix k"
        )
