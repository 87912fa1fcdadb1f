"""Routes for uneven exchanges: each chunk goes from one node to one.

On machines of boxes what leaves a box is balanced over its network cards, and what enters another
over the cards there; inside there is time for the rest (`tiers`).  Elsewhere a linear program says
how everything flows (`flows`).  Where that is too large the amounts from node to node are cut into
parts that are routed one after the other, each on the cheapest ways of the moment, where links are
the dearer the more they carry: the multiplicative weights of Garg and Koenemann (FOCS 1998) and
Young (FOCS 2001), with whole chunks (`congestion`).  What then goes when
is a timetable's matter (`syncoll.scheduling.timetable`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncoll.plugins import Answer, Option, Seed, SeedRecord, hookimpl

if TYPE_CHECKING:
    from syncoll.model import Collective, Topology

__all__ = ["RECORD", "load", "syncoll_seeds"]


def load() -> Seed:
    """The seed."""
    from syncoll_routes.seed import RouteSeed

    return RouteSeed()


def _fits(topology: Topology, collective: Collective) -> Answer:
    from syncoll_routes.seed import fits

    return fits(topology, collective)


RECORD = SeedRecord(
    name="routes",
    summary="balanced routes for uneven exchanges from node to node",
    load=load,
    options=(
        Option("parts", 24, "into how many parts amounts are cut that are routed apart", low=1),
        Option("passes", 6, "how often each part is routed anew", low=1),
    ),
    fits=_fits,
    first_seconds=0.3,
    weight=4.0,
    resumes=True,
)


@hookimpl
def syncoll_seeds() -> list[SeedRecord]:
    """This seed."""
    return [RECORD]
