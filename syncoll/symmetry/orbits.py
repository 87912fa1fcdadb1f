"""Orbits of links and bounds under a free group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from syncoll.model import Topology
from syncoll.symmetry.free_group import FreeGroup
from syncoll.symmetry.structure import Structure

__all__ = ["LinkOrbits"]

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LinkOrbits:
    """What a group leaves of the links and of the bandwidth relation.

    Args:
        link: ``[L]``, the orbit of each link.
        bounds: for each orbit of bounds the position of one of them in the topology.
        members: ``[link orbits, bound orbits]``, how many links of an orbit that bound holds.  A
            send over one link, and its images under the whole group, load the bound so often.
    """

    link: IntArray
    bounds: IntArray
    members: IntArray

    @classmethod
    def of(cls, topology: Topology, group: FreeGroup) -> LinkOrbits:
        """The orbits under a group of automorphisms."""
        structure = Structure(topology)
        source, target = structure.links.T
        carrier = group.carriers[source]
        # The element that takes a link's source back to its representative takes the link to one
        # that stands for its orbit.
        home = group.inverses[carrier, source]
        code = home * topology.num_nodes + group.inverses[carrier, target]
        kinds, link = np.unique(code, return_inverse=True)
        label = np.arange(len(topology.bounds))
        maps = [structure.bound_map(images) for images in group.generators]
        while True:
            before = label.copy()
            for images in maps:
                np.minimum.at(label, images, label.copy())
                np.minimum(label, label[images], out=label)
            if np.array_equal(label, before):
                break
        bounds = np.unique(label)
        members = np.zeros((len(kinds), len(bounds)), dtype=np.int64)
        for i, bound in enumerate(bounds.tolist()):
            np.add.at(members[:, i], link[topology.bound_links[bound]], 1)
        # Of equal rows of the program one is enough.
        rates = [topology.bounds[bound].chunks_per_round for bound in bounds.tolist()]
        least: dict[bytes, int] = {}
        for i, rate in enumerate(rates):
            key = members[:, i].tobytes()
            if key not in least or rate < rates[least[key]]:
                least[key] = i
        kept = sorted(least.values())
        return cls(link, bounds[kept], members[:, kept])
