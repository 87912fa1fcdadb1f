"""Who may send what to whom in each step: along shortest paths, as early as distances allow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from syncoll.arrays import BoolArray, IntArray
from syncoll.errors import ModelError
from syncoll.model import UNREACHABLE, Topology
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
    distances = topology.distances[sources]
    for node in group.representatives.tolist():
        into = np.array(topology.in_links[node], dtype=np.int64)
        senders = np.array([topology.links[link][0] for link in into.tolist()], dtype=np.int64)
        to_node = distances[:, node]
        if (to_node == UNREACHABLE).any():
            raise ModelError(f"node {node} cannot be reached from every node", topology.origin)
        if not to_node.any():
            continue  # chunks start here only; no link may lead to this node
        nearer = distances[:, senders] == to_node[:, None] - 1
        for step in range(int(to_node.max())):
            there = to_node == step + 1
            yield Reception(node, step, into, senders, sources[there], nearer[there])
