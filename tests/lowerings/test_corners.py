"""Rows that a careless lowering gets wrong, one by one, on every kind of backend."""

from __future__ import annotations

import pytest

from syncoll.errors import UsageError
from syncoll.formula import NO_HIGH, NO_LOW, Feature, FormulaBuilder
from syncoll.lowerings import lower
from syncoll.lowerings.big_m import enforcement_to_big_m
from syncoll.lowerings.order import MOST_ORDER_LITERALS
from syncoll.testing.formulas import brute_force_models

CLAUSE, CARDINALITY = Feature.CLAUSE, Feature.CARDINALITY
PSEUDO_BOOLEAN, LINEAR, INTEGER = Feature.PSEUDO_BOOLEAN, Feature.LINEAR, Feature.INTEGER
OFFERS = [
    {CLAUSE},
    {CLAUSE, CARDINALITY},
    {CARDINALITY},
    {PSEUDO_BOOLEAN},
    {CLAUSE, PSEUDO_BOOLEAN},
    {LINEAR, INTEGER},
    {LINEAR, PSEUDO_BOOLEAN, INTEGER},
]


def cardinalities(b: FormulaBuilder, x: list[int]) -> None:
    b.cardinality([], 0, 0)
    b.cardinality([x[0], x[0], x[1]], 2, 2, x[2])
    b.cardinality([x[0], -x[0], x[3]], 1, 1, -x[2])
    b.cardinality([x[0], x[1], x[2]], -5, 99)


def empty_cardinality_that_never_holds(b: FormulaBuilder, x: list[int]) -> None:
    b.cardinality([], 1, 1, x[0])


def low_above_high(b: FormulaBuilder, x: list[int]) -> None:
    b.cardinality(x, 3, 2, x[0])
    b.linear([1, 1], [x[1], x[2]], low=2, high=1, enforcer=x[3])


def low_above_high_always(b: FormulaBuilder, x: list[int]) -> None:
    b.linear([1, 1], [x[1], x[2]], low=2, high=1)


def enforcer_in_its_row(b: FormulaBuilder, x: list[int]) -> None:
    b.cardinality([x[0], x[1], x[2]], 0, 1, x[0])
    b.cardinality([-x[0], x[1], x[3]], 2, 3, x[0])
    b.linear([3, -2, 1], [x[3], x[1], -x[3]], low=1, high=2, enforcer=x[3])
    b.clause([x[2], x[3]], enforcer=x[2])
    b.clause([-x[2], x[3]], enforcer=x[2])


def clauses(b: FormulaBuilder, x: list[int]) -> None:
    b.clause([x[0], -x[0]])
    b.clause([x[1], x[1]])
    b.clause([], enforcer=x[2])
    b.clause([], enforcer=-x[3])


def empty_clause(b: FormulaBuilder, x: list[int]) -> None:
    b.clause([])


def linear_without_bounds(b: FormulaBuilder, x: list[int]) -> None:
    b.linear([5, 7], [x[0], x[1]])
    b.linear([5, 7], [x[0], x[1]], low=NO_LOW, high=NO_HIGH, enforcer=x[2])
    b.linear([0, 0], [x[0], x[1]], low=0, high=0)
    b.linear([2, -2], [x[0], x[0]], low=0)
    b.linear([4, 6], [x[0], x[1]], low=5, high=7, enforcer=-x[1])
    b.linear(low=0, high=3)


def empty_linear_that_never_holds(b: FormulaBuilder, x: list[int]) -> None:
    b.linear(low=1, enforcer=x[1])


def integers(b: FormulaBuilder, x: list[int]) -> None:
    i, fixed, j = b.integer(-4, -1), b.integer(-2, -2), b.integer(0, 3)
    b.linear([3], [x[0]], [2, -1, 1], [i, fixed, j], low=-6, high=-3)
    b.linear([], [], [1, 1, -2], [i, i, i], low=0, high=0)
    b.linear([], [], [1], [fixed], low=-2, enforcer=x[1])
    b.linear([], [], [1], [fixed], low=-1, enforcer=x[2])
    b.linear([1], [-x[3]], [-3], [j], high=-5, enforcer=x[3])


def differences(b: FormulaBuilder, x: list[int]) -> None:
    i, fixed, j = b.integer(-4, -1), b.integer(-2, -2), b.integer(-3, 1)
    b.difference(i, 1, j)
    b.difference(j, -3, i, x[0])
    b.difference(i, 0, fixed, -x[0])
    b.difference(fixed, 2, j, x[1])
    b.difference(i, 0, i)
    b.difference(i, -7, i)
    b.difference(j, 2, j, x[2])
    b.difference(j, 99, i, x[3])
    b.difference(j, -99, i)


def impossible_differences(b: FormulaBuilder, x: list[int]) -> None:
    i, j = b.integer(0, 2), b.integer(0, 2)
    b.difference(i, 1, j)
    b.difference(j, 1, i, x[0])
    b.difference(i, 3, j, x[1])
    b.difference(i, 1, i, x[2])


def unused_integers(b: FormulaBuilder, x: list[int]) -> None:
    b.integer(-1, 2)
    b.integer(7, 7)


def equal_rows_of_one_choice(b: FormulaBuilder, x: list[int]) -> None:
    b.at_most(x, 1)
    b.at_most(x, 1)
    b.exactly(x[:3], 1)
    b.linear([2, 2, 2, 2], x, high=3)


def positions(b: FormulaBuilder, x: list[int]) -> None:
    b.exactly([x[0], x[1]], 1)
    b.exactly([x[2], -x[3]], 1)
    b.linear([1, 2, -1, -2], [x[0], x[1], x[2], -x[3]], high=0)


def a_circle_of_implications(b: FormulaBuilder, x: list[int]) -> None:
    b.clause([-x[0], x[1]])
    b.clause([-x[1], x[2]])
    b.clause([-x[2], x[0]])
    b.linear([1, 1, 1, 2], x, low=2, high=4)


CORNERS = [
    cardinalities,
    empty_cardinality_that_never_holds,
    low_above_high,
    low_above_high_always,
    enforcer_in_its_row,
    clauses,
    empty_clause,
    linear_without_bounds,
    empty_linear_that_never_holds,
    integers,
    differences,
    impossible_differences,
    unused_integers,
    equal_rows_of_one_choice,
    positions,
    a_circle_of_implications,
]


@pytest.mark.parametrize("offer", OFFERS, ids=lambda offer: " ".join(sorted(offer)))
@pytest.mark.parametrize("corner", CORNERS, ids=lambda corner: corner.__name__)
def test_corner(corner, offer, models_through):
    builder = FormulaBuilder()
    corner(builder, list(builder.booleans(4)))
    formula = builder.build()
    lowered = lower(formula, frozenset(offer))
    assert lowered.formula.size().features <= offer
    found = models_through(formula, lowered.formula, lowered.raise_assignment)
    assert found == brute_force_models(formula).as_set(4, formula.num_integers)


def test_an_empty_formula():
    formula = FormulaBuilder().build()
    for offer in OFFERS:
        assert lower(formula, frozenset(offer)).formula is formula


def test_integers_too_large_for_booleans_are_refused():
    builder = FormulaBuilder()
    builder.integer(0, MOST_ORDER_LITERALS + 1)
    with pytest.raises(UsageError, match="use a backend with integers"):
        lower(builder.build(), frozenset({CLAUSE}))
    lowered = lower(builder.build(), frozenset({LINEAR, INTEGER}))
    assert lowered.formula.num_integers == 1


def test_big_m_is_exact():
    builder = FormulaBuilder()
    a, b, e = builder.booleans(3)
    i = builder.integer(-1, 4)
    builder.linear([2, -3], [a, b], [-2], [i], low=-6, high=1, enforcer=e)
    rows = list(enforcement_to_big_m(builder.build()).formula.linears())
    # The sum lies between -3 - 8 = -11 and 2 + 2 = 4.
    assert [(row.literals, row.coefficients, row.low, row.high) for row in rows] == [
        ([a, b, e], [2, -3, -5], -11, NO_HIGH),
        ([a, b, e], [2, -3, 3], NO_LOW, 4),
    ]
    assert all(row.integers == [i] and row.enforcer == 0 for row in rows)


def test_order_literals_in_a_count_are_recognised():
    """The main rows in practice, ``sum(sends) <= r``, must not sort r's literals again."""

    def clauses_for(n: int, high: int) -> int:
        builder = FormulaBuilder()
        sends = list(builder.booleans(n))
        rounds = builder.integer(0, high)
        builder.linear([1] * n, sends, [-1], [rounds], high=0)
        return lower(builder.build(), frozenset({CLAUSE})).formula.size().clauses

    builder = FormulaBuilder()
    builder.at_most(list(builder.booleans(100)), 8)
    count_alone = lower(builder.build(), frozenset({CLAUSE})).formula.size().clauses
    assert clauses_for(100, 8) < 1.3 * count_alone


def test_an_abandoned_lowering_ends() -> None:
    """It ends between two shapes of rows, so that a thread does not continue with millions of
    clauses."""
    b = FormulaBuilder()
    for size in range(2, 8):
        b.cardinality(list(b.booleans(size)), 1, 1 + size // 2)
    formula, asked = b.build(), 0

    class EnoughError(Exception):
        pass

    def check() -> None:
        nonlocal asked
        asked += 1
        if asked == 3:
            raise EnoughError

    with pytest.raises(EnoughError):
        lower(formula, frozenset({CLAUSE}), check)
    assert asked == 3
    assert not lower(formula, frozenset({CLAUSE})).formula.size().features - {CLAUSE}
