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

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from syncoll.arrays import FloatArray, IntArray
from syncoll.deadline import Deadline
from syncoll.linear import GrowingProgram
from syncoll.model import Algorithm
from syncoll.scheduling.arborescence import cheapest_arborescence
from syncoll_treepairs.combs import combs
from syncoll_treepairs.cores import Core
from syncoll_treepairs.dealing import Dealt, deal, in_waves, own_sends, rounds_of
from syncoll_treepairs.low_trees import cheap_tree
from syncoll_treepairs.machine import Links, Machine
from syncoll_treepairs.pairs import Pair

__all__ = ["WavePacking", "from_its_first_step", "waves"]


_ROOTS, _ADDED = 48, 24
"""Roots that are looked at in a turn, and the cheapest of them whose pairs are added."""

_LEAST_GAIN, _NEAR, _MORE = 0.995, 1.01, 3
"""An algorithm of more waves is worth it that costs so many times less, until one costs only so
many times the packing; and how many times smaller the part is by which their number grows."""

_MOST_HELD = 1 << 27
"""Chunks times nodes of an algorithm at most."""

_MOST_CONTRIBUTIONS = 1 << 26
"""Sends of a wave, without those that symmetry makes of others, times nodes, at most."""

_KEPT = 0.7
_GAIN, _PATIENCE = 1e-4, 10
_TIES, _TINY, _FAR = 1e-6, 1e-9, 1e12


class WavePacking:
    """A fractional packing of pairs of trees, whatever the steps.

    Args:
        machine: where.
        most_depth: the steps of a pair of shortest-path trees at most; None for combs alone.
        most_links: so many links a tree may have from its root to a leaf, along whichever paths;
            None for shortest paths.

    Attributes:
        value: R/C of the packing.
        pairs: all that are known, with the steps of a first wave: all roots know everything after
            the same number of steps.
        loads: of each, ``[B, 1]``.
        shares: of each, in the packing.
    """

    def __init__(
        self, machine: Machine, most_depth: int | None, *, most_links: int | None = None
    ) -> None:
        self._most_links = most_links
        self.machine, self.value = machine, float("inf")
        self.pairs: list[Pair] = []
        self.loads: list[IntArray] = []
        self.shares: FloatArray = np.zeros(0)
        self._far = machine.topology.distances
        into, out = self._far.max(axis=0), self._far.max(axis=1)
        roots = [v for v in machine.roots if most_depth is None or into[v] + out[v] <= most_depth]
        self._roots = np.array(roots, dtype=np.int64)
        self._into = 0 if most_links else int(into[self._roots].max())
        self._rates = np.array([float(rate) for rate in machine.rates])
        bounds = len(self._rates)
        self._program = GrowingProgram(np.concatenate([np.zeros(bounds), [-1.0]]))
        self._program.add(dict(enumerate(self._rates.tolist())), -np.inf, 1.0)
        self._prices, self._pay = 1 / (self._rates * bounds), np.inf
        self._random = np.random.default_rng(machine.num_nodes)
        self._known: set[bytes] = set()
        self._first_in = np.searchsorted(machine.forth.target, np.arange(machine.num_nodes))
        self._first_back = np.searchsorted(machine.back.target, np.arange(machine.num_nodes))

    def pack_combs(self, until: Deadline) -> None:
        """Packs combs, if the links form a grid."""
        for root, onward in combs(self.machine.topology):
            number = self.machine.topology.link_index
            nodes = np.delete(np.arange(self.machine.num_nodes), root)
            ends = list(zip(nodes.tolist(), onward[nodes].tolist(), strict=True))
            into = np.array([number[a, b] for a, b in ends])
            out = np.array([number[b, a] for a, b in ends])
            self._add(root, into, out)
        if self.pairs:
            self._solve(until)

    def pack(self, until: Deadline) -> None:
        """Adds cheap pairs until none is left, or nothing becomes better."""
        machine = self.machine
        falls: list[float] = []
        while not (until.passed and self.pairs):
            on_links = machine.on_links(self._prices[:, None])[0]
            on_links += _TIES * on_links.mean() * (1 + self._random.random(len(on_links)))
            roots = self._roots
            if len(roots) > _ROOTS:
                roots = self._random.choice(roots, _ROOTS, replace=False)
            made = [self._cheapest(on_links, int(root)) for root in roots]
            made.sort(key=lambda one: one[0])
            pay = self._pay
            added = sum(
                self._add(root, into, out)
                for cost, root, into, out in made[:_ADDED]
                if cost < pay * (1 - _TINY)
            )
            if not self._solve(until, kept=_KEPT if added else 0.0):
                return
            falls.append(self.value)
            if self.value <= machine.least * (1 + _GAIN):
                return
            if len(falls) > _PATIENCE and self.value > falls[-_PATIENCE - 1] * (1 - _GAIN):
                return

    def _solve(self, until: Deadline, kept: float = 0.0) -> bool:
        """Solves the program again; whether that came to an end in time."""
        optimum = self._program.minimise(max(0.05, until.left()))
        if optimum is None:
            return False
        self._pay, self.value = -optimum.value, -optimum.value / self.machine.order
        self.shares = np.maximum(0.0, optimum.row_duals[1:])
        fresh = np.maximum(0.0, optimum.columns[:-1])
        self._prices = kept * self._prices + (1 - kept) * fresh
        return True

    def shared(self) -> list[tuple[int, float]]:
        """Positions of the pairs with a share, the largest first."""
        found = np.flatnonzero(self.shares > _TINY)
        order = found[np.argsort(-self.shares[found])]
        return [(int(i), float(self.shares[i])) for i in order.tolist()]

    def _cheapest(self, prices: FloatArray, root: int) -> tuple[float, int, IntArray, IntArray]:
        """What a pair costs, and its links."""
        machine, far = self.machine, self._far
        if self._most_links:
            out, into = (self._tree(links, prices, root) for links in (machine.forth, machine.back))
            return float(prices[into].sum() + prices[out].sum()), root, into, out
        forth, back = machine.forth, machine.back
        near = np.where(far[root][forth.source] + 1 == far[root][forth.target], 0.0, _FAR)
        out = forth.number[_least(near + prices[forth.number], forth.target, self._first_in, root)]
        near = np.where(far[back.source, root] + 1 == far[back.target, root], 0.0, _FAR)
        into = back.number[_least(near + prices[back.number], back.target, self._first_back, root)]
        return float(prices[into].sum() + prices[out].sum()), root, into, out

    def _tree(self, links: Links, prices: FloatArray, root: int) -> IntArray:
        """For every node but the root the link into it, in order, of a cheap tree."""
        assert self._most_links is not None
        nodes = self.machine.num_nodes
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
        found = np.array(cheapest_arborescence(self.machine.num_nodes, root, edges))
        found.sort()  # links are in the order of the nodes that they lead into
        return np.asarray(links.number[found], dtype=np.int64)

    def _add(self, root: int, into: IntArray, out: IntArray) -> bool:
        """Makes a pair known, unless one with the same loads is.

        Args:
            into: for every other node, in order, the link on the way to the root.
            out: for every other node the link on the way from the root.
        """
        links = np.concatenate([into, out])
        load = self.machine.load(links, np.zeros_like(links), 1)
        if load.tobytes() in self._known:
            return False
        self._known.add(load.tobytes())
        row = {int(b): float(load[b, 0]) for b in np.flatnonzero(load[:, 0])}
        self._program.add(row | {len(self._rates): -1.0}, 0.0, np.inf)
        far_in, far_out = (self._depths(links, root) for links in (into, out))
        known = max(self._into, int(far_in.max()))
        begun, ended = (known - far_in).tolist(), (known + far_out - 1).tolist()
        sends = [*zip(begun, into.tolist(), strict=True), *zip(ended, out.tolist(), strict=True)]
        self.pairs.append(Pair(tuple(sorted(sends)), Core((root,), (), 0), known))
        self.loads.append(load)
        return True

    def _depths(self, links: IntArray, root: int) -> IntArray:
        """How far every other node is from the root of a tree, with the link of each, in order."""
        nodes = np.delete(np.arange(self.machine.num_nodes), root)
        onward = np.full(self.machine.num_nodes, root)
        ends = self.machine.ends[links]
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
    machine = packing.machine
    room = max(1, _MOST_CONTRIBUTIONS // (2 * machine.num_nodes**2)) * machine.order
    wave = deal(
        packing, max(machine.least_chunks, min(room, most_chunks // _LEAST_WAVES)), None, until
    )
    if wave is None:
        return
    wave, depth = from_its_first_step(wave)
    most = min(most_chunks, _MOST_HELD // machine.num_nodes) // wave.chunks
    if most_steps is not None:
        most = min(most, most_steps - depth + 1)
    own = own_sends(machine.topology, wave)
    load = sum(
        (number * machine.load(pair.links, pair.steps, depth) for pair, number in wave.pairs),
        np.zeros((len(machine.rates), depth), dtype=np.int64),
    )
    kept, before = [], np.inf
    for count in _counts(most):
        cost = _rounds(machine, load, count) / (wave.chunks * count)
        if cost < before * _LEAST_GAIN:
            kept.append(count)
            before = cost
        if cost <= wave.rounds / wave.chunks * _NEAR:
            break
    # What comes nearest is the first: on a large machine each takes its time.
    for count in (*kept[-1:], *kept[:-1]):
        yield Waves(wave.chunks * count, count, in_waves(machine, wave, own, count))


def from_its_first_step(wave: Dealt) -> tuple[Dealt, int]:
    """A wave that begins with step 0, and in how many steps it is over."""
    begins = min(int(pair.steps[0]) for pair, _ in wave.pairs)
    pairs = tuple((pair.later(-begins), number) for pair, number in wave.pairs)
    depth = 1 + max(int(pair.steps[-1]) for pair, _ in pairs)
    return Dealt(wave.chunks, wave.rounds, pairs), depth


def _rounds(machine: Machine, load: IntArray, count: int) -> int:
    """R of so many waves, each of which loads one bound of each orbit so, ``[B, depth]``."""
    depth = load.shape[1]
    total = np.zeros((len(load), depth + count), dtype=np.int64)
    total[:, :depth] += load
    total[:, count:] -= load  # a wave ends to count when the last has begun
    return rounds_of(machine.rates, np.cumsum(total, axis=1)[:, :-1])


def _counts(most: int) -> Iterator[int]:
    count = 1
    while count < most:
        yield count
        count += max(1, count // _MORE)
    if most > 0:
        yield most


_LEAST_WAVES = 256
"""A wave has at most that part of the chunks that there may be."""
