"""Cheapest spanning trees for given prices, as columns of `syncoll.packing`.

Trees of any height are found by the method of Chu & Liu and Edmonds, or by Kruskal's where a tree
is used both ways.  In a tree of least height each node takes its cheapest link from a nearer node.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter

import networkx as nx
import numpy as np
from networkx.utils import UnionFind

from syncoll.arrays import Floats, Ints
from syncoll.deadline import Deadline
from syncoll.model import Topology
from syncoll.model.distances import distances
from syncoll.packing.column_generation import TINY
from syncoll.packing.network import OrbitNetwork
from syncoll.packing.trees import TimedTree
from syncoll.packing.whole_chunks import DealtChunks
from syncoll.scheduling import StepTree
from syncoll.scheduling.arborescence import cheapest_arborescence
from syncoll.symmetry import FreeGroup

_TREES = 12
"""Trees of all demands in a turn, after the cheapest ones; limits the number of programs."""

_RAISED = 0.02
"""Prices are raised by this share of their mean where trees of the same turn have most load."""


def usable_links(topology: Topology, both_ways: bool) -> Ints:
    """Positions of the links that trees can use, ``[E]``; where they are used both ways, of those
    that exist both ways."""
    index = topology.link_index
    links = enumerate(topology.links)
    return np.array([i for i, (a, b) in links if not both_ways or (b, a) in index], dtype=np.int64)


class SpanningTrees:
    """An oracle of trees that reach all nodes; see `syncoll.packing.column_generation.Oracle`.

    With sources, a tree leads away from one of them.  Without, contributions go up a tree to its
    centre, and the result comes down; a column has the steps of this one chunk.

    Args:
        sources: chunks at each source, for one unit of C.
        group: a free group that maps the sources, and their numbers, to themselves.
        low: whether trees have the least height.  Prices may then differ between steps.

    Attributes:
        network: the topology modulo the group.
        counts: chunks of each demand: one for each orbit of sources.
    """

    def __init__(
        self, topology: Topology, sources: Mapping[int, int], group: FreeGroup, *, low: bool
    ) -> None:
        self.network, self.both_ways, self.low = OrbitNetwork(topology, group), not sources, low
        self._roots = [root for root in group.representatives.tolist() if root in sources]
        self.counts = [sources[root] for root in self._roots] or [1]
        self._links = usable_links(topology, self.both_ways)
        self._source, self._target = topology.ends[self._links].T
        self._ends = list(zip(self._source.tolist(), self._target.tolist(), strict=True))
        self._back = topology.links_of(self._target, self._source)
        self._far = distances(topology.num_nodes, topology.ends[self._links])
        height = self._far.max(axis=1)
        self._centres = np.flatnonzero(height == height.min()).tolist()
        self._random = np.random.default_rng(7)

    @property
    def least_steps(self) -> int:
        """Steps of the lowest trees."""
        if self.both_ways:
            return 2 * int(self._far.max(axis=1).min())
        return int(self._far[self._roots].max())

    def load(self, tree: TimedTree, steps: int) -> Ints:
        """``[B, S]``; for S = 1 the load in all steps together."""
        return self.network.load(tree.links, tree.steps if steps > 1 else 0 * tree.links, steps)

    def cheap(
        self, prices: Floats, pays: Floats, shared: Sequence[Sequence[TimedTree]], until: Deadline
    ) -> tuple[list[tuple[int, TimedTree]], Floats]:
        """See `syncoll.packing.column_generation.Oracle`.  The first tree of each demand is the
        cheapest.  Others are cheapest under prices raised where the trees before them have load."""
        found: list[tuple[int, TimedTree]] = []
        costs = np.full(len(pays), np.inf)
        raised = np.zeros_like(prices)
        for turn in range(1 + _TREES // len(pays)):
            noise = self._random.random(prices.shape) if turn else 0.0
            on_links = self.network.on_links(prices + _RAISED * prices.mean() * (raised + noise))
            for demand in range(len(pays)):
                tree = self._cheapest(demand, on_links)
                load = self.load(tree, prices.shape[1])
                cost = float((load * prices).sum())
                costs[demand] = min(cost, costs[demand])
                raised += load / load.max()
                if cost < pays[demand] * (1 - TINY):
                    found.append((demand, tree))
            if until.passed:
                break
        return found, costs

    def greedy(self, turns: int, steps: int, until: Deadline) -> list[list[TimedTree]]:
        """Trees of each demand in every turn, each cheapest under prices that grow with the load
        in a step of the trees before; the first W turns are a packing of W parts."""
        rate, found = self.network.rate[:, None], []
        load = np.zeros((len(rate), steps))
        for turn in range(turns):
            level = load / rate
            sharp = np.exp(np.minimum((level - level.max(axis=0)) * np.sqrt(turn + 1.0), 0.0))
            noise = 1 + _RAISED * self._random.random(sharp.shape)
            on_links = self.network.on_links((sharp + TINY) / rate * noise)
            found.append([self._cheapest(demand, on_links) for demand in range(len(self.counts))])
            for tree, count in zip(found[-1], self.counts, strict=True):
                load += count * self.load(tree, steps)
            if until.passed:
                break
        return found

    def step_trees(self, dealt: DealtChunks[TimedTree]) -> Iterator[StepTree]:
        """All images of trees that lead away from their roots."""
        ends = self.network.topology.ends
        for root, columns in zip(self._roots, dealt.columns, strict=True):
            for tree, weight in columns:
                sends = ends[tree.links[np.argsort(tree.steps, kind="stable")]]
                for images in self.network.group.elements:
                    edges = tuple((a, b) for a, b in images[sends].tolist())
                    yield StepTree(int(images[root]), weight, edges)

    def _cheapest(self, demand: int, on_links: Floats) -> TimedTree:
        """By the cost of a send over each link, ``[S, L]`` or ``[1, L]``."""
        if self.low:
            roots = self._centres if self.both_ways else [self._roots[demand]]
            lowest = [self._lowest(root, on_links) for root in roots]
            _, root, used = min(lowest, key=itemgetter(0))
            return self._timed(root, used.tolist())
        costs = on_links[0, self._links]
        if self.both_ways:
            return self._timed(None, self._kruskal(costs + on_links[0, self._back]))
        root, every = self._roots[demand], enumerate(zip(self._ends, costs.tolist(), strict=True))
        edges = [(a, b, cost, i) for i, ((a, b), cost) in every]
        return self._timed(root, cheapest_arborescence(self.network.num_nodes, root, edges))

    def _lowest(self, root: int, on_links: Floats) -> tuple[float, int, Ints]:
        """The cheapest tree of least height: its cost, its root and its edges."""
        far = self._far[root]
        nearer = np.flatnonzero(far[self._source] < far[self._target])
        up = int(far.max()) if self.both_ways else 0
        depth = far[self._target[nearer]]
        last = len(on_links) - 1
        costs = on_links[np.minimum(up + depth - 1, last), self._links[nearer]]
        if self.both_ways:
            costs = costs + on_links[np.minimum(up - depth, last), self._back[nearer]]
        order = np.lexsort((costs, self._target[nearer]))
        first = order[np.unique(self._target[nearer][order], return_index=True)[1]]
        return float(costs[first].sum()), root, nearer[first]

    def _kruskal(self, costs: Floats) -> list[int]:
        """The edges of the cheapest tree, each in one direction."""
        joined, used = UnionFind(range(self.network.num_nodes)), []
        for edge in np.argsort(costs, kind="stable").tolist():
            a, b = self._ends[edge]
            if joined[a] != joined[b]:
                joined.union(a, b)
                used.append(edge)
        return used

    def _timed(self, root: int | None, used: Iterable[int]) -> TimedTree:
        """A chunk's sends on a tree; without a root from its centre."""
        tree: nx.Graph[int] = nx.Graph(self._ends[edge] for edge in used)
        if root is None:  # the middle of a longest path
            end = [*nx.bfs_tree(tree, 0)][-1]
            path = nx.shortest_path(tree, [*nx.bfs_tree(tree, end)][-1], end)
            root = path[len(path) // 2]
        depth = nx.single_source_shortest_path_length(tree, root)
        up = max(depth.values()) if self.both_ways else 0
        link, down = self.network.topology.link_index, [*nx.bfs_edges(tree, root)]
        sends = [(link[a, b], up + depth[a]) for a, b in down]
        if self.both_ways:
            sends += [(link[b, a], up - depth[b]) for a, b in down]
        return TimedTree(tuple(sorted(sends)))
