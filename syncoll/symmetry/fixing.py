"""Automorphisms that keep some sets of nodes, over which prices and loads are averaged.

They need not generate a group that acts freely.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from syncoll.arrays import IntArray
from syncoll.model import Topology
from syncoll.symmetry.candidates import automorphism_graph
from syncoll.symmetry.structure import Structure

__all__ = [
    "automorphisms_fixing",
    "least_of_orbits",
    "link_orbits",
    "numbered_orbits",
    "vertex_automorphisms_fixing",
]


def automorphisms_fixing(topology: Topology, parts: Iterable[Iterable[int]]) -> list[IntArray]:
    """Generators ``[P]`` of the automorphisms that keep each of some sets of nodes.

    None where the graph is too large for igraph.

    Args:
        parts: the sets, no two with a node in common.
    """
    found = vertex_automorphisms_fixing(topology, parts)
    return [one[: topology.num_nodes] for one in found]


def vertex_automorphisms_fixing(
    topology: Topology, parts: Iterable[Iterable[int]]
) -> list[IntArray]:
    """The same with where switches go behind the nodes, ``[P + W]``, where there are some."""
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


def link_orbits(topology: Topology, images: Sequence[IntArray]) -> IntArray:
    """``[L]``: the orbits of links under some automorphisms, numbered from 0."""
    structure = Structure(topology)
    maps = [moved for one in images if (moved := structure.link_map(one)) is not None]
    return numbered_orbits(len(topology.links), maps)


def least_of_orbits(count: int, maps: Sequence[IntArray]) -> IntArray:
    """The least element of the orbit of each of `count` elements under some permutations."""
    label = np.arange(count)
    while True:
        before = label.copy()
        for images in maps:
            np.minimum.at(label, images, label.copy())
            np.minimum(label, label[images], out=label)
        if np.array_equal(label, before):
            return label


def numbered_orbits(count: int, maps: Sequence[IntArray]) -> IntArray:
    """The orbit of each of `count` elements under some permutations, numbered from 0."""
    return np.unique(least_of_orbits(count, maps), return_inverse=True)[1].astype(np.int64)
