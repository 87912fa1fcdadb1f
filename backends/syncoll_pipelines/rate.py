"""How many chunks a round a broadcast can have in the long run: a linear program.

Every node must be able to take in the whole rate by itself over what the links carry (Edmonds,
Edge-disjoint branchings, 1973: then trees of that rate exist); what the links carry keeps every
bandwidth bound.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from syncoll.errors import OutOfTimeError
from syncoll.linear import LinearProgram
from syncoll.model import Topology

__all__ = ["best_rate"]

_LARGEST_DENOMINATOR = 64
"""Of a rate: with a larger one a wave would have too many trees to choose them together."""


def best_rate(topology: Topology, root: int, seconds: float | None = None) -> Fraction | None:
    """Chunks a round that reach every node from the root, at most; None when that is not found."""
    nodes, count = topology.num_nodes, len(topology.links)
    ends = np.array(topology.links, dtype=np.int64).reshape(-1, 2)
    others = np.array([node for node in range(nodes) if node != root], dtype=np.int64)
    # Variable 0 is the rate, 1 ... L what links carry, then what each node takes in over each.
    width = 1 + count * (1 + len(others))
    room = [float(bound.chunks_per_round) for bound in topology.bounds]
    sizes = [len(members) for members in topology.bound_links]
    link, block = np.arange(count), 1 + count * (1 + np.arange(len(others)))
    taken = (block[:, None] + link).ravel()
    carried = len(room) + np.arange(len(taken))
    # Of each node's flow what comes into another one leaves it, or is its own.
    balance = len(room) + len(taken) + nodes * np.arange(len(others))
    rows = [
        np.repeat(np.arange(len(room)), sizes),
        *(carried, carried),
        *((balance[:, None] + ends[:, side]).ravel() for side in (1, 0)),
        balance + others,
    ]
    columns = [
        1 + np.concatenate([*topology.bound_links, np.zeros(0, dtype=np.int64)]),
        *(taken, np.tile(1 + link, len(others))),
        *(taken, taken),
        np.zeros(len(others), dtype=np.int64),
    ]
    values = [1.0, 1.0, -1.0, 1.0, -1.0, -1.0]
    free = np.full(nodes, 0.0)
    free[root] = np.inf  # what leaves it follows from all others
    some = len(taken)
    program = LinearProgram(
        np.concatenate([[-1.0], np.zeros(width - 1)]),
        np.concatenate(rows).astype(np.int64),
        np.concatenate(columns).astype(np.int64),
        np.concatenate([np.full(len(r), v) for r, v in zip(rows, values, strict=True)]),
        np.concatenate([np.full(len(room) + some, -np.inf), np.tile(-free, len(others))]),
        np.concatenate([room, np.zeros(some), np.tile(free, len(others))]),
    )
    try:
        optimum = program.minimise(seconds)
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
