"""CP-SAT, the constraint solver of OR-Tools: the default backend, needs no licence.

It takes every kind of constraint as it is, so nothing is lowered for it.
"""

from __future__ import annotations

from syncoll.formula import Feature, FormulaSize
from syncoll.plugins import Answer, BackendRecord, Option, Rank, installed_distribution


def _should_run(size: FormulaSize) -> Answer:
    if size.literals > 20_000_000:
        return Answer(False, "CP-SAT's presolve needs minutes on more than 20 million literals")
    return Answer(True, "takes every kind of constraint natively")


RECORD = BackendRecord(
    name="cpsat",
    summary="OR-Tools CP-SAT: clause learning with native cardinalities, integers and symmetries",
    load="syncoll_cpsat.backend:CpSatBackend",
    features=frozenset(Feature),
    installed=lambda: installed_distribution("ortools", "ortools"),
    options=(
        Option("presolve", True, "simplify the formula before the search"),
        Option("probing", 0, "effort of probing single variables in presolve", low=0, high=3),
        Option("symmetry", 2, "effort of finding and using symmetries", low=0, high=4),
        Option("linearization", 1, "how much of the formula the linear relaxation sees", 0, 2),
        Option("hints", True, "start near the best algorithm that is known for the same chunks"),
        Option("log", False, "let the solver write its log to standard error"),
    ),
    should_run=_should_run,
    counts_work=True,
    rank=Rank(moving=20, combining=10),
)
RECORDS = (RECORD,)
