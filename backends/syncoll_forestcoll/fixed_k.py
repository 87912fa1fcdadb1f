"""The best throughput with a given number of trees (ForestColl paper, sections 4.5 and C.4).

With k trees for a weight of 1 the time is U/k for the least U such that the trees fit when a link
of bandwidth b carries ``floor(U b)`` of them (Theorem 14).  As for the optimum, each violated cut
gives the next U, the least at which that cut carries enough.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence
from fractions import Fraction
from math import floor

from syncoll.errors import UsageError
from syncoll.model.fabric import Fabric
from syncoll.routing.optimality import Bottleneck, network_of
from syncoll.routing.reduction import find_groups

__all__ = ["best_scale"]


def best_scale(
    fabric: Fabric, optimum: Bottleneck, k: int, junctions: Collection[int] = ()
) -> Fraction:
    """U*, the trees that one unit of bandwidth has to carry.

    Args:
        k: trees for a weight of 1.
        junctions: switches that every tree has to reach as well.

    Raises:
        UsageError: if k is below 1.
    """
    if k < 1:
        raise UsageError(f"k is {k}; expected at least 1 tree for each root")
    demand = [k * w for w in optimum.weights]
    total = sum(demand)
    scale = optimum.time * k
    while True:
        cut = _violated(fabric, demand, scale, junctions)
        if cut is None:
            return scale
        inside = sum(demand[v] for v in cut if v < fabric.num_nodes)
        leaving = [
            link.bandwidth
            for link in fabric.links
            if link.source in cut and link.destination not in cut
        ]
        improved = _least_scale(leaving, inside)
        if improved <= scale or inside > total:
            raise AssertionError("a violated cut asks for no larger scale")
        scale = improved


def _violated(
    fabric: Fabric, demand: Sequence[int], scale: Fraction, junctions: Collection[int]
) -> frozenset[int] | None:
    """A set that its trees cannot leave, or None."""
    network = network_of(fabric, demand, lambda b: floor(scale * b), junctions)
    groups = find_groups(network, network.need)
    grouped = {v for group in groups for v in group}
    # A node that no link reaches at this scale is a group of its own; other vertices without
    # links are put into a last group that belongs to no cut.
    groups += [[v] for v in network.terminals if v not in grouped]
    small, _ = network.quotient(groups)
    flow, _ = small.root_flow()
    sinks = (v for v in small.terminals if v < len(groups))
    for sink in sorted(sinks, key=lambda v: sum(small.into[v].values())):
        if flow.maximum(small.num_vertices, sink) < network.total:
            side = (i for i in flow.source_side() if i < len(groups))
            return frozenset(v for i in side for v in groups[i])
    return None


def _least_scale(bandwidths: Sequence[Fraction], need: int) -> Fraction:
    """The least U with ``sum(floor(U b)) >= need``."""
    whole = sum(bandwidths)
    # Each floor loses less than 1, so the answer lies between these two.
    scale = Fraction(need) / whole
    have = sum(floor(scale * b) for b in bandwidths)
    if have >= need:
        return scale
    steps = [(Fraction(floor(scale * b) + 1) / b, i) for i, b in enumerate(bandwidths)]
    heapq.heapify(steps)
    while have < need:
        scale, i = heapq.heappop(steps)
        have += 1
        b = bandwidths[i]
        heapq.heappush(steps, (Fraction(floor(scale * b) + 1) / b, i))
    return scale
