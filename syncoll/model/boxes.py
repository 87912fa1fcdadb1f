"""Boxes: what wide links connect, on machines with narrower ones between them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from syncoll.model.topology import Topology

__all__ = ["boxes_by_width", "connected_by"]

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


def boxes_by_width(topology: Topology, most: int) -> list[IntArray]:
    """For each width of links, ascending, the boxes that links of it and wider ones connect.

    A link is as wide as the narrowest bound that contains it.

    Args:
        most: so many of the largest widths are looked at.

    Returns:
        ``[P]`` for each width that makes more boxes than one and fewer than nodes: the least node
        of the box that each node is in.
    """
    nodes = topology.num_nodes
    width = np.full(len(topology.links), np.inf)
    for bound, members in zip(topology.bounds, topology.bound_links, strict=True):
        width[members] = np.minimum(width[members], float(bound.chunks_per_round))
    found: list[IntArray] = []
    for least in np.unique(width)[1:][-most:].tolist():
        label = connected_by(topology, width >= least)
        if 1 < len(np.unique(label)) < nodes:
            found.append(label)
    return found


def connected_by(topology: Topology, links: BoolArray) -> IntArray:
    """``[P]``: the least of the nodes that each is connected with over some links, either way.

    Args:
        links: ``[L]``, which ones.
    """
    ends = np.array(topology.links, dtype=np.int64).reshape(-1, 2)[links]
    label = np.arange(topology.num_nodes)
    while True:  # the least number on either end of a link, until nothing changes
        nearer = label.copy()
        np.minimum.at(nearer, ends[:, 0], label[ends[:, 1]])
        np.minimum.at(nearer, ends[:, 1], label[ends[:, 0]])
        if np.array_equal(nearer, label):
            return label
        label = nearer
