"""Whether a choice of routes keeps a fabric's throughput for a broadcast from all nodes.

With one route for each pair of compute nodes, a link's bandwidth is divided among the pairs whose
route uses it.  The division is a network without switches.  All nodes can broadcast at a rate x on
it exactly when at least x |S| of bandwidth leaves every proper set S of nodes (ForestColl paper,
Theorem 1).  The best division is a linear program with one constraint for each S;
maximum flows find violated ones.

The answer only chooses between two valid lowerings, so floating point suffices: it is exact to one
part in a million.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from math import inf

import numpy as np

from syncoll.linear import GrowingProgram
from syncoll.routing.network import FlowNetwork

MOST_PAIRS = 1 << 13
"""Pairs of nodes of the largest program: some 90 nodes, and a few seconds."""

_TOLERANCE = 1e-6
_UNITS = 1 << 40
"""The rate, in units of the flows' integers."""

_Pair = tuple[int, int]


def keeps_rate(
    num_nodes: int,
    capacities: Mapping[_Pair, Fraction],
    paths: Mapping[_Pair, Sequence[int]],
    rate: Fraction,
    cuts: Iterable[frozenset[int]] = (),
) -> bool:
    """Whether all nodes can broadcast at a rate over given routes.

    Args:
        paths: for pairs of compute nodes the vertices of their route.
        rate: above 0, no more than the network itself allows.
    """
    users: dict[_Pair, list[_Pair]] = defaultdict(list)
    for pair, path in paths.items():
        for ends in pairwise(path):
            users[ends].append(pair)
    # Everything in multiples of the rate.
    widths = {ends: float(capacities[ends] / rate) for ends in users}
    cutter = _Cutter(num_nodes, sorted(paths))
    if not cutter.violated(_fair_division(users, widths)):
        return True
    column = {pair: i for i, pair in enumerate(sorted(paths))}
    # The shares, then the rate: as large as possible, but at most 1.
    rate_at = len(column)
    program = GrowingProgram(np.append(np.zeros(rate_at), -1.0))
    program.add({rate_at: 1.0}, 0.0, 1.0)
    for ends, used in users.items():
        program.add({column[pair]: 1.0 for pair in used}, 0.0, widths[ends])
    everything = frozenset(range(num_nodes))
    nodes = [frozenset([v]) for v in range(num_nodes)]
    sets = [one for node in nodes for one in (node, everything - node)]
    waiting: Iterable[frozenset[int]] = dict.fromkeys([*sets, *(cut & everything for cut in cuts)])
    known: set[frozenset[int]] = set()
    while waiting:
        known.update(waiting)
        for inside in waiting:
            leaving = {i: 1.0 for (u, v), i in column.items() if u in inside and v not in inside}
            program.add({**leaving, rate_at: -float(len(inside))}, 0.0, inf)
        optimum = program.minimise()
        if optimum is None or optimum.columns[rate_at] < 1 - _TOLERANCE:
            return False
        division = {pair: float(optimum.columns[i]) for pair, i in column.items()}
        waiting = cutter.violated(division) - known
    return True


def _fair_division(
    users: Mapping[_Pair, Sequence[_Pair]], widths: Mapping[_Pair, float]
) -> dict[_Pair, float]:
    """Every pair gets more at the same pace until a link on its route is full."""
    left = dict(widths)
    active = {ends: set(pairs) for ends, pairs in users.items()}
    share: dict[_Pair, float] = {}
    links_of: dict[_Pair, list[_Pair]] = defaultdict(list)
    for ends, pairs in users.items():
        for pair in pairs:
            links_of[pair].append(ends)
    while active:
        level = {ends: left[ends] / len(pairs) for ends, pairs in active.items()}
        least = min(level.values())
        full = [ends for ends, value in level.items() if value <= least * (1 + 1e-12)]
        done = {pair for ends in full for pair in active[ends]}
        for pair in done:
            share[pair] = least
            for ends in links_of[pair]:
                left[ends] -= least
                active[ends].discard(pair)
        active = {ends: pairs for ends, pairs in active.items() if pairs}
    return share


class _Cutter:
    """Finds sets of nodes with too little bandwidth out of them, in multiples of the rate."""

    def __init__(self, num_nodes: int, pairs: Sequence[_Pair]) -> None:
        self.num_nodes, self.pairs = num_nodes, pairs
        tails = [u for u, _ in pairs] + [num_nodes] * num_nodes
        heads = [v for _, v in pairs] + list(range(num_nodes))
        self.flow = FlowNetwork(num_nodes + 1, tails, heads, [0] * len(tails))

    def violated(self, division: Mapping[_Pair, float]) -> set[frozenset[int]]:
        # No pair can use more than all nodes together send.
        shares = [min(division[pair], float(self.num_nodes)) for pair in self.pairs]
        self.flow.set_capacities(
            [int(max(share, 0.0) * _UNITS) for share in shares] + [_UNITS] * self.num_nodes
        )
        # Twice the tolerance of the program, so that it never gets a set again.
        enough = self.num_nodes * (_UNITS - int(2 * _TOLERANCE * _UNITS))
        found: set[frozenset[int]] = set()
        for sink in range(self.num_nodes):
            if self.flow.maximum(self.num_nodes, sink) < enough:
                side = frozenset(v for v in self.flow.source_side() if v < self.num_nodes)
                found.add(side)
        return found
