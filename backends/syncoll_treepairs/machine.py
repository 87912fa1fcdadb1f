"""A topology up to a group of its automorphisms.

What is done with one chunk is done with its image under every element too: the number of chunks is
a multiple of the order of the group, and one bound of each orbit has to be looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import gcd

import numpy as np

from syncoll.arrays import FloatArray, IntArray
from syncoll.deadline import Deadline
from syncoll.model import Topology
from syncoll.symmetry.candidates import automorphism_generators
from syncoll.symmetry.fixing import link_orbits
from syncoll.symmetry.structure import Structure
from syncoll_treepairs.cores import Core, cores
from syncoll_treepairs.group import least_of_orbits, link_map, symmetry
from syncoll_treepairs.shortest_paths import exchanges

__all__ = ["Links", "Machine"]


@dataclass(frozen=True, eq=False)
class Links:
    """Links in the order of the nodes that they lead into.

    Args:
        source: ``[L]``.
        target: ``[L]``, ascending.
        number: ``[L]``, the position of each in the topology.
    """

    source: IntArray
    target: IntArray
    number: IntArray

    @classmethod
    def of(cls, source: IntArray, target: IntArray) -> Links:
        """Links in any order, numbered in it."""
        order = np.lexsort((source, target))
        return cls(source[order], target[order], order)


class Machine:
    """A topology, and its orbits under a group of automorphisms.

    Args:
        topology: every node of which reaches every other.
        until: when to be content with the symmetry found.
        multiple: how many chunks the collective has for its least C: they come in multiples.

    Attributes:
        group: the group.
        ends: of every link, ``[L, 2]``.
        roots: one node of each orbit.
        bounds: one bound of each orbit.
        rates: their chunks per round.
        forth: the links.
        back: the links turned round.
        least: R/C that no allreduce goes below, if each link had its part of each bound alone.
    """

    def __init__(self, topology: Topology, until: Deadline, multiple: int = 1) -> None:
        self.topology = topology
        self._multiple = multiple
        self._cores: dict[int, list[Core]] = {}
        self.group = symmetry(topology, until)
        generators = list(self.group.generators)
        maps = [link_map(topology, images) for images in generators]
        self.roots: list[int] = np.unique(least_of_orbits(topology.num_nodes, generators)).tolist()
        least, self._orbit, sizes = np.unique(
            least_of_orbits(len(topology.links), maps), return_inverse=True, return_counts=True
        )
        # A send over one link, and all its images, load a bound so often as it has links of the
        # orbit, times the elements that take the link to the same place.
        members = np.zeros((len(least), len(topology.bounds)), dtype=np.int64)
        for i, links in enumerate(topology.bound_links):
            np.add.at(members[:, i], self._orbit[links], 1)
        members *= (self.group.order // sizes)[:, None]
        rates = [bound.chunks_per_round for bound in topology.bounds]
        kinds: dict[bytes, int] = {}  # of equal rows of the program one is enough
        for i, rate in enumerate(rates):
            key = members[:, i].tobytes()
            if key not in kinds or rate < rates[kinds[key]]:
                kinds[key] = i
        self.bounds = sorted(kinds.values())
        self._members = members[:, self.bounds]
        self.rates: tuple[Fraction, ...] = tuple(rates[i] for i in self.bounds)
        self.ends = np.array(topology.links, dtype=np.int64).reshape(-1, 2)
        source, target = self.ends.T
        self.forth, self.back = Links.of(source, target), Links.of(target, source)
        share = np.full(len(source), np.inf)
        for rate, links in zip(rates, topology.bound_links, strict=True):
            share[links] = np.minimum(share[links], float(rate) / len(links))
        self.least = 2 * (topology.num_nodes - 1) / float(share.sum())

    def cores(self, most_steps: int) -> list[Core]:
        """See `cores.cores`; they are made once."""
        if most_steps not in self._cores:
            kinds = link_orbits(self.topology, automorphism_generators(Structure(self.topology)))
            self._cores[most_steps] = cores(self.topology, self.roots, most_steps, kinds)
        return self._cores[most_steps]

    @cached_property
    def exchanges(self) -> list[Core]:
        """See `shortest_paths.exchanges`."""
        return list(exchanges(self.topology))

    @property
    def num_nodes(self) -> int:
        """P."""
        return self.topology.num_nodes

    @property
    def order(self) -> int:
        """How many elements the group has."""
        return self.group.order

    @property
    def times(self) -> int:
        """Of what is done with all images of a chunk there is a multiple of so many."""
        return self._multiple // gcd(self._multiple, self.order)

    @property
    def least_chunks(self) -> int:
        """What all numbers of chunks are multiples of."""
        return self.order * self.times

    def load(self, links: IntArray, steps: IntArray, count: int) -> IntArray:
        """``[B, count]``: what sends, with their images, load one bound of each orbit with.

        Args:
            links: positions in the topology.
            steps: of the sends.
            count: S.
        """
        members = self._members
        cell = steps * len(members) + self._orbit[links]
        sends = np.bincount(cell, minlength=count * len(members)).reshape(count, -1)
        return np.asarray((sends @ members).T, dtype=np.int64)

    def on_links(self, prices: FloatArray) -> FloatArray:
        """``[S, L]``: what a send costs, with its images, of prices ``[B, S]``."""
        return np.asarray((self._members @ prices)[self._orbit].T)
