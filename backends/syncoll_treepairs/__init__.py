"""Allreduce by pairs of timed trees: into a core of nodes, an exchange there, and out of it.

Every chunk is collected along a tree (or a forest) into one node, or into a few that exchange what
they have, and spread along another.  Which trees, which core and which steps is chosen together by
a linear program over all such ways to sum a chunk (column generation), so that data still being
summed and data already summed share the links of a step.  Where the core is all nodes its exchange
is an allreduce in the fewest steps, which seed `exchange` proposes at once.
"""

from syncoll.plugins import Option, SeedRecord

RECORD = SeedRecord(
    name="treepairs",
    summary="allreduce by pairs of trees that meet in a core, packed with their steps",
    load="syncoll_treepairs.seed:TreePairSeed",
    options=(
        Option("chunks", 131072, "C at most, without --max-chunks", low=1),
        Option("seconds", 30.0, "end after so many where the search has no limit", low=0.0),
    ),
    fits="syncoll_treepairs.fitting:fits",
    first_seconds=0.4,
    weight=12.0,
    resumes=True,
)

EXCHANGE = SeedRecord(
    name="exchange",
    summary="all nodes exchange along shortest paths: allreduce in as many steps as the diameter",
    load="syncoll_treepairs.seed:ExchangeSeed",
    fits="syncoll_treepairs.fitting:fits",
    first_seconds=0.01,
)
RECORDS = (RECORD, EXCHANGE)
