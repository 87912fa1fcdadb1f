"""MultiTree: a spanning tree for every chunk; all grow together, and each edge has a time step.

MultiTree paper (Huang et al., Communication Algorithm-Architecture Co-Design for Distributed Deep
Learning), Algorithm 1.  Reducescatter and allreduce come from its allgather by inversion and
composition, as in the paper.
"""

from syncoll.plugins import Option, SeedRecord

RECORD = SeedRecord(
    name="multitree",
    summary="MultiTree: spanning trees grown together, level by level, on free links",
    load="syncoll_multitree.seed:MultiTreeSeed",
    options=(
        Option(
            "order",
            "any",
            "order in which a node tries its neighbours; any: tries all orders",
            choices=("any", "far", "index", "scarce"),
        ),
        Option(
            "turns",
            "any",
            "order of trees in a time step; any: height unless the network is regular",
            choices=("any", "root", "height", "missing"),
        ),
        Option(
            "search",
            "any",
            "search of a tree for its next node over switches: near nodes first, or from "
            "its nodes in turn as in the paper",
            choices=("any", "near", "node"),
        ),
        Option("trees", 8, "most trees, and chunks, of a node", low=1),
        Option("pipelined", True, "also cut the data of a tree into segments"),
        Option("sends", 4_000_000, "most sends constructed in all", low=1),
        Option("seconds", 10.0, "begin no trees beyond the first after this time", low=0.0),
    ),
    fits="syncoll_multitree.seed:MultiTreeSeed.fits",
    first_seconds=0.02,
)
