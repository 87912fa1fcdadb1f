"""Spanning-tree packing: the best division of the data over trees, by linear programming.

After "Optimal Message Scheduling for Aggregation" (SysML 2018).  Importing this package loads no
solver.
"""

from syncoll.plugins import Option, SeedRecord, installed_distribution

RECORD = SeedRecord(
    name="treepacking",
    summary="spanning-tree packing: the best division of the data over trees, by linear program",
    load="syncoll_treepacking.seed:TreePackingSeed",
    options=(
        Option("seconds", 10.0, "limit for the linear program, and again for integers", low=0.01),
    ),
    installed=lambda: installed_distribution("highspy", "highspy"),
    fits="syncoll_treepacking.seed:TreePackingSeed.fits",
    by_default=False,  # slower than other seeds, and seldom better; see benchmarks/seeds.py
)
