"""Cheap timed trees: the sends of a chunk by link and step, under a price for each link and step.

A timed tree starts at the nodes that have a chunk, and reaches each node that needs it within S
steps; nodes keep the chunk.  With one destination the cheapest is a shortest path through the
network of links and steps.  With more it is a Steiner arborescence in that network.  Two heuristics
construct one: nodes are reached one after the other, each by the cheapest path from the reached
nodes; or first the nodes that save more for others than they cost themselves (as in the facility
location problem).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from syncoll.arrays import Bools, Floats, Ints
from syncoll.deadline import Deadline
from syncoll.packing.arrivals import MOST_CELLS
from syncoll.packing.column_generation import TINY
from syncoll.packing.network import Links
from syncoll.packing.problem import TreeDemand

_TIES = 100 * TINY
"""Random prices, relative to the largest, that decide between equal ones: sends are never free."""

Send = tuple[int, int]
"""A link, as its position in the given ones, and a step."""


@dataclass(frozen=True)
class TimedTree:
    """The sends of one chunk: link and step of each, sorted."""

    sends: tuple[Send, ...]

    @property
    def links(self) -> Ints:
        """``[K]``."""
        return np.array([link for link, _ in self.sends], dtype=np.int64)

    @property
    def steps(self) -> Ints:
        """``[K]``."""
        return np.array([step for _, step in self.sends], dtype=np.int64)

    @property
    def length(self) -> int:
        """Number of steps."""
        return 1 + max((step for _, step in self.sends), default=-1)


class TreeFinder:
    """Looks for cheap timed trees of S steps over links that are sorted by target."""

    def __init__(self, links: Links, steps: int, random: np.random.Generator) -> None:
        self.num_nodes, self.steps, self.random = links.num_nodes, steps, random
        self._source, self._target = links.source, links.target
        self._heads, self._first = np.unique(self._target, return_index=True)
        ends = [*self._first[1:].tolist(), len(self._target)]
        into = zip(self._first.tolist(), ends, strict=True)
        self._into = dict(zip(self._heads.tolist(), into, strict=True))
        self._by_source = np.lexsort((self._target, self._source))
        self._tails, self._tail_first = np.unique(self._source[self._by_source], return_index=True)

    def cost(self, tree: TimedTree, prices: Floats) -> float:
        """The cost of a tree under prices ``[S, L]``."""
        return float(prices[tree.steps, tree.links].sum()) if tree.sends else 0.0

    def ways(self, demands: Sequence[TreeDemand], prices: Floats) -> list[TimedTree | None]:
        """The cheapest path for each of several demands with the same sources and one destination
        each."""
        reached = self._reached(demands[0].sources)
        costs = self._costs(reached, prices)
        return [
            self._tree(
                demand, self._way(costs, prices, demand.destinations[0], self.steps, reached)
            )
            if np.isfinite(costs[self.steps, demand.destinations[0]])
            else None
            for demand in demands
        ]

    def trees(
        self, demands: Sequence[TreeDemand], prices: Floats, until: Deadline
    ) -> Iterator[list[TimedTree]]:
        """Two cheap trees for each demand; none if it cannot be met in S steps.

        Args:
            prices: ``[S, L]``, above 0.
            until: deadline, after which no further demand is begun.
        """
        onward = self._onward(prices)
        for demand in demands:
            if until.passed:
                return
            two = self.grown(demand, prices), self._central_first(demand, prices, onward)
            yield [tree for tree in two if tree is not None]

    def untied(self, prices: Floats) -> Floats:
        """Prices from 0 on, raised above 0 so that no two are equal."""
        scale = float(prices.max(initial=0.0)) or 1.0
        return prices + _TIES * scale * (1 + self.random.random(prices.shape))

    def _reached(self, sources: Sequence[int]) -> Ints:
        """The step from which each node has the chunk; beyond the last if it has not."""
        reached = np.full(self.num_nodes, self.steps + 1)
        reached[list(sources)] = 0
        return reached

    def _costs(self, reached: Ints, prices: Floats) -> Floats:
        """``[S + 1, P]``: the cost of the cheapest path by which a node has the chunk by a step."""
        now = np.where(reached <= 0, 0.0, np.inf)
        costs = np.empty((self.steps + 1, len(now)))
        costs[0] = now
        for step in range(self.steps):
            into = np.minimum.reduceat(now[self._source] + prices[step], self._first)
            now = now.copy()
            now[self._heads] = np.minimum(now[self._heads], into)
            now[reached <= step + 1] = 0.0
            costs[step + 1] = now
        return costs

    def _onward(self, prices: Floats) -> Floats:
        """``[S + 1, P, P]``: the cost of the cheapest path from a node in a step to others by S."""
        nodes = self.num_nodes
        onward = np.full((self.steps + 1, nodes, nodes), np.inf)
        onward[self.steps][np.diag_indices(nodes)] = 0.0
        order = self._by_source
        target = self._target[order]
        block = max(1, MOST_CELLS // len(order))
        for step in range(self.steps - 1, -1, -1):
            onward[step] = onward[step + 1]
            for first in range(0, nodes, block):
                to = slice(first, first + block)
                out = prices[step][order][:, None] + onward[step + 1][target, to]
                best = np.minimum.reduceat(out, self._tail_first, axis=0)
                onward[step][self._tails, to] = np.minimum(onward[step][self._tails, to], best)
        return onward

    def _way(
        self, costs: Floats, prices: Floats, node: int, step: int, reached: Ints
    ) -> list[Send]:
        """The sends of the cheapest path to a node by a step, as early as possible."""
        way: list[Send] = []
        while reached[node] > step:
            before = costs[step - 1, node]
            if np.isfinite(before) and before <= costs[step, node] + 1e-12:
                step -= 1
                continue
            first, end = self._into[node]
            into = costs[step - 1][self._source[first:end]] + prices[step - 1][first:end]
            link = first + int(into.argmin())
            step -= 1
            way.append((link, step))
            node = int(self._source[link])
        return way[::-1]

    def arrivals(self, sources: Sequence[int], wanted: Bools, prices: Floats) -> Ints:
        """``[P]``: the step after which each node has the chunk, the nearest being reached first.

        It is S + 1 where S steps do not suffice.
        """
        reached = self._reached(sources)
        self._reach(wanted & (reached > 0), prices, [], reached)
        return reached

    def grown(
        self,
        demand: TreeDemand,
        prices: Floats,
        begun: Iterable[Send] = (),
        taken: Callable[[Send], None] = lambda send: None,
        *,
        shuffled: bool = False,
    ) -> TimedTree | None:
        """A tree that begins with given sends, as far as they follow; None if steps do not suffice.

        Args:
            prices: ``[S, L]``, above 0; `taken` may change them.
            begun: sends in the order of their steps.
            taken: called for each send of the tree.
            shuffled: whether nodes are reached in random order, not the nearest first.
        """
        reached = self._reached(demand.sources)
        sends: list[Send] = []
        for link, step in begun:
            if reached[self._source[link]] <= step:
                self._take([(link, step)], sends, reached)
                taken((link, step))
        return self._completed(demand, prices, sends, reached, taken, shuffled=shuffled)

    def _completed(
        self,
        demand: TreeDemand,
        prices: Floats,
        sends: list[Send],
        reached: Ints,
        taken: Callable[[Send], None] = lambda send: None,
        *,
        shuffled: bool = False,
    ) -> TimedTree | None:
        """A tree that also reaches the missing destinations."""
        wanted = np.zeros(self.num_nodes, dtype=bool)
        wanted[list(demand.destinations)] = True
        missing = wanted & (reached > self.steps)
        done = self._reach(missing, prices, sends, reached, taken, shuffled=shuffled)
        return self._tree(demand, sends) if done else None

    def _reach(
        self,
        missing: Bools,
        prices: Floats,
        sends: list[Send],
        reached: Ints,
        taken: Callable[[Send], None] = lambda send: None,
        *,
        shuffled: bool = False,
    ) -> bool:
        """Adds the cheapest path to the nearest missing node repeatedly; returns whether all are
        reached."""
        while missing.any():
            costs = self._costs(reached, prices)
            left = np.where(missing, costs[self.steps], np.inf)
            if shuffled:
                left = np.where(np.isfinite(left), self.random.random(len(left)), np.inf)
            node = int(left.argmin())
            if not np.isfinite(left[node]):
                return False
            way = self._way(costs, prices, node, self.steps, reached)
            self._take(way, sends, reached)
            for send in way:
                taken(send)
            missing &= reached > self.steps
        return True

    def _take(self, way: list[Send], sends: list[Send], reached: Ints) -> None:
        for link, step in way:
            head = self._target[link]
            reached[head] = min(reached[head], step + 1)
        sends += way

    def _central_first(
        self, demand: TreeDemand, prices: Floats, onward: Floats
    ) -> TimedTree | None:
        """A tree that grows by the node that saves most, if destinations paid for their paths."""
        reached = self._reached(demand.sources)
        sends: list[Send] = []
        wanted = list(demand.destinations)
        onward = onward[:, :, wanted]
        pays = np.full(len(wanted), np.inf)
        for node in np.flatnonzero(reached <= self.steps).tolist():
            np.minimum(pays, onward[reached[node], node], out=pays)
        if not np.isfinite(pays).all():
            return None
        while True:
            costs = self._costs(reached, prices)
            gain = np.maximum(0.0, pays - onward).sum(axis=2) - costs
            step, node = divmod(int(gain.argmax()), self.num_nodes)
            if not gain[step, node] > TINY:
                break
            way = self._way(costs, prices, node, step, reached)
            if not way:
                break
            self._take(way, sends, reached)
            for link, sent in way:
                np.minimum(pays, onward[sent + 1, self._target[link]], out=pays)
        return self._completed(demand, prices, sends, reached)

    def _tree(self, demand: TreeDemand, sends: list[Send]) -> TimedTree:
        """The first of the sends to each node, as far as destinations need it."""
        first: dict[int, Send] = {}
        for link, step in sends:
            head = int(self._target[link])
            if head not in first or step < first[head][1]:
                first[head] = link, step
        return of_use(demand, first, self._source)


def of_use(
    demand: TreeDemand, first: Mapping[int, Send], source: Sequence[int] | Ints
) -> TimedTree:
    """The sends to nodes that need the chunk, or pass it on to one.

    Args:
        first: the send to each node.
        source: of links.
    """
    needed = set(demand.destinations)
    kept = []
    for head, (link, step) in sorted(first.items(), key=lambda item: -item[1][1]):
        if head in needed and head not in demand.sources:
            kept.append((link, step))
            needed.add(int(source[link]))
    return TimedTree(tuple(sorted(kept)))
