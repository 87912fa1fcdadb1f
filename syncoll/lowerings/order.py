"""Integers as order-encoded Booleans (Crawford & Baker 1994; Tamura et al. 2009).

An integer x between low and high becomes the Booleans ``[x >= v]`` for ``v = low+1 … high``, each
implying the one before, so that ``x = low + number of true ones``.  An integer of n values costs
n - 1 Booleans and n - 2 binary clauses.  Linear rows become pseudo-Boolean rows by that sum.  A
difference row ``x + d <= y`` becomes the clauses ``[x >= v] -> [y >= v+d]``, at most n of them,
without sums; unit propagation on them is as strong as on the bounds themselves.

The Booleans of an integer get consecutive ids, and their implications remain as clauses.  Later
lowerings recognise from these that they are sorted.
"""

from dataclasses import dataclass, replace

import numpy as np

from syncoll.arrays import Ints
from syncoll.errors import UsageError
from syncoll.formula import NO_HIGH, NO_LOW, Assignment, Feature, Formula, FormulaBuilder, row_sums
from syncoll.lowerings._arrays import add, ints, offsets, row_of, with_rows_of
from syncoll.lowerings.lowering import Applied, registered
from syncoll.model import ranges

MOST_ORDER_LITERALS = 20_000_000
"""Largest number of Booleans for the integers of a formula."""


@dataclass(frozen=True, eq=False)
class FromOrder:
    """The inverse: each integer is its low bound plus the number of its true order literals.

    Args:
        num_booleans: Booleans of the given formula; the order literals follow them.
        lows: the low bound of every integer.
        starts: the order literals of integer i are the variables ``num_booleans + 1 + starts[i]``
            to ``num_booleans + 1 + starts[i + 1]``, the latter excluded.
    """

    num_booleans: int
    lows: Ints
    starts: Ints

    def raise_assignment(self, assignment: Assignment) -> Assignment:
        """The assignment with integers for the order literals."""
        first = self.num_booleans + 1
        order = assignment.booleans[first : first + self.starts[-1]].astype(np.int64)
        return Assignment(
            booleans=assignment.booleans[:first], integers=self.lows + row_sums(order, self.starts)
        )


@dataclass(frozen=True, eq=False)
class _Order:
    """Positions of the order literals."""

    lows: Ints
    highs: Ints
    firsts: Ints
    """The literal ``[x >= low + 1]`` of every integer."""

    def at_least(self, integers: Ints, values: Ints) -> Ints:
        """``[x >= v]`` for pairs with ``low < v <= high``."""
        return self.firsts[integers] + values - self.lows[integers] - 1


def _with_ladders(formula: Formula, order: _Order) -> Formula:
    """The formula with ``[x >= v+1] -> [x >= v]`` for every integer."""
    counts = np.maximum(order.highs - order.lows - 1, 0)
    lower = ranges(order.firsts, counts)
    return add(
        formula,
        "clause",
        starts=2 * np.arange(len(lower) + 1, dtype=np.int64),
        literals=np.stack([-(lower + 1), lower], axis=1).ravel(),
    )


def _with_differences(formula: Formula, rows: Ints, order: _Order) -> Formula:
    """The formula with clauses for difference rows, except for rows that always hold."""
    # x + d <= x does not depend on x; as a row over two integers it would be one clause per value.
    loops = rows[(rows[:, 0] == rows[:, 2]) & (rows[:, 1] > 0)]
    x, distance, y, enforcers = rows[rows[:, 0] != rows[:, 2]].T
    # v runs over the values of x for which [y >= v+d] is not always true, up to the first for which
    # it is always false: larger ones follow from the ladder of x.
    first = np.maximum(order.lows[x], order.lows[y] + 1 - distance)
    last = np.minimum(order.highs[x], order.highs[y] + 1 - distance)
    # No value of x leaves room for y: then the row is false, as v = low states.
    last = np.where(order.highs[y] - distance < order.lows[x], order.lows[x], last)
    counts = np.maximum(last - first + 1, 0)
    pair = row_of(offsets(counts))
    values = ranges(first, counts)
    x, distance, y, enforcers = x[pair], distance[pair], y[pair], enforcers[pair]
    has_x = values > order.lows[x]
    has_y = values + distance <= order.highs[y]
    literals = np.zeros((len(values), 2), dtype=np.int64)
    literals[has_x, 0] = -order.at_least(x, values)[has_x]
    literals[has_y, 1] = order.at_least(y, values + distance)[has_y]
    return add(
        formula,
        "clause",
        starts=np.concatenate(
            [offsets((literals != 0).sum(axis=1)), np.full(len(loops), (literals != 0).sum())]
        ),
        literals=literals[literals != 0],
        enforcers=np.concatenate([enforcers, loops[:, 3]]),
    )


def _with_order_sums(formula: Formula, order: _Order) -> Formula:
    """The formula with order literals for the integers of its linear rows, and no differences."""
    integers, coefficients = formula.linear_integers, formula.linear_integer_coefficients
    rows = row_of(formula.linear_integer_starts)
    constants = row_sums(coefficients * order.lows[integers], formula.linear_integer_starts)
    counts = (order.highs - order.lows)[integers]
    literals = ranges(order.firsts[integers], counts)
    all_rows = np.concatenate([row_of(formula.linear_starts), np.repeat(rows, counts)])
    cells = np.argsort(all_rows, kind="stable")
    lows, highs = formula.linear_lows, formula.linear_highs
    count = len(lows)
    return replace(
        formula,
        difference_rows=formula.difference_rows[:0],
        linear_starts=offsets(np.bincount(all_rows, minlength=count).astype(np.int64)),
        linear_literals=np.concatenate([formula.linear_literals, literals])[cells],
        linear_coefficients=np.concatenate(
            [formula.linear_coefficients, np.repeat(coefficients, counts)]
        )[cells],
        linear_integer_starts=np.zeros(count + 1, dtype=np.int64),
        linear_integers=integers[:0],
        linear_integer_coefficients=coefficients[:0],
        linear_lows=np.where(lows > NO_LOW, lows - constants, NO_LOW),
        linear_highs=np.where(highs < NO_HIGH, highs - constants, NO_HIGH),
    )


@registered(
    "integer -> order",
    "integers become sorted Booleans [x >= v]",
    turns={
        Feature.INTEGER: [Feature.CLAUSE],
        Feature.LINEAR: [Feature.PSEUDO_BOOLEAN],
        Feature.DIFFERENCE: [Feature.CLAUSE],
    },
    cost=20,
)
def integers_to_order(formula: Formula) -> Applied:
    """Rewrites every integer, and every linear and difference row over them.  Raises `UsageError`
    if the integers have more than `MOST_ORDER_LITERALS` values together."""
    widths = formula.integer_high - formula.integer_low
    if (total := sum(widths.tolist())) > MOST_ORDER_LITERALS:
        raise UsageError(
            f"the formula's integers have {total} values together, too many to write as "
            "Booleans; use a backend with integers (cpsat, highs, z3)"
        )
    builder = FormulaBuilder(base=formula, keep_integers=False)
    starts = offsets(widths)
    firsts = builder.booleans(total).start + starts[:-1]
    order = _Order(formula.integer_low, formula.integer_high, ints(firsts))
    made = with_rows_of(builder.build(), _with_order_sums(formula, order))
    made = _with_differences(_with_ladders(made, order), formula.difference_rows, order)
    return Applied(made, FromOrder(formula.num_booleans, formula.integer_low, starts))
