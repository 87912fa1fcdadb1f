"""Routing: what physical networks with switches can carry between their compute nodes.

Two uses of the same exact methods (ForestColl paper, sections 4 and C): the optimal throughput of a
fabric with the cut that proves it, and the lowering of a fabric to a `Topology`, on which
algorithms of steps and rounds are searched.

::

    Fabric --bottleneck--> Bottleneck
    Fabric --merge_switches--> --shortest routes, remove_switch--> Routing --> Topology
"""

from syncoll.routing.cuts import cut_ratio
from syncoll.routing.lowering import MOST_LINKS, MOST_SHARED, Routing, lower, route
from syncoll.routing.optimality import Bottleneck, bottleneck

__all__ = [
    "MOST_LINKS",
    "MOST_SHARED",
    "Bottleneck",
    "Routing",
    "bottleneck",
    "cut_ratio",
    "lower",
    "route",
]
