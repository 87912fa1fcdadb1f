"""Enforced rows as rows that always hold: the big-M method, with M exact (Dantzig 1960).

``sum <= high if e`` is ``sum + M*e <= high + M`` where M is how far the sum can exceed `high` at
all, computed from the bounds of its variables with repeated literals counted together and the
enforcer taken as true; `low` likewise.  Exact constants keep the linear relaxation tight, and
cannot exceed what the row itself contains.

Needs pseudo-Boolean rows (linear rows, where the row has integers); makes at most two rows for each
enforced cardinality or linear row, one for each bound that can be broken, and no variable.
"""

from __future__ import annotations

import numpy as np

from syncoll.formula import NO_HIGH, NO_LOW, Formula
from syncoll.lowerings._edit import (
    LinearBlock,
    add_linears,
    keep_cardinalities,
    keep_linears,
)
from syncoll.lowerings._ragged import IntArray, gather, offsets, row_of, row_sums
from syncoll.lowerings._sums import Sums, cardinality_sums, merged, pseudo_boolean_sums
from syncoll.lowerings.lowering import Applied, KeepFirst

__all__ = ["enforcement_to_big_m"]

_Integers = tuple[IntArray, IntArray, IntArray]
"""Starts, integers and coefficients of the integer parts of rows."""


def _merged_integers(formula: Formula, rows: IntArray) -> _Integers:
    """The integer parts of linear rows, with each integer once in a row."""
    starts, cells = gather(formula.linear_integer_starts, rows)
    width = max(formula.num_integers, 1)
    keys, inverse = np.unique(
        row_of(starts) * width + formula.linear_integers[cells], return_inverse=True
    )
    coefficients = np.zeros(len(keys), dtype=np.int64)
    np.add.at(coefficients, inverse, formula.linear_integer_coefficients[cells])
    counts = np.bincount(keys // width, minlength=len(rows)).astype(np.int64)
    return offsets(counts), keys % width, coefficients


def _one_side(sums: Sums, integers: _Integers, sides: IntArray, big: IntArray) -> LinearBlock:
    """Rows ``sum + sign(big) * ... `` for the rows with ``big != 0``; see the module's text."""
    rows = np.flatnonzero(big)
    chosen = sums.chosen(rows)
    ends = chosen.starts[1:]
    starts, cells = gather(integers[0], rows)
    upper = big > 0
    return LinearBlock(
        starts=chosen.starts + np.arange(len(rows) + 1),
        literals=np.insert(chosen.literals, ends, chosen.enforcers),
        coefficients=np.insert(chosen.coefficients, ends, big[rows]),
        lows=np.where(upper, NO_LOW, sides + big)[rows],
        highs=np.where(upper, sides + big, NO_HIGH)[rows],
        enforcers=np.zeros(len(rows), dtype=np.int64),
        integers=(starts, integers[1][cells], integers[2][cells]),
    )


def _big_m(formula: Formula, sums: Sums, integers: _Integers) -> tuple[LinearBlock, LinearBlock]:
    """The rows for the low bounds, and those for the high bounds."""
    flat, constants = merged(sums)
    starts, variables, coefficients = integers
    ends = np.stack([formula.integer_low[variables], formula.integer_high[variables]])
    ends = ends * coefficients
    least = row_sums(np.minimum(flat.coefficients, 0), flat.starts)
    least += row_sums(ends.min(axis=0), starts)
    most = row_sums(np.maximum(flat.coefficients, 0), flat.starts)
    most += row_sums(ends.max(axis=0), starts)
    lows, highs = flat.lows - constants, flat.highs - constants
    below = np.where(flat.lows > NO_LOW, np.minimum(least - lows, 0), 0)
    above = np.where(flat.highs < NO_HIGH, np.maximum(most - highs, 0), 0)
    return _one_side(flat, integers, lows, below), _one_side(flat, integers, highs, above)


def enforcement_to_big_m(formula: Formula) -> Applied:
    """Rewrites every enforced cardinality and linear row.

    Given: any formula without enforced difference rows.  Made: the same without enforcers other
    than those of clauses.
    """
    cardinality, linear = formula.cardinality_enforcers != 0, formula.linear_enforcers != 0
    made = keep_linears(keep_cardinalities(formula, ~cardinality), ~linear)
    rows = np.flatnonzero(cardinality)
    none = np.zeros(len(rows) + 1, dtype=np.int64), rows[:0], rows[:0]
    blocks: tuple[LinearBlock, ...] = _big_m(formula, cardinality_sums(formula, rows), none)
    rows = np.flatnonzero(linear)
    blocks += _big_m(formula, pseudo_boolean_sums(formula, rows), _merged_integers(formula, rows))
    for block in blocks:
        made = add_linears(made, block)
    return Applied(made, KeepFirst.of(formula))
