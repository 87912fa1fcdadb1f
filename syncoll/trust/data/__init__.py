"""Runs algorithms on data: a second check beside the verifier, with which it shares no code.

Also the semantics of algorithms in their most readable form: `execute` is what nodes and steps do,
`definition` what a collective is.
"""

from syncoll.trust.data.execute import Execution, Mismatch, execute
from syncoll.trust.data.workload import (
    BFLOAT16,
    DTYPES,
    ReduceOp,
    Workload,
    dtype_of,
    name_of,
)

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
