"""Small formulas and their right answers: random ones, and all their models by enumeration.

For tests of code that reads or rewrites formulas.  Nothing here is clever, on purpose: every
assignment is tried, on arrays of all assignments at once.
"""

import random
from collections.abc import Sequence, Set as AbstractSet
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from syncoll.formula import NO_HIGH, NO_LOW, Assignment, Feature, Formula, FormulaBuilder

_MOST_ASSIGNMENTS = 1 << 20


@dataclass(frozen=True, eq=False)
class Models:
    """Every model of a formula, one a row, without repetition.

    Args:
        booleans: ``[M, num_booleans + 1]``; column 0 is unused and False.
        integers: ``[M, num_integers]``.
    """

    booleans: npt.NDArray[np.bool_]
    integers: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.booleans)

    def as_set(self, num_booleans: int, num_integers: int) -> set[tuple[int, ...]]:
        """The models' values of the first `num_booleans` and `num_integers` variables.

        A lowering keeps these; a test compares the sets before and after it.
        """
        columns = (self.booleans[:, 1 : num_booleans + 1], self.integers[:, :num_integers])
        return set(map(tuple, np.hstack(columns).astype(np.int64).tolist()))

    def assignment(self, row: int) -> Assignment:
        """The assignment of a row."""
        return Assignment(self.booleans[row], self.integers[row])


def brute_force_models(formula: Formula) -> Models:
    """All models of a formula, by trying every assignment.

    Raises:
        ValueError: if there are more than about a million assignments.
    """
    widths = (formula.integer_high - formula.integer_low + 1).tolist()
    radices = [2] * formula.num_booleans + widths
    total = prod(radices)
    if total > _MOST_ASSIGNMENTS:
        raise ValueError(f"{total:,} assignments are more than {_MOST_ASSIGNMENTS:,}")
    digits = np.zeros((total, len(radices)), dtype=np.int64)
    rest = np.arange(total)
    for column, radix in enumerate(radices):
        rest, digits[:, column] = np.divmod(rest, radix)
    booleans = np.zeros((total, formula.num_booleans + 1), dtype=np.bool_)
    booleans[:, 1:] = digits[:, : formula.num_booleans] == 1
    integers = digits[:, formula.num_booleans :] + formula.integer_low
    keep = _fulfilled(formula, booleans, integers)
    return Models(booleans[keep], integers[keep])


def _fulfilled(
    formula: Formula, booleans: npt.NDArray[np.bool_], integers: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """``[A]``: which assignments satisfy every row, computed without `violation`."""
    keep = np.ones(len(booleans), dtype=np.bool_)

    def true(literal: int) -> npt.NDArray[np.bool_]:
        return booleans[:, literal] if literal > 0 else ~booleans[:, -literal]

    def demand(fulfilled: npt.NDArray[np.bool_], enforcer: int) -> None:
        nonlocal keep
        keep = keep & (fulfilled if enforcer == 0 else fulfilled | ~true(enforcer))

    nothing = np.zeros(len(booleans), dtype=np.int64)
    for clause in formula.clauses():
        demand(sum((true(x) for x in clause.literals), nothing) > 0, clause.enforcer)
    for row in formula.cardinalities():
        count = sum((true(x) for x in row.literals), nothing)
        demand((count >= row.low) & (count <= row.high), row.enforcer)
    for linear in formula.linears():
        total = nothing.copy()
        for coefficient, literal in zip(linear.coefficients, linear.literals, strict=True):
            total += coefficient * true(literal)
        for coefficient, i in zip(linear.integer_coefficients, linear.integers, strict=True):
            total += coefficient * integers[:, i]
        demand((total >= linear.low) & (total <= linear.high), linear.enforcer)
    for difference in formula.differences():
        distance = integers[:, difference.y] - integers[:, difference.x]
        demand(distance >= difference.distance, difference.enforcer)
    return keep


def random_formula(
    seed: int | random.Random | np.random.Generator,
    features: AbstractSet[Feature] = frozenset(Feature),
    *,
    most_booleans: int = 7,
    most_integers: int = 3,
    most_rows: int = 9,
) -> Formula:
    """A small random formula with at most these features; about half of them have models.

    Literals are negated and repeat, rows may be empty, coefficients and bounds negative or 0,
    some rows always or never hold, integers have negative and single-valued ranges.  The same int
    as seed gives the same formula everywhere.
    """
    if isinstance(seed, np.random.Generator):
        seed = int(seed.integers(1 << 62))
    rng = seed if isinstance(seed, random.Random) else random.Random(seed)
    return _Random(rng, features).formula(most_booleans, most_integers, most_rows)


class _Random:
    """One random formula in the making."""

    def __init__(self, rng: random.Random, features: AbstractSet[Feature]) -> None:
        self.rng = rng
        self.features = features
        self.builder = FormulaBuilder()
        self.num_booleans = 0
        self.num_integers = 0

    def formula(self, most_booleans: int, most_integers: int, most_rows: int) -> Formula:
        rng = self.rng
        self.num_booleans = len(self.builder.booleans(rng.randint(1, most_booleans)))
        if Feature.INTEGER in self.features:
            self.num_integers = rng.randint(0, most_integers)
        for _ in range(self.num_integers):
            low = rng.randint(-5, 3)
            self.builder.integer(low, low + rng.randint(0, 4))
        rows = {
            Feature.CLAUSE: self.clause,
            Feature.CARDINALITY: self.cardinality,
            Feature.PSEUDO_BOOLEAN: self.pseudo_boolean,
        }
        if self.num_integers:
            rows |= {Feature.LINEAR: self.linear, Feature.DIFFERENCE: self.difference}
        kinds = [row for feature, row in rows.items() if feature in self.features]
        for _ in range(rng.randint(0, most_rows) if kinds else 0):
            rng.choice(kinds)()
        return self.builder.build()

    def literals(self, most: int) -> list[int]:
        count = 0 if self.rng.random() < 0.04 else self.rng.randint(1, most)
        return [
            self.rng.choice((1, -1)) * self.rng.randint(1, self.num_booleans) for _ in range(count)
        ]

    def enforcer(self) -> int:
        if Feature.ENFORCEMENT not in self.features or self.rng.random() > 0.3:
            return 0
        return self.rng.choice((1, -1)) * self.rng.randint(1, self.num_booleans)

    def bounds(self, least: int, most: int) -> tuple[int, int]:
        """Bounds for a sum between `least` and `most`: mostly narrowing it, sometimes absurd."""
        rng = self.rng
        if rng.random() < 0.05:
            return rng.choice([(least - 2, most + 2), (most + 1, most + 3), (1, 0)])
        low, high = sorted((rng.randint(least - 1, most + 1), rng.randint(least - 1, most + 1)))
        return rng.choice([(low, NO_HIGH), (NO_LOW, high), (low, high), (low, low)])

    def clause(self) -> None:
        enforcer = self.rng.choice((1, -1)) * self.rng.randint(1, self.num_booleans)
        self.builder.clause(self.literals(4), enforcer if self.rng.random() < 0.2 else 0)

    def cardinality(self) -> None:
        literals = self.literals(6)
        low, high = self.bounds(0, len(literals))
        low, high = max(low, -3), min(high, len(literals) + 3)
        self.builder.cardinality(literals, low, high, self.enforcer())

    def pseudo_boolean(self) -> None:
        literals = self.literals(5)
        coefficients = [self.rng.randint(-4, 4) for _ in literals]
        least, most = _range(coefficients)
        low, high = self.bounds(least, most)
        self.builder.linear(coefficients, literals, low=low, high=high, enforcer=self.enforcer())

    def linear(self) -> None:
        literals = self.literals(3) if self.rng.random() < 0.7 else []
        coefficients = [self.rng.randint(-4, 4) for _ in literals]
        integers = [self.rng.randrange(self.num_integers) for _ in range(self.rng.randint(1, 3))]
        factors = [self.rng.randint(-3, 3) for _ in integers]
        least, most = _range(coefficients)
        for factor, i in zip(factors, integers, strict=True):
            ends = [factor * bound for bound in self.builder.bounds_of(i)]
            least, most = least + min(ends), most + max(ends)
        low, high = self.bounds(least, most)
        self.builder.linear(coefficients, literals, factors, integers, low, high, self.enforcer())

    def difference(self) -> None:
        x, y = (self.rng.randrange(self.num_integers) for _ in range(2))
        self.builder.difference(x, self.rng.randint(-4, 4), y, self.enforcer())


def _range(coefficients: list[int]) -> tuple[int, int]:
    return sum(c for c in coefficients if c < 0), sum(c for c in coefficients if c > 0)


def pigeonhole(holes: int, features: AbstractSet[Feature] = frozenset(Feature)) -> Formula:
    """One pigeon more than holes, at most one in each: unsat, and hard without counting.

    Its rows are clauses if these are among the features, else cardinalities, else linear rows.
    """
    builder = FormulaBuilder()
    at = [builder.booleans(holes) for _ in range(holes + 1)]
    columns = [[row[h] for row in at] for h in range(holes)]
    for row in at:
        _at_least_one(builder, row, features)
    for column in columns:
        if Feature.CLAUSE in features:
            for i, second in enumerate(column):
                for first in column[:i]:
                    builder.clause([-first, -second])
        elif Feature.CARDINALITY in features:
            builder.at_most(column, 1)
        else:
            builder.linear([1] * len(column), column, high=1)
    return builder.build()


def planted(variables: int, features: AbstractSet[Feature] = frozenset(Feature)) -> Formula:
    """Random rows of three literals around a hidden model: sat, and hard when large.

    There are 4.2 times as many rows as variables, of the kind that `pigeonhole` chooses.
    """
    rng = random.Random(variables)
    builder = FormulaBuilder()
    hidden = [rng.choice((1, -1)) * variable for variable in builder.booleans(variables)]
    for _ in range(round(4.2 * variables)):
        true, *others = rng.sample(hidden, 3)
        row = [true, *(rng.choice((1, -1)) * other for other in others)]
        _at_least_one(builder, row, features)
    return builder.build()


def market_split(features: AbstractSet[Feature] = frozenset(Feature)) -> Formula:
    """Sums of 50 Booleans that a hidden model meets exactly: sat, and too hard for any solver.

    Without pseudo-Boolean rows among the features, it is a large `planted` formula.
    """
    if Feature.PSEUDO_BOOLEAN not in features:
        return planted(600, features)
    rng = random.Random(7)
    builder = FormulaBuilder()
    booleans = builder.booleans(50)
    hidden = [rng.random() < 0.5 for _ in booleans]
    for _ in range(6):
        coefficients = [rng.randint(0, 99) for _ in booleans]
        total = sum(c for c, true in zip(coefficients, hidden, strict=True) if true)
        builder.linear(coefficients, booleans, low=total, high=total)
    return builder.build()


def _at_least_one(
    builder: FormulaBuilder, literals: Sequence[int], features: AbstractSet[Feature]
) -> None:
    if Feature.CLAUSE in features:
        builder.clause(literals)
    elif Feature.CARDINALITY in features:
        builder.at_least(literals, 1)
    else:
        builder.linear([1] * len(literals), literals, low=1)
