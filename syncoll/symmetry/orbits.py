"""Orbits of links and bounds under a group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from syncoll.arrays import IntArray
from syncoll.model import Counting, Topology
from syncoll.symmetry.fixing import least_of_orbits, link_orbits
from syncoll.symmetry.group import Group
from syncoll.symmetry.structure import Structure

__all__ = ["LinkOrbits", "bound_labels"]


@dataclass(frozen=True, eq=False)
class LinkOrbits:
    """Orbits of links, and of the bandwidth relation, under a group.

    Args:
        link: ``[L]``, the orbit of each link.
        bounds: for each orbit of bounds the position of one of them in the topology.
        members: ``[link orbits, bound orbits]``, how often a send over one link, and its images
            under the whole group, load a bound.
        orbit: ``[B]``, for each bound the position of its orbit in `bounds`; -1 if another orbit
            has the same loads and is not wider.
    """

    link: IntArray
    bounds: IntArray
    members: IntArray
    orbit: IntArray

    @classmethod
    def of(cls, topology: Topology, group: Group) -> LinkOrbits:
        """The orbits under a group of automorphisms."""
        link = link_orbits(topology, list(group.generators))
        label = bound_labels(Structure(topology), group)
        bounds = np.unique(label)
        members = np.zeros((int(link.max(initial=-1)) + 1, len(bounds)), dtype=np.int64)
        for i, bound in enumerate(bounds.tolist()):
            np.add.at(members[:, i], link[topology.bound_links[bound]], 1)
        # So many elements take the link to the same place.
        members *= (group.order // np.bincount(link))[:, None]
        # Of equal rows of the program one is enough.
        bounds_of = [topology.bounds[bound] for bound in bounds.tolist()]
        rates = [bound.chunks_per_round for bound in bounds_of]
        least: dict[tuple[Counting, bytes], int] = {}
        for i, rate in enumerate(rates):
            key = (bounds_of[i].counts, members[:, i].tobytes())
            if key not in least or rate < rates[least[key]]:
                least[key] = i
        kept = sorted(least.values())
        position = np.full(len(label), -1)
        position[bounds[kept]] = np.arange(len(kept))
        return cls(link, bounds[kept], members[:, kept], position[label])


def bound_labels(structure: Structure, group: Group) -> IntArray:
    """``[B]``: for each bound the least position of one in its orbit."""
    maps = [structure.bound_map(images) for images in group.generators]
    return least_of_orbits(len(structure.topology.bounds), maps)
