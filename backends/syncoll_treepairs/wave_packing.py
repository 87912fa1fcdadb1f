"""Packings of pairs of trees without regard to steps.

If many steps are allowed, only the total load of each link matters.  A linear program packs pairs
of trees along shortest paths into a root and out of it.  The oracle is exact: under given prices
every node takes the cheapest link towards the root.  On a grid the combs
(`dimension_ordered_trees`) are such pairs, and on an n x n mesh they alone meet the bound that
counts sends, 2 n / (n + 1) link rates.  If links differ, as within boxes and between them, shortest
paths are not enough.  The cheapest trees of all (`cheapest_arborescence`) pack up to the optimum of
any roots and any shares (ForestColl paper, appendix E), and low trees (`syncoll.packing.arrivals`)
nearly.
"""

from collections.abc import Sequence

import numpy as np

from syncoll.arrays import Floats, Ints
from syncoll.deadline import Deadline
from syncoll.packing.column_generation import TINY, Tuning
from syncoll.packing.network import Links
from syncoll.scheduling.arborescence import cheapest_arborescence
from syncoll_treepairs.dimension_ordered_trees import combs
from syncoll_treepairs.exchange_groups import Core
from syncoll_treepairs.network import AllreduceNetwork
from syncoll_treepairs.pairs import TIES, AllreducePacking, Pair, forests

_TUNING = Tuning(kept=0.7, gain=1e-4, patience=10, complete=False)
"""Chosen by row mi250(boxes=2,gpus=8) of benchmarks/results/allreduce.md."""

_ROOTS = 48
"""Roots solved in a turn; the cheaper half is added; limits work."""


class WavePacking(AllreducePacking):
    """A fractional packing of pairs of trees without regard to steps.

    Its columns have the steps of a first wave: all roots have the result after the same number of
    steps.

    Args:
        most_depth: most steps of a pair of shortest-path trees; None for combs alone.
        most_links: most links from a root to a leaf, along any paths; None for shortest paths.
    """

    def __init__(
        self, network: AllreduceNetwork, most_depth: int | None, *, most_links: int | None = None
    ) -> None:
        self.pair_finder = _RootedPairs(network, most_depth, most_links)
        super().__init__(network, 1, self.pair_finder, _TUNING, timeless=True)

    def pack_combs(self, until: Deadline) -> None:
        """Packs combs, if the links form a grid."""
        topology = self.network.topology
        for root, onward in combs(topology):
            number = topology.link_index
            nodes = np.delete(np.arange(topology.num_nodes), root)
            ends = list(zip(nodes.tolist(), onward[nodes].tolist(), strict=True))
            into = np.array([number[a, b] for a, b in ends])
            out = np.array([number[b, a] for a, b in ends])
            self.add(0, self.pair_finder.pair(root, into, out))
        if self.columns:
            self.master.solve(until.left())

    def pack(self, until: Deadline) -> None:
        """Adds cheap pairs until none is left, or the packing stops improving."""
        while not self.rested and not (until.passed and self.columns):
            self.improve(until)


class _RootedPairs:
    """The oracle: cheap pairs of trees into a root and out of it."""

    def __init__(
        self, network: AllreduceNetwork, most_depth: int | None, most_links: int | None
    ) -> None:
        self.network, self._most_links = network, most_links
        self._far = network.topology.distances
        into, out = self._far.max(axis=0), self._far.max(axis=1)
        roots = [v for v in network.roots if most_depth is None or into[v] + out[v] <= most_depth]
        self._roots = np.array(roots, dtype=np.int64)
        self._into = 0 if most_links else int(into[self._roots].max())
        self._random = np.random.default_rng(network.num_nodes)
        self._arrivals: tuple[dict[int, Ints], ...] = ({}, {})  # into roots, and out of them
        self._turn = 0
        nodes = np.arange(network.num_nodes)
        self._first_in = np.searchsorted(network.forth.target, nodes)
        self._first_back = np.searchsorted(network.back.target, nodes)

    def cheap(
        self, prices: Floats, pays: Floats, shared: Sequence[Sequence[Pair]], until: Deadline
    ) -> tuple[list[tuple[int, Pair]], Floats]:
        """See `syncoll.packing.column_generation.Oracle`."""
        on_links = self.network.on_links(prices)[0]
        on_links += TIES * on_links.mean() * (1 + self._random.random(len(on_links)))
        roots = self._roots
        if len(roots) > _ROOTS:
            roots = self._random.choice(roots, _ROOTS, replace=False)
        if self._most_links:
            into = self._cheapest(self.network.back, on_links, roots, self._far.T[roots], until)
            out = self._cheapest(self.network.forth, on_links, roots, self._far[roots], until)
        else:
            pairs = [self._shortest(on_links, root) for root in roots.tolist()]
            into, out = (np.array(some) for some in zip(*pairs, strict=True))
        costs = on_links[into].sum(axis=1) + on_links[out].sum(axis=1)
        cheap = [i for i in np.argsort(costs)[: _ROOTS // 2] if costs[i] < pays[0] * (1 - TINY)]
        self._turn += 1
        found = [(0, self.pair(int(roots[i]), into[i], out[i])) for i in cheap]
        return found, np.array([costs.min()])

    def _shortest(self, prices: Floats, root: int) -> tuple[Ints, Ints]:
        """The links of a cheapest pair along shortest paths: into the root, and out of it."""
        forth, back, far = self.network.forth, self.network.back, self._far
        near = np.where(far[root][forth.source] + 1 == far[root][forth.target], 0.0, np.inf)
        out = forth.number[_least(near + prices[forth.number], forth.target, self._first_in, root)]
        near = np.where(far[back.source, root] + 1 == far[back.target, root], 0.0, np.inf)
        into = back.number[_least(near + prices[back.number], back.target, self._first_back, root)]
        return into, out

    def _cheapest(
        self, links: Links, prices: Floats, roots: Ints, far: Ints, until: Deadline
    ) -> Ints:
        """``[K, P - 1]``: for each root the link into every other node of a cheap tree.

        A tree with a limit on links from root to leaf is a timed tree with this limit on steps,
        whose prices are the same in each step.  Without a limit the cheapest tree is found.
        """
        assert self._most_links is not None
        nodes, prized, out = links.num_nodes, prices[links.number], self.network.forth
        height = max(self._most_links, int(far.max()))
        if height < nodes - 1:
            table = np.repeat(prized[None], height, axis=0)
            sources, memory = [[root] for root in roots.tolist()], self._arrivals[links is out]
            known = [memory.get(root) if self._turn % 2 else None for root in roots.tolist()]
            found = [f for f in forests(links, table, sources, known, self._random, until) if f]
            memory.update(zip(roots.tolist(), (arrivals for _, _, arrivals in found), strict=True))
            return np.stack([links.number[used] for _, used, _ in found])
        ends = zip(links.source.tolist(), links.target.tolist(), prized.tolist(), strict=True)
        edges = [(a, b, cost, i) for i, (a, b, cost) in enumerate(ends)]
        # Links are ordered by their heads.
        trees = [sorted(cheapest_arborescence(nodes, root, edges)) for root in roots.tolist()]
        return np.asarray(links.number[np.array(trees)])

    def pair(self, root: int, into: Ints, out: Ints) -> Pair:
        """Two trees with the steps of a first wave, by each node's links to and from the root."""
        far_in, far_out = (self._depths(links, root) for links in (into, out))
        known = max(self._into, int(far_in.max()))
        begun, ended = (known - far_in).tolist(), (known + far_out - 1).tolist()
        sends = [*zip(begun, into.tolist(), strict=True), *zip(ended, out.tolist(), strict=True)]
        return Pair(tuple(sorted(sends)), Core((root,), (), 0), known)

    def _depths(self, links: Ints, root: int) -> Ints:
        """The depth of every other node in a tree, given the link of each node, in order."""
        nodes = np.delete(np.arange(self.network.num_nodes), root)
        onward = np.full(self.network.num_nodes, root)
        ends = self.network.topology.ends[links]
        onward[nodes] = ends.sum(axis=1) - nodes
        depths, here = np.zeros(len(nodes), dtype=np.int64), nodes
        while (here != root).any():
            depths += here != root
            here = onward[here]
        return depths


def _least(prices: Floats, target: Ints, first: Ints, root: int) -> Ints:
    """The cheapest link into each node but the root."""
    least = np.minimum.reduceat(prices, first)
    place = np.where(prices == least[target], np.arange(len(prices)), len(prices))
    return np.delete(np.minimum.reduceat(place, first), root)
