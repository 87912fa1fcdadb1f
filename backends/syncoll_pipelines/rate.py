"""How many chunks a round a broadcast can have in the long run: a linear program.

Every node must be able to take in the whole rate by itself over what the links carry (Edmonds,
Edge-disjoint branchings, 1973: then trees of that rate exist); what the links carry keeps every
bandwidth bound.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from syncoll.linear import GrowingProgram
from syncoll.model import Topology

__all__ = ["best_rate"]

_LARGEST_DENOMINATOR = 64
"""Of a rate: with a larger one a wave would have too many trees to choose them together."""


def best_rate(topology: Topology, root: int, seconds: float | None = None) -> Fraction | None:
    """Chunks a round that reach every node from the root, at most; None when that is not found.

    Args:
        seconds: for the linear program.
    """
    nodes, links = topology.num_nodes, topology.links
    count = len(links)
    others = [node for node in range(nodes) if node != root]
    # Variable 0 is the rate, 1 ... L what links carry, then what each node takes in over each.
    program = GrowingProgram(np.concatenate([[-1.0], np.zeros(count * (1 + len(others)))]))
    for i, members in enumerate(topology.bound_links):
        room = float(topology.bounds[i].chunks_per_round)
        program.add({1 + int(link): 1.0 for link in members}, -np.inf, room)
    for number, node in enumerate(others):
        first = 1 + count * (1 + number)
        for link in range(count):
            program.add({first + link: 1.0, 1 + link: -1.0}, -np.inf, 0.0)
        for place in range(nodes):
            if place == root:
                continue  # what leaves it follows from all others
            row = dict.fromkeys((first + link for link in topology.in_links[place]), 1.0)
            row |= dict.fromkeys((first + link for link in topology.out_links[place]), -1.0)
            if place == node:
                row[0] = -1.0
            if row:
                program.add(row, 0.0, 0.0)
    if not program.run(seconds) or program.columns is None:
        return None
    rate = float(program.columns[0])
    found = Fraction(rate).limit_denominator(_LARGEST_DENOMINATOR)
    # Rounded down where it is no such fraction: trees at that rate are near the best.
    if abs(float(found) - rate) > 1e-6:
        found = Fraction(int(rate * _LARGEST_DENOMINATOR), _LARGEST_DENOMINATOR)
    return found if found > 0 else None
