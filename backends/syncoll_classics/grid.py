"""Recognition of two-dimensional meshes and tori, and the rings of the 2D-ring algorithms.

In the allgather a chunk goes round its row and then, from each node of the row, round that column;
or columns first.  In the allreduce (Ying et al., 2018, as the MultiTree paper describes it) every
row does a ring allreduce, then every column: twice as much data as needed, in few steps.  A quarter
of the data goes each of the four ways: rows or columns first, and either way round.

A line is folded to a ring 0, 2, 4, …, 5, 3, 1, whose neighbours are at most two links apart, or
closed over the whole row, as in the MultiTree paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from syncoll.arrays import IntArray
from syncoll.model import Topology
from syncoll.symmetry.products import find_products
from syncoll_classics.dissemination import Carrying, Dissemination, joined

__all__ = ["Grid", "grid_allreduce", "grid_disseminations", "recognise_grid"]

_WAYS = ((True, True), (True, False), (False, True), (False, False))
"""Whether rows come first, and whether rings are followed forwards."""


@dataclass(frozen=True, eq=False)
class Grid:
    """A grid's nodes, ``[row, column]``; closed if rows and columns are rings, not lines."""

    nodes: IntArray
    closed: bool

    @property
    def name(self) -> str:
        """For people: ``4 x 4 torus``."""
        rows, columns = self.nodes.shape
        return f"{rows} x {columns} {'torus' if self.closed else 'mesh'}"


@lru_cache(maxsize=32)
def recognise_grid(topology: Topology) -> Grid | None:
    """The squarest two-dimensional mesh or torus that the links form, under any numbering."""
    for product in find_products(topology):
        if len(product.sizes) == 2:
            for closed in (True, False):
                if all(map(_is_side, product.kinds, product.sizes, (closed, closed))):
                    return Grid(np.argsort(product.places).reshape(product.sizes).T, closed)
    return None


def _is_side(kind: str, size: int, closed: bool) -> bool:
    """Whether a factor is a ring, or a line; complete graphs of two and three nodes are, too."""
    if kind == "complete":
        return size == 2 or (closed and size == 3)
    return kind == ("ring" if closed else "line")


def _cycles(grid: Grid, *, along_rows: bool, forth: bool, folded: bool) -> list[list[int]]:
    """The ring over each row, or over each column."""
    lines = grid.nodes if along_rows else grid.nodes.T
    order = list(range(lines.shape[1]))
    if folded and not grid.closed:
        order = order[::2] + order[1::2][::-1]
    cycles: list[list[int]] = lines[:, order if forth else order[::-1]].tolist()
    return cycles


def grid_disseminations(grid: Grid, *, folded: bool) -> list[Dissemination]:
    """Rows then columns and columns then rows, both ways round; lines may be folded to rings."""
    result = []
    count = grid.nodes.size
    for rows_first, forth in _WAYS:
        parents, steps = np.full((2, count, count), -1, dtype=np.int64)
        first, second = (
            _cycles(grid, along_rows=along, forth=forth, folded=folded)
            for along in (rows_first, not rows_first)
        )
        column_of = {node: (cycle, at) for cycle in second for at, node in enumerate(cycle)}
        for row in first:
            length = len(row)
            for at, source in enumerate(row):
                for offset in range(length):
                    node = row[(at + offset) % length]
                    if offset:
                        parents[source, node] = row[(at + offset - 1) % length]
                        steps[source, node] = offset - 1
                    column, start = column_of[node]
                    height = len(column)
                    for further in range(1, height):
                        reached = column[(start + further) % height]
                        parents[source, reached] = column[(start + further - 1) % height]
                        steps[source, reached] = length - 1 + further - 1
        result.append(Dissemination(parents, steps))
    return result


def grid_allreduce(grid: Grid, chunk: int, *, folded: bool) -> Carrying:
    """A ring allreduce in each row, then in each column; `chunk` chooses one of four directions."""
    rows_first, forth = _WAYS[chunk % 4]
    parts: list[Carrying] = []
    start = 0
    # What each node stands for: itself, then its whole row (or column).
    members = np.eye(grid.nodes.size, dtype=bool)
    for along_rows in (rows_first, not rows_first):
        for cycle in _cycles(grid, along_rows=along_rows, forth=forth, folded=folded):
            parts.append(_ring_allreduce(chunk, cycle, members, chunk // 4, start))
        for cycle in _cycles(grid, along_rows=along_rows, forth=True, folded=False):
            members[cycle] = members[cycle].any(axis=0)
        start += 2 * (grid.nodes.shape[along_rows] - 1)
    return joined(parts)


def _ring_allreduce(
    chunk: int, cycle: list[int], members: npt.NDArray[np.bool_], turn: int, start: int
) -> Carrying:
    """One chunk round one ring twice: added up on the way to its owner, then spread."""
    length = len(cycle)
    order = [cycle[(turn + 1 + i) % length] for i in range(length)]  # the owner comes last
    rows, carried = [], []
    for i in range(length - 1):
        rows.append((chunk, order[i], order[i + 1], start + i))
        carried.append(members[order[: i + 1]].any(axis=0))
    around = [order[-1], *order[:-1]]
    whole = members[order].any(axis=0)
    for i in range(length - 1):
        rows.append((chunk, around[i], around[i + 1], start + length - 1 + i))
        carried.append(whole)
    return np.array(rows, dtype=np.int64).reshape(-1, 4), np.array(carried).reshape(
        -1, len(members)
    )
