"""Pseudo-Boolean rows that only count, as cardinality rows.

A row whose coefficients, after repeated literals are counted together, are all the same up to
their signs is a count of its literals, negated where the sign is minus: ``2a - 2b <= 1`` says
``a + (1 - b) <= 1``.  Needs cardinality rows; makes one for each such row that can be broken, with
the same enforcer, and no variable; leaves the other rows as they are.
"""

from __future__ import annotations

import numpy as np

from syncoll.formula import Formula
from syncoll.lowerings._edit import CardinalityBlock, add_cardinalities, keep_linears
from syncoll.lowerings._ragged import row_sums
from syncoll.lowerings._sums import normalised, pseudo_boolean_sums
from syncoll.lowerings.lowering import Applied, KeepFirst

__all__ = ["pseudo_boolean_to_cardinality"]


def pseudo_boolean_to_cardinality(formula: Formula) -> Applied:
    """Rewrites the linear rows without integers that only count.

    Given: any formula.  Made: the same with cardinality rows instead of these.
    """
    bare = np.flatnonzero(np.diff(formula.linear_integer_starts) == 0)
    sums = normalised(pseudo_boolean_sums(formula, bare))
    counting = row_sums((sums.coefficients != 1).astype(np.int64), sums.starts) == 0
    keep = np.ones(len(formula.linear_enforcers), dtype=np.bool_)
    keep[bare[counting]] = False
    breakable = (sums.lows > 0) | (sums.highs < sums.totals())
    counts = sums.chosen(np.flatnonzero(counting & breakable))
    block = CardinalityBlock(
        starts=counts.starts,
        literals=counts.literals,
        lows=counts.lows,
        highs=counts.highs,
        enforcers=counts.enforcers,
    )
    return Applied(add_cardinalities(keep_linears(formula, keep), block), KeepFirst.of(formula))
