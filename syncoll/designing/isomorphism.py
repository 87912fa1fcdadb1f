"""Whether two machines are isomorphic.

igraph (BLISS: Junttila and Kaski, ALENEX 2007) computes a canonical numbering of a machine's graph.
Two machines with the same graph under these numbers are compared link by link and bound by bound,
bandwidths included, so that only isomorphic ones count as the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from syncoll.arrays import IntArray
from syncoll.model import Collective, Topology
from syncoll.symmetry import automorphism_graph
from syncoll.symmetry.structure import Structure

__all__ = ["CanonicalForm"]

_MOST_EDGES = 50_000
"""Machines with larger graphs are never considered isomorphic."""


@dataclass(frozen=True, eq=False)
class CanonicalForm:
    """A machine under a canonical numbering of its nodes.

    Args:
        key: equal for isomorphic machines.
        number: ``[P]``, of each node.
    """

    topology: Topology
    key: bytes
    number: IntArray

    @classmethod
    def of(cls, topology: Topology) -> CanonicalForm | None:
        """The form of a machine; None if it is too large."""
        graph = automorphism_graph(Structure(topology))
        if graph is None or len(graph.edges) > _MOST_EDGES:
            return None
        number = graph.canonical_numbers()
        edges = np.sort(number[graph.edges], axis=1)
        colours = np.empty_like(graph.colours)
        colours[number] = graph.colours
        whole = hashlib.sha256(edges[np.lexsort(edges.T)].tobytes())
        whole.update(colours.tobytes())
        # Nodes have one colour and stand together, whichever numbers they have.
        nodes = number[: topology.num_nodes]
        return cls(topology, whole.digest(), np.argsort(np.argsort(nodes)))

    def is_same(self, other: CanonicalForm, collectives: Sequence[Collective]) -> bool:
        """Whether the numberings give an isomorphism of both that preserves some collectives.

        A broadcast from node 0 is another problem if that node has another place.
        """
        if self._renumbered() != other._renumbered():
            return False
        images = np.argsort(other.number)[self.number]
        nodes = Topology.from_links("nodes", len(images), {})
        for one in collectives:
            chunks = one.least_chunks(len(images))
            if chunks is None:
                return False
            if not Structure(nodes, one.tabulate(len(images), chunks)).keeps(images):
                return False
        return True

    def _renumbered(self) -> object:
        number = self.number.tolist()
        return sorted(
            (sorted((number[a], number[b]) for a, b in bound.links), *bound.kind)
            for bound in self.topology.bounds
        )
