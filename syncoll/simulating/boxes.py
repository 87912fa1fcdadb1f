"""Boxes of a machine: which links lead from one box to another.

Switches and labels tell the boxes of most machines.  On others, links between boxes take at least
1.5 us; links over NVLink, xGMI and PCIe take less.  Without latencies, boxes are clusters of nodes
that only much narrower links join.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from syncoll.model.width_clusters import connected_by, shared_memory_boxes
from syncoll.simulating.network import PhysicalNetwork

__all__ = ["between_boxes"]

_FAR = Fraction(15, 10**7)
"""Seconds of a send between boxes, at least.  NCCL assumes 1.0 us over PCIe and 2.7 us between
boxes; adapters take 1.7 us and more."""

_SLOWER = 4
"""Links between clusters have at least this many times the latency of the fastest link, or this
part of the bandwidth of the widest."""


@lru_cache(maxsize=8)
def between_boxes(network: PhysicalNetwork) -> tuple[bool, ...]:
    """For each link of the topology whether it leads from box to box."""
    box = shared_memory_boxes(network.topology)
    if (box != box[0]).any():
        return tuple(bool(box[a] != box[b]) for a, b in network.topology.links)
    latencies = _stated(network)
    if any(one >= _FAR for one in latencies):
        return tuple(one >= _FAR for one in latencies)
    rates = [min(network.lanes[i].cable_bandwidth for i in x[0].lanes) for x in network.routes]
    for costs in (latencies,) if latencies else ([1 / rate for rate in rates],):
        if found := _apart(network, costs):
            return found
    return (False,) * len(network.routes)


def _stated(network: PhysicalNetwork) -> Sequence[Fraction]:
    """The latency of each link, as the topology states it; empty if it does not."""
    fabric = network.topology.fabric
    if network.states_latency or fabric is None or not fabric.states_latencies:
        return network.link_latencies if network.states_latency else ()
    known = {(x.source, x.destination): x.latency or Fraction(0) for x in fabric.links}
    lanes = tuple(
        replace(lane, latency=known[lane.ends] if lane.ends else Fraction(0))
        for lane in network.lanes
    )
    return replace(network, lanes=lanes, alpha=Fraction(0)).link_latencies


def _apart(network: PhysicalNetwork, costs: Sequence[Fraction]) -> tuple[bool, ...]:
    """Whether each link joins two clusters; empty if there are no clusters."""
    if not (limit := _SLOWER * min(costs, default=Fraction(0))):
        return ()
    near = np.array([cost < limit for cost in costs])
    box = connected_by(network.topology, near)
    sizes = np.unique(box, return_counts=True)[1]
    if len(sizes) < 2 or sizes.min() < 2:
        return ()
    return tuple(bool(box[a] != box[b]) for a, b in network.topology.links)
