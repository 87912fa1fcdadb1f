"""HiGHS, a mixed-integer linear programming solver; needs no licence.

It takes linear rows over Booleans and integers; clauses, cardinalities, differences and enforcers
are lowered to such rows.
"""

from syncoll.formula import Feature
from syncoll.plugins import BackendRecord, Option, Rank, installed_distribution, up_to

RECORD = BackendRecord(
    name="highs",
    summary="HiGHS mixed-integer linear programming: branch and cut on linear rows",
    load="syncoll_highs.backend:HighsBackend",
    features=frozenset({Feature.LINEAR, Feature.PSEUDO_BOOLEAN, Feature.INTEGER}),
    installed=lambda: installed_distribution("highspy", "highspy"),
    options=(
        Option("presolve", "choose", "simplify before the search", choices=("choose", "on", "off")),
        Option("symmetry", True, "find and use symmetries"),
        Option("heuristics", 0.05, "share of the effort spent on heuristics", low=0.0, high=1.0),
        Option("hints", False, "start near the best known algorithm for the same chunks"),
        Option("log", False, "let the solver write its log to standard error"),
    ),
    should_run=up_to(
        "variables",
        20_000,
        "without an objective are far too large for branch and bound; cpsat is made for them",
        "small enough for branch and bound",
    ),
    rank=Rank(moving=1, combining=1, spare=True),
)
