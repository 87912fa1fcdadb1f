"""Signatures: the same number for problems that differ in the names of nodes only.

Nodes that symmetries of the topology exchange have equal bounds, so one linear program serves all
of them.  The signature comes from colour refinement of the problem: nodes, links, bounds and
demands are coloured by what they see, again and again.  Equal problems have equal signatures;
different ones that refinement cannot tell apart may share one (two triangles and a hexagon, say,
but for the distances from where chunks start).  So a bound may be transferred neither as a number
nor as a proof: a signature is a reason to expect no more from solving a problem again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from syncoll.certificates.demand import Demand
from syncoll.linear.colour_refinement import Graph, hashes, mix, refine
from syncoll.model import Topology

__all__ = ["signature"]


def signature(topology: Topology, demands: Sequence[Demand]) -> int:
    """A number that does not depend on how nodes are numbered.

    Args:
        topology: P and B.
        demands: what must get where.
    """
    nodes, links, bounds = topology.num_nodes, len(topology.links), len(topology.bounds)
    first_bound, first_demand = nodes + links, nodes + links + bounds
    pairs: list[tuple[int, int, int]] = []  # one end, other end, what they are to each other
    for i, (source, destination) in enumerate(topology.links):
        pairs += [(source, nodes + i, 1), (destination, nodes + i, 2)]
    for j, members in enumerate(topology.bound_links):
        pairs += [(nodes + i, first_bound + j, 3) for i in members.tolist()]
    starts: set[int] = set()
    for k, demand in enumerate(demands):
        starts.update(demand.sources)
        pairs += [(n, first_demand + k, 4) for n in demand.sources]
        pairs += [(n, first_demand + k, 5) for n in demand.destinations]
    table = np.array(pairs, dtype=np.int64).reshape(-1, 3)
    roles = np.stack([table[:, 2], table[:, 2] + 8])  # as one end, and as the other sees it
    graph = Graph.of(first_demand + len(demands), table[:, :2], roles)
    far = topology.distances[sorted(starts)].min(axis=0) if starts else np.zeros(nodes)
    kinds = [f"node {d}" for d in far.tolist()] + ["link"] * links
    kinds += [f"bound {bound.chunks_per_round}" for bound in topology.bounds]
    kinds += [f"demand {demand.count}" for demand in demands]
    *_, colours = refine(graph, hashes(kinds))
    return int(mix(colours).sum(dtype=np.uint64))
