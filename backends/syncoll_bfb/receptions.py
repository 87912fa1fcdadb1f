"""Who may send what to whom in each step: along shortest paths, as early as distances allow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from syncoll.arrays import BoolArray, IntArray
from syncoll.errors import ModelError
from syncoll.model import Topology, ranges
from syncoll.symmetry import FreeGroup

__all__ = ["Reception", "receptions"]


@dataclass(frozen=True, eq=False)
class Reception:
    """The arrivals at one node in one step.

    Args:
        step: from 0.
        links: ``[d]``, positions of the links into the node.
        senders: ``[d]``, their other ends.
        sources: ``[n]``, whose chunks arrive.
        usable: ``[n, d]``, whether the sender of a link has a source's chunks one step earlier.
    """

    node: int
    step: int
    links: IntArray
    senders: IntArray
    sources: IntArray
    usable: BoolArray

    @cached_property
    def kinds(self) -> tuple[BoolArray, IntArray]:
        """The different rows of `usable`, and ``[n]``, which of them each source has."""
        packed = np.packbits(self.usable, axis=1)
        _, first, kind = np.unique(packed, axis=0, return_index=True, return_inverse=True)
        return self.usable[first], kind.reshape(-1)


def receptions(topology: Topology, group: FreeGroup, sources: IntArray) -> Iterator[Reception]:
    """The receptions of each step at one node of each orbit of a group of permutations of nodes.

    Raises:
        ModelError: if a node is out of reach.
    """
    towards = cache(_Senders.of(topology).distances)
    for node in group.representatives.tolist():
        into = np.array(topology.in_links[node], dtype=np.int64)
        senders = np.array([topology.links[link][0] for link in into.tolist()], dtype=np.int64)
        to_node = towards(node)[sources]
        if (to_node < 0).any():
            raise ModelError(f"node {node} cannot be reached from every node", topology.origin)
        if not to_node.any():
            continue  # chunks start here only; no link may lead to this node
        nearer = np.stack([towards(w)[sources] == to_node - 1 for w in senders.tolist()], axis=1)
        for step in range(int(to_node.max())):
            there = to_node == step + 1
            yield Reception(node, step, into, senders, sources[there], nearer[there])


@dataclass(frozen=True, eq=False)
class _Senders:
    """For each node the nodes with a link to it, one node after another: ``nodes[first[u]:]``."""

    nodes: IntArray
    first: IntArray
    count: IntArray

    @classmethod
    def of(cls, topology: Topology) -> _Senders:
        links = np.array(topology.links, dtype=np.int64).reshape(-1, 2)
        count = np.bincount(links[:, 1], minlength=topology.num_nodes)
        order = np.argsort(links[:, 1], kind="stable")
        return cls(links[order, 0], np.cumsum(count) - count, count)

    def to(self, nodes: IntArray) -> IntArray:
        """Those of some nodes, one after another."""
        count = self.count[nodes]
        return self.nodes[ranges(self.first[nodes], count)]

    def distances(self, node: int) -> IntArray:
        """``[P]``: how far each node is from this one, along the links; -1 for out of reach."""
        distance = np.full(len(self.count), -1)
        distance[node] = 0
        layer, depth = np.array([node]), 0
        while len(layer) and (distance < 0).any():
            depth += 1
            before = self.to(layer)
            layer = np.unique(before[distance[before] < 0])
            distance[layer] = depth
        return distance
