"""The symmetry of a topology, alone or together with a collective."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from syncoll.arrays import IntArray
from syncoll.deadline import NEVER, Deadline
from syncoll.model import RelationTable, Topology
from syncoll.symmetry.candidates import (
    automorphism_generators,
    automorphism_graph,
    collective_graph,
)
from syncoll.symmetry.fixing import link_orbits
from syncoll.symmetry.free_group import FreeGroup
from syncoll.symmetry.orbits import bound_labels
from syncoll.symmetry.search import free_symmetry
from syncoll.symmetry.structure import Structure

__all__ = ["Symmetry", "find_symmetry"]


@dataclass(frozen=True, eq=False)
class Symmetry:
    """The largest free group of automorphisms found, and igraph's figures for all automorphisms.

    Args:
        collective: the name of the one that is preserved too; None for the topology alone.
        group: every element of it but the identity moves every node.
        link_orbit: ``[L]``, the orbit of each link.
        bound_orbit: ``[B]``, the orbit of each bound.
        generators: of all automorphisms of the topology, without those that only exchange switches;
            None if the graph is too large for igraph.
        kept: number of these generators that preserve the collective.
        automorphisms: number of all, including those that exchange switches; None as above.
        keeping: number of these that preserve the collective; None without one, or if the graph of
            both is too large.
    """

    topology: Topology
    collective: str | None
    group: FreeGroup
    link_orbit: IntArray
    bound_orbit: IntArray
    generators: IntArray | None
    kept: int
    automorphisms: int | None
    keeping: int | None

    @property
    def link_orbits(self) -> int:
        """Number of orbits of links."""
        return len(np.unique(self.link_orbit))

    @property
    def bound_orbits(self) -> int:
        """Number of orbits of bounds."""
        return len(np.unique(self.bound_orbit))


def find_symmetry(
    topology: Topology,
    collective: str | None = None,
    table: RelationTable | None = None,
    until: Deadline = NEVER,
) -> Symmetry:
    """Finds the symmetry of a topology.

    Args:
        collective: the name of a collective.
        table: its pre and post for some C, if they are to be preserved too.
        until: ends the search for a larger group.
    """
    structure = Structure(topology, table)
    group = free_symmetry(topology, table, until, thorough=True)
    graph = automorphism_graph(structure)
    generators = automorphisms = keeping = None
    kept = 0
    if graph is not None:
        found = automorphism_generators(structure)
        generators = np.array(found, dtype=np.int64).reshape(-1, topology.num_nodes)
        automorphisms = graph.order
        kept = sum(map(structure.keeps, found))
        if table is not None:
            own = graph if kept == len(found) else collective_graph(structure)
            keeping = None if own is None else own.order
    return Symmetry(
        topology,
        collective,
        group,
        link_orbits(topology, list(group.generators)),
        bound_labels(structure, group),
        generators,
        kept,
        automorphisms,
        keeping,
    )
