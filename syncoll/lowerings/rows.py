"""Rows of one kind as rows of another; the only new variable is an integer that is always 0.

* A clause is a count, or a sum, of at least one; an enforced one has the enforcer's negation among
  its literals.
* A count is a sum with coefficients 1.
* A sum is a count if its coefficients have equal absolute values after repeated literals are
  counted together.  Literals with a minus are negated: ``2a - 2b <= 1`` means ``a + (1 - b) <= 1``.
* A sum is a linear row with that integer, for backends without other linear rows.
* ``x + distance <= y`` is ``x - y <= -distance``.

Enforcers stay.  Rows that always hold are left out.
"""

from dataclasses import replace

import numpy as np

from syncoll.arrays import Ints
from syncoll.formula import NO_HIGH, NO_LOW, Feature, Formula, FormulaBuilder, row_sums
from syncoll.lowerings._arrays import add, ints, keep, offsets, with_rows_of
from syncoll.lowerings._sums import normalised, plain_clauses, sums_of
from syncoll.lowerings.lowering import registered


def _no_rows(formula: Formula, kind: str) -> Formula:
    count = len(getattr(formula, f"{kind}_enforcers"))
    return keep(formula, kind, np.zeros(count, dtype=np.bool_))


def _full(count: int, value: int) -> Ints:
    return np.full(count, value, dtype=np.int64)


@registered(
    "difference -> linear",
    "x + d <= y becomes x - y <= -d",
    turns={Feature.DIFFERENCE: [Feature.LINEAR]},
)
def difference_to_linear(formula: Formula) -> Formula:
    """Rewrites every difference row."""
    x, distance, y, enforcers = formula.difference_rows.T
    count = len(x)
    return add(
        replace(formula, difference_rows=formula.difference_rows[:0]),
        "linear",
        starts=_full(count + 1, 0),
        lows=_full(count, NO_LOW),
        highs=-distance,
        enforcers=enforcers,
        integer_starts=2 * np.arange(count + 1, dtype=np.int64),
        integers=np.stack([x, y], axis=1).ravel(),
        integer_coefficients=np.tile(ints([1, -1]), count),
    )


@registered(
    "pseudo-boolean -> cardinality",
    "rows with equal coefficients become counts",
    some={Feature.PSEUDO_BOOLEAN: [Feature.CARDINALITY]},
    cost=20,
)
def pseudo_boolean_to_cardinality(formula: Formula) -> Formula:
    """Rewrites the linear rows without integers that only count."""
    bare = np.flatnonzero(np.diff(formula.linear_integer_starts) == 0)
    sums = normalised(sums_of(formula, "linear", bare))
    counting = row_sums((sums.coefficients != 1).astype(np.int64), sums.starts) == 0
    kept = np.ones(len(formula.linear_enforcers), dtype=np.bool_)
    kept[bare[counting]] = False
    breakable = (sums.lows > 0) | (sums.highs < sums.totals())
    counts = sums.chosen(np.flatnonzero(counting & breakable))
    return add(keep(formula, "linear", kept), "cardinality", **vars(counts))


@registered(
    "cardinality -> pseudo-boolean",
    "counts become sums with coefficients 1",
    turns={Feature.CARDINALITY: [Feature.PSEUDO_BOOLEAN]},
)
def cardinality_to_pseudo_boolean(formula: Formula) -> Formula:
    """Rewrites every cardinality row; a bound that no count passes becomes no bound."""
    below = formula.cardinality_lows > 0
    above = formula.cardinality_highs < np.diff(formula.cardinality_starts)
    rows = np.flatnonzero(below | above)
    sums = sums_of(formula, "cardinality", rows)
    lows = np.where(below[rows], sums.lows, NO_LOW)
    highs = np.where(above[rows], sums.highs, NO_HIGH)
    made = replace(sums, lows=lows, highs=highs)
    return add(_no_rows(formula, "cardinality"), "linear", **vars(made))


@registered(
    "clause -> cardinality",
    "clauses become counts of at least one",
    turns={Feature.CLAUSE: [Feature.CARDINALITY]},
    cost=9,
)
def clause_to_cardinality(formula: Formula) -> Formula:
    """Rewrites every clause."""
    starts, literals = plain_clauses(formula)
    return add(
        _no_rows(formula, "clause"),
        "cardinality",
        starts=starts,
        literals=literals,
        lows=_full(len(starts) - 1, 1),
        highs=np.diff(starts),
    )


@registered(
    "clause -> pseudo-boolean",
    "clauses become sums of at least one",
    turns={Feature.CLAUSE: [Feature.PSEUDO_BOOLEAN]},
)
def clause_to_pseudo_boolean(formula: Formula) -> Formula:
    """Rewrites every clause."""
    starts, literals = plain_clauses(formula)
    return add(
        _no_rows(formula, "clause"),
        "linear",
        starts=starts,
        literals=literals,
        coefficients=_full(len(literals), 1),
        lows=_full(len(starts) - 1, 1),
        highs=_full(len(starts) - 1, NO_HIGH),
    )


@registered(
    "pseudo-boolean -> linear",
    "sums get an integer that is always 0",
    turns={Feature.PSEUDO_BOOLEAN: [Feature.LINEAR, Feature.INTEGER]},
)
def pseudo_boolean_to_linear(formula: Formula) -> Formula:
    """Rewrites every linear row without integers."""
    builder = FormulaBuilder(base=formula)
    zero = builder.integer(0, 0)
    counts = np.diff(formula.linear_integer_starts)
    bare = counts == 0
    places = formula.linear_integer_starts[:-1][bare]
    return replace(
        with_rows_of(builder.build(), formula),
        linear_integer_starts=offsets(counts + bare),
        linear_integers=np.insert(formula.linear_integers, places, zero),
        linear_integer_coefficients=np.insert(formula.linear_integer_coefficients, places, 1),
    )
