"""A group of automorphisms that may leave nodes in place: a chunk of an allreduce has no home.

Every chunk starts everywhere, so its images under any automorphisms are chunks of their own.  The
group begins with one that acts freely on the nodes; elements are added for as long as they make
links alike that were not, and the group stays small, for C is a multiple of its order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from syncoll.arrays import IntArray
from syncoll.deadline import Deadline
from syncoll.model import Topology
from syncoll.symmetry import find_symmetry

__all__ = ["Group", "least_of_orbits", "link_map", "symmetry"]


_LARGEST, _GROWTH = 4096, 16
"""The order at most, absolutely and in times the nodes."""

_TRIES = 24


@dataclass(frozen=True, eq=False)
class Group:
    """Permutations of the nodes.

    Args:
        generators: ``[n, P]``.
        elements: ``[H, P]``, the identity first.
        products: ``[H - 1, 2]``, how the others come about: a generator after an earlier element.
    """

    generators: IntArray
    elements: IntArray
    products: IntArray

    @classmethod
    def generated(cls, nodes: int, generators: Sequence[IntArray], most: int) -> Group | None:
        """The group of some generators; None where it has more elements than that."""
        elements, products = [np.arange(nodes)], []
        known = {elements[0].tobytes()}
        for i, element in enumerate(elements):  # which grow
            for g, images in enumerate(generators):
                product = images[element]
                if product.tobytes() not in known:
                    if len(elements) >= most:
                        return None
                    known.add(product.tobytes())
                    elements.append(product)
                    products.append((g, i))
        return cls(
            np.array(generators, dtype=np.int64).reshape(-1, nodes),
            np.array(elements, dtype=np.int64),
            np.array(products, dtype=np.int64).reshape(-1, 2),
        )

    @property
    def order(self) -> int:
        """How many elements there are."""
        return len(self.elements)


def symmetry(topology: Topology, until: Deadline) -> Group:
    """A small group under which about as many links are alike as under all automorphisms."""
    nodes = topology.num_nodes
    found = find_symmetry(topology, until=until)
    begun = Group.generated(nodes, list(found.group.generators), max(nodes, 1))
    assert begun is not None  # a free group has at most as many elements as nodes
    group = begun
    if found.generators is None or not len(found.generators):
        return group
    all_generators = list(found.generators)
    fewest = _orbits(topology, all_generators)
    random = np.random.default_rng(nodes)
    most = min(_LARGEST, _GROWTH * nodes)
    while _orbits(topology, list(group.generators)) > fewest and not until.passed:
        best: tuple[int, int, Group] | None = None
        for images in _elements(all_generators, random):
            limit = most if best is None else best[2].order
            larger = Group.generated(nodes, [*group.generators, images], limit)
            if larger is None or larger.order == group.order:
                continue
            rank = _orbits(topology, list(larger.generators)), larger.order
            if best is None or rank < best[:2]:
                best = *rank, larger
        if best is None or best[0] >= _orbits(topology, list(group.generators)):
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
    maps = [link_map(topology, images) for images in generators]
    return len(np.unique(least_of_orbits(len(topology.links), maps)))


def link_map(topology: Topology, images: IntArray) -> IntArray:
    """The link to which each goes, by an automorphism."""
    nodes = topology.num_nodes
    source, target = np.array(topology.links, dtype=np.int64).reshape(-1, 2).T
    # Links are in ascending order.
    return np.searchsorted(source * nodes + target, images[source] * nodes + images[target])


def least_of_orbits(count: int, maps: Sequence[IntArray]) -> IntArray:
    """For each of so many the least that permutations exchange with it."""
    label = np.arange(count)
    while True:
        before = label.copy()
        for images in maps:
            np.minimum.at(label, images, label.copy())
            np.minimum(label, label[images], out=label)
        if np.array_equal(label, before):
            return label
