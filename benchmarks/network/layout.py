"""The parts of a network of namespaces, from a topology.

A node is a namespace.  A lane of the topology's physical network is a hop: one direction of a
virtual Ethernet pair with a bandwidth.  One more namespace, the fabric, stands for the switches,
and joins the hops of a link over several lanes, such as an egress and an ingress.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from syncoll.errors import UsageError
from syncoll.model import Topology
from syncoll.routing.routed_steps import next_links
from syncoll.simulating import physical_network

__all__ = ["FABRIC", "Hop", "Layout", "layout_of"]

FABRIC = -1
"""The place of switches and of ports that several links share."""


@dataclass(frozen=True)
class Hop:
    """A direction of a virtual Ethernet pair, from a place to a place: a node or `FABRIC`.

    Args:
        rate: bytes per second; None for no limit.
    """

    source: int
    destination: int
    rate: Fraction | None


@dataclass(frozen=True)
class Layout:
    """A network of namespaces.

    Args:
        onward: by (place, hop by which a packet arrives, destination) the hop by which it leaves.
            Arrivals at a node are not distinguished; their hop is left out as None.
    """

    nodes: int
    hops: tuple[Hop, ...]
    onward: dict[tuple[int, int | None, int], int]


def layout_of(topology: Topology, unit: Fraction) -> Layout:
    """The parts of the network of a topology.

    Packets between nodes without a link take a shortest path over other nodes, which forward them.

    Args:
        unit: bytes per second of a link of one chunk per round.

    Raises:
        UsageError: if a link is divided over several routes, if packets would need different ways
            on from one hop, or if two nodes have no way in both directions.
    """
    network = physical_network(topology, Fraction(0), unit)
    starts: list[set[int]] = [set() for _ in network.lanes]
    ends: list[set[int]] = [set() for _ in network.lanes]
    chains = []
    for (source, destination), strands in zip(topology.links, network.routes, strict=True):
        if len(strands) > 1:
            raise UsageError(
                f"{topology.name}: the link {source} -> {destination} is divided over "
                f"{len(strands)} routes; a network of namespaces has one route for each link"
            )
        chains.append(lanes := strands[0].lanes)
        for i, lane in enumerate(lanes):
            starts[lane].add(FABRIC if i else source)
            ends[lane].add(FABRIC if i < len(lanes) - 1 else destination)
    places = [[one.pop() if len(one) == 1 else FABRIC for one in both] for both in (starts, ends)]
    hops = [
        Hop(source, destination, lane.bandwidth)
        for source, destination, lane in zip(*places, network.lanes, strict=True)
    ]

    def access(hop: Hop) -> list[int]:
        """A hop without a limit between a node and the fabric, unless it is a loop."""
        if hop.source == hop.destination:
            return []
        if hop not in hops:
            hops.append(hop)
        return [hops.index(hop)]

    onward: dict[tuple[int, int | None, int], int] = {}
    for (node, destination), link in np.ndenumerate(next_links(topology)):
        if node == destination:
            continue
        if link < 0:
            raise UsageError(
                f"{topology.name}: node {node} has no way to node {destination}; connections need "
                "both directions"
            )
        lanes, (a, b) = chains[link], topology.links[link]
        first = access(Hop(a, hops[lanes[0]].source, None))
        last = access(Hop(hops[lanes[-1]].destination, b, None))
        place, before = node, None
        for hop in [*first, *lanes, *last]:
            if onward.setdefault((place, before, destination), hop) != hop:
                raise UsageError(
                    f"{topology.name}: packets to node {destination} need different ways on from "
                    f"one of its lanes; a network of namespaces has one"
                )
            place, before = FABRIC, hop
    return Layout(topology.num_nodes, tuple(hops), onward)
