"""Formulas made from formulas: rows left out and rows added, a whole array at a time.

Variables still come from `FormulaBuilder` alone; these functions only move rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from syncoll.formula import Formula
from syncoll.lowerings._ragged import BoolArray, IntArray, gather, ints, join

__all__ = [
    "CardinalityBlock",
    "ClauseBlock",
    "LinearBlock",
    "add_cardinalities",
    "add_clauses",
    "add_linears",
    "keep_cardinalities",
    "keep_clauses",
    "keep_linears",
    "with_rows_of",
    "without_differences",
]


@dataclass(frozen=True, eq=False)
class ClauseBlock:
    """Clauses, as in `Formula`."""

    starts: IntArray
    literals: IntArray
    enforcers: IntArray


@dataclass(frozen=True, eq=False)
class CardinalityBlock:
    """Cardinality rows, as in `Formula`."""

    starts: IntArray
    literals: IntArray
    lows: IntArray
    highs: IntArray
    enforcers: IntArray


@dataclass(frozen=True, eq=False)
class LinearBlock:
    """Linear rows, as in `Formula`; without integers when `integers` is None."""

    starts: IntArray
    literals: IntArray
    coefficients: IntArray
    lows: IntArray
    highs: IntArray
    enforcers: IntArray
    integers: tuple[IntArray, IntArray, IntArray] | None = None
    """Starts, integers and coefficients of the integer part."""


def keep_clauses(formula: Formula, keep: BoolArray) -> Formula:
    """The formula with only the clauses marked."""
    rows = np.flatnonzero(keep)
    starts, cells = gather(formula.clause_starts, rows)
    return replace(
        formula,
        clause_starts=starts,
        clause_literals=formula.clause_literals[cells],
        clause_enforcers=formula.clause_enforcers[rows],
    )


def keep_cardinalities(formula: Formula, keep: BoolArray) -> Formula:
    """The formula with only the cardinality rows marked."""
    rows = np.flatnonzero(keep)
    starts, cells = gather(formula.cardinality_starts, rows)
    return replace(
        formula,
        cardinality_starts=starts,
        cardinality_literals=formula.cardinality_literals[cells],
        cardinality_lows=formula.cardinality_lows[rows],
        cardinality_highs=formula.cardinality_highs[rows],
        cardinality_enforcers=formula.cardinality_enforcers[rows],
    )


def keep_linears(formula: Formula, keep: BoolArray) -> Formula:
    """The formula with only the linear rows marked."""
    rows = np.flatnonzero(keep)
    starts, cells = gather(formula.linear_starts, rows)
    integer_starts, integer_cells = gather(formula.linear_integer_starts, rows)
    return replace(
        formula,
        linear_starts=starts,
        linear_literals=formula.linear_literals[cells],
        linear_coefficients=formula.linear_coefficients[cells],
        linear_integer_starts=integer_starts,
        linear_integers=formula.linear_integers[integer_cells],
        linear_integer_coefficients=formula.linear_integer_coefficients[integer_cells],
        linear_lows=formula.linear_lows[rows],
        linear_highs=formula.linear_highs[rows],
        linear_enforcers=formula.linear_enforcers[rows],
    )


def without_differences(formula: Formula) -> Formula:
    """The formula without its difference rows."""
    return replace(formula, difference_rows=formula.difference_rows[:0])


def with_rows_of(variables: Formula, rows: Formula) -> Formula:
    """A formula with the variables of the first and the rows of the second."""
    return replace(
        rows,
        num_booleans=variables.num_booleans,
        integer_low=variables.integer_low,
        integer_high=variables.integer_high,
    )


def add_clauses(formula: Formula, block: ClauseBlock) -> Formula:
    """The formula with clauses added."""
    return replace(
        formula,
        clause_starts=join(formula.clause_starts, block.starts),
        clause_literals=np.concatenate([formula.clause_literals, block.literals]),
        clause_enforcers=np.concatenate([formula.clause_enforcers, block.enforcers]),
    )


def add_cardinalities(formula: Formula, block: CardinalityBlock) -> Formula:
    """The formula with cardinality rows added."""
    return replace(
        formula,
        cardinality_starts=join(formula.cardinality_starts, block.starts),
        cardinality_literals=np.concatenate([formula.cardinality_literals, block.literals]),
        cardinality_lows=np.concatenate([formula.cardinality_lows, block.lows]),
        cardinality_highs=np.concatenate([formula.cardinality_highs, block.highs]),
        cardinality_enforcers=np.concatenate([formula.cardinality_enforcers, block.enforcers]),
    )


def add_linears(formula: Formula, block: LinearBlock) -> Formula:
    """The formula with linear rows added."""
    none = (np.zeros(len(block.lows) + 1, dtype=np.int64), ints([]), ints([]))
    starts, integers, coefficients = block.integers or none
    return replace(
        formula,
        linear_starts=join(formula.linear_starts, block.starts),
        linear_literals=np.concatenate([formula.linear_literals, block.literals]),
        linear_coefficients=np.concatenate([formula.linear_coefficients, block.coefficients]),
        linear_integer_starts=join(formula.linear_integer_starts, starts),
        linear_integers=np.concatenate([formula.linear_integers, integers]),
        linear_integer_coefficients=np.concatenate(
            [formula.linear_integer_coefficients, coefficients]
        ),
        linear_lows=np.concatenate([formula.linear_lows, block.lows]),
        linear_highs=np.concatenate([formula.linear_highs, block.highs]),
        linear_enforcers=np.concatenate([formula.linear_enforcers, block.enforcers]),
    )
