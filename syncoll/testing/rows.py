"""Hand-written formulas: every kind of row in every odd shape, each small enough to enumerate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from syncoll.formula import NO_HIGH, NO_LOW, Feature, Formula, FormulaBuilder

__all__ = ["RowCase", "row_cases"]


class RowCase(NamedTuple):
    """A formula with a name.

    Args:
        name: what is odd about it.
        feature: the feature that it is about; None for variables without any row.
        formula: may use `Feature.ENFORCEMENT` and `Feature.INTEGER` besides.
    """

    name: str
    feature: Feature | None
    formula: Formula


def row_cases() -> Iterator[RowCase]:
    """Every case."""
    for feature, cases in _CASES.items():
        for name, write in cases.items():
            yield RowCase(name, feature, _formula(write))
            if feature in _ENFORCED and name not in _ALREADY_ENFORCED:
                yield RowCase(f"{name}, enforced", feature, _enforced(write, 1))
                yield RowCase(f"{name}, enforced by a negation", feature, _enforced(write, -1))


_Write = Callable[[FormulaBuilder, int], None]


def _formula(write: _Write) -> Formula:
    builder = FormulaBuilder()
    builder.booleans(4)
    write(builder, 0)
    return builder.build()


def _enforced(write: _Write, sign: int) -> Formula:
    """The row behind Boolean 5, which another row, where possible, does not force."""
    builder = FormulaBuilder()
    builder.booleans(5)
    write(builder, sign * 5)
    return builder.build()


def _clause(literals: list[int]) -> _Write:
    return lambda builder, enforcer: builder.clause(literals, enforcer)


def _cardinality(literals: list[int], low: int, high: int) -> _Write:
    return lambda builder, enforcer: builder.cardinality(literals, low, high, enforcer)


def _linear(
    coefficients: list[int], literals: list[int], low: int = NO_LOW, high: int = NO_HIGH
) -> _Write:
    return lambda builder, enforcer: builder.linear(
        coefficients, literals, low=low, high=high, enforcer=enforcer
    )


def _mixed(
    ranges: list[tuple[int, int]],
    integer_coefficients: list[int],
    coefficients: list[int],
    literals: list[int],
    low: int = NO_LOW,
    high: int = NO_HIGH,
) -> _Write:
    def write(builder: FormulaBuilder, enforcer: int) -> None:
        integers = [builder.integer(low, high) for low, high in ranges]
        builder.linear(coefficients, literals, integer_coefficients, integers, low, high, enforcer)

    return write


def _differences(ranges: list[tuple[int, int]], rows: list[tuple[int, int, int]]) -> _Write:
    def write(builder: FormulaBuilder, enforcer: int) -> None:
        for low, high in ranges:
            builder.integer(low, high)
        for x, distance, y in rows:
            builder.difference(x, distance, y, enforcer)

    return write


def _nothing(builder: FormulaBuilder, enforcer: int) -> None:
    pass


def _integers(builder: FormulaBuilder, enforcer: int) -> None:
    for low, high in [(-7, -3), (0, 0), (2, 9), (-1, 1)]:
        builder.integer(low, high)


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

_CASES: dict[Feature | None, dict[str, _Write]] = {
    None: {"variables without any row": _nothing},
    Feature.INTEGER: {"integers without any row": _integers},
    Feature.CLAUSE: {
        "an empty clause": _clause([]),
        "a unit clause": _clause([-3]),
        "a clause with both signs": _clause([1, -2, 4]),
        "a clause with a repeated literal": _clause([-2, -2, 3]),
        "a clause that always holds": _clause([1, -1]),
        "a clause whose enforcer is one of its literals": lambda b, _: b.clause([1, 2], 1),
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
        "an integer alone": _mixed([(-3, 4)], [1], [], [], low=2),
        "an integer's multiple": _mixed([(-3, 4)], [3], [], [], low=-7, high=-2),
        "a multiple that is never met": _mixed([(-3, 4)], [3], [], [], low=4, high=5),
        "integers and literals": _mixed(
            [(-2, 3), (0, 4)], [2, -1], [3, -2], [1, -2], low=-1, high=1
        ),
        "capacity: literals at most an integer": _mixed(
            [(0, 3)], [-2], [1, 1, 1, 1], [1, 2, 3, 4], high=0
        ),
        "rounds that add up": _mixed([(0, 3), (0, 3), (0, 3)], [1, 1, 1], [], [], low=5, high=5),
        "beyond the integers' bounds": _mixed([(0, 2), (1, 3)], [1, 1], [], [], low=6),
        "an integer of a single value": _mixed([(-2, -2), (0, 5)], [1, 1], [], [], low=1, high=2),
        "a coefficient of 0": _mixed([(0, 2), (0, 2)], [0, 1], [], [], low=2),
        "an integer three times": _repeated_integer,
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
