"""Lowerings: what a backend lacks, said in what it has, and every answer taken back.

`lower` rewrites a formula for the features that a backend offers; `plan` computes the chain of
rewritings without running it.  One technique a file; the drawing is in `chain`.
"""

from syncoll.lowerings.chain import LOWERINGS, Lowered, Stage, lower, plan
from syncoll.lowerings.lowering import AnswerMap, Applied, KeepFirst, Lowering

__all__ = [
    "LOWERINGS",
    "AnswerMap",
    "Applied",
    "KeepFirst",
    "Lowered",
    "Lowering",
    "Stage",
    "lower",
    "plan",
]
