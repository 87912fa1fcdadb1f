"""Checks a bottleneck cut from the definition alone (ForestColl paper, section 3.1, equation 1)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction

from syncoll.errors import VerificationError
from syncoll.model.fabric import Fabric

__all__ = ["cut_ratio"]


def cut_ratio(
    fabric: Fabric, weights: Sequence[int], cut: Collection[int], junctions: Collection[int] = ()
) -> Fraction:
    """A lower bound on the time of a collective that a set of vertices proves.

    Data that starts inside the set has to leave it at least once, as long as a compute node lies
    outside: the time is at least the weight inside over the bandwidth that leaves.

    Args:
        weights: data that starts at each compute node.
        junctions: switches that all data has to reach as well.  Without them the bound holds for
            every algorithm, with them for trees that span them.

    Returns:
        The time for one unit of weight to be 1 unit of data.

    Raises:
        VerificationError: if the set proves nothing: no data inside, or nothing outside that has to
            be reached.
    """
    inside = set(cut)
    if inside >= {*range(fabric.num_nodes), *junctions}:
        raise VerificationError(f"fabric {fabric.name}: the cut leaves no compute node outside")
    weight = sum(weights[v] for v in inside if v < fabric.num_nodes)
    if not weight:
        raise VerificationError(f"fabric {fabric.name}: no data starts inside the cut")
    leaving = sum(
        link.bandwidth
        for link in fabric.links
        if link.source in inside and link.destination not in inside
    )
    if not leaving:
        raise VerificationError(f"fabric {fabric.name}: nothing leaves the cut at all")
    return Fraction(weight) / leaving
