"""Pseudo-Boolean rows as clauses: generalized totalizers, or what is smaller for the row at hand.

Needs clauses; makes for each row, in normal form (positive coefficients without a common divisor),
a generalized totalizer (Joshi, Martins & Manquinho 2015), whose size `_totalizer` states, or fewer
clauses where `_sum_clauses` finds some.  Groups of literals that the formula's clauses sort, such
as order-encoded integers, are counted as they are.  An enforcer goes only to the clauses that break
the row; definitions hold always.
"""

from __future__ import annotations

import numpy as np

from syncoll.formula import Formula
from syncoll.lowerings._edit import keep_linears
from syncoll.lowerings._sum_clauses import with_sums_as_clauses
from syncoll.lowerings._sums import pseudo_boolean_sums
from syncoll.lowerings.lowering import Applied, KeepFirst

__all__ = ["pseudo_boolean_to_clauses"]


def pseudo_boolean_to_clauses(formula: Formula) -> Applied:
    """Rewrites every linear row without integers.

    Given: any formula.  Made: the same with clauses instead of pseudo-Boolean rows.
    """
    bare = np.diff(formula.linear_integer_starts) == 0
    sums = pseudo_boolean_sums(formula, np.flatnonzero(bare))
    return Applied(with_sums_as_clauses(keep_linears(formula, ~bare), sums), KeepFirst.of(formula))
