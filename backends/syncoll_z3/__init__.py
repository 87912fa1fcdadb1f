"""Z3, the solver of the SCCL paper; needs no licence.

It accepts integers and differences as well.  They are lowered nevertheless, because Z3 is some
hundred times faster with integers as ordered Booleans than with its arithmetic.  The path encoding
of alltoall (8, 3, 3) on dgx1 takes 0.06 s instead of 6 s, of allgather (2, 3, 4) 0.01 s instead of
7 s.  Cardinality rows, however, stay whole: the step encoding of allgather (6, 3, 7) takes a median
of 1.2 s over five seeds, and as clauses it is not decided in 10 s.
"""

from syncoll.formula import Feature
from syncoll.plugins import BackendRecord, Option, Rank, installed_distribution, up_to

RECORD = BackendRecord(
    name="z3",
    summary="Z3, the paper's solver, on Booleans with native cardinality and pseudo-Boolean rows",
    load="syncoll_z3.backend:Z3Backend",
    features=frozenset(
        {Feature.CLAUSE, Feature.CARDINALITY, Feature.PSEUDO_BOOLEAN, Feature.ENFORCEMENT}
    ),
    installed=lambda: installed_distribution("z3-solver", "z3"),
    options=(
        Option(
            "solver",
            "smt",
            "smt: the general solver; fd: the solver for finite domains",
            choices=("smt", "fd"),
        ),
    ),
    should_run=up_to(
        "literals",
        200_000,
        "are too large for Z3 in most cases; cpsat and pysat solve larger ones",
        "small enough for Z3",
    ),
    counts_work=True,
    rank=Rank(moving=2, combining=2, spare=True),
)
