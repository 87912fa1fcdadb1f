"""Clauses as cardinality rows, for backends that count but have no clauses: at least one is true.

Needs cardinality rows; makes one for each clause, over the same literals and, for an enforced
clause, the enforcer's negation, and no variable.
"""

from __future__ import annotations

import numpy as np

from syncoll.formula import Formula
from syncoll.lowerings._edit import CardinalityBlock, add_cardinalities, keep_clauses
from syncoll.lowerings.clause_to_pseudo_boolean import plain_clauses
from syncoll.lowerings.lowering import Applied, KeepFirst

__all__ = ["clause_to_cardinality"]


def clause_to_cardinality(formula: Formula) -> Applied:
    """Rewrites every clause.

    Given: any formula.  Made: the same without clauses.
    """
    starts, literals = plain_clauses(formula)
    count = len(starts) - 1
    block = CardinalityBlock(
        starts=starts,
        literals=literals,
        lows=np.ones(count, dtype=np.int64),
        highs=np.diff(starts),
        enforcers=np.zeros(count, dtype=np.int64),
    )
    without = keep_clauses(formula, np.zeros(count, dtype=np.bool_))
    return Applied(add_cardinalities(without, block), KeepFirst.of(formula))
