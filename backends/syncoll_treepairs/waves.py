"""Waves: pairs of trees that share the links evenly, begun again in every step.

Where many steps are allowed only the load of each link counts, whatever the step.  A linear program
packs pairs of trees along shortest paths into a root and out of it; under given prices the cheapest
pair of a root is exact, for every node takes the cheapest link of those that lead nearer.  On a
grid the combs (`combs`) are such pairs, and on an n x n mesh they alone meet the bound that counts
sends, 2 n / (n + 1) link rates.  Where links differ, as within boxes and between them, shortest
paths are not enough: the cheapest trees of all (`cheapest_arborescence`) pack up to the optimum of
any roots and any shares (ForestColl paper, appendix E), and low ones (`cheap_tree`) nearly.

A whole packing for a few chunks is a wave; m waves, each begun a step after the one before, take
depth + m - 1 steps and load every link alike but for the first and last steps, so that R/C tends to
the packing's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from syncoll.arrays import FloatArray, IntArray
from syncoll.deadline import Deadline
from syncoll.model import Algorithm
from syncoll.packing.column_generation import TINY, Tuning
from syncoll.packing.network import Links
from syncoll.packing.whole_chunks import DealtChunks, rounds_of
from syncoll.scheduling.arborescence import cheapest_arborescence
from syncoll_treepairs.combs import combs
from syncoll_treepairs.cores import Core
from syncoll_treepairs.fitting import MOST_CONTRIBUTIONS
from syncoll_treepairs.low_trees import cheap_tree
from syncoll_treepairs.network import AllreduceNetwork
from syncoll_treepairs.packing import AllreducePacking
from syncoll_treepairs.pairs import TIES, Pair
from syncoll_treepairs.whole_pairs import deal, in_waves, own_sends

__all__ = ["WavePacking", "from_its_first_step", "waves"]

_TUNING = Tuning(kept=0.7, gain=1e-4, patience=10, complete=False)
"""Chosen by row mi250(boxes=2,gpus=8) of benchmarks/results/allreduce.md."""

_ROOTS = 48
"""Roots that are looked at in a turn; the pairs of the cheaper half of them are added."""

_LEAST_GAIN, _NEAR = 0.995, 1.01
"""More waves must cost less by this factor, until they come this near to the packing; a third more
waves are tried each time.  Row mesh(6,6) of benchmarks/results/allreduce.md."""

_LEAST_WAVES = 256
"""A wave has at most this part of the chunks that there may be."""

_FAR = 1e12
"""The price of links that are not on shortest paths."""


class WavePacking(AllreducePacking):
    """A fractional packing of pairs of trees, whatever the steps.

    Its columns have the steps of a first wave: all roots know everything after the same number of
    steps.

    Args:
        network: where.
        most_depth: the steps of a pair of shortest-path trees at most; None for combs alone.
        most_links: links from a root to a leaf at most, along whichever paths; None for shortest
            paths.
    """

    def __init__(
        self, network: AllreduceNetwork, most_depth: int | None, *, most_links: int | None = None
    ) -> None:
        self.pair_finder = _RootedPairs(network, most_depth, most_links)
        least, order = network.least, network.order
        super().__init__(
            network, [1.0], 1, self.pair_finder, _TUNING, chunks=order, least=least, timeless=True
        )

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
        """Adds cheap pairs until none is left, or nothing becomes better."""
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
        nodes = np.arange(network.num_nodes)
        self._first_in = np.searchsorted(network.forth.target, nodes)
        self._first_back = np.searchsorted(network.back.target, nodes)

    def cheap(
        self,
        prices: FloatArray,
        pays: FloatArray,
        shared: Sequence[Sequence[Pair]],
        until: Deadline,
    ) -> tuple[list[tuple[int, Pair]], FloatArray]:
        """See `syncoll.packing.column_generation.Oracle`."""
        on_links = self.network.on_links(prices)[0]
        on_links += TIES * on_links.mean() * (1 + self._random.random(len(on_links)))
        roots = self._roots
        if len(roots) > _ROOTS:
            roots = self._random.choice(roots, _ROOTS, replace=False)
        made = [self._cheapest(on_links, int(root)) for root in roots]
        made.sort(key=lambda one: one[0])
        found = [
            (0, self.pair(root, into, out))
            for cost, root, into, out in made[: _ROOTS // 2]
            if cost < pays[0] * (1 - TINY)
        ]
        return found, np.array([made[0][0]])

    def _cheapest(self, prices: FloatArray, root: int) -> tuple[float, int, IntArray, IntArray]:
        """What a pair costs, and its links."""
        network, far = self.network, self._far
        if self._most_links:
            out, into = (self._tree(links, prices, root) for links in (network.forth, network.back))
            return float(prices[into].sum() + prices[out].sum()), root, into, out
        forth, back = network.forth, network.back
        near = np.where(far[root][forth.source] + 1 == far[root][forth.target], 0.0, _FAR)
        out = forth.number[_least(near + prices[forth.number], forth.target, self._first_in, root)]
        near = np.where(far[back.source, root] + 1 == far[back.target, root], 0.0, _FAR)
        into = back.number[_least(near + prices[back.number], back.target, self._first_back, root)]
        return float(prices[into].sum() + prices[out].sum()), root, into, out

    def _tree(self, links: Links, prices: FloatArray, root: int) -> IntArray:
        """For every node but the root the link into it, in order, of a cheap tree."""
        assert self._most_links is not None
        nodes = self.network.num_nodes
        if self._most_links < nodes - 1:
            costs = np.full((nodes, nodes), np.inf)
            costs[links.source, links.target] = prices[links.number]
            parents = cheap_tree(costs, root, self._most_links)
            numbers = np.zeros((nodes, nodes), dtype=np.int64)
            numbers[links.source, links.target] = links.number
            others = np.delete(np.arange(nodes), root)
            return np.asarray(numbers[parents[others], others], dtype=np.int64)
        prized = prices[links.number].tolist()
        ends = zip(links.source.tolist(), links.target.tolist(), prized, strict=True)
        edges = [(a, b, cost, i) for i, (a, b, cost) in enumerate(ends)]
        found = np.array(cheapest_arborescence(self.network.num_nodes, root, edges))
        found.sort()  # links are in the order of the nodes that they lead into
        return np.asarray(links.number[found], dtype=np.int64)

    def pair(self, root: int, into: IntArray, out: IntArray) -> Pair:
        """Two trees, with the steps of a first wave.

        Args:
            into: for every other node, in order, the link on the way to the root.
            out: for every other node the link on the way from the root.
        """
        far_in, far_out = (self._depths(links, root) for links in (into, out))
        known = max(self._into, int(far_in.max()))
        begun, ended = (known - far_in).tolist(), (known + far_out - 1).tolist()
        sends = [*zip(begun, into.tolist(), strict=True), *zip(ended, out.tolist(), strict=True)]
        return Pair(tuple(sorted(sends)), Core((root,), (), 0), known)

    def _depths(self, links: IntArray, root: int) -> IntArray:
        """How far every other node is from the root of a tree, with the link of each, in order."""
        nodes = np.delete(np.arange(self.network.num_nodes), root)
        onward = np.full(self.network.num_nodes, root)
        ends = self.network.ends[links]
        onward[nodes] = ends.sum(axis=1) - nodes
        depths, here = np.zeros(len(nodes), dtype=np.int64), nodes
        while (here != root).any():
            depths += here != root
            here = onward[here]
        return depths


def _least(prices: FloatArray, target: IntArray, first: IntArray, root: int) -> IntArray:
    """Of the links into each node but the root the cheapest."""
    least = np.minimum.reduceat(prices, first)
    place = np.where(prices == least[target], np.arange(len(prices)), len(prices))
    return np.delete(np.minimum.reduceat(place, first), root)


@dataclass(frozen=True, eq=False)
class Waves:
    """Some waves, as an algorithm.

    Args:
        chunks: how many, of the whole collective.
        count: how many waves.
        algorithm: of all of them.
    """

    chunks: int
    count: int
    algorithm: Algorithm


def waves(
    packing: WavePacking, most_chunks: int, most_steps: int | None, until: Deadline
) -> Iterator[Waves]:
    """So many waves as there is room for, then one, two, three and so on."""
    network = packing.network
    room = max(1, MOST_CONTRIBUTIONS // 4 // (2 * network.num_nodes**2)) * network.order
    wave = deal(
        packing, max(network.least_chunks, min(room, most_chunks // _LEAST_WAVES)), None, until
    )
    if wave is None:
        return
    wave, depth = from_its_first_step(wave)
    most = min(most_chunks, MOST_CONTRIBUTIONS // 2 // network.num_nodes) // wave.chunks
    if most_steps is not None:
        most = min(most, most_steps - depth + 1)
    own = own_sends(network.topology, wave)
    load = sum(
        (number * network.load(pair.links, pair.steps, depth) for pair, number in wave.columns[0]),
        np.zeros((len(network.exact_rate), depth), dtype=np.int64),
    )
    kept, before = [], np.inf
    for count in _counts(most):
        cost = _rounds(network, load, count) / (wave.chunks * count)
        if cost < before * _LEAST_GAIN:
            kept.append(count)
            before = cost
        if cost <= wave.rounds / wave.chunks * _NEAR:
            break
    # What comes nearest is the first: on a large network each takes its time.
    for count in (*kept[-1:], *kept[:-1]):
        yield Waves(wave.chunks * count, count, in_waves(network, wave, own, count))


def from_its_first_step(wave: DealtChunks[Pair]) -> tuple[DealtChunks[Pair], int]:
    """A wave that begins with step 0, and in how many steps it is over."""
    begins = min(int(pair.steps[0]) for pair, _ in wave.columns[0])
    pairs = tuple((pair.later(-begins), number) for pair, number in wave.columns[0])
    depth = 1 + max(int(pair.steps[-1]) for pair, _ in pairs)
    return DealtChunks(wave.chunks, wave.rounds, (pairs,)), depth


def _rounds(network: AllreduceNetwork, load: IntArray, count: int) -> int:
    """R of so many waves, each of which loads one bound of each orbit so, ``[B, depth]``."""
    depth = load.shape[1]
    total = np.zeros((len(load), depth + count), dtype=np.int64)
    total[:, :depth] += load
    total[:, count:] -= load  # a wave ends to count when the last has begun
    return rounds_of(network.exact_rate, np.cumsum(total, axis=1)[:, :-1])


def _counts(most: int) -> Iterator[int]:
    count = 1
    while count < most:
        yield count
        count += max(1, count // 3)
    if most > 0:
        yield most
