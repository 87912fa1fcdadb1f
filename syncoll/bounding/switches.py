"""Finds prices for sums in switches that copy and add up (`certificates.switches`).

In each step, all data that leave a node have one price, the same for all nodes, and all data that
enter one have another.  This is a linear program of 2 S + 1 variables, whose rows are added one by
one: the cheapest way to form a sum under the prices so far.  A box of 8 nodes takes hundredths of a
second, of 72 some tenths.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction

import numpy as np

from syncoll.arrays import Floats
from syncoll.bounding.rationals import NEAR, Rounding, rationalise
from syncoll.certificates.chunk_classes import ChunkClasses
from syncoll.certificates.link_prices import Place
from syncoll.certificates.priced import Priced
from syncoll.certificates.switches import Switches, doubled_costs, leaving, summed
from syncoll.deadline import NEVER, Deadline
from syncoll.model import Counting, Topology
from syncoll.packing.master import Master


def find_switch_prices(
    topology: Topology,
    shape: ChunkClasses,
    steps: int,
    deadline: Deadline = NEVER,
    more_than: Fraction = Fraction(0),
) -> tuple[Fraction, Priced] | None:
    """The best bound of this kind for at most S steps, with its certificate.  None if no sum is
    needed by its own contributors, or no switch copies for all of the machine, or the bound is at
    most `more_than`.

    Args:
        deadline: at which the prices found so far are used.
        more_than: a bound up to this is not returned.
    """
    sizes = summed(shape.classes)
    if not sizes:
        return None
    sides = [sorted({-1 if i is None else i for i in side}) for side in _sides(topology)]
    if any(-1 in side for side in sides):
        return None
    rates = [bound.chunks_per_round for bound in topology.bounds]
    rooms = [sum((rates[i] for i in side), Fraction(0)) for side in sides]
    prices, most = _best_prices(sizes, steps, rooms, deadline)
    return rationalise(
        prices,
        most,
        lambda rounding: Priced(steps, _totals(prices, sides, rooms, rounding), Switches()),
        lambda proof: proof.check(topology, shape.classes),
        deadline,
        more_than,
    )


def _sides(topology: Topology) -> Iterator[list[int | None]]:
    """For each node the bound of all that leaves it, and of all that enters it."""
    yield leaving(topology)
    into: list[int | None] = [None] * topology.num_nodes
    for i, bound in enumerate(topology.bounds):
        heads = {head for _, head in bound.links}
        if bound.counts is Counting.SOURCES or (bound.counts is Counting.SENDS and len(heads) > 1):
            continue
        for node in heads:
            known = into[node]
            if set(topology.bound_links[i].tolist()).issuperset(topology.in_links[node]) and (
                known is None or bound.chunks_per_round < topology.bounds[known].chunks_per_round
            ):
                into[node] = i
    yield into


def _best_prices(
    sizes: Mapping[int, int], steps: int, rooms: list[Fraction], deadline: Deadline
) -> tuple[Floats, float]:
    """``[2, S]``, prices to leave and enter a node under which sums cost most; and their cost."""
    counts = list(sizes.values())
    master = Master([float(room) for room in rooms], counts, steps)
    # If sums are formed by one node and copied in the next step, these are the best ones.
    first = 1 / (max(sizes) * (steps - 1) + 1)
    entering = first + (1 - first) * np.arange(steps) / max(1, steps - 1)
    tried = np.stack([1 - entering, entering]) / [[float(room)] for room in rooms]
    best, most = tried, 0.0
    while True:
        # Prices precede the number of times that each is paid.
        each = list(np.concatenate([tried.reshape(-1, 1), np.eye(2 * steps)], axis=1))
        cost = 0.0
        for i, (nodes, count) in enumerate(sizes.items()):
            rows = list(doubled_costs(nodes, each[:steps], each[steps:], lambda row: row[0]))
            cost += count / 2 * min(row[0] for row in rows)
            for row in rows:
                master.add(i, row[1:].reshape(2, steps) / 2)
        if cost > most:
            best, most = tried, cost
        fresh = None if deadline.passed else master.solve(deadline.seconds)
        met = master.value <= most * (1 + NEAR)
        if fresh is None or met or np.array_equal(fresh, tried):
            return best, most
        tried = fresh


def _totals(
    prices: Floats, sides: list[list[int]], rooms: list[Fraction], rounding: Rounding
) -> dict[Place, Fraction]:
    """Prices of bounds, such that a round of each step costs 1."""
    exact = {
        (side, step): rounding(price)
        for side, row in enumerate(prices.tolist())
        for step, price in enumerate(row)
    }
    priced = rounding.normalised(exact, rooms)
    return {(i, step): price for (side, step), price in priced.items() for i in sides[side]}
