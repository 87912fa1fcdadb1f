"""The demand of a collective, read off its table.

In a classic every chunk has one source, or is the sum of all contributions for all nodes.
Constructions depend only on this and on the classes of chunks of equal pre and post.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from syncoll.arrays import Bools, Ints
from syncoll.errors import LocatedError
from syncoll.model import Collective, Topology
from syncoll.model.fabric import unreached
from syncoll.model.rows import ranks_among

_MOST_CELLS = 1 << 24
"""Most cells of a table that is made to read the demand of a collective."""


@dataclass(frozen=True, eq=False)
class ClassicDemand:
    """The chunks of a collective for one P and one C.

    Args:
        sources: for each chunk the node where it starts; empty for a combining collective.
        destinations: ``[G, P]``, the collective's post.
        places: for each chunk the number of earlier ones with its pre and post.
    """

    collective: Collective
    chunks: int
    sources: Ints
    destinations: Bools
    places: Ints

    @property
    def num_chunks(self) -> int:
        """G."""
        return len(self.destinations)

    @cached_property
    def one_source(self) -> int | None:
        """The node where all chunks start; None if there are several."""
        found = np.unique(self.sources)
        return int(found[0]) if len(found) == 1 else None

    @cached_property
    def one_destination(self) -> int | None:
        """The only node that needs any chunk; None if there are several."""
        found = np.flatnonzero(self.destinations.any(axis=0))
        return int(found[0]) if len(found) == 1 else None


def read_demand(collective: Collective, nodes: int, chunks: int) -> ClassicDemand:
    """The demand of a collective that `refusal` accepts, for an admitted C."""
    table = collective.tabulate(nodes, chunks)
    sources = np.empty(0, dtype=np.int64)
    if not collective.combining:
        sources = table.pre.argmax(axis=1).astype(np.int64)
    return ClassicDemand(collective, chunks, sources, table.post, ranks_among(table.kind))


def refusal(topology: Topology, collective: Collective, *, adds_up: bool) -> str:
    """The reason why no classic fits; empty if one may.

    The topology must be strongly connected.  Every chunk must have one source or, if the
    construction `adds_up`, be the sum of all contributions for all nodes.
    """
    nodes = topology.num_nodes
    if nodes < 2:
        return "a collective needs at least two nodes"
    if cut := unreached(topology.links, nodes, range(nodes)):
        return f"no path leads from node {cut[0]} to node {cut[1]}"
    if collective.combining and not adds_up:
        return (
            f"{collective.name} combines; the search composes it of collectives without sums "
            "if it is the inverse or a sequence of such collectives"
        )
    chunks = collective.least_chunks(nodes, 4 * nodes)
    if chunks is None:
        return f"{collective.name} admits no C up to {4 * nodes} on {nodes} nodes"
    if chunks * nodes * nodes > _MOST_CELLS:
        return f"the table of {collective.name} on {nodes} nodes is too large"
    try:
        table = collective.tabulate(nodes, chunks)
    except LocatedError as error:
        return str(error)
    if collective.combining:
        if not (table.pre.all() and table.post.all()):
            return (
                f"{collective.name} combines and is not an allreduce; the search makes it of a "
                "collective without sums if it is the inverse of one"
            )
        return ""
    starts = table.pre.sum(axis=1)
    if (starts != 1).any():
        chunk = int(np.flatnonzero(starts != 1)[0])
        return (
            f"chunk {chunk} of {collective.name} starts at {int(starts[chunk])} nodes, not at one"
        )
    if not (table.post & ~table.pre).any():
        return f"{collective.name} needs no sends"
    return ""
