"""Adds rings one after the other, each where most capacity is left.

A link's price is the sum, over its bounds, of a chunk's share of the remaining capacity; a link of
a full bound cannot be used.  The cheapest tour that OR-Tools' local search finds is the next ring.
On dense networks it takes milliseconds for a hundred nodes, where CP-SAT would have tens of
thousands of literals.  Randomised restarts use the remaining time.
"""

import numpy as np

from syncoll.arrays import Floats
from syncoll.clock import now
from syncoll.model import Topology
from syncoll_classics.tours import Cycle, cheap_tour

_MOST_NODES = 128
_LEAST_DEGREE = 4
"""With fewer links a node, on average, random tours find too few cycles."""
_GUESSES = 8


def priced_rings(
    topology: Topology, rounds: int, most: int, deadline: float, *, paired: bool
) -> list[Cycle]:
    """Up to `most` rings that fit together into steps of `rounds` rounds.

    Args:
        deadline: a time of `syncoll.clock.now`.
        paired: whether each ring comes with its reverse; every link must have one.
    """
    nodes = topology.num_nodes
    if not 2 < nodes <= _MOST_NODES or len(topology.links) < _LEAST_DEGREE * nodes:
        return []
    room = RoomForRings(topology, rounds)
    best: list[Cycle] = []
    for guess in range(_GUESSES):
        random = np.random.default_rng(guess)
        rings: list[Cycle] = []
        room.empty()
        while len(rings) + paired < most and now() < deadline:
            prices = room.prices(1 + paired)
            tour = cheap_tour(prices + prices.T if paired else prices, random, deadline)
            if tour is None:
                break
            added = [tour, (tour[0], *tour[:0:-1])] if paired else [tour]
            if not room.take(added):
                break
            rings += added
        if len(rings) > len(best):
            best = rings
        if len(best) + paired >= most or now() > deadline:
            break
    return best


class RoomForRings:
    """The remaining capacities of the bounds."""

    def __init__(self, topology: Topology, rounds: int) -> None:
        self._topology = topology
        self._ends = topology.ends
        capacities = [bound.capacity(rounds) for bound in topology.bounds]
        self._capacity = np.array(capacities, dtype=np.int64)
        self._sets = np.repeat(
            np.arange(len(capacities)), [len(members) for members in topology.bound_links]
        )
        self._links = np.concatenate(topology.bound_links)
        self.empty()

    def empty(self) -> None:
        """Takes all rings off the links."""
        self._left = self._capacity.copy()

    def prices(self, chunks: int) -> Floats:
        """``[source, destination]``: the price of these chunks; infinite if they do not fit."""
        share = np.full(len(self._left), np.inf)
        np.divide(chunks, self._left, out=share, where=self._left >= 1)
        price = np.bincount(self._links, share[self._sets], len(self._ends))
        table = np.full((self._topology.num_nodes,) * 2, np.inf)
        table[self._ends[:, 0], self._ends[:, 1]] = price
        return table

    def take(self, rings: list[Cycle]) -> bool:
        """Puts all rings on the links if they fit; returns whether they do."""
        index = self._topology.link_index
        load = np.zeros(len(self._ends), dtype=np.int64)
        for ring in rings:
            for link in zip(ring, (*ring[1:], ring[0]), strict=True):
                load[index[link]] += 1
        used = np.bincount(self._sets, load[self._links], len(self._left)).astype(np.int64)
        if (used > self._left).any():
            return False
        self._left = self._left - used
        return True
