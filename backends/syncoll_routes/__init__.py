"""Routes for uneven exchanges: each chunk goes from one node to one.

On machines of boxes data that leaves a box is balanced over its network cards, and data that enters
another over the cards there (`tiers`).  Elsewhere a linear program gives the flows (`flows`), or,
where that is too large, parts of the amounts are routed one after the other on the cheapest ways of
the moment (`congestion`): the multiplicative weights of Garg and Koenemann (FOCS 1998) and Young
(FOCS 2001), with whole chunks.  A timetable then sets the steps (`syncoll.scheduling.timetable`).
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
