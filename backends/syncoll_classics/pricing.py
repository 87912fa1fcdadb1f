"""Adds rings one after the other, each where most capacity is left.

A link's price is the sum, over its bounds, of a chunk's share of the remaining capacity; a link of
a full bound cannot be used.  The cheapest tour is the next ring: a nearest-neighbour tour, improved
by moving segments of up to three nodes, either way round.  On dense networks this finds good cycles
of a hundred nodes in milliseconds, where a solver would have tens of thousands of literals.
Randomised restarts use the remaining time.
"""

import numpy as np

from syncoll.arrays import FloatArray, IntArray
from syncoll.clock import now
from syncoll.model import Topology
from syncoll_classics.hamiltonian import Cycle

_MOST_NODES = 128
_LEAST_DEGREE = 4
"""With fewer links a node, on average, random tours find too few cycles."""
_GUESSES = 8
_LONGEST_SEGMENT = 3


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

    def prices(self, chunks: int) -> FloatArray:
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


def cheap_tour(prices: FloatArray, random: np.random.Generator, deadline: float) -> Cycle | None:
    """A cheap Hamiltonian cycle from node 0 on, or None, which proves nothing.

    Args:
        prices: ``[source, destination]``, of at least 0; infinite for missing links.
        random: decides ties and the start.
        deadline: a time of `syncoll.clock.now`, past which the tour is not improved further.
    """
    finite = prices[np.isfinite(prices)]
    if not len(finite):
        return None
    # A missing link costs more than any tour without one, so the moves remove it.
    missing = (float(finite.max()) + 1.0) * (len(prices) + 1)
    table = np.where(np.isfinite(prices), prices, missing)
    np.fill_diagonal(table, missing)
    order = _moved(table, _greedy(table, random), deadline)
    if table[order, np.roll(order, -1)].max() >= missing:
        return None
    at = int(np.flatnonzero(order == 0)[0])
    return tuple(np.roll(order, -at).tolist())


def _greedy(table: FloatArray, random: np.random.Generator) -> IntArray:
    """A nearest-neighbour tour."""
    count = len(table)
    order = np.empty(count, dtype=np.int64)
    left = np.ones(count, dtype=bool)
    node = int(random.integers(count))
    for i in range(count):
        order[i], left[node] = node, False
        if i + 1 < count:
            onward = np.flatnonzero(left)
            costs = table[node, onward]
            node = int(random.choice(onward[costs == costs.min()]))
    return order


def _moved(table: FloatArray, order: IntArray, deadline: float) -> IntArray:
    """Moves segments while the tour gets cheaper."""
    count = len(order)
    going = True
    while going:
        going = False
        for length in range(1, min(_LONGEST_SEGMENT, count - 2) + 1):
            for at in range(count):
                if now() > deadline:
                    return order
                better = _reinserted(table, np.roll(order, -at), length)
                if better is not None:
                    order, going = better, True
    return order


def _reinserted(table: FloatArray, order: IntArray, length: int) -> IntArray | None:
    """Moves the first nodes to the cheapest place; None if they are there already."""
    segment, rest = order[:length], order[length:]
    first, last = segment[0], segment[-1]
    saved = table[rest[-1], first] + table[last, rest[0]] - table[rest[-1], rest[0]]
    ahead, behind = rest[:-1], rest[1:]
    best, result = 1e-9 * (1.0 + abs(float(saved))), None
    for way in (segment, segment[::-1])[: 1 + (length > 1)]:
        turned = 0.0
        if way is not segment:
            turned = float(table[way[:-1], way[1:]].sum() - table[segment[:-1], segment[1:]].sum())
        added = table[ahead, way[0]] + table[way[-1], behind] - table[ahead, behind]
        at = int(added.argmin())
        gain = float(saved - added[at]) - turned
        if gain > best:
            best = gain
            result = np.concatenate([rest[: at + 1], way, rest[at + 1 :]])
    return result
