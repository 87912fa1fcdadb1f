"""Orbits of links and bounds under a free group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from syncoll.model import Counting, Topology
from syncoll.symmetry.fixing import least_of_orbits
from syncoll.symmetry.free_group import FreeGroup
from syncoll.symmetry.structure import Structure

__all__ = ["LinkOrbits", "bound_labels", "link_labels"]

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LinkOrbits:
    """What a group leaves of the links and of the bandwidth relation.

    Args:
        link: ``[L]``, the orbit of each link.
        bounds: for each orbit of bounds the position of one of them in the topology.
        members: ``[link orbits, bound orbits]``, how many links of an orbit that bound holds.  A
            send over one link, and its images under the whole group, load the bound so often.
        orbit: ``[B]``, for each bound the position of its orbit in `bounds`; -1 where another
            orbit's is never wider and loads are equal.
    """

    link: IntArray
    bounds: IntArray
    members: IntArray
    orbit: IntArray

    @classmethod
    def of(cls, topology: Topology, group: FreeGroup) -> LinkOrbits:
        """The orbits under a group of automorphisms."""
        structure = Structure(topology)
        link, label = link_labels(structure, group), bound_labels(structure, group)
        bounds = np.unique(label)
        members = np.zeros((int(link.max(initial=-1)) + 1, len(bounds)), dtype=np.int64)
        for i, bound in enumerate(bounds.tolist()):
            np.add.at(members[:, i], link[topology.bound_links[bound]], 1)
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


def link_labels(structure: Structure, group: FreeGroup) -> IntArray:
    """``[L]``: the orbit of each link, numbered from 0."""
    source, target = structure.links.T
    carrier = group.carriers[source]
    # The element that takes a link's source back to its representative takes the link to one that
    # stands for its orbit.
    home = group.inverses[carrier, source]
    code = home * structure.num_nodes + group.inverses[carrier, target]
    labels: IntArray = np.unique(code, return_inverse=True)[1]
    return labels


def bound_labels(structure: Structure, group: FreeGroup) -> IntArray:
    """``[B]``: for each bound the least position of one in its orbit."""
    maps = [structure.bound_map(images) for images in group.generators]
    return least_of_orbits(len(structure.topology.bounds), maps)
