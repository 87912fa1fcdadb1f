"""Linear rows as one sparse matrix: the form in which MILP solvers and CP-SAT take them.

A literal ``v`` is the column ``v - 1``; a negated one counts ``1 - x``, so its coefficient changes
sign and the bounds move.  Integer ``i`` is the column ``num_booleans + i``.  Occurrences of one
variable in a row are added up, and coefficients that become 0 disappear.  All work is done on whole
arrays: a million cells take some tenths of a second.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from syncoll.arrays import Ints
from syncoll.formula.formula import NO_HIGH, NO_LOW, Assignment, Formula, added_up, row_sums
from syncoll.formula.outcome import Outcome, StopReason, Verdict

_LARGEST_EXACT_SUM = 2e9
"""Of a row: a rounding error, about 2e-16 of it, stays below a tolerance of 1e-6."""


@dataclass(frozen=True, eq=False)
class LinearMatrix:
    """``lows <= matrix @ columns <= highs`` in compressed sparse rows.

    Args:
        starts: ``[rows + 1]``; row ``i`` has the cells ``starts[i]`` to ``starts[i + 1]``.
        columns: the column of each cell; ascending and distinct within a row.
        coefficients: the coefficient of each cell, never 0.
        lows: the low bound of each row, or `NO_LOW`.
        highs: the high bound of each row, or `NO_HIGH`.
    """

    starts: Ints
    columns: Ints
    coefficients: Ints
    lows: Ints
    highs: Ints

    def largest_sum(self, formula: Formula) -> float:
        """The largest absolute value that the cells of any row can add up to.

        A floating-point solver is trusted only if a rounding error of such a sum, about 2e-16 of
        it, stays below its tolerance.
        """
        widest = np.maximum(np.abs(formula.integer_low), np.abs(formula.integer_high))
        sizes = np.concatenate([np.ones(formula.num_booleans), widest.astype(np.float64)])
        cells = np.abs(self.coefficients).astype(np.float64) * sizes[self.columns]
        return float(np.max(row_sums(cells, self.starts), initial=0.0))


def linear_matrix(formula: Formula, *, cardinalities: bool = False) -> LinearMatrix:
    """The formula's linear rows as a matrix, after its `cardinalities` if wanted, not enforced."""
    literals, coefficients = formula.linear_literals, formula.linear_coefficients
    lengths = np.diff(formula.linear_starts)
    lows, highs = formula.linear_lows, formula.linear_highs
    before = 0
    if cardinalities:
        before = len(formula.cardinality_lows)
        ones = np.ones(len(formula.cardinality_literals), dtype=np.int64)
        literals = np.concatenate([formula.cardinality_literals, literals])
        coefficients = np.concatenate([ones, coefficients])
        lengths = np.concatenate([np.diff(formula.cardinality_starts), lengths])
        lows = np.concatenate([formula.cardinality_lows, lows])
        highs = np.concatenate([formula.cardinality_highs, highs])
    count = len(lows)
    literal_rows = np.repeat(np.arange(count), lengths)
    integer_rows = before + np.repeat(
        np.arange(count - before), np.diff(formula.linear_integer_starts)
    )

    negated = literals < 0
    offsets = np.zeros(count, dtype=np.int64)
    np.add.at(offsets, literal_rows[negated], coefficients[negated])
    rows = np.concatenate([literal_rows, integer_rows])
    columns = np.concatenate([np.abs(literals) - 1, formula.num_booleans + formula.linear_integers])
    values = np.concatenate(
        [np.where(negated, -coefficients, coefficients), formula.linear_integer_coefficients]
    )

    starts, columns, sums = added_up(rows, count, columns, values)
    return LinearMatrix(
        starts=starts,
        columns=columns,
        coefficients=sums,
        lows=np.where(lows <= NO_LOW, NO_LOW, lows - offsets),
        highs=np.where(highs >= NO_HIGH, NO_HIGH, highs - offsets),
    )


def columns_to_assignment(formula: Formula, values: npt.NDArray[Any]) -> Assignment:
    """Rounds a solution ``[num_booleans + num_integers]``, of any real type, to an assignment."""
    rounded = np.rint(values).astype(np.int64)
    booleans = np.zeros(formula.num_booleans + 1, dtype=np.bool_)
    booleans[1:] = rounded[: formula.num_booleans] != 0
    return Assignment(booleans, rounded[formula.num_booleans :])


def judged(
    name: str,
    formula: Formula,
    matrix: LinearMatrix,
    columns: npt.NDArray[np.float64] | None,
    status: str,
    stopped: StopReason,
    *,
    infeasible: bool,
    **measured: Any,
) -> Outcome:
    """The outcome that the answer of a floating-point solver justifies.

    A solution is rounded and evaluated exactly.  "infeasible" counts only if every row's largest
    possible sum has a rounding error below the solver's tolerance of 1e-6.

    Args:
        name: the solver's name.
        matrix: the rows that it got.
        columns: its solution, or None.
        status: the solver's own word.
        stopped: the meaning of that word.
        infeasible: whether it says that there is no solution.
        measured: seconds, statistics and work of the outcome.
    """
    reason, message = StopReason.GAVE_UP, f"{name} ended with status {status}"
    if columns is not None:
        assignment = columns_to_assignment(formula, columns)
        if formula.violation(assignment) is None:
            return Outcome(Verdict.SAT, assignment, **measured)
        message = f"the solution of {name} holds only within its tolerances, not when rounded"
    elif infeasible:
        if matrix.largest_sum(formula) <= _LARGEST_EXACT_SUM:
            return Outcome(Verdict.UNSAT, **measured)
        message = f"{name} says infeasible, but the numbers are too large to trust its arithmetic"
    elif stopped is StopReason.DECIDED:
        message = f"{name} ended with {status} but has no solution"
    elif stopped is not StopReason.GAVE_UP:
        reason, message = stopped, ""
    return Outcome.unknown(reason, message, **measured)
