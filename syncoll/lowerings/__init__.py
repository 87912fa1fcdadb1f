"""Lowerings: what a backend lacks, said in what it has, and every answer taken back.

`lower` rewrites a formula for the features that a backend offers; `plan` computes the chain of
rewritings without running it.  A lowering is a function with `registered` above it, in a module
that is imported here or, in a plugin, by whatever needs it.
"""

# isort: off
from syncoll.lowerings import order, big_m, rows, clauses  # in this order where costs are equal

# isort: on
from syncoll.lowerings.chain import Lowered, Stage, lower, plan
from syncoll.lowerings.lowering import (
    LOWERINGS,
    AnswerMap,
    Applied,
    KeepFirst,
    Lowering,
    registered,
)
from syncoll.lowerings.quotient import Split, merged

__all__ = [
    "LOWERINGS",
    "AnswerMap",
    "Applied",
    "KeepFirst",
    "Lowered",
    "Lowering",
    "Split",
    "Stage",
    "big_m",
    "clauses",
    "lower",
    "merged",
    "order",
    "plan",
    "registered",
    "rows",
]
