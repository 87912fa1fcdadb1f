"""A topology modulo a group of its automorphisms: the loads and the costs of columns.

An algorithm treats the images of a chunk alike, so only one bound of each orbit has to be counted.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from syncoll.arrays import Floats, Ints
from syncoll.model import Topology
from syncoll.symmetry import Group, LinkOrbits


@dataclass(frozen=True, eq=False)
class Links:
    """Links in the order of their target nodes.

    Args:
        num_nodes: P.
        source: ``[L]``.
        target: ``[L]``, ascending.
        number: ``[L]``, the position of each in the topology.
    """

    num_nodes: int
    source: Ints
    target: Ints
    number: Ints

    @classmethod
    def into(cls, topology: Topology) -> "Links":
        """The links of a topology."""
        source, target = topology.ends.T
        return cls.of(topology.num_nodes, source, target)

    @classmethod
    def of(cls, num_nodes: int, source: Ints, target: Ints) -> "Links":
        """Links in any order, and their numbers in it."""
        order = np.lexsort((source, target))
        return cls(num_nodes, source[order], target[order], order)


class OrbitNetwork:
    """A topology, and its orbits under a group of automorphisms.

    Args:
        topology: the links and the bandwidth relation.
        group: of automorphisms of these.
        order: ``[L]``, the topology's position of each link as columns number them; None if they
            use these positions.

    Attributes:
        exact_rate: chunks per round of one bound of each orbit.
        rate: ``[B]``, the same.
    """

    def __init__(self, topology: Topology, group: Group, order: Ints | None = None) -> None:
        self.topology, self.group = topology, group
        orbits = LinkOrbits.of(topology, group)
        bounds = [topology.bounds[i] for i in orbits.bounds.tolist()]
        self.exact_rate: tuple[Fraction, ...] = tuple(b.chunks_per_round for b in bounds)
        self.rate: Floats = np.array([float(rate) for rate in self.exact_rate])
        self._members = orbits.members
        self._orbit = orbits.link if order is None else orbits.link[order]

    @property
    def num_nodes(self) -> int:
        """P."""
        return self.topology.num_nodes

    def load(self, links: Ints, steps: Ints, count: int) -> Ints:
        """``[B, count]``: the load of sends, with all their images, on one bound of each orbit."""
        cell = steps * len(self._members) + self._orbit[links]
        sends = np.bincount(cell, minlength=count * len(self._members)).reshape(count, -1)
        return np.asarray((sends @ self._members).T, dtype=np.int64)

    def on_links(self, prices: Floats) -> Floats:
        """``[S, L]``: the cost of a send over each link, with its images, at prices ``[B, S]``."""
        return np.asarray((self._members @ prices)[self._orbit].T)
