"""A small group with few orbits of links, which may fix nodes.

It is for chunks without a home, such as those of an allreduce: every chunk starts everywhere, so
its images under any automorphisms are chunks of their own.  The group begins with one that acts
freely on the nodes; elements are added while they merge orbits of links and the group stays small,
since C is a multiple of its order.
"""

from __future__ import annotations

import numpy as np

from syncoll.arrays import IntArray
from syncoll.deadline import Deadline
from syncoll.model import Topology
from syncoll.symmetry.group import Group
from syncoll.symmetry.orbits import link_orbits
from syncoll.symmetry.search import find_symmetry

__all__ = ["small_symmetry"]

_LARGEST, _GROWTH = 4096, 16
"""Limits on the order, absolute and as a multiple of the nodes: they limit C and memory."""

_TRIES = 24
"""Number of random products of generators that are tried as further generators."""


def small_symmetry(topology: Topology, until: Deadline) -> Group:
    """A small group with about as few orbits of links as all automorphisms have.

    Args:
        until: ends the search for further generators.
    """
    nodes = topology.num_nodes
    found = find_symmetry(topology, until=until)
    begun = Group.of_order(nodes, list(found.group.generators), max(nodes, 1))
    assert begun is not None  # a free group has at most as many elements as nodes
    group = begun
    if found.generators is None or not len(found.generators):
        return group
    every = list(found.generators)
    fewest = _orbits(topology, every)
    random = np.random.default_rng(nodes)
    most = min(_LARGEST, _GROWTH * nodes)
    while (orbits := _orbits(topology, list(group.generators))) > fewest and not until.passed:
        best: tuple[int, int, Group] | None = None
        for images in _elements(every, random):
            limit = most if best is None else best[2].order
            larger = Group.of_order(nodes, [*group.generators, images], limit)
            if larger is None or larger.order == group.order:
                continue
            rank = _orbits(topology, list(larger.generators)), larger.order
            if best is None or rank < best[:2]:
                best = *rank, larger
        if best is None or best[0] >= orbits:
            break
        group = best[2]
    return group


def _elements(generators: list[IntArray], random: np.random.Generator) -> list[IntArray]:
    """Generators and some products of them."""
    found = {images.tobytes(): images for images in generators}
    current = np.arange(len(generators[0]))
    for _ in range(_TRIES):
        current = generators[int(random.integers(len(generators)))][current]
        found.setdefault(current.tobytes(), current)
    return list(found.values())


def _orbits(topology: Topology, generators: list[IntArray]) -> int:
    return int(link_orbits(topology, generators).max(initial=-1)) + 1
