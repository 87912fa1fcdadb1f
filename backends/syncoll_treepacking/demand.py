"""What a collective asks for, as far as trees that span all nodes can do it.

Recognised by its table, never by its name: either every chunk starts at one node and everybody
needs it (broadcast, allgather, anything between), or every node contributes to every chunk and
needs the result (allreduce).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import gcd

import numpy as np

from syncoll.errors import ModelError
from syncoll.model import Collective, RelationTable, Topology
from syncoll.packing.arrivals import MOST_CELLS
from syncoll.plugins import Answer
from syncoll_treepacking.links import LinkSystem
from syncoll_treepacking.oracle import ArborescenceOracle, Oracle, SpanningTreeOracle

__all__ = ["Demand", "fits"]

_MOST_TRIED = 4096
"""C up to which one that is admitted is looked for; limits work."""

_MOST_ENTRIES = 2 * MOST_CELLS
"""Roots times links of a program with a tree for each root; limits memory."""


@dataclass(frozen=True)
class Demand:
    """Who has the data.

    Args:
        sources: for each node that starts with chunks how many of them, divided by what all have
            in common; empty where all nodes contribute to all chunks.
    """

    sources: dict[int, int]

    @classmethod
    def of(cls, collective: Collective, nodes: int) -> Demand | str:
        """The demand, or in words why trees that span all nodes do not serve the collective."""
        chunks = collective.least_chunks(nodes, _MOST_TRIED)
        if chunks is None:
            return f"no C up to {_MOST_TRIED} is admitted"
        try:
            table: RelationTable = collective.tabulate(nodes, chunks)
        except ModelError as error:
            return error.message
        if not table.pre.size or not table.post.all():
            return "not every node needs every chunk"
        if collective.combining:
            if table.pre.all():
                return cls({})
            return "not every node contributes to every chunk"
        if (table.pre.sum(axis=1) != 1).any():
            return "not every chunk starts at exactly one node"
        counts = np.bincount(table.pre.argmax(axis=1), minlength=nodes).tolist()
        common = gcd(*counts)
        return cls({node: count // common for node, count in enumerate(counts) if count})

    @property
    def combines(self) -> bool:
        """Whether contributions of all nodes are added up."""
        return not self.sources

    @property
    def shares(self) -> dict[int, Fraction]:
        """The part of all data that starts at each source."""
        total = sum(self.sources.values())
        return {node: Fraction(count, total) for node, count in self.sources.items()}

    def oracle(self, topology: Topology) -> Oracle:
        """The cheapest trees that serve it.

        Raises:
            ModelError: where links do not lead everywhere.
        """
        if self.combines:
            return SpanningTreeOracle(LinkSystem.undirected(topology))
        return ArborescenceOracle(LinkSystem.rooted(topology, self.sources), self.shares)


def fits(topology: Topology, collective: Collective) -> Answer:
    """Whether there are trees for this collective on this topology, or why not."""
    demand = Demand.of(collective, topology.num_nodes)
    if isinstance(demand, str):
        return Answer(False, demand)
    if len(demand.sources) * len(topology.links) > _MOST_ENTRIES:
        return Answer(False, f"trees for {len(demand.sources)} roots are too many to weigh up")
    try:
        demand.oracle(topology)
    except ModelError as error:
        return Answer(False, f"{error.message}; it needs {error.expected}")
    if demand.combines:
        return Answer(True, "spanning trees, used in both directions")
    return Answer(True, "trees that lead from each source to all nodes")
