"""Breadth-first broadcast: a node at distance d from the source receives the chunk in step d.

Pal et al., Efficient Direct-Connect Topologies for Collective Communications (NSDI 2025, arXiv
2202.03356), section 5.
"""

from syncoll.plugins import SeedRecord

RECORD = SeedRecord(
    name="bfb",
    summary="breadth-first broadcast: chunks take shortest paths and arrive as early as they can",
    load="syncoll_bfb.seed:BreadthFirstSeed",
    fits="syncoll_bfb.seed:BreadthFirstSeed.fits",
    first_seconds=0.01,
)
