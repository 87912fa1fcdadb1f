"""Linear rows as a matrix have the same solutions."""

from __future__ import annotations

import numpy as np
import pytest

from syncoll.formula import NO_HIGH, NO_LOW, Feature, FormulaBuilder
from syncoll.formula.matrix import columns_to_assignment, linear_matrix
from syncoll.testing import brute_force_models, random_formula
from syncoll.testing.small_formulas import row_cases

ROWS = frozenset({Feature.CARDINALITY, Feature.PSEUDO_BOOLEAN, Feature.LINEAR, Feature.INTEGER})
FORMULAS = [random_formula(seed, ROWS) for seed in range(150)]
FORMULAS += [case.formula for case in row_cases() if case.formula.size().features <= ROWS]


@pytest.mark.parametrize("formula", FORMULAS)
def test_models_are_the_solutions(formula) -> None:  # type: ignore[no-untyped-def]
    free = FormulaBuilder(formula).build()
    everything = brute_force_models(free)
    matrix = linear_matrix(formula, cardinalities=True)
    dense = np.zeros(
        (len(matrix.lows), formula.num_booleans + formula.num_integers), dtype=np.int64
    )
    for row in range(len(matrix.lows)):
        cells = slice(matrix.starts[row], matrix.starts[row + 1])
        assert (np.diff(matrix.columns[cells]) > 0).all()
        assert matrix.coefficients[cells].all()
        dense[row, matrix.columns[cells]] = matrix.coefficients[cells]
    values = np.hstack([everything.booleans[:, 1:], everything.integers]).astype(np.int64)
    sums = values @ dense.T
    solutions = ((sums >= matrix.lows) & (sums <= matrix.highs)).all(axis=1)
    count = formula.num_booleans, formula.num_integers
    assert set(map(tuple, values[solutions].tolist())) == brute_force_models(formula).as_set(*count)
    assert matrix.largest_sum(formula) >= np.abs(sums).max(initial=0)


def test_missing_bounds_stay_missing() -> None:
    builder = FormulaBuilder()
    x, y = builder.booleans(2)
    builder.linear([3, 2], [-x, y], high=4)
    builder.linear([3, 2], [-x, y], low=1)
    matrix = linear_matrix(builder.build())
    assert matrix.lows.tolist() == [NO_LOW, -2]
    assert matrix.highs.tolist() == [1, NO_HIGH]


def test_rounding() -> None:
    builder = FormulaBuilder()
    builder.booleans(2)
    builder.integer(-5, 5)
    assignment = columns_to_assignment(builder.build(), np.array([0.9999999, 1e-9, -3.0000001]))
    assert assignment.booleans.tolist() == [False, True, False]
    assert assignment.integers.tolist() == [-3]
