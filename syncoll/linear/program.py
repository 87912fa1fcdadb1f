"""Linear programs from flat arrays to flat arrays; HiGHS minimises them.

Large ones go first through `colour_refinement`, which merges variables and rows that symmetries of
the program exchange.  The interior point method solves the degenerate flow programs of the bounds
many times faster than the simplex method, except for small ones; crossover makes its duals belong
to a vertex.  Only `GrowingProgram` calls HiGHS for linear programs.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from syncoll.arrays import Floats, Ints
from syncoll.clock import is_counted, took
from syncoll.deadline import NEVER, Deadline, enclosing
from syncoll.linear.colour_refinement import Graph, is_equitable, mix, numbered, refine
from syncoll.linear.effort import run_counted
from syncoll.memory import budget, on_refusal

Entries = tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]
"""Number of entries of each new column (or row), their rows (or columns), and their values."""

_UNITS_PER_ENTRY = 2e-7
"""Work units for adding an entry to a program, and for reading it in a round."""

_NO_ENTRIES: Entries = ((), (), ())

WORTHWHILE = 0.7
"""A reduction that leaves more than this share of the columns is not worth its time."""

REDUCE_ENTRIES = 2_000
"""Programs with fewer entries are solved faster than reduced (a few milliseconds)."""

SIMPLEX_COLUMNS = 1_000
"""Up to this number of variables the dual simplex method is no slower than interior points."""

SOLVER_BYTES_PER_ENTRY = 800
"""HiGHS took 250 to 450 for irreducible programs, and takes more if its factors fill in."""


@dataclass(frozen=True)
class Optimum:
    """An optimal solution.

    Args:
        row_duals: for each row the rate at which the optimum grows with the row's bound.
        solved_columns: number of variables left to the solver after the reduction.
    """

    value: float
    columns: Floats
    row_duals: Floats
    solved_columns: int


class GrowingProgram:
    """Minimises ``costs @ x`` with rows and columns that are added, each run from the one before.

    Args:
        costs: one for each of the first variables, which are at least 0.
        options: of HiGHS.
    """

    def __init__(self, costs: npt.ArrayLike = (), **options: bool | float | str) -> None:
        import highspy

        self._highs = highspy
        self._solver = highspy.Highs()
        self._integer = self._stopped = False
        for name, value in ({"output_flag": False, "threads": 1} | options).items():
            self._solver.setOptionValue(name, value)
        self.add_columns(costs)

    @classmethod
    def of(cls, program: "LinearProgram", **options: bool | float | str) -> "GrowingProgram":
        """Starts from a linear program."""
        made = cls(**options)
        made.add_rows(program.row_low, program.row_high)
        order = np.lexsort((program.rows, program.columns))
        sizes = np.bincount(program.columns, minlength=len(program.costs))
        entries = sizes, program.rows[order], program.values[order]
        made.add_columns(program.costs, entries=entries)
        return made

    def add_columns(
        self,
        costs: npt.ArrayLike,
        low: npt.ArrayLike = 0.0,
        high: npt.ArrayLike = np.inf,
        entries: Entries = _NO_ENTRIES,
        *,
        integer: bool = False,
    ) -> None:
        """Adds variables with ``low <= x <= high``, and their entries in the rows so far."""
        objective = np.asarray(costs, dtype=np.float64)
        first, count = self._solver.getNumCol(), len(objective)
        self._solver.addCols(
            count, objective, _filled(low, count), _filled(high, count), *_sparse(entries, count)
        )
        if integer:
            self._integer = True
            kind = np.full(count, self._highs.HighsVarType.kInteger.value, dtype=np.uint8)
            numbers = np.arange(first, first + count, dtype=np.int32)
            self._solver.changeColsIntegrality(count, numbers, kind)

    def add_rows(
        self, low: npt.ArrayLike, high: npt.ArrayLike, entries: Entries = _NO_ENTRIES
    ) -> None:
        """Adds rows, one for each pair of low and high bounds."""
        count = len(np.atleast_1d(low))
        self._solver.addRows(
            count, _filled(low, count), _filled(high, count), *_sparse(entries, count)
        )

    def add(self, row: Mapping[int, float], low: float, high: float) -> None:
        """Adds ``low <= row @ x <= high``, of coefficients by variable."""
        self.add_rows([low], [high], ([len(row)], list(row), list(row.values())))

    def change_row(self, row: int, low: float, high: float) -> None:
        """Changes the bounds of a row."""
        self._solver.changeRowBounds(row, low, high)

    def run(self, seconds: float | None = None) -> bool:
        """Runs HiGHS; returns whether it found an optimum within this time."""
        if is_counted():
            units, self._stopped = run_counted(self._solver, seconds, integer=self._integer)
            took(units)
            return bool(self._solver.getModelStatus() == self._highs.HighsModelStatus.kOptimal)
        if seconds is not None:  # HiGHS's clock continues from one run to the next
            self._solver.setOptionValue("time_limit", self._solver.getRunTime() + seconds)
        self._solver.run()
        self._stopped = self._solver.getModelStatus() == self._highs.HighsModelStatus.kTimeLimit
        return bool(self._solver.getModelStatus() == self._highs.HighsModelStatus.kOptimal)

    @property
    def was_stopped(self) -> bool:
        """Whether the last run ended by its limit."""
        return self._stopped

    def begin_anew(self, solver: str) -> None:
        """Forgets the results of earlier runs, and chooses another method of HiGHS for the next."""
        self._solver.clearSolver()
        self._solver.setOptionValue("solver", solver)

    @property
    def columns(self) -> Floats | None:
        """The variables of the best solution of the last run; None without a solution."""
        feasible = self._highs.SolutionStatus.kSolutionStatusFeasible
        if int(self._solver.getInfo().primal_solution_status) != int(feasible):
            return None
        return np.array(self._solver.getSolution().col_value)

    def optimum(self) -> Optimum:
        """The optimum of the last run, which must have found one."""
        solution = self._solver.getSolution()
        columns = np.array(solution.col_value)
        value = float(self._solver.getInfo().objective_function_value)
        return Optimum(value, columns, np.array(solution.row_dual), len(columns))

    def minimise(self, seconds: float | None = None) -> Optimum | None:
        """An optimum, or None when HiGHS finds none, within this time if one is given.  Raises
        `OutOfTimeError` when the deadline of the whole computation is over."""
        around = enclosing()
        if self.run(around.sooner(seconds).seconds):
            return self.optimum()
        around.check()
        return None


def _filled(values: npt.ArrayLike, count: int) -> Floats:
    return np.array(np.broadcast_to(np.asarray(values, dtype=np.float64), count))


def _sparse(
    entries: Entries, count: int
) -> tuple[int, npt.NDArray[np.int32], npt.NDArray[np.int32], Floats]:
    """Entries in the form of HiGHS: their number, starts, indices and values."""
    sizes, indices, values = (np.asarray(part) for part in entries)
    starts = np.cumsum(sizes) - sizes if len(sizes) else np.zeros(count)
    return (
        len(indices),
        starts.astype(np.int32),
        indices.astype(np.int32),
        values.astype(np.float64),
    )


@dataclass(frozen=True, eq=False)
class LinearProgram:
    """Minimise ``costs @ x`` with ``x >= 0`` and ``row_low <= A x <= row_high``.

    Args:
        costs: one for each variable.
        columns: column of each entry of A; no position twice.
        row_low: may be ``-inf``.
        row_high: may be ``inf``.
    """

    costs: Floats
    rows: Ints
    columns: Ints
    values: Floats
    row_low: Floats
    row_high: Floats

    def minimise(
        self, seconds: float | None = None, most_columns: int | None = None
    ) -> Optimum | None:
        """An optimum, from the reduced program where that is worthwhile; None when there is no
        optimum, or it was not found within these limits.
        Raises `OutOfTimeError` if even the reduction takes longer.

        Args:
            seconds: time limit, of the reduction and the solver together.
            most_columns: limit on the variables left to the solver; larger programs are not
                started.
        """
        deadline = Deadline.after(seconds)
        took(_UNITS_PER_ENTRY * len(self.values))
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

    def reduced(self, deadline: Deadline = NEVER) -> "Reduction | None":
        """A smaller program with the same optimum, or None when it would not be much
        smaller.  Raises `OutOfTimeError` at the deadline."""
        deadline.check()  # the graph of a large program takes long
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
        """Rows, then columns, joined by entries; equal entries have equal labels."""
        ends = np.stack([self.rows, len(self.row_low) + self.columns], axis=1)
        size = len(self.row_low) + len(self.costs)
        return Graph.of(size, ends, np.unique(self.values, return_inverse=True)[1])

    def colours(
        self, worthwhile: float = 1.0, deadline: Deadline = NEVER
    ) -> tuple[Ints, Ints] | None:
        """The coarsest equitable partition: numbers from 0 of the rows' colours and the columns';
        None when it was given up.
        Raises `OutOfTimeError` at the deadline.

        Args:
            worthwhile: gives up where more than this share of the columns is left.
            deadline: checked in every round.
        """
        graph, num_rows = self.graph(), len(self.row_low)
        row_kinds = _kinds(self.row_low, self.row_high)
        kinds = np.concatenate([row_kinds, num_rows + _kinds(self.costs)])
        generator = np.random.default_rng(1)
        while True:
            salt = generator.integers(1 << 63, dtype=np.uint64)
            for words in refine(graph, mix(kinds.astype(np.uint64) + salt), (num_rows,)):
                deadline.check()
                took(_UNITS_PER_ENTRY * len(self.values))
                if len(np.unique(words[num_rows:])) > worthwhile * len(self.costs):
                    return None
            rows, columns = numbered(words[:num_rows]), numbered(words[num_rows:])
            numbers = np.concatenate([rows, rows.max(initial=-1) + 1 + columns])
            first = np.unique(numbers, return_index=True)[1]
            if (kinds[first[numbers]] == kinds).all() and is_equitable(graph, numbers):
                return rows, columns
            # a collision of hashes: again with another salt

    def minimise_unreduced(self, seconds: float | None = None) -> Optimum | None:
        """An optimum of the program as it is; see `minimise`."""
        until = Deadline.after(seconds)
        large = len(self.costs) > SIMPLEX_COLUMNS
        program = GrowingProgram.of(self, solver="ipm" if large else "choose")
        optimum = program.minimise(seconds)
        if optimum is None and large and not program.was_stopped:
            # Interior points have called feasible programs infeasible, for want of precision.
            program.begin_anew("simplex")
            optimum = program.minimise(until.seconds)
        return optimum


@dataclass(frozen=True, eq=False)
class Reduction:
    """A program with one variable and one row for each colour.

    Args:
        program: the reduced program.
        row_of: for each row of the original its reduced row.
        column_of: for each column of the original its reduced column.
        row_size: the number of rows that each reduced row represents.
    """

    program: LinearProgram
    row_of: Ints
    column_of: Ints
    row_size: Ints

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


def _kinds(*values: Floats) -> Ints:
    """Numbers from 0, equal where each of some values is equal."""
    kinds = np.zeros(len(values[0]), dtype=np.int64)
    for each in values:  # not rows at once, whose comparison takes ten times as long
        kinds = numbered(kinds * (len(each) + 1) + numbered(each))
    return kinds


class ProgramRows:
    """A linear program assembled from blocks of variables, rows and entries."""

    def __init__(self) -> None:
        self.num_columns = self.num_rows = 0
        self._entries: list[list[npt.NDArray[np.generic]]] = [[np.zeros(0)] * 3]
        self._costs: list[Floats] = []
        self._low: list[Floats] = []
        self._high: list[Floats] = []

    def columns(self, count: int, cost: npt.ArrayLike = 0.0) -> Ints:
        """Numbers of new variables, with the cost of each, or one for all."""
        self._costs.append(_filled(cost, count))
        self.num_columns += count
        return np.arange(self.num_columns - count, self.num_columns)

    def rows(self, count: int, low: npt.ArrayLike, high: npt.ArrayLike) -> Ints:
        """Numbers of new rows ``low <= row <= high``."""
        self._low.append(_filled(low, count))
        self._high.append(_filled(high, count))
        self.num_rows += count
        return np.arange(self.num_rows - count, self.num_rows)

    def add(self, rows: npt.ArrayLike, columns: npt.ArrayLike, values: npt.ArrayLike = 1.0) -> None:
        """Adds entries, whose rows, columns and values are broadcast; no position twice.  The
        arrays must not change before `program`."""
        shape = np.shape(rows)
        if shape == np.shape(columns) and not np.ndim(values):  # much faster
            values = np.full(shape, values)
        else:
            rows, columns, values = np.broadcast_arrays(rows, columns, values)
        self._entries.append([np.ravel(one) for one in (rows, columns, values)])

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
