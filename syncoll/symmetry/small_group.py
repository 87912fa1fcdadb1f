"""A small group with few orbits of links, which may leave nodes in place.

It is for chunks without a home, as those of an allreduce: every chunk starts everywhere, so its
images under any automorphisms are chunks of their own.  The group begins with one that acts freely
on the nodes; elements are added for as long as they merge orbits of links, and the group stays
small, for C is a multiple of its order.
"""

from __future__ import annotations

import numpy as np

from syncoll.arrays import IntArray
from syncoll.deadline import Deadline
from syncoll.model import Topology
from syncoll.symmetry.fixing import link_orbits
from syncoll.symmetry.found import find_symmetry
from syncoll.symmetry.group import Group

__all__ = ["small_symmetry"]

_LARGEST, _GROWTH = 4096, 16
"""The order at most, absolutely and in times the nodes; limits C and memory."""

_TRIES = 24
"""Random products of generators that are tried as further generators."""


def small_symmetry(topology: Topology, until: Deadline) -> Group:
    """A small group under which about as many links are alike as under all automorphisms.

    Args:
        topology: the links and B that it keeps.
        until: when to be content with the group that was found.
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
