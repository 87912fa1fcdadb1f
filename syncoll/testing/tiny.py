"""Formulas of at most three variables and two rows: all of them in a small range of numbers.

Small formulas are where a solver's adapter takes its short cuts: nothing left after a row was
simplified, a single variable, a row without terms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from itertools import combinations, product

from syncoll.formula import NO_HIGH, NO_LOW, Feature, Formula, FormulaBuilder

__all__ = ["tiny_formulas"]

_Write = tuple[Callable[[FormulaBuilder, int], None], int]
"""What writes a row behind an enforcer, and the last Boolean that it needs."""

_LITERALS = ((), (1,), (-1,), (1, 1), (1, -1), (1, 2), (1, -2), (-1, 2), (-1, -2))
_BOUNDS = ((0, 0), (1, 1), (1, 2), (0, 1), (2, 2), (2, 1))
_RANGES = ((0, 0), (-1, 1), (2, 3))


def tiny_formulas(features: AbstractSet[Feature]) -> Iterator[Formula]:
    """Formulas that use at most these features; about a third of them is unsat.

    Args:
        features: what rows and variables they may have.
    """
    if Feature.CLAUSE in features:
        for size in (1, 2):
            for rows in combinations(_LITERALS, size):
                yield _formula([_clause(row) for row in rows])
        yield _formula([_clause(row) for row in _LITERALS[-4:]])
    for number, write in enumerate(_rows(features)):
        yield _formula([write])
        if Feature.ENFORCEMENT in features and number % 4 == 0:
            for sign in (1, -1):  # with and without a row that makes the enforcer true
                yield _formula([write], enforcer=3 * sign)
            if Feature.CLAUSE in features:
                yield _formula([write, _clause((3,))], enforcer=3)


def _rows(features: AbstractSet[Feature]) -> Iterator[_Write]:
    """Single rows that are no clauses."""
    if Feature.CARDINALITY in features:
        for literals, bounds in product(_LITERALS, _BOUNDS):
            yield _cardinality(literals, *bounds)
    if Feature.PSEUDO_BOOLEAN in features:
        coefficients = ((1, 2), (-2, 1), (2, -1), (-1, -1))
        for (one, two), low in product(coefficients, (-3, -1, 0, 3)):
            yield _linear((one,), (1,), low, low)
            yield _linear((two,), (-1,), low, NO_HIGH)
            yield _linear((one, two), (1, -2), low, low)
            yield _linear((one, two), (1, 2), low, NO_HIGH)
            yield _linear((one, two), (-1, 2), NO_LOW, low)
    if Feature.INTEGER in features and Feature.LINEAR in features:
        for ends, factor, low in product(_RANGES, (1, -1, 2), (-4, -2, 0, 1, 4)):
            yield _of_integer(ends, factor, low, low)
            yield _of_integer(ends, factor, low, NO_HIGH)
    if Feature.INTEGER in features and Feature.DIFFERENCE in features:
        for first, second, distance in product(_RANGES, _RANGES, (-2, 0, 1, 3)):
            yield _difference(first, second, distance)


def _formula(rows: list[_Write], enforcer: int = 0) -> Formula:
    builder = FormulaBuilder()
    # Only so many Booleans as the rows have: one that stands alone is a corner too.
    most = max([abs(enforcer), *(variable for _, variable in rows)])
    builder.booleans(most)
    for number, (write, _) in enumerate(rows):
        write(builder, 0 if number else enforcer)
    return builder.build()


def _most(literals: tuple[int, ...]) -> int:
    return max(map(abs, literals), default=0)


def _clause(literals: tuple[int, ...]) -> _Write:
    return lambda builder, enforcer: builder.clause(literals, enforcer), _most(literals)


def _cardinality(literals: tuple[int, ...], low: int, high: int) -> _Write:
    def write(builder: FormulaBuilder, enforcer: int) -> None:
        builder.cardinality(literals, low, high, enforcer)

    return write, _most(literals)


def _linear(
    coefficients: tuple[int, ...], literals: tuple[int, ...], low: int, high: int
) -> _Write:
    def write(builder: FormulaBuilder, enforcer: int) -> None:
        builder.linear(coefficients, literals, low=low, high=high, enforcer=enforcer)

    return write, _most(literals)


def _of_integer(ends: tuple[int, int], factor: int, low: int, high: int) -> _Write:
    def write(builder: FormulaBuilder, enforcer: int) -> None:
        builder.linear([], [], [factor], [builder.integer(*ends)], low, high, enforcer)

    return write, 0


def _difference(one: tuple[int, int], two: tuple[int, int], distance: int) -> _Write:
    def write(builder: FormulaBuilder, enforcer: int) -> None:
        builder.difference(builder.integer(*one), distance, builder.integer(*two), enforcer)

    return write, 0
