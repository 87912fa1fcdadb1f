"""Enforced rows as rows that always hold: the big-M method, with M exact (Dantzig 1960).

``sum <= high if e`` becomes ``sum + M*e <= high + M``, where M is the greatest possible excess of
the sum over `high`; `low` likewise.  M follows from the bounds of the variables, with repeated
literals counted together and the enforcer taken as true.  Exact constants keep the linear
relaxation tight, and cannot exceed the coefficients of the row.

Needs pseudo-Boolean rows (linear rows, if the row has integers).  It makes at most two rows for
each enforced cardinality or linear row, one for each bound that can be broken, and no variable.
"""

import numpy as np

from syncoll.arrays import Ints
from syncoll.formula import NO_HIGH, NO_LOW, Feature, Formula, row_sums
from syncoll.lowerings._arrays import add, gather, keep, offsets, row_of
from syncoll.lowerings._sums import Sums, merged, sums_of
from syncoll.lowerings.lowering import registered

_Integers = tuple[Ints, Ints, Ints]
"""Starts, integers and coefficients of the integer parts of rows."""


def _merged_integers(formula: Formula, rows: Ints) -> _Integers:
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


def _with_side(
    formula: Formula, sums: Sums, integers: _Integers, sides: Ints, big: Ints
) -> Formula:
    """Adds rows ``sum + big * enforcer``, at most ``side + big`` for big > 0, else at least."""
    rows = np.flatnonzero(big)
    chosen = sums.chosen(rows)
    ends = chosen.starts[1:]
    starts, cells = gather(integers[0], rows)
    upper = big > 0
    return add(
        formula,
        "linear",
        starts=chosen.starts + np.arange(len(rows) + 1),
        literals=np.insert(chosen.literals, ends, chosen.enforcers),
        coefficients=np.insert(chosen.coefficients, ends, big[rows]),
        lows=np.where(upper, NO_LOW, sides + big)[rows],
        highs=np.where(upper, sides + big, NO_HIGH)[rows],
        integer_starts=starts,
        integers=integers[1][cells],
        integer_coefficients=integers[2][cells],
    )


def _with_rows(formula: Formula, given: Formula, sums: Sums, integers: _Integers) -> Formula:
    """The formula with rows for the low bounds of sums of a given one, then for the high ones."""
    flat, constants = merged(sums)
    starts, variables, coefficients = integers
    ends = np.stack([given.integer_low[variables], given.integer_high[variables]]) * coefficients
    least = row_sums(np.minimum(flat.coefficients, 0), flat.starts)
    least += row_sums(ends.min(axis=0), starts)
    most = row_sums(np.maximum(flat.coefficients, 0), flat.starts)
    most += row_sums(ends.max(axis=0), starts)
    lows, highs = flat.lows - constants, flat.highs - constants
    below = np.where(flat.lows > NO_LOW, np.minimum(least - lows, 0), 0)
    above = np.where(flat.highs < NO_HIGH, np.maximum(most - highs, 0), 0)
    formula = _with_side(formula, flat, integers, lows, below)
    return _with_side(formula, flat, integers, highs, above)


@registered(
    "enforcement -> big-M",
    "enforced rows get a term that frees them when the enforcer is false",
    turns={Feature.ENFORCEMENT: []},
    some={
        Feature.CARDINALITY: [Feature.PSEUDO_BOOLEAN] * 2,
        Feature.PSEUDO_BOOLEAN: [Feature.PSEUDO_BOOLEAN] * 2,
        Feature.LINEAR: [Feature.LINEAR] * 2,
    },
    cost=9,
    after=[Feature.DIFFERENCE],
)
def enforcement_to_big_m(formula: Formula) -> Formula:
    """Rewrites every enforced cardinality and linear row; enforced clauses stay."""
    cardinality, linear = formula.cardinality_enforcers != 0, formula.linear_enforcers != 0
    made = keep(keep(formula, "cardinality", ~cardinality), "linear", ~linear)
    rows = np.flatnonzero(cardinality)
    no_integers = np.zeros(len(rows) + 1, dtype=np.int64), rows[:0], rows[:0]
    made = _with_rows(made, formula, sums_of(formula, "cardinality", rows), no_integers)
    rows = np.flatnonzero(linear)
    integers = _merged_integers(formula, rows)
    return _with_rows(made, formula, sums_of(formula, "linear", rows), integers)
