"""Formulas small enough to enumerate: every kind of row in every odd shape, and tiny ones."""

from collections.abc import Callable, Iterator, Sequence, Set as AbstractSet
from itertools import combinations, product
from typing import NamedTuple

from syncoll.formula import NO_HIGH, NO_LOW, Feature, Formula, FormulaBuilder


class RowCase(NamedTuple):
    """A formula, named by its peculiarity."""

    name: str
    formula: Formula


def row_cases() -> Iterator[RowCase]:
    """Every kind of row in every odd shape, written by hand, by itself and with an enforcer."""
    for feature, cases in _CASES.items():
        for name, row in cases.items():
            yield RowCase(name, _formula([row], least=4))
            if feature in _ENFORCED and name not in _ALREADY_ENFORCED:
                for sign, how in ((5, "enforced"), (-5, "enforced by a negation")):
                    yield RowCase(f"{name}, {how}", _formula([row], enforcer=sign))


_LITERALS = ((), (1,), (-1,), (1, 1), (1, -1), (1, 2), (1, -2), (-1, 2), (-1, -2))
_BOUNDS = ((0, 0), (1, 1), (1, 2), (0, 1), (2, 2), (2, 1))
_RANGES = ((0, 0), (-1, 1), (2, 3))


def tiny_formulas(features: AbstractSet[Feature]) -> Iterator[Formula]:
    """All formulas of at most three variables and two rows in a small range of numbers.

    They use at most these features; about a third of them is unsat.  A solver's adapter has special
    cases for small formulas: nothing left after a row was simplified, a single variable, a row
    without terms.
    """
    if Feature.CLAUSE in features:
        for size in (1, 2):
            for rows in combinations(_LITERALS, size):
                yield _formula([_clause(row) for row in rows])
        yield _formula([_clause(row) for row in _LITERALS[-4:]])
    for number, row in enumerate(_rows(features)):
        yield _formula([row])
        if Feature.ENFORCEMENT in features and number % 4 == 0:
            for sign in (1, -1):  # with and without a row that makes the enforcer true
                yield _formula([row], enforcer=3 * sign)
            if Feature.CLAUSE in features:
                yield _formula([row, _clause((3,))], enforcer=3)


def _rows(features: AbstractSet[Feature]) -> "Iterator[_Row]":
    """Single rows other than clauses."""
    if Feature.CARDINALITY in features:
        for literals, bounds in product(_LITERALS, _BOUNDS):
            yield _cardinality(literals, *bounds)
    if Feature.PSEUDO_BOOLEAN in features:
        coefficients = ((1, 2), (-2, 1), (2, -1), (-1, -1))
        for (one, two), low in product(coefficients, (-3, -1, 0, 3)):
            yield _linear((one,), (1,), low, low)
            yield _linear((two,), (-1,), low)
            yield _linear((one, two), (1, -2), low, low)
            yield _linear((one, two), (1, 2), low)
            yield _linear((one, two), (-1, 2), high=low)
    if Feature.INTEGER in features and Feature.LINEAR in features:
        for ends, factor, low in product(_RANGES, (1, -1, 2), (-4, -2, 0, 1, 4)):
            yield _linear_of([ends], [factor], low=low, high=low)
            yield _linear_of([ends], [factor], low=low)
    if Feature.INTEGER in features and Feature.DIFFERENCE in features:
        for first, second, distance in product(_RANGES, _RANGES, (-2, 0, 1, 3)):
            yield _differences([first, second], [(0, distance, 1)])


# Rows ---------------------------------------------------------------------------------------------

_Range = tuple[int, int]


class _Row(NamedTuple):
    """The function that writes a row with an enforcer, and its last Boolean."""

    write: Callable[[FormulaBuilder, int], None]
    last: int = 0


def _formula(rows: Sequence[_Row], enforcer: int = 0, least: int = 0) -> Formula:
    """The rows, the first with an enforcer, which another row does not force, if possible."""
    builder = FormulaBuilder()
    # No more Booleans than needed: a single one is a corner case, too.
    builder.booleans(max(least, abs(enforcer), *(row.last for row in rows)))
    for number, row in enumerate(rows):
        row.write(builder, 0 if number else enforcer)
    return builder.build()


def _last(literals: Sequence[int]) -> int:
    return max(map(abs, literals), default=0)


def _clause(literals: Sequence[int]) -> _Row:
    return _Row(lambda builder, enforcer: builder.clause(literals, enforcer), _last(literals))


def _cardinality(literals: Sequence[int], low: int, high: int) -> _Row:
    return _Row(
        lambda builder, enforcer: builder.cardinality(literals, low, high, enforcer),
        _last(literals),
    )


def _linear(
    coefficients: Sequence[int], literals: Sequence[int], low: int = NO_LOW, high: int = NO_HIGH
) -> _Row:
    return _linear_of([], [], coefficients, literals, low, high)


def _linear_of(
    ranges: Sequence[_Range],
    factors: Sequence[int],
    coefficients: Sequence[int] = (),
    literals: Sequence[int] = (),
    low: int = NO_LOW,
    high: int = NO_HIGH,
) -> _Row:
    def write(builder: FormulaBuilder, enforcer: int) -> None:
        integers = [builder.integer(*ends) for ends in ranges]
        builder.linear(coefficients, literals, factors, integers, low, high, enforcer)

    return _Row(write, _last(literals))


def _differences(ranges: Sequence[_Range], rows: Sequence[tuple[int, int, int]]) -> _Row:
    def write(builder: FormulaBuilder, enforcer: int) -> None:
        for ends in ranges:
            builder.integer(*ends)
        for x, distance, y in rows:
            builder.difference(x, distance, y, enforcer)

    return _Row(write)


def _repeated_integer(builder: FormulaBuilder, enforcer: int) -> None:
    x = builder.integer(-2, 5)
    builder.linear([], [], [2, 3, -4], [x, x, x], low=4, high=4, enforcer=enforcer)


_ENFORCED = frozenset(
    {
        Feature.CLAUSE,
        Feature.CARDINALITY,
        Feature.PSEUDO_BOOLEAN,
        Feature.LINEAR,
        Feature.DIFFERENCE,
    }
)
_ALREADY_ENFORCED = frozenset({"a clause whose enforcer is one of its literals"})

_CASES: dict[Feature | None, dict[str, _Row]] = {
    None: {"variables without any row": _differences([], [])},
    Feature.INTEGER: {
        "integers without any row": _differences([(-7, -3), (0, 0), (2, 9), (-1, 1)], [])
    },
    Feature.CLAUSE: {
        "an empty clause": _clause([]),
        "a unit clause": _clause([-3]),
        "a clause with both signs": _clause([1, -2, 4]),
        "a clause with a repeated literal": _clause([-2, -2, 3]),
        "a clause that always holds": _clause([1, -1]),
        "a clause whose enforcer is one of its literals": _Row(lambda b, _: b.clause([1, 2], 1)),
    },
    Feature.CARDINALITY: {
        "no literals, at least 0": _cardinality([], 0, 0),
        "no literals, at least 1": _cardinality([], 1, 1),
        "at most one": _cardinality([1, -2, 3], 0, 1),
        "exactly one": _cardinality([1, 2, -3, 4], 1, 1),
        "at least one": _cardinality([-1, -2], 1, 2),
        "at most two of four": _cardinality([1, 2, 3, 4], 0, 2),
        "exactly two of four": _cardinality([1, -2, -3, 4], 2, 2),
        "none": _cardinality([1, -2, 3], 0, 0),
        "all": _cardinality([1, -2, 3], 3, 3),
        "all but one": _cardinality([1, 2, 3], 0, 2),
        "more than there are": _cardinality([1, 2], 3, 5),
        "fewer than none": _cardinality([1, 2], -2, -1),
        "bounds that say nothing": _cardinality([1, 2], -3, 9),
        "bounds in the wrong order": _cardinality([1, 2, 3], 2, 1),
        "a literal three times, at most one": _cardinality([1, 1, 1, 2], 0, 1),
        "a literal twice, exactly two": _cardinality([1, 1, 2, -3], 2, 2),
        "a literal and its negation": _cardinality([1, -1, 2, 3], 2, 2),
    },
    Feature.PSEUDO_BOOLEAN: {
        "no terms, low 0": _linear([], [], low=0),
        "no terms, low 1": _linear([], [], low=1),
        "no bounds": _linear([3, 2], [1, 2]),
        "at most": _linear([3, 2, 2, 1], [1, 2, -3, 4], high=4),
        "at least": _linear([3, 2, 2, 1], [1, -2, 3, 4], low=5),
        "between": _linear([5, 3, 2], [1, 2, 3], low=4, high=7),
        "exactly": _linear([5, 3, 2], [-1, 2, 3], low=5, high=5),
        "a sum that cannot be met": _linear([4, 2, 6], [1, 2, 3], low=7, high=7),
        "negative coefficients": _linear([-3, 2, -1], [1, 2, -3], low=-2, high=0),
        "negative bounds out of reach": _linear([1, 1], [1, 2], high=-1),
        "a coefficient of 0": _linear([0, 2], [1, 2], low=1),
        "a literal and its negation": _linear([3, 2, 1], [1, -1, 2], high=2),
        "a literal twice": _linear([2, -2, 1], [1, 1, 2], low=1),
        "coefficients of a million": _linear([1_000_000, 999_999], [1, 2], low=1_000_000),
        "bounds in the wrong order": _linear([1, 2], [1, 2], low=2, high=1),
        "a low bound beyond all": _linear([1, 2], [1, 2], low=100, high=NO_HIGH),
    },
    Feature.LINEAR: {
        "an integer alone": _linear_of([(-3, 4)], [1], low=2),
        "an integer's multiple": _linear_of([(-3, 4)], [3], low=-7, high=-2),
        "a multiple that is never met": _linear_of([(-3, 4)], [3], low=4, high=5),
        "integers and literals": _linear_of(
            [(-2, 3), (0, 4)], [2, -1], [3, -2], [1, -2], low=-1, high=1
        ),
        "capacity: literals at most an integer": _linear_of(
            [(0, 3)], [-2], [1, 1, 1, 1], [1, 2, 3, 4], high=0
        ),
        "rounds that add up": _linear_of([(0, 3), (0, 3), (0, 3)], [1, 1, 1], low=5, high=5),
        "beyond the integers' bounds": _linear_of([(0, 2), (1, 3)], [1, 1], low=6),
        "an integer of a single value": _linear_of([(-2, -2), (0, 5)], [1, 1], low=1, high=2),
        "a coefficient of 0": _linear_of([(0, 2), (0, 2)], [0, 1], low=2),
        "an integer three times": _Row(_repeated_integer),
    },
    Feature.DIFFERENCE: {
        "a chain": _differences([(0, 3), (0, 3), (0, 3)], [(0, 1, 1), (1, 1, 2)]),
        "a chain too long for the bounds": _differences(
            [(0, 1), (0, 1), (0, 1)], [(0, 1, 1), (1, 1, 2)]
        ),
        "a negative distance": _differences([(0, 4), (-4, 0)], [(0, -3, 1)]),
        "a positive circle": _differences([(0, 9), (0, 9)], [(0, 1, 1), (1, 0, 0)]),
        "an integer and itself, distance 0": _differences([(0, 2)], [(0, 0, 0)]),
        "an integer and itself, distance 1": _differences([(0, 2)], [(0, 1, 0)]),
        "negative ranges": _differences([(-5, -2), (-4, -1)], [(0, 2, 1)]),
    },
}
