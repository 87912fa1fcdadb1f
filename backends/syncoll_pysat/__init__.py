"""PySAT: CaDiCaL and other SAT solvers through one interface; needs no licence.

They take clauses only; cardinalities, integers and other constraints are lowered.
"""

from syncoll.formula import Feature
from syncoll.plugins import BackendRecord, Option, Rank, installed_distribution, up_to

RECORD = BackendRecord(
    name="pysat",
    summary="SAT solvers of PySAT (CaDiCaL by default) on clauses alone",
    load="syncoll_pysat.backend:PySatBackend",
    features=frozenset({Feature.CLAUSE}),
    # The distribution named `pysat` is another project.
    installed=lambda: installed_distribution("python-sat", "pysat"),
    options=(
        Option(
            "solver",
            "cadical195",
            "the SAT solver; only the newer CaDiCaL ones use the seed",
            choices=(
                "cadical195",
                "cadical153",
                "glucose42",
                "glucose4",
                "lingeling",
                "maplechrono",
                "minisat22",
            ),
        ),
        Option("hints", True, "first try the values of the best known algorithm"),
    ),
    should_run=up_to(
        "clauses", 20_000_000, "take minutes to be passed on", "a SAT solver is made for clauses"
    ),
    counts_work=True,
    rank=Rank(moving=10, combining=20),
    writes_proofs=True,
)
