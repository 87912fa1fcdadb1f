"""Minimises a linear program with HiGHS, from flat arrays to flat arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["LinearProgram", "Optimum"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Optimum:
    """An optimal solution.

    Args:
        value: the least objective value.
        columns: the value of each variable.
        row_duals: for each row the rate at which the optimum grows with the row's bound.
    """

    value: float
    columns: FloatArray
    row_duals: FloatArray


@dataclass(frozen=True, eq=False)
class LinearProgram:
    """Minimise ``costs @ x`` with ``x >= 0`` and ``row_low <= A x <= row_high``.

    Args:
        costs: one for each variable.
        rows: row of each entry of A.
        columns: column of each entry of A.
        values: the entries of A.
        row_low: may be ``-inf``.
        row_high: may be ``inf``.
    """

    costs: FloatArray
    rows: IntArray
    columns: IntArray
    values: FloatArray
    row_low: FloatArray
    row_high: FloatArray

    def minimise(self, seconds: float | None = None) -> Optimum | None:
        """An optimum, or None when there is none or the time ran out before it was found."""
        import highspy

        order = np.lexsort((self.rows, self.columns))
        starts = np.searchsorted(self.columns[order], np.arange(len(self.costs) + 1))
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = len(self.costs), len(self.row_low)
        model.col_cost_ = self.costs
        model.col_lower_ = np.zeros(len(self.costs))
        model.col_upper_ = np.full(len(self.costs), highspy.kHighsInf)
        model.row_lower_, model.row_upper_ = self.row_low, self.row_high
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_ = starts.astype(np.int32)
        model.a_matrix_.index_ = self.rows[order].astype(np.int32)
        model.a_matrix_.value_ = self.values[order]
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        solver.setOptionValue("threads", 1)
        if seconds is not None:
            solver.setOptionValue("time_limit", float(seconds))
        solver.passModel(model)
        solver.run()
        if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        solution = solver.getSolution()
        return Optimum(
            float(solver.getInfo().objective_function_value),
            np.array(solution.col_value),
            np.array(solution.row_dual),
        )
