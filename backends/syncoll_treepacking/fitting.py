"""Which collectives the packing of spanning trees has an idea for."""

from __future__ import annotations

from syncoll.errors import ModelError
from syncoll.model import Collective, Topology
from syncoll.plugins import Answer
from syncoll_treepacking.demand import Demand
from syncoll_treepacking.links import LinkSystem

__all__ = ["fits"]

_MOST_ENTRIES = 1 << 22
"""Roots times links: beyond it the program of one tree for each root is not attempted."""


def fits(topology: Topology, collective: Collective) -> Answer:
    """Whether there are trees for this collective on this topology, or why not."""
    demand = Demand.of(collective, topology.num_nodes)
    if isinstance(demand, str):
        return Answer(False, demand)
    try:
        if demand.combines:
            LinkSystem.undirected(topology)
            return Answer(True, "spanning trees, used in both directions")
        LinkSystem.rooted(topology, demand.sources)
    except ModelError as error:
        return Answer(False, f"{error.message}; it needs {error.expected}")
    if len(demand.sources) * len(topology.links) > _MOST_ENTRIES:
        return Answer(False, f"trees for {len(demand.sources)} roots are too many to weigh up")
    return Answer(True, "trees that lead from each source to all nodes")
