"""FormulaBuilder: the only source of variables, so that ids are unique.

`StepRounds` has the rows about the rounds of steps that every encoding needs.
"""

from collections.abc import Sequence

import numpy as np

from syncoll.formula.formula import NO_HIGH, NO_LOW, Formula
from syncoll.model import BandwidthBound, Instance


def _lists(names: str) -> list[list[int]]:
    """An empty list for each name; the starts of rows begin with 0."""
    return [[0] * name.endswith("starts") for name in names.split()]


class FormulaBuilder:
    """Collects variables and constraints, then `build`s a `Formula`.

    Args:
        base: a formula whose variables (not constraints) come first, so that they keep their ids.
        keep_integers: whether the integer variables of `base` are kept, too.
    """

    def __init__(self, base: Formula | None = None, *, keep_integers: bool = True) -> None:
        self._num_booleans = base.num_booleans if base else 0
        keep = base is not None and keep_integers
        self._integer_low: list[int] = base.integer_low.tolist() if base and keep else []
        self._integer_high: list[int] = base.integer_high.tolist() if base and keep else []
        # The arrays of `Formula`, in their order there.
        self._clauses = _lists("starts literals enforcers")
        self._cardinalities = _lists("starts literals lows highs enforcers")
        self._linears = _lists(
            "starts literals coefficients integer_starts integers integer_coefficients lows highs "
            "enforcers"
        )
        self._difference_rows: list[tuple[int, int, int, int]] = []

    def boolean(self) -> int:
        """A new Boolean variable; the id is its positive literal."""
        self._num_booleans += 1
        return self._num_booleans

    def booleans(self, count: int) -> range:
        """`count` new Boolean variables."""
        first = self._num_booleans + 1
        self._num_booleans += count
        return range(first, first + count)

    def integer(self, low: int, high: int) -> int:
        """A new integer variable with ``low <= value <= high``; its number."""
        if low > high:
            raise ValueError(f"an integer variable between {low} and {high} has no value")
        self._integer_low.append(low)
        self._integer_high.append(high)
        return len(self._integer_low) - 1

    def bounds_of(self, integer: int) -> tuple[int, int]:
        """The low and high bound of an integer variable."""
        return self._integer_low[integer], self._integer_high[integer]

    def clause(self, literals: Sequence[int], enforcer: int = 0) -> None:
        """At least one of the literals is true.  No literals: false."""
        starts, cells, enforcers = self._clauses
        cells.extend(literals)
        starts.append(len(cells))
        enforcers.append(enforcer)

    def cardinality(self, literals: Sequence[int], low: int, high: int, enforcer: int = 0) -> None:
        """Between `low` and `high` of the literals are true."""
        starts, cells, lows, highs, enforcers = self._cardinalities
        cells.extend(literals)
        starts.append(len(cells))
        lows.append(low)
        highs.append(high)
        enforcers.append(enforcer)

    def at_most(self, literals: Sequence[int], k: int, enforcer: int = 0) -> None:
        """At most k of the literals are true."""
        self.cardinality(literals, 0, k, enforcer)

    def at_least(self, literals: Sequence[int], k: int, enforcer: int = 0) -> None:
        """At least k of the literals are true."""
        self.cardinality(literals, k, len(literals), enforcer)

    def exactly(self, literals: Sequence[int], k: int, enforcer: int = 0) -> None:
        """Exactly k of the literals are true."""
        self.cardinality(literals, k, k, enforcer)

    def linear(
        self,
        coefficients: Sequence[int] = (),
        literals: Sequence[int] = (),
        integer_coefficients: Sequence[int] = (),
        integers: Sequence[int] = (),
        low: int = NO_LOW,
        high: int = NO_HIGH,
        enforcer: int = 0,
    ) -> None:
        """``low <= sum(coefficients * literals) + sum(…) <= high``; a literal counts 1 if true."""
        if len(coefficients) != len(literals) or len(integer_coefficients) != len(integers):
            raise ValueError("a linear row needs one coefficient for every variable")
        starts, cells, factors, int_starts, int_cells, int_factors, *bounds = self._linears
        cells.extend(literals)
        factors.extend(coefficients)
        starts.append(len(cells))
        int_cells.extend(integers)
        int_factors.extend(integer_coefficients)
        int_starts.append(len(int_cells))
        bounds[0].append(low)
        bounds[1].append(high)
        bounds[2].append(enforcer)

    def difference(self, x: int, distance: int, y: int, enforcer: int = 0) -> None:
        """``x + distance <= y`` for integer variables x and y."""
        self._difference_rows.append((x, distance, y, enforcer))

    def build(self) -> Formula:
        """The formula so far; the builder may continue."""
        integers = self._integer_low, self._integer_high
        lists = (*integers, *self._clauses, *self._cardinalities, *self._linears)
        arrays = [np.array(values, dtype=np.int64) for values in lists]
        arrays.append(np.array(self._difference_rows, dtype=np.int64).reshape(-1, 4))
        return Formula(self._num_booleans, *arrays)


class StepRounds:
    """The rounds r_s of each step, integer variable s of a fresh builder; their sum is R."""

    def __init__(self, builder: FormulaBuilder, instance: Instance) -> None:
        self._builder, self._instance = builder, instance
        ranges = (instance.rounds_range(step) for step in range(instance.steps))
        self._variables = [builder.integer(*range_) for range_ in ranges]

    def limit(self, bound: BandwidthBound, step: int, literals: Sequence[int]) -> None:
        """At most ``b * r_s`` of the literals are true, for the rate b of a bound."""
        if literals:
            rate = bound.chunks_per_round
            self._builder.linear(
                [rate.denominator] * len(literals),
                literals,
                [-rate.numerator],
                [self._variables[step]],
                high=0,
            )

    def add_up(self) -> None:
        """The rounds of all steps add up to R."""
        rounds = self._instance.rounds
        self._builder.linear(
            integer_coefficients=[1] * len(self._variables),
            integers=self._variables,
            low=rounds,
            high=rounds,
        )
