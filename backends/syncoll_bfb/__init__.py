"""Breadth-first broadcast: every node receives a chunk in the step that its distance allows.

Pal et al., Efficient Direct-Connect Topologies for Collective Communications (NSDI 2025, arXiv
2202.03356), section 5.
"""

from syncoll.plugins import SeedRecord

RECORD = SeedRecord(
    name="bfb",
    summary="breadth-first broadcast: chunks arrive along shortest paths as early as they can",
    load="syncoll_bfb.seed:BreadthFirstSeed",
    fits="syncoll_bfb.seed:fits",
    first_seconds=0.01,
)
RECORDS = (RECORD,)
