"""Formula: the language between encodings and backends; it keeps every constraint whole.

Booleans are DIMACS-style literals: variable ``v >= 1``, its negation ``-v``.  Integer variables
have numbers of their own from 0, and bounds.  Four kinds of constraints, each kept in flat arrays:

* clause: at least one of the literals is true;
* cardinality: ``low <= number of true literals <= high`` (at most, at least, exactly k);
* linear: ``low <= sum(coefficient * literal) + sum(coefficient * integer) <= high``;
* difference: ``x + distance <= y`` over integers.

Each may have an enforcer: the constraint must hold only if this literal is true (0: always).
Literals may repeat in a row; every occurrence counts.  `FormulaBuilder` is the only source of
variables, so that ids are unique.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from syncoll.arrays import Ints
from syncoll.formula.features import Feature, FormulaSize

NO_LOW = -(1 << 60)
"""The low bound of a linear row without one."""
NO_HIGH = 1 << 60
"""The high bound of a linear row without one."""


def row_sums(cells: npt.NDArray[Any], starts: Ints) -> npt.NDArray[Any]:
    """The sum of the cells ``starts[i]`` to ``starts[i + 1]`` of every row i."""
    sums = np.insert(np.cumsum(cells), 0, 0)
    result: npt.NDArray[Any] = sums[starts[1:]] - sums[starts[:-1]]
    return result


def added_up(rows: Ints, count: int, names: Ints, coefficients: Ints) -> tuple[Ints, Ints, Ints]:
    """Starts, names and coefficients of rows without repeated names and without coefficients 0.

    Args:
        rows: the row of each cell, next to its name and coefficient.
        count: the number of rows.
    """
    least = int(names.min(initial=0))
    width = int(names.max(initial=0)) - least + 1
    cells, inverse = np.unique(rows * width + names - least, return_inverse=True)
    sums = np.zeros(len(cells), dtype=np.int64)
    np.add.at(sums, inverse, coefficients)
    cells, sums = cells[sums != 0], sums[sums != 0]
    starts: Ints = np.searchsorted(cells, np.arange(count + 1) * width)
    return starts, cells % width + least, sums


class ClauseRow(NamedTuple):
    """At least one literal is true, if the enforcer is."""

    literals: list[int]
    enforcer: int


class CardinalityRow(NamedTuple):
    """Between `low` and `high` of the literals are true, if the enforcer is."""

    literals: list[int]
    low: int
    high: int
    enforcer: int


class LinearRow(NamedTuple):
    """``low <= sum <= high``, if the enforcer is true; one side may be `NO_LOW` or `NO_HIGH`."""

    coefficients: list[int]
    literals: list[int]
    integer_coefficients: list[int]
    integers: list[int]
    low: int
    high: int
    enforcer: int


class DifferenceRow(NamedTuple):
    """``x + distance <= y`` over integer variables, if the enforcer is true."""

    x: int
    distance: int
    y: int
    enforcer: int


@dataclass(frozen=True, eq=False)
class Labels:
    """The meaning of each variable, as a row of whole numbers from -1 on; all rows differ.

    A permutation of the nodes, and of the chunks with them, takes each variable to the one whose
    row has the images of its nodes and chunks.  -1 stands for nothing and stays.

    Args:
        columns: a letter for each column: ``c`` for chunks, ``n`` for nodes, any other for
            constants such as the kind of the variable or its step.
        booleans: ``[num_booleans, columns]``, the row of variable 1 first.
        integers: ``[num_integers, columns]``.

    Raises:
        ValueError: if an array has another shape.
    """

    columns: str
    booleans: Ints
    integers: Ints

    def __post_init__(self) -> None:
        for array in (self.booleans, self.integers):
            if array.ndim != 2 or array.shape[1] != len(self.columns):
                raise ValueError(f"labels of shape {array.shape} for {len(self.columns)} columns")


@dataclass(frozen=True, eq=False)
class Assignment:
    """A value for every variable.

    Args:
        booleans: ``[num_booleans + 1]``; entry 0 is unused.
        integers: ``[num_integers]``.
    """

    booleans: npt.NDArray[np.bool_]
    integers: Ints

    def holds(self, literals: Ints) -> npt.NDArray[np.bool_]:
        """Whether each literal is true."""
        result: npt.NDArray[np.bool_] = self.booleans[np.abs(literals)] == (literals > 0)
        return result


@dataclass(frozen=True, eq=False)
class Formula:
    """Variables and constraints, immutable; made by `FormulaBuilder`.

    Row ``i`` of a kind has the literals ``starts[i]`` to ``starts[i + 1]``.  Iterate with
    `clauses`, `cardinalities`, `linears`, `differences`, or use the arrays directly.
    """

    num_booleans: int
    integer_low: Ints
    integer_high: Ints
    clause_starts: Ints
    clause_literals: Ints
    clause_enforcers: Ints
    cardinality_starts: Ints
    cardinality_literals: Ints
    cardinality_lows: Ints
    cardinality_highs: Ints
    cardinality_enforcers: Ints
    linear_starts: Ints
    linear_literals: Ints
    linear_coefficients: Ints
    linear_integer_starts: Ints
    linear_integers: Ints
    linear_integer_coefficients: Ints
    linear_lows: Ints
    linear_highs: Ints
    linear_enforcers: Ints
    difference_rows: Ints
    """``[D, 4]`` with columns x, distance, y, enforcer."""
    hint: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Literals that are probably true in some model.  They do not exclude any model; a solver that
    can start from a guess may use them."""

    def with_hint(self, literals: Ints) -> "Formula":
        """The same formula with other literals as its hint, each variable at most once."""
        return replace(self, hint=literals)

    @property
    def num_integers(self) -> int:
        """Number of integer variables."""
        return len(self.integer_low)

    def clauses(self) -> Iterator[ClauseRow]:
        """Every clause, as Python integers."""
        starts, literals = self.clause_starts.tolist(), self.clause_literals.tolist()
        for i, enforcer in enumerate(self.clause_enforcers.tolist()):
            yield ClauseRow(literals[starts[i] : starts[i + 1]], enforcer)

    def cardinalities(self) -> Iterator[CardinalityRow]:
        """Every cardinality row, as Python integers."""
        starts, literals = self.cardinality_starts.tolist(), self.cardinality_literals.tolist()
        rest = zip(
            self.cardinality_lows.tolist(),
            self.cardinality_highs.tolist(),
            self.cardinality_enforcers.tolist(),
            strict=True,
        )
        for i, (low, high, enforcer) in enumerate(rest):
            yield CardinalityRow(literals[starts[i] : starts[i + 1]], low, high, enforcer)

    def linears(self) -> Iterator[LinearRow]:
        """Every linear row, as Python integers."""
        starts, int_starts = self.linear_starts.tolist(), self.linear_integer_starts.tolist()
        coefficients, literals = self.linear_coefficients.tolist(), self.linear_literals.tolist()
        int_coefficients = self.linear_integer_coefficients.tolist()
        integers = self.linear_integers.tolist()
        rest = zip(
            self.linear_lows.tolist(),
            self.linear_highs.tolist(),
            self.linear_enforcers.tolist(),
            strict=True,
        )
        for i, (low, high, enforcer) in enumerate(rest):
            a, b = slice(starts[i], starts[i + 1]), slice(int_starts[i], int_starts[i + 1])
            yield LinearRow(
                coefficients[a], literals[a], int_coefficients[b], integers[b], low, high, enforcer
            )

    def differences(self) -> Iterator[DifferenceRow]:
        """Every difference row, as Python integers."""
        for x, distance, y, enforcer in self.difference_rows.tolist():
            yield DifferenceRow(x, distance, y, enforcer)

    def size(self) -> FormulaSize:
        """Counts, and the features in use."""
        features: set[Feature] = set()
        if len(self.clause_enforcers):
            features.add(Feature.CLAUSE)
        if len(self.cardinality_enforcers):
            features.add(Feature.CARDINALITY)
        has_integers = np.diff(self.linear_integer_starts) > 0
        if has_integers.any():
            features.add(Feature.LINEAR)
        if len(has_integers) and not has_integers.all():
            features.add(Feature.PSEUDO_BOOLEAN)
        if self.num_integers:
            features.add(Feature.INTEGER)
        if len(self.difference_rows):
            features.add(Feature.DIFFERENCE)
        enforcers = (self.cardinality_enforcers, self.linear_enforcers, self.difference_rows[:, 3])
        if any(e.any() for e in enforcers):
            features.add(Feature.ENFORCEMENT)
        return FormulaSize(
            booleans=self.num_booleans,
            integers=self.num_integers,
            clauses=len(self.clause_enforcers),
            cardinalities=len(self.cardinality_enforcers),
            linears=len(self.linear_enforcers),
            differences=len(self.difference_rows),
            literals=len(self.clause_literals)
            + len(self.cardinality_literals)
            + len(self.linear_literals),
            features=frozenset(features),
        )

    def violation(self, assignment: Assignment) -> str | None:
        """The first constraint that the assignment breaks, in words; None if it is a model."""
        if assignment.booleans.shape != (self.num_booleans + 1,):
            return f"{assignment.booleans.shape[0] - 1} Booleans, not {self.num_booleans}"
        if assignment.integers.shape != (self.num_integers,):
            return f"{len(assignment.integers)} integers, not {self.num_integers}"
        values = assignment.integers
        outside = np.flatnonzero((values < self.integer_low) | (values > self.integer_high))
        if len(outside):
            return f"integer {outside[0]} = {values[outside[0]]} is out of its bounds"

        def active(enforcers: Ints) -> npt.NDArray[np.bool_]:
            result: npt.NDArray[np.bool_] = (enforcers == 0) | assignment.holds(enforcers)
            return result

        def true(literals: Ints) -> Ints:
            return assignment.holds(literals).astype(np.int64)

        counts = row_sums(true(self.clause_literals), self.clause_starts)
        for i in np.flatnonzero(active(self.clause_enforcers) & (counts == 0))[:1]:
            return f"clause {i} has no true literal"
        counts = row_sums(true(self.cardinality_literals), self.cardinality_starts)
        wrong = (counts < self.cardinality_lows) | (counts > self.cardinality_highs)
        for i in np.flatnonzero(active(self.cardinality_enforcers) & wrong)[:1]:
            return f"cardinality row {i} counts {counts[i]}"
        sums = row_sums(self.linear_coefficients * true(self.linear_literals), self.linear_starts)
        sums += row_sums(
            self.linear_integer_coefficients * values[self.linear_integers],
            self.linear_integer_starts,
        )
        wrong = (sums < self.linear_lows) | (sums > self.linear_highs)
        for i in np.flatnonzero(active(self.linear_enforcers) & wrong)[:1]:
            return f"linear row {i} sums to {sums[i]}"
        x, distance, y, enforcers = self.difference_rows.T
        wrong = values[x] + distance > values[y]
        for i in np.flatnonzero(active(enforcers) & wrong)[:1]:
            return f"difference row {i} is violated"
        return None
