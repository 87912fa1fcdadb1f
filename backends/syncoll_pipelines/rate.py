"""The limit of chunks a round of a broadcast: a linear program.

Every node must be able to take in the whole rate by itself over the links' shares (then trees of
that rate exist: Edmonds, Edge-disjoint branchings, 1973), within every bandwidth bound.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from syncoll.errors import OutOfTimeError
from syncoll.linear import ProgramRows
from syncoll.model import Topology

__all__ = ["best_rate"]

_LARGEST_DENOMINATOR = 64
"""Of a rate: with a larger one a wave would have too many trees to choose them together."""


def best_rate(topology: Topology, root: int, seconds: float | None = None) -> Fraction | None:
    """Chunks a round that reach every node from the root, at most; None when that is not found."""
    nodes, count = topology.num_nodes, len(topology.links)
    ends = np.array(topology.links, dtype=np.int64).reshape(-1, 2)
    others = np.array([node for node in range(nodes) if node != root], dtype=np.int64)
    everyone = np.arange(len(others))
    program = ProgramRows()
    rate_of_all = program.columns(1, -1.0)
    carried = program.columns(count)  # over each link, and what each node takes in of that
    taken = program.columns(count * len(others)).reshape(len(others), count)
    room = program.rows(
        len(topology.bounds), -np.inf, [float(one.chunks_per_round) for one in topology.bounds]
    )
    within = program.rows(taken.size, -np.inf, 0.0).reshape(taken.shape)
    free = np.zeros(nodes)
    free[root] = np.inf  # what leaves it follows from all others
    balance = program.rows(
        nodes * len(others), np.tile(-free, len(others)), np.tile(free, len(others))
    ).reshape(len(others), nodes)
    sizes = [len(members) for members in topology.bound_links]
    members = np.concatenate([*topology.bound_links, np.zeros(0, dtype=np.int64)])
    program.add(np.repeat(room, sizes), carried[members])
    program.add(within, taken)
    program.add(within, carried, -1.0)
    # Of each node's flow what comes into another one leaves it, or is its own.
    program.add(balance[:, ends[:, 1]], taken)
    program.add(balance[:, ends[:, 0]], taken, -1.0)
    program.add(balance[everyone, others], rate_of_all, -1.0)
    try:
        optimum = program.program().minimise(seconds)
    except OutOfTimeError:
        return None
    if optimum is None:
        return None
    rate = float(optimum.columns[0])
    found = Fraction(rate).limit_denominator(_LARGEST_DENOMINATOR)
    # Rounded down where it is no such fraction: trees at that rate are near the best.
    if abs(float(found) - rate) > 1e-6:
        found = Fraction(int(rate * _LARGEST_DENOMINATOR), _LARGEST_DENOMINATOR)
    return found if found > 0 else None
