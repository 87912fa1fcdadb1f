"""Merging: variables of a formula with equal values become one.

A symmetric algorithm gives equal values to the variables of an orbit.  Equal constraints are kept
once.  A model of the merged formula is one of the given formula; if it has none, models with other
values remain possible.

Rows are compared by sums of random 64-bit keys; different ones collide with a chance of about one
in 10^19, and models are checked on the given formula.
"""

from dataclasses import dataclass, replace

import numpy as np

from syncoll.arrays import Bools, Ints, KeyArray
from syncoll.formula import NO_HIGH, NO_LOW, Assignment, Formula, added_up, row_sums
from syncoll.lowerings._arrays import add, ints, keep, offsets, row_of
from syncoll.lowerings.lowering import Applied


@dataclass(frozen=True)
class Split:
    """The inverse of a merging: every variable has the value of its representative, ``[num_booleans
    + 1]`` with entry 0 at 0, and ``[num_integers]``."""

    booleans: Ints
    integers: Ints

    def raise_assignment(self, assignment: Assignment) -> Assignment:
        """The assignment of the given formula."""
        return Assignment(assignment.booleans[self.booleans], assignment.integers[self.integers])


_LITERALS = tuple(
    f"{kind}_{part}"
    for kind in ("clause", "cardinality", "linear")
    for part in ("literals", "enforcers")
)
"""The arrays of literals of a formula."""


def merged(formula: Formula, booleans: Ints, integers: Ints) -> Applied:
    """The formula with one variable for each group, given group numbers from 0 of all variables."""
    variable = np.concatenate([[0], booleans + 1])

    def renamed(literals: Ints) -> Ints:
        return variable[np.abs(literals)] * np.sign(literals)

    count = int(integers.max(initial=-1)) + 1
    low, high = np.full(count, NO_LOW), np.full(count, NO_HIGH)
    np.maximum.at(low, integers, formula.integer_low)
    np.minimum.at(high, integers, formula.integer_high)
    keys = _Keys(int(booleans.max(initial=-1)) + 1, count)
    differences = formula.difference_rows.copy()
    differences[:, [0, 2]] = integers[differences[:, [0, 2]]]
    differences[:, 3] = renamed(differences[:, 3])
    within = differences[:, 0] == differences[:, 2]
    literals = {name: renamed(getattr(formula, name)) for name in _LITERALS}
    made = replace(
        formula,
        **literals,
        num_booleans=keys.num_booleans,
        integer_low=low,
        integer_high=np.maximum(low, high),
        difference_rows=np.unique(differences[~within], axis=0),
        hint=_hint(renamed(formula.hint)),
    )
    made = _with_clauses_once(made, keys)
    # x + distance <= x is true, or false and then forbids its enforcer.
    falsities = [0] * int((low > high).any())
    falsities += np.unique(differences[within & (differences[:, 1] > 0), 3]).tolist()
    made = add(
        made,
        "clause",
        starts=offsets(ints([int(enforcer != 0) for enforcer in falsities])),
        literals=-ints([enforcer for enforcer in falsities if enforcer]),
    )
    return Applied(_with_linear_rows_once(made, integers, keys), Split(variable, integers))


class _Keys:
    """Random keys of literals and integers, and of rows made from them."""

    def __init__(self, num_booleans: int, num_integers: int) -> None:
        self.num_booleans = num_booleans
        random = np.random.default_rng(20220103)
        self._literals = random.integers(1 << 63, size=2 * num_booleans + 1, dtype=np.uint64)
        self._integers = random.integers(1 << 63, size=num_integers, dtype=np.uint64)
        self._fields = random.integers(1 << 63, size=8, dtype=np.uint64) | np.uint64(1)

    def literal(self, literals: Ints) -> KeyArray:
        return self._literals[literals + self.num_booleans]

    def integer(self, integers: Ints) -> KeyArray:
        return self._integers[integers]

    def distinct(self, sums: KeyArray, *fields: Ints) -> Bools:
        """Which rows are the first of their kind."""
        keys = sums.copy()
        for field, factor in zip(fields, self._fields, strict=False):
            keys += field.astype(np.uint64) * factor
        first = np.zeros(len(keys), dtype=np.bool_)
        first[np.unique(keys, return_index=True)[1]] = True
        return first


def _with_clauses_once(formula: Formula, keys: _Keys) -> Formula:
    """Each clause and each cardinality row once."""
    sums = row_sums(keys.literal(formula.clause_literals), formula.clause_starts)
    sizes = np.diff(formula.clause_starts)
    formula = keep(formula, "clause", keys.distinct(sums, sizes, formula.clause_enforcers))
    sums = row_sums(keys.literal(formula.cardinality_literals), formula.cardinality_starts)
    bounds = formula.cardinality_lows, formula.cardinality_highs
    kept = keys.distinct(sums, *bounds, formula.cardinality_enforcers)
    return keep(formula, "cardinality", kept)


def _with_linear_rows_once(formula: Formula, integers: Ints, keys: _Keys) -> Formula:
    """Each linear row once, with merged integers, and divided by its common divisor."""
    count = len(formula.linear_lows)
    starts, literals, coefficients = added_up(
        row_of(formula.linear_starts), count, formula.linear_literals, formula.linear_coefficients
    )
    int_starts, numbers, int_coefficients = added_up(
        row_of(formula.linear_integer_starts),
        count,
        integers[formula.linear_integers],
        formula.linear_integer_coefficients,
    )
    divisor = np.zeros(count, dtype=np.int64)
    np.gcd.at(divisor, row_of(starts), coefficients)
    np.gcd.at(divisor, row_of(int_starts), int_coefficients)
    divisor = np.maximum(divisor, 1)
    coefficients = coefficients // np.repeat(divisor, np.diff(starts))
    int_coefficients = int_coefficients // np.repeat(divisor, np.diff(int_starts))
    lows, highs = formula.linear_lows, formula.linear_highs
    lows = np.where(lows <= NO_LOW, NO_LOW, -(-lows // divisor))
    highs = np.where(highs >= NO_HIGH, NO_HIGH, highs // divisor)
    sums = row_sums(keys.literal(literals) * coefficients.astype(np.uint64), starts)
    sums += row_sums(keys.integer(numbers) * int_coefficients.astype(np.uint64), int_starts)
    every = replace(
        formula,
        linear_starts=starts,
        linear_literals=literals,
        linear_coefficients=coefficients,
        linear_integer_starts=int_starts,
        linear_integers=numbers,
        linear_integer_coefficients=int_coefficients,
        linear_lows=lows,
        linear_highs=highs,
    )
    return keep(every, "linear", keys.distinct(sums, lows, highs, formula.linear_enforcers))


def _hint(literals: Ints) -> Ints:
    """A hint with each variable once; a variable of the hint holds for its whole group."""
    chosen = np.unique(literals)
    return chosen[(chosen > 0) | ~np.isin(-chosen, chosen)]
