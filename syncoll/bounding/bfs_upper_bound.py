"""What eager schedules reach: above it no bound needs to be looked for.

Breadth-first broadcast (Zhao et al., NSDI 2025, arXiv 2202.03356): every node receives all of what
node v has in step dist(v, u), from in-neighbours that had it a step before.  As a flow relaxation's
solution it sends nothing twice, so its R is at least the optimum of every relaxation, for every
number of steps from the diameter on.  One linear program over the receivers' orbits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from syncoll.bounding.quotient import Capacities, Quotient
from syncoll.certificates.chunk_classes import Demand, DemandList
from syncoll.linear import ProgramRows
from syncoll.model import Topology
from syncoll.model.topology import UNREACHABLE

__all__ = ["eager_rounds"]

_MOST_COLUMNS = 30_000
"""Larger programs take as long as the relaxation that they would spare."""


def eager_rounds(
    topology: Topology,
    demands: Sequence[Demand],
    quotient: Quotient | None,
    seconds: float | None = None,
) -> tuple[int, float] | None:
    """The steps and rounds of the best eager schedule, with parts of rounds; None if not found.

    Args:
        demands: of one source each.
    """
    nodes, links = topology.num_nodes, np.array(topology.links, dtype=np.int64).reshape(-1, 2)
    demands = DemandList.of(demands)
    if (demands.first_node < 0).any() or not len(links):
        return None
    amounts = demands.counts.astype(np.float64)
    counts = np.bincount(demands.first_node, amounts, minlength=nodes)
    distances = topology.distances
    receivers = np.arange(nodes) if quotient is None else quotient.group.representatives
    into = np.flatnonzero(np.isin(links[:, 1], receivers))
    tails, heads = links[into].T
    last = distances[:, tails] + 1 == distances[:, heads]
    source, which = np.nonzero(last & (counts > 0)[:, None])
    if not len(source) or len(source) > _MOST_COLUMNS:
        return None
    link, receiver = into[which], heads[which]
    step = distances[source, receiver] - 1
    steps = int(step.max()) + 1
    assert steps < UNREACHABLE
    pairs, pair = np.unique(source * nodes + receiver, return_inverse=True)
    program, capacities = ProgramRows(), Capacities(topology, quotient)
    rounds, flow = program.columns(steps, 1.0), program.columns(len(source))
    capacities.load(program, capacities.rows(program, rounds), flow, link, step)
    needed = counts[pairs // nodes]
    program.add(program.rows(len(pairs), needed, needed)[pair], flow)
    optimum = program.program().minimise(seconds)
    return None if optimum is None else (steps, optimum.value)
