"""What eager schedules reach: above it no bound needs to be looked for.

Breadth-first broadcast (Zhao et al., NSDI 2025, arXiv 2202.03356): every node receives all of what
node v has in step dist(v, u), from in-neighbours that had it a step before.  As a flow relaxation's
solution it sends nothing twice, so its R is at least the optimum of every relaxation, for every
number of steps from the diameter on.  One linear program over the receivers' orbits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from syncoll.bounding.quotient import Quotient
from syncoll.certificates.chunk_classes import Demand, DemandList
from syncoll.linear import Rows
from syncoll.model import Topology, ranges
from syncoll.model.topology import UNREACHABLE

__all__ = ["eager_rounds"]

_MOST_COLUMNS = 30_000
_MOST_CELLS = 1 << 25


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
    if len(into) * nodes > _MOST_CELLS:
        return None
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
    if quotient is None:
        members = topology.bound_links
        ends = np.concatenate(members)
        rows = np.repeat(np.arange(len(members)), [len(one) for one in members])
        kinds, rates = np.arange(len(links)), list(topology.bounds)
        weights = np.ones(len(ends))
    else:
        orbits = quotient.orbits
        ends, rows = np.nonzero(orbits.members)
        weights = orbits.members[ends, rows].astype(np.float64)
        kinds, rates = orbits.link, [topology.bounds[j] for j in orbits.bounds.tolist()]
    order = np.argsort(ends, kind="stable")
    ends, rows, weights = ends[order], rows[order], weights[order]
    starts = np.searchsorted(ends, np.arange(kinds.max() + 2))
    sizes = starts[kinds[link] + 1] - starts[kinds[link]]
    held = ranges(starts[kinds[link]], sizes)
    program = Rows()
    rounds, flow = program.columns(steps, 1.0), program.columns(len(source))
    capacity = program.rows(steps * len(rates), -np.inf, 0.0).reshape(steps, -1)
    room = np.array([-float(one.chunks_per_round) for one in rates])
    program.add(capacity, rounds[:, None], room)
    program.add(capacity[np.repeat(step, sizes), rows[held]], np.repeat(flow, sizes), weights[held])
    needed = counts[pairs // nodes]
    program.add(program.rows(len(pairs), needed, needed)[pair], flow)
    optimum = program.program().minimise(seconds)
    return None if optimum is None else (steps, optimum.value)
