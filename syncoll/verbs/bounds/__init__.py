"""Proves lower bounds without searching: the least number of steps (distances), the least bandwidth
cost R/C with any number of steps, and the least R/C for each number of steps.  Each bandwidth bound
comes from exact prices on the links: a round costs at most 1, and the data that the collective must
move costs at least the bound.

  syncoll bounds dgx1 allgather
  syncoll bounds dgx1 alltoall -C 8 --max-steps 4
  syncoll bounds dgx1 allgather --prices
  syncoll bounds dgx1 allgather -o bounds.json
  syncoll bounds dgx1 'alltoallv("tokens.csv")'
  syncoll bounds dgx1 "allgather within [[0,1,2,3],[4,5,6,7]]"
  syncoll bounds dgx1 "2 * allgather + alltoall"

The file of -o is a frontier without points; `syncoll check` checks its certificates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from syncoll.verbs.asking import What, Where, deadline_of, reading, session_for, verb
from syncoll.verbs.declaration import Shell

if TYPE_CHECKING:
    from syncoll.deadline import interrupted_at
    from syncoll.errors import OutOfTimeError
    from syncoll.ledger.lower_bounds import lower_bounds, network_bounds
    from syncoll.model import Fabric
    from syncoll.values import require_whole
    from syncoll.verbs.bounds.result import BoundsResult

SHELL = Shell(
    options={
        "--prices": "show the prices that prove each bound",
        "-o, --output FILE": "save the bounds with their certificates, for `syncoll check`; - for "
        "standard output, in place of the table (without --format and --prices)",
    },
    page="prices",
    document="prices",
)

_ROUTING_SECONDS = 0.2
"""Under any limit this time is free for routes between all nodes, before cuts of the network."""


@verb
def bounds(
    topology: Where,
    collective: What,
    *,
    chunks: int | None = None,
    max_steps: int | None = None,
    time_limit: float | str | None = None,
    work: float | None = None,
) -> BoundsResult:
    """Proved lower bounds on steps and bandwidth cost.

    Args:
        chunks: C, for each node; None for the least for which the collective is defined.
        max_steps: the largest S with a bound of its own; None for 3 more than the least possible.
        time_limit: of the whole command, such as ``30s``; at the limit, as after Ctrl-C, the result
            has the bounds proved so far, and always those by cuts; a large network may then have no
            certificates; None for about 20 s for each bound.

    >>> bounds("torus(3,3)", "alltoall").bandwidth
    Fraction(1, 3)
    """
    session, until = session_for(), deadline_of(time_limit, work=work)
    for name, value, least in (("chunks", chunks, 1), ("max_steps", max_steps, 0)):
        if value is not None:
            require_whole(name, value, least)
    with reading(until):
        network, what = session.network(topology), session.collective(collective)
    try:
        with interrupted_at(until.granting(_ROUTING_SECONDS)):
            where = session.topology(network)
    except OutOfTimeError:
        if not isinstance(network, Fabric):
            raise
        return BoundsResult.of(network_bounds(network, what, chunks=chunks, steps=max_steps))
    limits: dict[str, Any] = {"chunks": chunks, "max_steps": max_steps}
    with session.limited():
        further = session.further_bounds()
        return BoundsResult.of(lower_bounds(where, what, **limits, until=until, further=further))
