"""Boxes of a machine: which links lead from one box to another.

Switches and labels tell the boxes of most machines.  On others, links between boxes take at least
1.5 us; links over NVLink, xGMI and PCIe take less.  Without latencies, boxes are clusters of nodes
that only much narrower links join.
"""

from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache

import numpy as np

from syncoll.arrays import Ints
from syncoll.errors import UsageError
from syncoll.model.width_clusters import connected_by, shared_memory_boxes
from syncoll.simulating.network import PhysicalNetwork, physical_network

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
    if (box == box[0]).all():
        latencies = _stated(network)
        if any(one >= _FAR for one in latencies):
            return tuple(one >= _FAR for one in latencies)
        rates = (min(network.lanes[i].cable_bandwidth for i in x[0].lanes) for x in network.routes)
        box = _clusters(network, latencies or [1 / rate for rate in rates])
    return tuple(bool(box[a] != box[b]) for a, b in network.topology.links)


def _stated(network: PhysicalNetwork) -> Sequence[Fraction]:
    """The latency of each link, as the topology states it; empty if it does not."""
    with suppress(UsageError):
        if not network.states_latency:
            network = physical_network(network.topology, None, network.unit)
        return network.link_latencies
    return ()


def _clusters(network: PhysicalNetwork, costs: Sequence[Fraction]) -> Ints:
    """``[P]``: the cluster of each node."""
    together = np.zeros(network.topology.num_nodes, dtype=np.int64)
    if not (limit := _SLOWER * min(costs, default=Fraction(0))):
        return together
    near = np.array([cost < limit for cost in costs])
    box = connected_by(network.topology, near)
    sizes = np.unique(box, return_counts=True)[1]
    return together if len(sizes) < 2 or sizes.min() < 2 else box
