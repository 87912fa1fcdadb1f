"""Quotient: if translations map all trees to one another, one tree is grown for all.

The tree of one root is grown on a network in which the unit links of an orbit are one pool, at a
P-th of the cost of Algorithm 1.  The time saved is spent on orders of a node's neighbours.  The
best order varies.  With the two ends of one dimension outermost, as in (y+, x+, x-, y-), a torus of
4x4 takes 4 time steps and one of 8x8 takes 16, the fewest possible.  Other orders take 5 and 17;
but a torus of 16x16 takes 65 steps with the former and 64 with the others
(benchmarks/results/multitree.md).  Orders of the former kind are tried first.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import islice
from math import ceil

import numpy as np

from syncoll.deadline import NEVER, Deadline
from syncoll.errors import OutOfTimeError
from syncoll.model import Topology
from syncoll_multitree.construction import Additions, TimedTrees, UnitNetwork, grow
from syncoll_multitree.translations import Translations

MOST_ORDERS = 90
"""Most orders tried: the number for three dimensions, up to reflections."""

_MOST_WORK = 200_000
"""Most work on further orders: links of the trees of a node x orders."""


class TranslationQuotient:
    """A topology under its translations."""

    def __init__(self, topology: Topology, translations: Translations) -> None:
        self.topology, self.translations = topology, translations
        vectors = [tuple(v) for v in translations.vectors(topology.links).tolist()]
        sizes = translations.sizes
        self.vectors = sorted(set(vectors), key=lambda v: _rank(v, sizes))
        """The distinct vectors of links; a vector and its opposite are adjacent."""
        name = {vector: i for i, vector in enumerate(self.vectors)}
        orbit_of = [name[vector] for vector in vectors]
        # Each node has one link of each orbit.
        self._out = np.empty((topology.num_nodes, len(self.vectors)), dtype=np.int64)
        for i, (source, _) in enumerate(topology.links):
            self._out[source, orbit_of[i]] = i
        # Bounds are translates of one another if amount and orbits of links are the same.
        members: dict[tuple[Fraction, frozenset[int]], set[int]] = {}
        for bound, links in zip(topology.bounds, topology.bound_links, strict=True):
            inside = links.tolist()
            kind = bound.chunks_per_round, frozenset(orbit_of[j] for j in inside)
            members.setdefault(kind, set()).update(inside)
        self._kinds = list(members)
        self.amounts = [amount for amount, _ in members]
        pools: list[list[int]] = [[] for _ in topology.links]
        for pool, links_of in enumerate(members.values()):
            for link in sorted(links_of):
                pools[link].append(pool)
        self.network = UnitNetwork(
            topology.num_nodes,
            tuple(b for _, b in topology.links),
            (),
            (),
            tuple(tuple(sorted(links_of)) for links_of in members.values()),
            tuple(map(tuple, pools)),
        )

    def grow(
        self, copies: int, rounds: int, order: Sequence[int], until: Deadline = NEVER
    ) -> "TranslatedTrees":
        """`copies` trees of every node, for an order of the positions of `vectors`."""
        network = replace(
            self.network,
            out=tuple(map(tuple, self._out[:, list(order)].tolist())),
            limits=tuple(int(amount * rounds) for amount in self.amounts),
        )
        root = int(self.translations.nodes[0])
        topology = self.topology
        added = grow(network, [root] * copies, "root", lambda: topology.distances, until)
        return TranslatedTrees(self, copies, added)

    def orders(self) -> Iterator[tuple[int, ...]]:
        """Orders of `vectors`, by position; first the orders with an opposite pair outermost."""
        sizes = self.translations.sizes
        pairs: dict[tuple[int, ...], list[int]] = {}
        for i, vector in enumerate(self.vectors):
            pairs.setdefault(min(vector, _opposite(vector, sizes)), []).append(i)
        return neighbour_orders(list(pairs.values()))

    def least(self, copies: int, rounds: int) -> tuple[int, int]:
        """Lower bounds on the time steps, and on the rounds if each step has as few as it needs."""
        nodes = (self.topology.num_nodes - 1) * copies
        everything = range(len(self.vectors))
        width = sum(
            (min(a for a, o in self._kinds if i in o) for i in everything), start=Fraction(0)
        )
        width = min([width, *(a for a, orbits in self._kinds if len(orbits) == len(everything))])
        in_step = sum(min(int(a * rounds) for a, o in self._kinds if i in o) for i in everything)
        far = int(self.topology.distances[self.translations.nodes[0]].max())
        steps = max(far, -(-nodes // max(1, min(in_step, int(width * rounds)))))
        return steps, max(steps, ceil(nodes / width))


@dataclass(frozen=True, eq=False)
class TranslatedTrees:
    """The trees of one node, `copies` of them, with their links; all others are translates."""

    quotient: TranslationQuotient
    copies: int
    added: Additions

    @cached_property
    def rounds_per_step(self) -> tuple[int, ...]:
        """The fewest rounds of each time step in which all trees' links fit."""
        amounts, pools_of = self.quotient.amounts, self.quotient.network.pools_of
        drawn = Counter((pool, step) for _, link, step in self.added for pool in pools_of[link])
        rounds = [0] * (self.added[-1][2] + 1)
        for (pool, step), count in drawn.items():
            rounds[step] = max(rounds[step], ceil(count / amounts[pool]))
        return tuple(rounds)

    @property
    def cost(self) -> tuple[int, int]:
        """Time steps, and rounds if each step has as few as it needs."""
        return len(self.rounds_per_step), sum(self.rounds_per_step)

    def expand(self) -> TimedTrees:
        """The trees of all nodes: one for each node, by number, ``copies`` times."""
        topology, translations = self.quotient.topology, self.quotient.translations
        nodes = topology.num_nodes
        added = np.array(self.added, dtype=np.int64).reshape(-1, 3)
        links = topology.ends[added[:, 1]]
        by = np.arange(nodes, dtype=np.int64)[None, :]
        columns = (
            added[:, :1] * nodes + by,
            translations.move(links[:, :1], by),
            translations.move(links[:, 1:], by),
            np.repeat(added[:, 2:], nodes, axis=1),
        )
        return TimedTrees(
            np.tile(np.arange(nodes, dtype=np.int64), self.copies),
            np.stack([column.reshape(-1) for column in columns], axis=1),
        )


def fewest_steps(
    quotients: Sequence[TranslationQuotient],
    copies: int,
    rounds: int,
    until: Deadline = NEVER,
    most_orders: int = MOST_ORDERS,
) -> TranslatedTrees:
    """The trees with the fewest time steps, then rounds, of all orders tried.

    At least one order of each quotient is tried, for each number of copies of a node's tree.

    Raises `ModelError` if a node cannot be reached over links that carry a chunk.  An
    `OutOfTimeError` past `until`, before an order has been tried.
    """
    best: TranslatedTrees | None = None
    for quotient in quotients:
        work = quotient.topology.num_nodes * copies * len(quotient.vectors)
        for order in islice(quotient.orders(), max(1, min(most_orders, _MOST_WORK // work))):
            try:
                trees = quotient.grow(copies, rounds, order, until)
            except OutOfTimeError:
                if best is None:
                    raise
                return best
            if best is None or trees.cost < best.cost:
                best = trees
            if best.cost <= quotient.least(copies, rounds):
                return best
    assert best is not None  # there is always a first order
    return best


def neighbour_orders(pairs: Sequence[Sequence[int]]) -> Iterator[tuple[int, ...]]:
    """Orders of all members, in which each pair's first comes before its second.  On a torus
    reflections give the rest.  Orders that begin and end with one pair come first."""
    words = [tuple(pair) for pair in pairs]
    for i, pair in enumerate(words):
        if len(pair) == 2:
            for between in _shuffles([*words[:i], *words[i + 1 :]]):
                yield (pair[0], *between, pair[1])
    for order in _shuffles(words):
        if (order[0], order[-1]) not in words:
            yield order


def _shuffles(words: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
    """All interleavings of the words, each in its own order."""
    if not words:
        yield ()
    for i, (first, *rest) in enumerate(words):
        left = [*words[:i], tuple(rest), *words[i + 1 :]] if rest else [*words[:i], *words[i + 1 :]]
        for further in _shuffles(left):
            yield (first, *further)


def _opposite(vector: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(-x % size for x, size in zip(vector, sizes, strict=True))


def _rank(vector: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[object, ...]:
    """Slower dimensions first, short before long, and forward before back."""
    other = _opposite(vector, sizes)
    dimension = next(i for i, x in enumerate(vector) if x)
    return dimension, min(vector, other), vector > other
