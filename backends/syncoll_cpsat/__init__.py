"""CP-SAT, the constraint solver of OR-Tools: the default backend, needs no licence.

It takes every kind of constraint, so no lowering is needed.
"""

from syncoll.formula import Feature
from syncoll.plugins import BackendRecord, Option, Rank, installed_distribution, up_to

RECORD = BackendRecord(
    name="cpsat",
    summary="OR-Tools CP-SAT: clause learning with native cardinalities, integers and symmetries",
    load="syncoll_cpsat.backend:CpSatBackend",
    features=frozenset(Feature),
    installed=lambda: installed_distribution("ortools", "ortools"),
    options=(
        Option("presolve", True, "simplify the formula before the search"),
        Option("probing", 0, "effort of probing variables in presolve", low=0, high=3),
        Option("symmetry", 2, "effort of finding and using symmetries", low=0, high=4),
        Option("linearization", 1, "how much of the formula is in the linear relaxation", 0, 2),
        Option("hints", True, "start near the best known algorithm for the same chunks"),
        Option("log", False, "let the solver write its log to standard error"),
    ),
    should_run=up_to(
        "literals",
        20_000_000,
        "keep CP-SAT's presolve busy for minutes",
        "takes every kind of constraint natively",
    ),
    counts_work=True,
    rank=Rank(moving=20, combining=10),
)
