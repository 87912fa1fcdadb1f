"""The lanes of a physical network as passages between places, for bounds on time."""

from __future__ import annotations

from fractions import Fraction

from syncoll.certificates.flows_over_time import Passage, TimedNetwork
from syncoll.simulating.network import PhysicalNetwork

__all__ = ["timed_network"]

_TICKS = 10**15
"""Latencies are rounded down to femtoseconds."""


def timed_network(network: PhysicalNetwork) -> TimedNetwork:
    """The ways of all sends.

    Places are the nodes, and the ends of lanes on the way.  Lanes into one switch end at one place,
    where data may change from the way of one send to that of another; more ways weaken a bound.
    The alpha of a send is a part of the passage of its last lane.
    """
    nodes, place = network.topology.num_nodes, dict[tuple[str, int], int]()
    seconds: dict[tuple[int, int, int], Fraction] = {}
    extra = network.extra or (Fraction(0),) * len(network.routes)
    for link, strands, more in zip(network.topology.links, network.routes, extra, strict=True):
        for strand in strands:
            tail, left = link[0], len(strand.lanes)
            for number in strand.lanes:
                lane, left = network.lanes[number], left - 1
                head, passes = link[1], lane.latency + network.alpha + more
                if left:
                    at_switch = lane.ends is not None and lane.ends[1] >= nodes
                    key = ("switch", lane.ends[1]) if at_switch and lane.ends else ("lane", number)
                    head, passes = place.setdefault(key, nodes + len(place)), lane.latency
                known = seconds.get((tail, head, number), passes)
                seconds[tail, head, number] = min(known, passes)
                tail = head
    passages = [Passage(*at, Fraction(int(x * _TICKS), _TICKS)) for at, x in seconds.items()]
    rates = tuple(lane.bandwidth for lane in network.lanes)
    return TimedNetwork(nodes, nodes + len(place), tuple(sorted(passages)), rates)
