"""Clauses as 0/1 linear rows: at least one literal is true when their sum is at least 1.

Needs pseudo-Boolean rows; makes one for each clause, over the same literals and, for an enforced
clause, the enforcer's negation, and no variable.
"""

from __future__ import annotations

import numpy as np

from syncoll.formula import NO_HIGH, Formula
from syncoll.lowerings._edit import LinearBlock, add_linears, keep_clauses
from syncoll.lowerings._ragged import IntArray, offsets
from syncoll.lowerings.lowering import Applied, KeepFirst

__all__ = ["clause_to_pseudo_boolean", "plain_clauses"]


def plain_clauses(formula: Formula) -> tuple[IntArray, IntArray]:
    """Starts and literals of all clauses, with each enforcer's negation among the literals."""
    enforcers = formula.clause_enforcers
    enforced = np.flatnonzero(enforcers)
    ends = formula.clause_starts[enforced + 1]
    literals = np.insert(formula.clause_literals, ends, -enforcers[enforced])
    return offsets(np.diff(formula.clause_starts) + (enforcers != 0)), literals


def clause_to_pseudo_boolean(formula: Formula) -> Applied:
    """Rewrites every clause.

    Given: any formula.  Made: the same without clauses.
    """
    starts, literals = plain_clauses(formula)
    count = len(starts) - 1
    block = LinearBlock(
        starts=starts,
        literals=literals,
        coefficients=np.ones(len(literals), dtype=np.int64),
        lows=np.ones(count, dtype=np.int64),
        highs=np.full(count, NO_HIGH, dtype=np.int64),
        enforcers=np.zeros(count, dtype=np.int64),
    )
    without = keep_clauses(formula, np.zeros(count, dtype=np.bool_))
    return Applied(add_linears(without, block), KeepFirst.of(formula))
