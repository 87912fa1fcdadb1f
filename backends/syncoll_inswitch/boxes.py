"""Boxes: nodes around a switch that copies or adds up, and the rails between them."""

from __future__ import annotations

from itertools import permutations

from syncoll.model import Counting, Topology

__all__ = ["Boxes", "boxes_of"]

Boxes = tuple[tuple[int, ...], ...]
"""The nodes of each box; those at one place of all boxes are a rail."""


def boxes_of(topology: Topology) -> Boxes | None:
    """The boxes, of equal size, that are all of a machine, with links between any two nodes of a
    box, and of a rail; None where it is no such machine."""
    beside: list[set[int]] = [{node} for node in range(topology.num_nodes)]
    for bound in topology.bounds:
        if bound.counts is not Counting.SENDS:
            for a, b in bound.links:
                beside[a].add(b)
                beside[b].add(a)
    boxes = tuple(sorted({tuple(sorted(nodes)) for nodes in beside}))
    sizes = {len(box) for box in boxes}
    if len(sizes) > 1 or sum(map(len, boxes)) != topology.num_nodes or sizes == {1}:
        return None
    links = set(topology.links)
    rails = zip(*boxes, strict=True)
    joined = all(pair in links for group in (*boxes, *rails) for pair in permutations(group, 2))
    return boxes if joined else None
