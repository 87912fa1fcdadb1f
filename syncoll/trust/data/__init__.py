"""Runs algorithms on data: a second check that shares no code with the verifier.

It is also the readable semantics: `execute` of nodes and steps, `definition` of collectives.
"""

from syncoll.trust.data.execute import Execution, Mismatch, execute
from syncoll.trust.data.workload import BFLOAT16, DTYPES, ReduceOp, Workload, dtype_of, name_of

__all__ = [
    "BFLOAT16",
    "DTYPES",
    "Execution",
    "Mismatch",
    "ReduceOp",
    "Workload",
    "dtype_of",
    "execute",
    "name_of",
]
