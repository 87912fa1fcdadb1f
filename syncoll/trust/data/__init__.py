"""Runs algorithms on data: a second check beside the verifier, with which it shares no code.

Also the semantics of algorithms in their most readable form: `memory` is what a node does,
`execute` what a step does, `definition` what a collective is.
"""

from syncoll.trust.data.execute import Execution, Mismatch, execute
from syncoll.trust.data.halves import BFLOAT16, dtype_of, name_of
from syncoll.trust.data.workload import DTYPES, ReduceOp, Workload

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
