"""Cardinality rows as 0/1 linear rows: the count is the sum with all coefficients 1.

Needs pseudo-Boolean rows; makes one for each cardinality row that can be broken at all, with the
same enforcer, and no variable.  A bound that no count passes becomes no bound.
"""

from __future__ import annotations

import numpy as np

from syncoll.formula import NO_HIGH, NO_LOW, Formula
from syncoll.lowerings._edit import LinearBlock, add_linears, keep_cardinalities
from syncoll.lowerings._ragged import gather
from syncoll.lowerings.lowering import Applied, KeepFirst

__all__ = ["cardinality_to_pseudo_boolean"]


def cardinality_to_pseudo_boolean(formula: Formula) -> Applied:
    """Rewrites every cardinality row.

    Given: any formula.  Made: the same without cardinality rows.
    """
    counts = np.diff(formula.cardinality_starts)
    bounded_below = formula.cardinality_lows > 0
    bounded_above = formula.cardinality_highs < counts
    rows = np.flatnonzero(bounded_below | bounded_above)
    starts, cells = gather(formula.cardinality_starts, rows)
    block = LinearBlock(
        starts=starts,
        literals=formula.cardinality_literals[cells],
        coefficients=np.ones(len(cells), dtype=np.int64),
        lows=np.where(bounded_below, formula.cardinality_lows, NO_LOW)[rows],
        highs=np.where(bounded_above, formula.cardinality_highs, NO_HIGH)[rows],
        enforcers=formula.cardinality_enforcers[rows],
    )
    without = keep_cardinalities(formula, np.zeros(len(counts), dtype=np.bool_))
    return Applied(add_linears(without, block), KeepFirst.of(formula))
