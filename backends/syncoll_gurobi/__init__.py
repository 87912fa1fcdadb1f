"""Gurobi, a commercial mixed-integer programming solver; an extra, ``syncoll[gurobi]``.

Without a licence of the user, gurobipy brings a restricted one: 2,000 variables and 2,000
constraints.  This suffices for small instances; for larger ones an answer names the limit.
"""

from syncoll.formula import Feature, FormulaSize
from syncoll.plugins import Answer, BackendRecord, Option, installed_distribution, up_to

RESTRICTED_SIZE = 2_000
"""The largest number of variables, and of constraints, under the restricted licence."""

INSTEAD = "use backend highs or cpsat, which need no licence"


def _installed() -> Answer:
    return installed_distribution("gurobipy", "gurobipy", extra="gurobi")


def _licensed() -> Answer:
    installed = _installed()
    if not installed.ok:
        return installed
    from syncoll_gurobi.backend import licence

    return licence()


def _can_run(size: FormulaSize) -> Answer:
    licensed = _licensed()
    if not licensed.ok or max(size.variables, size.constraints) <= RESTRICTED_SIZE:
        return licensed
    from syncoll_gurobi.backend import is_restricted

    if is_restricted():
        return Answer(
            False,
            f"{size.variables:,} variables and {size.constraints:,} constraints exceed the "
            f"{RESTRICTED_SIZE:,} of Gurobi's restricted licence; {INSTEAD}",
        )
    return licensed


RECORD = BackendRecord(
    name="gurobi",
    summary="Gurobi mixed-integer programming: branch and cut on linear rows (own licence)",
    load="syncoll_gurobi.backend:GurobiBackend",
    features=frozenset({Feature.LINEAR, Feature.PSEUDO_BOOLEAN, Feature.INTEGER}),
    installed=_installed,
    options=(
        Option("presolve", -1, "effort of presolve; -1: automatic", low=-1, high=2),
        Option("symmetry", -1, "effort of finding symmetries; -1: automatic", low=-1, high=2),
        Option("cuts", -1, "effort of cutting planes; -1: automatic", low=-1, high=3),
        Option("focus", 1, "0: balanced, 1: find solutions, 2: prove, 3: bound", low=0, high=3),
        Option("hints", True, "start near the best known algorithm for the same chunks"),
        Option("log", False, "let the solver write its log to standard error"),
    ),
    licensed=_licensed,
    can_run=_can_run,
    should_run=up_to(
        "variables",
        50_000,
        "without an objective are far too large for branch and bound; cpsat is made for them",
        "small enough for branch and bound",
    ),
    counts_work=True,
)
