"""Timed trees: every chunk's sends and their steps at once, packed by column generation.

A linear program shares the chunks of a node among trees in the network of links and steps; its dual
prices say which trees are worth adding.  It is solved on the orbits of a group of automorphisms, so
that one node of many has to be looked at, and rounded to whole chunks by an integer program.
"""

from syncoll.plugins import Option, SeedRecord

RECORD = SeedRecord(
    name="timedtrees",
    summary="timed trees packed by column generation on the orbits of a symmetry",
    load="syncoll_timedtrees.seed:TimedTreeSeed",
    options=(
        Option("chunks", 16384, "C up to so many times the least, without --max-chunks", low=1),
        Option("seconds", 30.0, "end after so many where the search has no limit", low=0.0),
    ),
    fits="syncoll_timedtrees.seed:fits",
    first_seconds=1.5,
    weight=12.0,
    resumes=True,
)
RECORDS = (RECORD,)
