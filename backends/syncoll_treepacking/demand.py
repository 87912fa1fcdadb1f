"""The demand of a collective, if trees that span all nodes can meet it.

Recognised by its table, never by its name.  Either every chunk starts at one node and all nodes
need it (broadcast, allgather and the like), or every node contributes to every chunk and needs the
result (allreduce).
"""

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

_MOST_TRIED = 4096
"""Largest C tried for the least admissible one; limits work."""

_MOST_ENTRIES = 2 * MOST_CELLS
"""Most roots times links of a program with a tree for each root; limits memory."""


@dataclass(frozen=True)
class Demand:
    """The sources of the data: the chunks that start at each node over their common divisor.
    Empty if all nodes contribute to all chunks.
    """

    sources: dict[int, int]

    @classmethod
    def of(cls, collective: Collective, nodes: int) -> "Demand | str":
        """The demand, or the reason why spanning trees do not fit the collective."""
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
        """Whether the contributions of all nodes are summed."""
        return not self.sources

    @property
    def shares(self) -> dict[int, Fraction]:
        """The part of all data that starts at each source."""
        total = sum(self.sources.values())
        return {node: Fraction(count, total) for node, count in self.sources.items()}

    def oracle(self, topology: Topology) -> Oracle:
        """The oracle of cheapest trees for it; a `ModelError` if a node cannot be reached."""
        if self.combines:
            return SpanningTreeOracle(LinkSystem.undirected(topology))
        return ArborescenceOracle(LinkSystem.rooted(topology, self.sources), self.shares)


def fits(topology: Topology, collective: Collective) -> Answer:
    """Whether spanning trees fit this collective on this topology, or why not."""
    demand = Demand.of(collective, topology.num_nodes)
    if isinstance(demand, str):
        return Answer(False, demand)
    if len(demand.sources) * len(topology.links) > _MOST_ENTRIES:
        return Answer(False, f"the linear program is too large for {len(demand.sources)} roots")
    try:
        demand.oracle(topology)
    except ModelError as error:
        return Answer(False, f"{error.message}; it needs {error.expected}")
    if demand.combines:
        return Answer(True, "spanning trees in both directions")
    return Answer(True, "trees from each source to all nodes")
