"""Cardinality rows as clauses: totalizers, or what is smaller for the row at hand.

Needs clauses; makes none for a row that cannot be broken, one for "at least one", and for a large
row a capped totalizer (Bailleux & Boufkhad 2003), whose size `_totalizer` states; `_sum_clauses`
chooses.  An enforcer goes only to the clauses that break the row; definitions hold always.
"""

from __future__ import annotations

import numpy as np

from syncoll.formula import Formula
from syncoll.lowerings._edit import keep_cardinalities
from syncoll.lowerings._sum_clauses import with_sums_as_clauses
from syncoll.lowerings._sums import cardinality_sums
from syncoll.lowerings.lowering import Applied, KeepFirst

__all__ = ["cardinality_to_clauses", "enforced_cardinality_to_clauses"]


def _rewrite(formula: Formula, chosen: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Applied:
    sums = cardinality_sums(formula, np.flatnonzero(chosen))
    made = with_sums_as_clauses(keep_cardinalities(formula, ~chosen), sums)
    return Applied(made, KeepFirst.of(formula))


def cardinality_to_clauses(formula: Formula) -> Applied:
    """Rewrites every cardinality row.

    Given: any formula.  Made: the same with clauses instead of cardinality rows.
    """
    return _rewrite(formula, np.ones(len(formula.cardinality_enforcers), dtype=np.bool_))


def enforced_cardinality_to_clauses(formula: Formula) -> Applied:
    """Rewrites the enforced cardinality rows, for a backend that counts but knows no enforcers.

    Given: any formula.  Made: the same with clauses instead of enforced cardinality rows.
    """
    return _rewrite(formula, formula.cardinality_enforcers != 0)
