"""Allreduce by pairs of timed trees: into a core of nodes, an exchange there, and out of the core.

A tree (or a forest) reduces every chunk into one node, or into a few nodes that exchange their
partial sums; another tree spreads the result.  A linear program over all such ways to sum a chunk
(column generation) chooses trees, core and steps together.  So partial sums and results share the
links of a step.  If the core is all nodes, its exchange is an allreduce in the fewest steps; seed
`exchange` proposes these at once.
"""

from syncoll.plugins import Option, SeedRecord

RECORD = SeedRecord(
    name="treepairs",
    summary="allreduce by pairs of trees that meet in a core, packed with their steps",
    load="syncoll_treepairs.seed:TreePairSeed",
    options=(
        Option("chunks", 131072, "largest C, without --max-chunks", low=1),
        Option("seconds", 30.0, "time limit if the search has none", low=0.0),
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
