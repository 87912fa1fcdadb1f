"""ProgramRows: a linear program assembled from blocks of variables, rows and entries."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from syncoll.arrays import FloatArray, IntArray
from syncoll.linear.program import LinearProgram

__all__ = ["ProgramRows"]


class ProgramRows:
    """Minimise costs of variables at least 0, under rows."""

    def __init__(self) -> None:
        self.num_columns = self.num_rows = 0
        self._entries: list[list[npt.NDArray[np.generic]]] = [[np.zeros(0)] * 3]
        self._costs: list[FloatArray] = []
        self._low: list[FloatArray] = []
        self._high: list[FloatArray] = []

    def columns(self, count: int, cost: npt.ArrayLike = 0.0) -> IntArray:
        """Numbers of new variables.

        Args:
            cost: of each, or one for all.
        """
        self._costs.append(_filled(cost, count))
        self.num_columns += count
        return np.arange(self.num_columns - count, self.num_columns)

    def rows(self, count: int, low: npt.ArrayLike, high: npt.ArrayLike) -> IntArray:
        """Numbers of new rows ``low <= row <= high``."""
        self._low.append(_filled(low, count))
        self._high.append(_filled(high, count))
        self.num_rows += count
        return np.arange(self.num_rows - count, self.num_rows)

    def add(self, rows: npt.ArrayLike, columns: npt.ArrayLike, values: npt.ArrayLike = 1.0) -> None:
        """Adds entries, whose rows, columns and values are broadcast; no position twice."""
        self._entries.append([one.ravel() for one in np.broadcast_arrays(rows, columns, values)])

    def program(self) -> LinearProgram:
        """The program assembled."""
        rows, columns, values = (np.concatenate(some) for some in zip(*self._entries, strict=True))
        return LinearProgram(
            np.concatenate(self._costs),
            rows.astype(np.int64),
            columns.astype(np.int64),
            values.astype(np.float64),
            np.concatenate(self._low),
            np.concatenate(self._high),
        )


def _filled(values: npt.ArrayLike, count: int) -> FloatArray:
    return np.array(np.broadcast_to(np.asarray(values, dtype=np.float64), count))
