"""Routes for uneven exchanges: each chunk goes from one node to one.

On machines of boxes what leaves a box is balanced over its network cards, and what enters another
over the cards there; inside there is time for the rest (`tiers`).  Elsewhere a linear program says
how everything flows (`flows`).  Where that is too large the amounts from node to node are cut into
parts that are routed one after the other, each on the cheapest ways of the moment, where links are
the dearer the more they carry: the multiplicative weights of Garg and Koenemann (FOCS 1998) and
Young (FOCS 2001), with whole chunks (`congestion`).  What then goes when
is a timetable's matter (`syncoll.scheduling.timetable`).
"""

from syncoll.plugins import Option, SeedRecord

RECORD = SeedRecord(
    name="routes",
    summary="balanced routes for uneven exchanges from node to node",
    load="syncoll_routes.seed:RouteSeed",
    options=(
        Option("parts", 24, "into how many parts amounts are cut that are routed apart", low=1),
        Option("passes", 6, "how often each part is routed anew", low=1),
    ),
    fits="syncoll_routes.seed:fits",
    first_seconds=0.3,
    weight=4.0,
    resumes=True,
)
RECORDS = (RECORD,)
