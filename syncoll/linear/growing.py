"""A linear program that grows by rows; HiGHS solves it again from where it stood."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from syncoll.deadline import enclosing
from syncoll.linear.program import Optimum

__all__ = ["GrowingProgram"]

FloatArray = npt.NDArray[np.float64]


class GrowingProgram:
    """Minimise ``costs @ x`` with ``x >= 0`` and rows that are added one by one.

    Args:
        costs: one for each variable.
    """

    def __init__(self, costs: FloatArray) -> None:
        import highspy

        count = len(costs)
        self._solver = highspy.Highs()
        self._solver.setOptionValue("output_flag", False)
        self._solver.setOptionValue("threads", 1)
        none = np.zeros(0, dtype=np.int32)
        self._solver.addCols(
            count,
            costs,
            np.zeros(count),
            np.full(count, highspy.kHighsInf),
            0,
            np.zeros(count, dtype=np.int32),
            none,
            np.zeros(0),
        )

    def add(self, row: Mapping[int, float], low: float, high: float) -> None:
        """Adds ``low <= row @ x <= high``.

        Args:
            row: coefficients by variable.
            low: may be ``-inf``.
            high: may be ``inf``.
        """
        columns = np.array(list(row), dtype=np.int32)
        values = np.array(list(row.values()), dtype=np.float64)
        self._solver.addRow(low, high, len(row), columns, values)

    def minimise(self, seconds: float | None = None) -> Optimum | None:
        """An optimum, or None when HiGHS finds none, within so many seconds if they are given.

        Raises:
            OutOfTimeError: when the deadline of the whole computation is over.
        """
        import highspy

        around = enclosing()
        left = around.sooner(seconds).seconds
        if left is not None:  # its clock goes on from one run to the next
            self._solver.setOptionValue("time_limit", self._solver.getRunTime() + left)
        self._solver.run()
        if self._solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            around.check()
            return None
        solution = self._solver.getSolution()
        columns = np.array(solution.col_value)
        value = float(self._solver.getInfo().objective_function_value)
        return Optimum(value, columns, np.array(solution.row_dual), len(columns))
