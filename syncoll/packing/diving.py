"""Whole chunks for whole rounds: shares are rounded in turn, and columns are found in between.

A linear program minimises the overload of bounds.  Whole shares are kept, or the largest share
counts as a whole chunk; the program of the remaining chunks and the remaining room has new prices,
at which the oracle looks for columns (diving; Sadykov, Vanderbeck, Pessoa, Tahiri & Uchoa 2019,
"Primal heuristics for branch and price: the assets of diving methods").
"""

from collections.abc import Iterator
from typing import Generic

import numpy as np

from syncoll.arrays import Floats, Ints
from syncoll.deadline import Deadline
from syncoll.linear import GrowingProgram
from syncoll.packing.column_generation import TINY, C, Packing
from syncoll.packing.whole_chunks import WHOLE, ColumnChoice

_TURNS = 3
"""Turns of the oracle before each rounding.  Row mi250(boxes=1) allgather of
benchmarks/results/deployable.md."""

_LOAD, _MIXED = 1e-4, 1e-2
"""The cost of a load without overload, relative to an overload; and random shares that are added
when the largest share is chosen."""


class Dive(Generic[C]):
    """The linear program of the chunks that are left.

    Args:
        packing: its oracle finds columns.
        choice: columns to begin with.
        units: number of units of C.
        room: ``[B, S]``, load without overload.
        random: source of ties.
    """

    def __init__(
        self,
        packing: Packing[C],
        choice: ColumnChoice[C],
        units: int,
        room: Ints,
        random: np.random.Generator,
    ) -> None:
        self._packing, self._random, self._room = packing, random, room.astype(np.float64)
        self._left = np.array(choice.counts, dtype=np.int64) * units
        self._cells = room.size
        self._known: set[tuple[int, bytes]] = set()
        self._columns: list[tuple[int, C, Ints]] = []
        self._program = GrowingProgram()
        self._program.add_rows(np.full(self._cells, -np.inf), self._room.ravel())
        self._program.add_rows(self._left, self._left)
        ones = np.ones(self._cells)
        self._program.add_columns(ones, entries=(ones.astype(int), np.arange(self._cells), -ones))
        demands = np.repeat(np.arange(len(choice.sizes)), choice.sizes).tolist()
        for demand, column, load in zip(demands, choice.columns, choice.loads, strict=True):
            self._add(demand, column, load)

    def chunks(self, until: Deadline) -> Iterator[tuple[int, C]]:
        """A column for every chunk, with the position of its demand."""
        while self._left.any():
            shares = self._solved(until)
            whole = np.floor(shares + WHOLE).astype(np.int64)
            if not whole.any():
                drawn = shares + _MIXED * self._random.random(len(shares)) * (shares > TINY)
                whole[int(drawn.argmax())] = 1
            for i in np.flatnonzero(whole).tolist():
                demand, column, load = self._columns[i]
                number = min(int(whole[i]), int(self._left[demand]))
                self._left[demand] -= number
                self._room -= number * load
                yield from [(demand, column)] * number
            for cell, room in enumerate(self._room.ravel().tolist()):
                self._program.change_row(cell, -np.inf, room)
            for demand, left in enumerate(self._left.tolist()):
                self._program.change_row(self._cells + demand, left, left)

    def _add(self, demand: int, column: C, load: Ints) -> bool:
        """Adds a column, unless the demand has one with the same load; returns whether it did."""
        key = demand, load.tobytes()
        if key in self._known:
            return False
        self._known.add(key)
        self._columns.append((demand, column, load))
        cells = np.flatnonzero(load)
        rows, values = [*cells, self._cells + demand], [*load.ravel()[cells], 1]
        self._program.add_columns([_LOAD * load.sum()], entries=([len(rows)], rows, values))
        return True

    def _solved(self, until: Deadline) -> Floats:
        """The share of each column, after new ones."""
        network, steps = self._packing.network, self._packing.steps
        for turn in range(_TURNS + 1):
            optimum = self._program.minimise()
            assert optimum is not None
            shares = optimum.columns[self._cells :]
            over = float(optimum.columns[: self._cells].sum())
            if turn == _TURNS or over < TINY or until.passed:
                break
            prices = _LOAD - np.minimum(0.0, optimum.row_duals[: self._cells])
            pays = np.where(self._left > 0, optimum.row_duals[self._cells :], -np.inf)
            shared: list[list[C]] = [[] for _ in self._left]
            for i in np.flatnonzero(shares > TINY).tolist():
                shared[self._columns[i][0]].append(self._columns[i][1])
            found, _ = self._packing.oracle.cheap(
                prices.reshape(self._room.shape), pays, shared, until
            )
            added = [
                self._add(demand, column, network.load(column.links, column.steps, steps))
                for demand, column in found
                if self._left[demand]
            ]
            if not any(added):
                break
        return shares
