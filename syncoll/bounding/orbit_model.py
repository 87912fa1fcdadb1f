"""A topology and S, modulo automorphisms over which prices are averaged.

An average of prices over a group makes no cheapest tree or way cheaper, so one price suffices for
each orbit of bounds.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np

from syncoll.arrays import Floats, Ints
from syncoll.bounding.rationals import Rounding
from syncoll.certificates.chunk_classes import ChunkClass, ChunkClasses
from syncoll.certificates.link_prices import Place
from syncoll.model import Topology
from syncoll.model.components import least_of_orbits
from syncoll.symmetry.orbits import automorphisms_fixing, link_orbits
from syncoll.symmetry.structure import Structure


class OrbitModel:
    """Orbits of bounds.

    Args:
        automorphisms: generators of the group; they keep the chunks.
        classes: the chunks.

    Attributes:
        node: ``[P]``, for each node the least of its orbit.
        bound: ``[B]``, for each bound its orbit, numbered from 0.
        rates: chunks per round of the bounds of each orbit together.
        members: ``[L, orbits]``, the number of bounds of an orbit that have a link.
    """

    def __init__(
        self,
        topology: Topology,
        steps: int,
        automorphisms: Sequence[Ints] = (),
        classes: Sequence[ChunkClass] = (),
    ) -> None:
        self.topology, self.steps = topology, steps
        self.automorphisms, self.classes = automorphisms, classes
        self.structure = Structure(topology)
        self.node = least_of_orbits(topology.num_nodes, automorphisms)
        bound = least_of_orbits(
            len(topology.bounds), [self.structure.bound_map(images) for images in automorphisms]
        )
        kinds, self.bound = np.unique(bound, return_inverse=True)
        sizes = np.bincount(self.bound).tolist()
        self.rates: list[Fraction] = [
            topology.bounds[i].chunks_per_round * size
            for i, size in zip(kinds.tolist(), sizes, strict=True)
        ]
        self.members: Floats = np.zeros((len(topology.links), len(kinds)))
        for orbit, links in zip(self.bound.tolist(), topology.bound_links, strict=True):
            self.members[links, orbit] += 1

    @classmethod
    def of(cls, topology: Topology, shape: ChunkClasses, steps: int) -> "OrbitModel":
        """The model modulo the automorphisms that keep each class of chunks."""
        return cls(topology, steps, (), list(shape.classes)).fixing(-1)

    def fixing(self, node: int) -> "OrbitModel":
        """The model modulo the automorphisms that keep each class, and a node, if there is one."""
        sets: dict[tuple[bool, ...], list[int]] = {}
        for other in range(self.topology.num_nodes):
            some = [other in part for one in self.classes for part in (one.pre, one.post)]
            sets.setdefault((other == node, *some), []).append(other)
        automorphisms = automorphisms_fixing(self.topology, sets.values())
        return OrbitModel(self.topology, self.steps, automorphisms, self.classes)

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """Two different nodes from each orbit of such pairs."""
        nodes = self.topology.num_nodes
        maps = [(images[:, None] * nodes + images).ravel() for images in self.automorphisms]
        least = np.unique(least_of_orbits(nodes * nodes, maps)).tolist()
        return [(one // nodes, one % nodes) for one in least if one % (nodes + 1)]

    @cached_property
    def links(self) -> Ints:
        """``[L]``: for each link its orbit, numbered from 0."""
        return link_orbits(self.structure, self.automorphisms)

    @property
    def generators(self) -> tuple[tuple[int, ...], ...]:
        """The automorphisms as certificates name them."""
        return tuple(tuple(images.tolist()) for images in self.automorphisms)

    def even_prices(self) -> Floats:
        """``[orbits, S]``, prices that divide a round equally among all orbits."""
        rates = np.array([float(rate) for rate in self.rates])
        return np.repeat((1 / (rates * len(rates)))[:, None], self.steps, axis=1)

    def priced(self, prices: Floats, rounding: Rounding) -> dict[Place, Fraction]:
        """Exact prices of bounds, under which a round costs 1 or a little less, from prices
        ``[orbits, S]`` of a bound of each orbit."""
        places = ((divmod(i, self.steps), price) for i, price in rounding.positive(prices.ravel()))
        exact = rounding.normalised(dict(places), self.rates)
        return {
            (bound, step): price
            for bound, orbit in enumerate(self.bound.tolist())
            for step in range(self.steps)
            if (price := exact.get((orbit, step)))
        }
