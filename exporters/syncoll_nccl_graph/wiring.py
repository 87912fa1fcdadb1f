"""The links that NCCL makes from the orders of a graph file (``src/graph/connect.cc``)."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from syncoll.errors import VerificationError
from syncoll.model import Topology
from syncoll.model.width_clusters import shared_memory_boxes

RING, TREES = 4, (3, 1, 2)
"""The pattern of rings, and the patterns of trees."""

Boxes = list[list[int]]
"""The nodes of each host, in ascending order."""


def boxes_of(topology: Topology) -> Boxes:
    """The hosts of a machine.  Raises VerificationError if they have other numbers of GPUs."""
    label = shared_memory_boxes(topology)
    boxes = [np.flatnonzero(label == one).tolist() for one in np.unique(label)]
    if len({len(box) for box in boxes}) > 1:
        raise VerificationError(f"the boxes of {topology.name} have different numbers of GPUs")
    return boxes


def ways_of(
    orders: Sequence[tuple[int, ...]], boxes: Boxes, pattern: int, cross: int
) -> list[tuple[int, ...]]:
    """The rings, as nodes in order, or the trees, as the parent of each node, of some channels.

    Args:
        orders: for each channel the positions of a host's GPUs in order.
        cross: 2 if rings exchange channels in pairs on every second host.
    """
    if pattern != RING:
        halves = range(min(2, len(boxes)))
        return [tree_of(order, boxes, pattern, half) for order in orders for half in halves]
    pairs = cross == 2 and len(orders) % 2 == 0
    return [
        tuple(
            box[gpu] for host, box in enumerate(boxes) for gpu in orders[c ^ (pairs and host % 2)]
        )
        for c in range(len(orders))
    ]


def joined(
    orders: Sequence[tuple[int, ...]], boxes: Boxes, pattern: int, cross: int
) -> list[tuple[int, int]]:
    """The links of the rings or trees; see `ways_of`."""
    ways = ways_of(orders, boxes, pattern, cross)
    if pattern == RING:
        return [pair for way in ways for pair in pairwise((*way, way[0]))]
    ends = [(node, up) for way in ways for node, up in enumerate(way) if up >= 0]
    return ends + [(up, node) for node, up in ends]


def tree_of(order: Sequence[int], boxes: Boxes, pattern: int, half: int) -> tuple[int, ...]:
    """The parent of each node in a tree, -1 for the root; `half`: 0 or 1, the tree of hosts."""
    parents = [-1] * (len(boxes) * len(order))
    if half:  # the first tree mirrored, or shifted for an odd number of hosts
        boxes = boxes[::-1] if len(boxes) % 2 == 0 else [*boxes[1:], boxes[0]]
    for host, box in enumerate(boxes):
        for gpu, below in pairwise(order):
            parents[box[below]] = box[gpu]
        if host:
            bit = host & -host
            up = (host ^ bit) | bit << 1
            up = host ^ bit if up >= len(boxes) else up
            entry = int(pattern == 2 or (pattern == 1 and host < up))
            parents[box[order[0]]] = boxes[up][order[min(entry, len(order) - 1)]]
    return tuple(parents)
