"""What bounds for collectives that combine speak of: chunks, steps, and what symmetry exchanges."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from syncoll.arrays import FloatArray
from syncoll.certificates.chunk_classes import ChunkClasses
from syncoll.model import Topology
from syncoll.symmetry.candidates import automorphism_generators
from syncoll.symmetry.fixing import least_of_orbits
from syncoll.symmetry.structure import Structure

__all__ = ["CombiningSetting"]


class CombiningSetting:
    """A topology, chunks and S, up to the automorphisms that keep each class of chunks.

    Attributes:
        generators: of these automorphisms.
        node: ``[P]``, for each node the least of its orbit.
        bound: ``[B]``, for each bound its orbit, numbered from 0.
        sizes: of each orbit of bounds.
        members: ``[L, orbits]``, how many bounds of an orbit have a link.
        rates: chunks per round of a bound of each orbit.
    """

    def __init__(self, topology: Topology, shape: ChunkClasses, steps: int) -> None:
        self.topology, self.steps = topology, steps
        self.classes = list(shape.classes)
        structure = Structure(topology)
        self.generators = [
            one
            for one in automorphism_generators(structure)
            if structure.keeps(one) and self._keeps(one.tolist())
        ]
        self.node = least_of_orbits(topology.num_nodes, self.generators)
        bound = least_of_orbits(
            len(topology.bounds), [structure.bound_map(images) for images in self.generators]
        )
        kinds, self.bound = np.unique(bound, return_inverse=True)
        self.sizes = np.bincount(self.bound)
        self.rates: list[Fraction] = [topology.bounds[i].chunks_per_round for i in kinds.tolist()]
        self.members: FloatArray = np.zeros((len(topology.links), len(kinds)))
        for orbit, links in zip(self.bound.tolist(), topology.bound_links, strict=True):
            self.members[links, orbit] += 1

    def _keeps(self, images: list[int]) -> bool:
        return all(
            {images[n] for n in some} == set(some)
            for one in self.classes
            for some in (one.pre, one.post)
        )

    def alike_beside(self, node: int) -> list[list[int]]:
        """Sets of nodes that chunks do not tell apart, the node's a set of its own."""
        sets: dict[tuple[bool, ...], list[int]] = {}
        for other in range(self.topology.num_nodes):
            some = [other in part for one in self.classes for part in (one.pre, one.post)]
            sets.setdefault((other == node, *some), []).append(other)
        return list(sets.values())
