"""Routes for uneven exchanges: each chunk goes from one node to one node, or on machines of boxes
to a set of nodes (`copies`).

On machines of boxes, data between boxes is balanced over the network cards of both boxes (`tiers`).
On other machines a linear program gives the flows (`flows`).  If it is too large, parts of the
amounts are routed one after the other on the currently cheapest ways (`congestion`).  This is the
multiplicative weights method of Garg and Koenemann (FOCS 1998) and Young (FOCS 2001), with whole
chunks.  A timetable then sets the steps (`syncoll.scheduling.timetable`).
"""

from syncoll.plugins import Option, SeedRecord

RECORD = SeedRecord(
    name="routes",
    summary="balanced routes for uneven exchanges from node to node, or to sets of nodes in boxes",
    load="syncoll_routes.seed:RouteSeed",
    options=(
        Option("parts", 24, "number of parts of each amount that are routed separately", low=1),
        Option("passes", 6, "number of times that each part is routed", low=1),
    ),
    fits="syncoll_routes.seed:RouteSeed.fits",
    first_seconds=0.3,
    weight=4.0,
    resumes=True,
)
