"""MultiTree: a spanning tree for every chunk, all grown at once, each edge with its time step.

MultiTree paper (Huang et al., Communication Algorithm-Architecture Co-Design for Distributed Deep
Learning), Algorithm 1.  Reducescatter and allreduce come from its allgather by inversion and
composition, as in the paper.
"""

from syncoll.plugins import Option, SeedRecord

RECORD = SeedRecord(
    name="multitree",
    summary="MultiTree: spanning trees grown together, level by level, on links that are free",
    load="syncoll_multitree.seed:MultiTreeSeed",
    options=(
        Option(
            "order",
            "any",
            "which neighbour a node takes in first; any tries the others",
            choices=("any", "far", "index", "scarce"),
        ),
        Option(
            "turns",
            "any",
            "which tree goes first in a time step; any: height unless the network is regular",
            choices=("any", "root", "height", "missing"),
        ),
        Option(
            "search",
            "any",
            "on switches, how a tree looks for its next node: near ones before all others, or from "
            "its nodes in turn as in the paper",
            choices=("any", "near", "node"),
        ),
        Option("trees", 8, "at most so many trees, and chunks, of a node", low=1),
        Option("pipelined", True, "also cut what goes down the trees into segments"),
        Option("sends", 4_000_000, "construct at most so many sends in all", low=1),
        Option("seconds", 10.0, "begin no trees beyond the first after so many", low=0.0),
    ),
    fits="syncoll_multitree.seed:fits",
    first_seconds=0.02,
)
RECORDS = (RECORD,)
