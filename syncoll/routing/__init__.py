"""Routing: the capacity of physical networks with switches between their compute nodes.

The optimal throughput of a fabric with the cut that proves it, and the lowering of a fabric to a
`Topology` (ForestColl paper, sections 4 and C)::

    Fabric --bottleneck--> Bottleneck
    Fabric --merge_switches--> --shortest routes, remove_switch--> Routing --> Topology
"""

from typing import TYPE_CHECKING

from syncoll.errors import ModelError, UsageError
from syncoll.lazy import lazily
from syncoll.model import Fabric, Topology

if TYPE_CHECKING:
    from syncoll.routing.lowering import Routing as Routing, route as route
    from syncoll.routing.optimality import *
    from syncoll.routing.routed_steps import next_links as next_links, routed as routed
else:
    __getattr__ = lazily(__name__)


def as_topology(network: Topology | Fabric) -> Topology:
    """The topology for searches: itself, or a fabric's `route`; a `ModelError` without one."""
    if isinstance(network, Topology):
        return network
    from syncoll.routing.lowering import route

    try:
        return route(network).topology
    except UsageError as error:  # its bandwidths need integers beyond 64 bits
        raise ModelError(f"{network.name}: {error}", network.origin) from None
