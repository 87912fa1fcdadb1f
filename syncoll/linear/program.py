"""Linear programs from flat arrays to flat arrays; HiGHS minimises them.

Large ones go first through `colour_refinement`, which merges what the symmetries of the program
exchange.  The interior point method (with crossover, so that duals are those of a vertex) solves
the degenerate flow programs of the bounds many times faster than the simplex method, except for
small ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from syncoll.deadline import NEVER, Deadline, enclosing
from syncoll.linear.colour_refinement import Graph, is_equitable, mix, numbered, refine
from syncoll.memory import budget, on_refusal

__all__ = ["LinearProgram", "Optimum"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

WORTHWHILE = 0.7
"""A reduction that leaves more than this part of the columns is not worth its time."""

REDUCE_ENTRIES = 2_000
"""Programs with fewer entries are solved faster than reduced (a few milliseconds)."""

SIMPLEX_COLUMNS = 1_000
"""Up to so many variables the dual simplex method is no slower than the interior point method."""

SOLVER_BYTES_PER_ENTRY = 800
"""HiGHS took 250 to 450 for irreducible programs, and takes more where its factors fill in."""


@dataclass(frozen=True)
class Optimum:
    """An optimal solution.

    Args:
        value: the least objective value.
        columns: the value of each variable.
        row_duals: for each row the rate at which the optimum grows with the row's bound.
        solved_columns: how many variables were left to the solver after the reduction.
    """

    value: float
    columns: FloatArray
    row_duals: FloatArray
    solved_columns: int


@dataclass(frozen=True, eq=False)
class LinearProgram:
    """Minimise ``costs @ x`` with ``x >= 0`` and ``row_low <= A x <= row_high``.

    Args:
        costs: one for each variable.
        rows: row of each entry of A.
        columns: column of each entry of A; no position twice.
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

    def minimise(
        self, seconds: float | None = None, most_columns: int | None = None
    ) -> Optimum | None:
        """An optimum, from the reduced program where that is worth while.

        Args:
            seconds: time limit, of the reduction and the solver together.
            most_columns: do not even start where more variables than this are left to the solver.

        Returns:
            None when there is no optimum, or it was not found within these limits.

        Raises:
            OutOfTimeError: when even the reduction took longer.
        """
        deadline = Deadline.after(seconds)
        reduction = self.reduced(deadline) if len(self.values) >= REDUCE_ENTRIES else None
        program = self if reduction is None else reduction.program
        if most_columns is not None and len(program.costs) > most_columns:
            return None
        needs = SOLVER_BYTES_PER_ENTRY * len(program.values)
        if why := budget().lacks(needs, f"a linear program of {len(program.costs)} variables"):
            on_refusal(f"{why}: skipped; weaker bounds take its place")
            return None
        deadline.check()
        optimum = program.minimise_unreduced(deadline.seconds)
        if optimum is None or reduction is None:
            return optimum
        return reduction.expand(optimum)

    def reduced(self, deadline: Deadline = NEVER) -> Reduction | None:
        """A smaller program with the same optimum, or None when it would not be much smaller.

        Raises:
            OutOfTimeError: at the deadline.
        """
        colours = self.colours(WORTHWHILE, deadline)
        if colours is None:
            return None
        row_of, column_of = colours
        row_size, column_size = np.bincount(row_of), np.bincount(column_of)
        # One row of each class, with the entries of each class of columns added up.
        representative = np.zeros(len(row_size), dtype=np.int64)
        representative[row_of[::-1]] = np.arange(len(row_of))[::-1]
        kept = representative[row_of[self.rows]] == self.rows
        key = row_of[self.rows[kept]] * len(column_size) + column_of[self.columns[kept]]
        places, place = np.unique(key, return_inverse=True)
        column_representative = np.zeros(len(column_size), dtype=np.int64)
        column_representative[column_of[::-1]] = np.arange(len(column_of))[::-1]
        program = LinearProgram(
            self.costs[column_representative] * column_size,
            places // len(column_size),
            places % len(column_size),
            np.asarray(np.bincount(place, self.values[kept], len(places)), dtype=np.float64),
            self.row_low[representative],
            self.row_high[representative],
        )
        return Reduction(program, row_of, column_of, row_size)

    def graph(self) -> Graph:
        """Rows, then columns, joined by entries of which equal ones are alike."""
        ends = np.stack([self.rows, len(self.row_low) + self.columns], axis=1)
        size = len(self.row_low) + len(self.costs)
        return Graph.of(size, ends, np.unique(self.values, return_inverse=True)[1])

    def colours(
        self, worthwhile: float = 1.0, deadline: Deadline = NEVER
    ) -> tuple[IntArray, IntArray] | None:
        """The coarsest equitable partition: numbers from 0 of the rows' colours and the columns'.

        Args:
            worthwhile: give up where more than this part of the columns is left.
            deadline: looked at in every round.

        Returns:
            None when it was given up.

        Raises:
            OutOfTimeError: at the deadline.
        """
        graph, num_rows = self.graph(), len(self.row_low)
        row_kinds = _kinds(np.stack([self.row_low, self.row_high], axis=1))
        kinds = np.concatenate([row_kinds, num_rows + _kinds(self.costs[:, None])])
        generator = np.random.default_rng(1)
        while True:
            salt = generator.integers(1 << 63, dtype=np.uint64)
            for words in refine(graph, mix(kinds.astype(np.uint64) + salt), (num_rows,)):
                deadline.check()
                if len(np.unique(words[num_rows:])) > worthwhile * len(self.costs):
                    return None
            rows, columns = numbered(words[:num_rows]), numbered(words[num_rows:])
            numbers = np.concatenate([rows, rows.max(initial=-1) + 1 + columns])
            first = np.unique(numbers, return_index=True)[1]
            if (kinds[first[numbers]] == kinds).all() and is_equitable(graph, numbers):
                return rows, columns
            # a collision of hashes: once more, with another salt

    def minimise_unreduced(self, seconds: float | None = None) -> Optimum | None:
        """An optimum of the program as it is; see `minimise`."""
        import highspy

        around = enclosing()
        left = around.sooner(seconds).seconds
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
        if len(self.costs) > SIMPLEX_COLUMNS:
            solver.setOptionValue("solver", "ipm")
        if left is not None:
            solver.setOptionValue("time_limit", left)
        solver.passModel(model)
        solver.run()
        if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            around.check()
            return None
        solution = solver.getSolution()
        return Optimum(
            float(solver.getInfo().objective_function_value),
            np.array(solution.col_value),
            np.array(solution.row_dual),
            len(self.costs),
        )


@dataclass(frozen=True, eq=False)
class Reduction:
    """A program with one variable and one row for each colour.

    Args:
        program: the reduced program.
        row_of: for each row of the original the row that stands for it.
        column_of: for each column of the original the column that stands for it.
        row_size: for how many rows each reduced row stands.
    """

    program: LinearProgram
    row_of: IntArray
    column_of: IntArray
    row_size: IntArray

    def expand(self, optimum: Optimum) -> Optimum:
        """The optimum of the original: equal values within a class, duals split evenly.

        A reduced row is the sum of its class after the variables of each class are made equal,
        divided by the size of the class; so the parts of its dual keep the dual's rules.
        """
        return Optimum(
            optimum.value,
            optimum.columns[self.column_of],
            (optimum.row_duals / self.row_size)[self.row_of],
            optimum.solved_columns,
        )


def _kinds(values: FloatArray) -> IntArray:
    """Equal numbers for equal rows of values."""
    _, kinds = np.unique(values, axis=0, return_inverse=True)
    return kinds.reshape(-1).astype(np.int64)
