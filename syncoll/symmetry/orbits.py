"""Orbits of links and bounds under a group, and automorphisms that keep some sets of nodes.

Prices and loads are averaged over these; they need not generate a group that acts freely.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from syncoll.arrays import Ints
from syncoll.model import Counting, Topology
from syncoll.model.components import least_of_orbits
from syncoll.symmetry.candidates import automorphism_graph
from syncoll.symmetry.group import Group
from syncoll.symmetry.structure import Structure


def automorphisms_fixing(topology: Topology, parts: Iterable[Iterable[int]]) -> list[Ints]:
    """Generators ``[P]`` of the automorphisms that keep each of some disjoint sets of nodes.  The
    list is empty where the graph is too large for igraph."""
    found = vertex_automorphisms_fixing(topology, parts)
    return [one[: topology.num_nodes] for one in found]


def vertex_automorphisms_fixing(topology: Topology, parts: Iterable[Iterable[int]]) -> list[Ints]:
    """The same with the images of switches after the nodes, ``[P + W]``, if there are switches."""
    structure, fabric = Structure(topology), topology.fabric
    graph = automorphism_graph(structure)
    if graph is None:
        return []
    colours = graph.colours.copy()
    for nodes in parts:
        colours[list(nodes)] = colours.max() + 1
    found = replace(graph, colours=colours).generators()
    vertices = topology.num_nodes if fabric is None else fabric.num_vertices
    images = [np.array(one[:vertices], dtype=np.int64) for one in found]
    return [one for one in images if structure.keeps(one[: topology.num_nodes])]


def link_orbits(structure: Structure, images: Sequence[Ints]) -> Ints:
    """``[L]``: the orbits of links under some automorphisms, numbered from 0."""
    maps = [moved for one in images if (moved := structure.link_map(one)) is not None]
    return numbered_orbits(len(structure.links), maps)


def numbered_orbits(count: int, maps: Sequence[Ints]) -> Ints:
    """The orbit of each of `count` elements under some permutations, numbered from 0."""
    return np.unique(least_of_orbits(count, maps), return_inverse=True)[1].astype(np.int64)


@dataclass(frozen=True, eq=False)
class LinkOrbits:
    """Orbits of links, and of the bandwidth relation, under a group.

    Args:
        link: ``[L]``, the orbit of each link.
        bounds: for each orbit of bounds the position of one of them in the topology.
        members: ``[link orbits, bound orbits]``, number of times that a send over one link, and its
            images under the whole group, load a bound.
        orbit: ``[B]``, for each bound the position of its orbit in `bounds`; -1 if another orbit
            has the same loads and is not wider.
    """

    link: Ints
    bounds: Ints
    members: Ints
    orbit: Ints

    @classmethod
    def of(cls, topology: Topology, group: Group) -> "LinkOrbits":
        """The orbits under a group of automorphisms."""
        structure = Structure(topology)
        link = link_orbits(structure, list(group.generators))
        label = bound_labels(structure, group)
        bounds = np.unique(label)
        members = np.zeros((int(link.max(initial=-1)) + 1, len(bounds)), dtype=np.int64)
        for i, bound in enumerate(bounds.tolist()):
            np.add.at(members[:, i], link[topology.bound_links[bound]], 1)
        # The number of elements that map the link to the same place.
        members *= (group.order // np.bincount(link))[:, None]
        # One of several equal rows of the program is enough.
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


def bound_labels(structure: Structure, group: Group) -> Ints:
    """``[B]``: for each bound the least position of one in its orbit."""
    maps = [structure.bound_map(images) for images in group.generators]
    return least_of_orbits(len(structure.topology.bounds), maps)
