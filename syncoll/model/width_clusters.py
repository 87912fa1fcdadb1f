"""Boxes: nodes that wide links connect, or that share memory, on machines with several boxes."""

from fractions import Fraction

import numpy as np

from syncoll.arrays import Bools, Ints
from syncoll.model.bandwidth import Counting
from syncoll.model.components import least_connected
from syncoll.model.fabric import Fabric
from syncoll.model.topology import Topology

_NETWORK, _PCIE = "network", "pcie"
"""Words in the labels of links."""


def boxes_by_width(topology: Topology, most: int = 16) -> list[Ints]:
    """For each of the `most` largest widths of links, ascending, the boxes that links of at least
    that width connect: ``[P]``, the least node of each node's box.

    A link is as wide as the narrowest bound that contains it.  Widths that make a single box, or as
    many as nodes, are left out.
    """
    nodes = topology.num_nodes
    width = np.full(len(topology.links), np.inf)
    for bound, members in zip(topology.bounds, topology.bound_links, strict=True):
        width[members] = np.minimum(width[members], float(bound.chunks_per_round))
    found: list[Ints] = []
    for least in np.unique(width)[1:][-most:].tolist():
        label = connected_by(topology, width >= least)
        if 1 < len(np.unique(label)) < nodes:
            found.append(label)
    return found


def connected_by(topology: Topology, links: Bools) -> Ints:
    """``[P]``: the least node of each node's component over some links ``[L]``, either way."""
    ends = topology.ends[links]
    return least_connected(topology.num_nodes, ends)


def boxes_by_copies(topology: Topology) -> Ints:
    """``[P]``: for each node the least node with which it shares switches that copy or add up."""
    counted = np.zeros(len(topology.links), dtype=bool)
    for bound, links in zip(topology.bounds, topology.bound_links, strict=True):
        if bound.counts is not Counting.SENDS:
            counted[links] = True
    return connected_by(topology, counted)


def shared_memory_boxes(topology: Topology) -> Ints:
    """``[P]``: for each node the least node of its box; a network joins the boxes.

    A link whose label has the word *network* is outside of all boxes.  Without such labels, a
    switch belongs to the network if a node's link to it, not labelled *PCIe*, is narrower than
    another link of that node.

    A topology without a physical network, or without a part of it that belongs to a network, is one
    box; but one whose bounds count copies has the boxes of `boxes_by_copies`.
    """
    fabric, nodes = topology.fabric, topology.num_nodes
    if fabric is None and topology.counts_copies:
        return boxes_by_copies(topology)
    if fabric is None:
        return np.zeros(nodes, dtype=np.int64)
    outside = _outside(fabric)
    inside = [
        (one.source, one.destination)
        for one in fabric.links
        if _NETWORK not in one.label.lower() and not outside & {one.source, one.destination}
    ]
    ends = np.array(inside, dtype=np.int64).reshape(-1, 2)
    return least_connected(fabric.num_vertices, ends)[:nodes]


def _outside(fabric: Fabric) -> set[int]:
    """The switches of the network, found by width if no label has the word."""
    if any(_NETWORK in one.label.lower() for one in fabric.links):
        return set()
    nodes = fabric.num_nodes
    widest: dict[int, Fraction] = {}
    for one in fabric.links:
        widest[one.source] = max(widest.get(one.source, one.bandwidth), one.bandwidth)
    return {
        one.destination
        for one in fabric.links
        if one.source < nodes <= one.destination
        and one.bandwidth < widest[one.source]
        and _PCIE not in one.label.lower()
    }
