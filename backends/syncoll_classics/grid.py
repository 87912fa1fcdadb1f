"""Recognition of two-dimensional meshes and tori, and the rings of the 2D-ring algorithms.

In the allgather a chunk travels round its row and then, from each node of the row, round that
column; or columns first.  In the allreduce (Ying et al., 2018, as the MultiTree paper describes it)
every row does a ring allreduce, then every column: twice as much data as needed, in few steps.  A
quarter of the data goes each of the four ways: rows or columns first, and either way round.

A line is folded to a ring 0, 2, 4, …, 5, 3, 1, whose neighbours are at most two links apart, or
closed over the whole row, as in the MultiTree paper.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from syncoll.arrays import Bools, Ints
from syncoll.model import Topology
from syncoll.symmetry.products import find_products
from syncoll_classics.dissemination import Carrying, Dissemination, joined

_WAYS = ((True, True), (True, False), (False, True), (False, False))
"""Whether rows come first, and whether rings are followed forwards."""


@dataclass(frozen=True, eq=False)
class Grid:
    """A grid's nodes, ``[row, column]``; closed if rows and columns are rings, not lines."""

    nodes: Ints
    closed: bool

    @property
    def name(self) -> str:
        """The name in notes: ``4 x 4 torus``."""
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
    """Whether a factor is a ring or a line, complete graphs of two and three nodes included."""
    if kind == "complete":
        return size == 2 or (closed and size == 3)
    return kind == ("ring" if closed else "line")


def _cycles(grid: Grid, *, along_rows: bool, forth: bool, folded: bool) -> Ints:
    """``[cycle, place]``, the ring over each row, or over each column."""
    lines = grid.nodes if along_rows else grid.nodes.T
    order = list(range(lines.shape[1]))
    if folded and not grid.closed:
        order = order[::2] + order[1::2][::-1]
    return lines[:, order if forth else order[::-1]]


def grid_disseminations(grid: Grid, *, folded: bool) -> list[Dissemination]:
    """Rows then columns and columns then rows, both ways round; lines may be folded to rings."""
    result = []
    for rows_first, forth in _WAYS:
        first, second = (
            _cycles(grid, along_rows=along, forth=forth, folded=folded)
            for along in (rows_first, not rows_first)
        )
        # The cycle and the place of each node, and where two cycles meet.
        (row, at), (column, height) = np.empty((2, 2, grid.nodes.size), dtype=np.int64)
        row[first], at[first] = np.indices(first.shape)
        column[second], height[second] = np.indices(second.shape)
        meeting = np.empty((len(first), len(second)), dtype=np.int64)
        meeting[row, column] = np.arange(grid.nodes.size)
        entry = meeting[row[:, None], column]  # [source, node]
        along = (at[entry] - at[:, None]) % first.shape[1]
        across = (height - height[entry]) % second.shape[1]
        before = np.where(along > 0, first[row, at - 1], -1)
        parents = np.where(across > 0, second[column, height - 1], before)
        steps = np.where(across > 0, first.shape[1] - 1 + across, along) - 1
        result.append(Dissemination(parents, steps))
    return result


def grid_allreduce(grid: Grid, chunk: int, *, folded: bool) -> Carrying:
    """A ring allreduce in each row, then in each column; `chunk` chooses one of four directions."""
    rows_first, forth = _WAYS[chunk % 4]
    parts: list[Carrying] = []
    start = 0
    # The contributions that each node holds: its own, then its whole row's (or column's).
    members = np.eye(grid.nodes.size, dtype=bool)
    for along_rows in (rows_first, not rows_first):
        for cycle in _cycles(grid, along_rows=along_rows, forth=forth, folded=folded):
            parts.append(_ring_allreduce(chunk, cycle, members, chunk // 4, start))
        for cycle in _cycles(grid, along_rows=along_rows, forth=True, folded=False):
            members[cycle] = members[cycle].any(axis=0)
        start += 2 * (grid.nodes.shape[along_rows] - 1)
    return joined(parts)


def _ring_allreduce(chunk: int, cycle: Ints, members: Bools, turn: int, start: int) -> Carrying:
    """One chunk goes round one ring twice: it is reduced on the way to its owner, then spread."""
    order = np.roll(cycle, -turn - 1)  # the owner comes last
    around = np.roll(order, 1)
    source = np.concatenate([order[:-1], around[:-1]])
    target = np.concatenate([order[1:], around[1:]])
    columns = [np.full_like(source, chunk), source, target, start + np.arange(len(source))]
    sums = np.logical_or.accumulate(members[order], axis=0)
    carried = np.concatenate([sums[:-1], np.repeat(sums[-1:], len(order) - 1, axis=0)])
    return np.stack(columns, axis=1), carried
