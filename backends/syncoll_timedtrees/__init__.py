"""Timed trees: sends and steps of every chunk together, packed by column generation.

A linear program divides the chunks of a node among trees in the network of links and steps; its
dual prices select the trees to add.  It is solved on the orbits of a group of automorphisms, for
one node of each orbit, and rounded to whole chunks by an integer program.
"""

from syncoll.plugins import Option, SeedRecord

RECORD = SeedRecord(
    name="timedtrees",
    summary="timed trees packed by column generation on the orbits of a symmetry",
    load="syncoll_timedtrees.seed:TimedTreeSeed",
    options=(
        Option("chunks", 16384, "largest C in multiples of the least, without --max-chunks", low=1),
        Option("seconds", 30.0, "time limit if the search has none", low=0.0),
    ),
    fits="syncoll_timedtrees.seed:TimedTreeSeed.fits",
    first_seconds=1.5,
    weight=12.0,
    resumes=True,
)
