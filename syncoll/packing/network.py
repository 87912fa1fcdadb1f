"""A topology modulo a group of its automorphisms: what columns load, and what they pay.

What is done with one chunk is done with its image under every element too, so that one bound of
each orbit has to be looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from syncoll.arrays import FloatArray, IntArray
from syncoll.model import Topology
from syncoll.symmetry import Group, LinkOrbits

__all__ = ["Links", "OrbitNetwork"]


@dataclass(frozen=True, eq=False)
class Links:
    """Links in the order of the nodes that they lead into.

    Args:
        num_nodes: P.
        source: ``[L]``.
        target: ``[L]``, ascending.
        number: ``[L]``, the position of each in the topology.
    """

    num_nodes: int
    source: IntArray
    target: IntArray
    number: IntArray

    @classmethod
    def into(cls, topology: Topology) -> Links:
        """The links of a topology."""
        source, target = np.array(topology.links, dtype=np.int64).reshape(-1, 2).T
        return cls.of(topology.num_nodes, source, target)

    @classmethod
    def of(cls, num_nodes: int, source: IntArray, target: IntArray) -> Links:
        """Links in any order, numbered in it."""
        order = np.lexsort((source, target))
        return cls(num_nodes, source[order], target[order], order)


class OrbitNetwork:
    """A topology, and its orbits under a group of automorphisms.

    Args:
        topology: the links and the bandwidth relation.
        group: of automorphisms of these.
        order: ``[L]``, the topology's position of each link as columns number them; None where they
            use these positions.

    Attributes:
        exact_rate: chunks per round of one bound of each orbit.
        rate: ``[B]``, the same.
    """

    def __init__(self, topology: Topology, group: Group, order: IntArray | None = None) -> None:
        self.topology, self.group = topology, group
        orbits = LinkOrbits.of(topology, group)
        bounds = [topology.bounds[i] for i in orbits.bounds.tolist()]
        self.exact_rate: tuple[Fraction, ...] = tuple(b.chunks_per_round for b in bounds)
        self.rate: FloatArray = np.array([float(rate) for rate in self.exact_rate])
        self._members = orbits.members
        self._orbit = orbits.link if order is None else orbits.link[order]

    @property
    def num_nodes(self) -> int:
        """P."""
        return self.topology.num_nodes

    def load(self, links: IntArray, steps: IntArray, count: int) -> IntArray:
        """``[B, count]``: what sends, with all their images, load one bound of each orbit with.

        Args:
            links: ``[K]``, of the sends.
            steps: ``[K]``.
            count: S.
        """
        cell = steps * len(self._members) + self._orbit[links]
        sends = np.bincount(cell, minlength=count * len(self._members)).reshape(count, -1)
        return np.asarray((sends @ self._members).T, dtype=np.int64)

    def on_links(self, prices: FloatArray) -> FloatArray:
        """``[S, L]``: what a send over each link costs, with its images, of prices ``[B, S]``."""
        return np.asarray((self._members @ prices)[self._orbit].T)
