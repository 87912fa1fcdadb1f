"""Lower bounds on the rounds of combining collectives.

Where every chunk has one root, the bounds of the dual on the reversed topology hold: an algorithm
run backwards distributes.  Otherwise three arguments count, each valid whatever an algorithm adds
up where:

* what node i contributes must reach every node that needs the result, like a broadcast of i;
* everybody's contribution must reach node d, like a broadcast of d on the reversed topology;
* when every node contributes to a chunk and every node needs it, the sends of that chunk spread
  everybody's news to everybody one way at a time, and that takes at least 2 (P - 1) sends (Harary &
  Schwenk 1974, gossiping by one-way messages); a round has room for so many sends as the bandwidth
  relation allows in all.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np

from syncoll.bounds.demand import Demand, demands
from syncoll.bounds.linear_program import LinearProgram
from syncoll.bounds.rounds import RoundsBound, rounds_bound
from syncoll.model import BoolArray, RelationTable, Topology

__all__ = ["combining_rounds_bound", "gossip_bound"]

_GOSSIP = "each chunk needs at least 2 (P - 1) sends, and a round has room for only so many"


def combining_rounds_bound(
    topology: Topology,
    table: RelationTable,
    steps: int | None = None,
    *,
    thorough: bool = True,
    seconds: float | None = 20.0,
) -> RoundsBound:
    """The best of these bounds on R.

    Args:
        topology: P and B.
        table: pre says who contributes, post who needs the result.
        steps: S, or None for any number of steps.
        thorough: see `rounds_bound`.
        seconds: time limit of each linear program.
    """
    if (table.post.sum(axis=1) <= 1).all():
        needed = table.post.any(axis=1)  # a chunk that nobody needs has no root to start from
        dual = demands(RelationTable(table.post[needed], table.pre[needed]))
        bound = rounds_bound(topology.reversed(), dual, steps, thorough=thorough, seconds=seconds)
        return replace(bound, mirrored=True)
    best = RoundsBound(gossip_bound(topology, table), steps, None, _GOSSIP)
    spread = (
        (topology, _spread(table.pre, table.post), False, "must reach every node that needs it"),
        (
            topology.reversed(),
            _spread(table.post, table.pre),
            True,
            "must get every contribution",
        ),
    )
    for where, by_node, mirrored, what in spread:
        for node, needs in by_node:
            bound = rounds_bound(where, needs, steps, thorough=thorough, seconds=seconds)
            if bound.rounds > best.rounds:
                who = f"node {node}" if mirrored else f"what node {node} contributes"
                argument = f"{who} {what}: {bound.argument}"
                best = replace(bound, argument=argument, mirrored=mirrored)
    return best


def _spread(starts: BoolArray, ends: BoolArray) -> list[tuple[int, tuple[Demand, ...]]]:
    """For each node what it alone must spread: its chunks, to everybody at the other end."""
    found = []
    for node in range(starts.shape[1]):
        counter: Counter[tuple[int, ...]] = Counter()
        for row in ends[starts[:, node]]:
            others = tuple(n for n in np.flatnonzero(row).tolist() if n != node)
            if others:
                counter[others] += 1
        if counter:
            needs = tuple(Demand((node,), to, n) for to, n in sorted(counter.items()))
            found.append((node, needs))
    return found


def gossip_bound(topology: Topology, table: RelationTable) -> Fraction:
    """The bound by counting sends: 2 (P - 1) for each chunk that all give to and all need."""
    chunks = int((table.pre.all(axis=1) & table.post.all(axis=1)).sum())
    if chunks == 0 or topology.num_nodes < 2:
        return Fraction(0)
    # Prices on the link sets such that every link costs at least 1: a round then has room for no
    # more sends than all prices times their capacities.  Rounded up, they keep that property.
    pairs = [(i, j) for j, members in enumerate(topology.bound_links) for i in members.tolist()]
    links = np.array([i for i, _ in pairs], dtype=np.int64)
    bounds = np.array([j for _, j in pairs], dtype=np.int64)
    capacities = [bound.chunks_per_round for bound in topology.bounds]
    optimum = LinearProgram(
        np.array([float(c) for c in capacities]),
        links,
        bounds,
        np.ones(len(pairs)),
        np.ones(len(topology.links)),
        np.full(len(topology.links), np.inf),
    ).minimise()
    prices = [Fraction(0)] * len(capacities)
    if optimum is not None:
        prices = [Fraction(float(x)).limit_denominator(10_000) for x in optimum.columns]
    price = [Fraction(0)] * len(topology.links)
    for i, j in pairs:
        price[i] += prices[j]
    least = min(price)
    if least <= 0:
        return Fraction(0)
    room = sum((c * p for c, p in zip(capacities, prices, strict=True)), Fraction(0)) / least
    return 2 * (topology.num_nodes - 1) * chunks / room
