"""Waves: pairs of shortest-path trees that share the links evenly, begun again in every step.

Where many steps are allowed only the load of each link counts, whatever the step.  A linear program
packs pairs of trees along shortest paths into a root and out of it; under given prices the cheapest
pair of a root is exact, for every node takes the cheapest link of those that lead nearer.  On an
n x n mesh such packings meet the bound that counts sends, 2 n / (n + 1) link rates (measured for
n up to 32).  A whole packing for a few chunks is a wave; m waves, each begun a step after the one
before, take depth + m - 1 steps and load every link alike but for the first and last steps, so that
R/C tends to the packing's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from syncoll.deadline import Deadline
from syncoll.linear import GrowingProgram
from syncoll_treepairs.dealing import Dealt, deal, rounds_of
from syncoll_treepairs.machine import Machine
from syncoll_treepairs.pairs import Pair

__all__ = ["WavePacking", "waves"]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

_ROOTS, _ADDED = 48, 24
"""Roots that are looked at in a turn, and the cheapest of them whose pairs are added."""

_KEPT = 0.7
_GAIN, _PATIENCE = 1e-4, 10
_TIES, _TINY, _FAR = 1e-6, 1e-9, 1e12


class WavePacking:
    """A fractional packing of pairs of shortest-path trees, whatever the steps.

    Args:
        machine: where.
        most_depth: the steps of a pair at most; there is one of so few.

    Attributes:
        value: R/C of the packing.
        pairs: all that are known, with the steps of a first wave: all roots know everything after
            the same number of steps.
        loads: of each, ``[B, 1]``.
        shares: of each, in the packing.
    """

    def __init__(self, machine: Machine, most_depth: int) -> None:
        self.machine, self.value = machine, float("inf")
        self.pairs: list[Pair] = []
        self.loads: list[IntArray] = []
        self.shares: FloatArray = np.zeros(0)
        self._far = machine.topology.distances
        into, out = self._far.max(axis=0), self._far.max(axis=1)
        roots = [v for v in machine.roots if into[v] + out[v] <= most_depth]
        self._roots = np.array(roots, dtype=np.int64)
        self._into = int(into[self._roots].max())
        self._random = np.random.default_rng(machine.num_nodes)
        self._known: set[bytes] = set()
        self._first_in = np.searchsorted(machine.forth.target, np.arange(machine.num_nodes))
        self._first_back = np.searchsorted(machine.back.target, np.arange(machine.num_nodes))

    def pack(self, until: Deadline) -> None:
        """Adds cheap pairs until none is left, or nothing becomes better."""
        machine = self.machine
        rates = np.array([float(rate) for rate in machine.rates])
        bounds = len(rates)
        program = GrowingProgram(np.concatenate([np.zeros(bounds), [-1.0]]))
        program.add(dict(enumerate(rates.tolist())), -np.inf, 1.0)
        prices, pay, turn = 1 / (rates * bounds), np.inf, 0
        falls: list[float] = []
        while not (until.passed and self.pairs):
            on_links = machine.on_links(prices[:, None])[0]
            on_links += _TIES * on_links.mean() * (1 + self._random.random(len(on_links)))
            roots = self._roots
            if len(roots) > _ROOTS:
                roots = self._random.choice(roots, _ROOTS, replace=False)
            made = [self._cheapest(on_links, int(root)) for root in roots]
            made.sort(key=lambda one: one[0])
            added = 0
            for cost, pair in made[:_ADDED]:
                load = machine.load(pair.links, np.zeros_like(pair.links), 1)
                if cost >= pay * (1 - _TINY) or load.tobytes() in self._known:
                    continue
                self._known.add(load.tobytes())
                row = {int(b): float(load[b, 0]) for b in np.flatnonzero(load[:, 0])}
                program.add(row | {bounds: -1.0}, 0.0, np.inf)
                self.pairs.append(pair)
                self.loads.append(load)
                added += 1
            optimum = program.minimise(max(0.05, until.left()))
            if optimum is None:
                return
            pay, self.value = -optimum.value, -optimum.value / machine.order
            self.shares = np.maximum(0.0, optimum.row_duals[1:])
            fresh = np.maximum(0.0, optimum.columns[:-1])
            prices = _KEPT * prices + (1 - _KEPT) * fresh if added else fresh
            falls.append(self.value)
            turn += 1
            if self.value <= machine.least * (1 + _GAIN):
                return
            if turn > _PATIENCE and self.value > falls[-_PATIENCE - 1] * (1 - _GAIN):
                return

    def shared(self) -> list[tuple[int, float]]:
        """Positions of the pairs with a share, the largest first."""
        found = np.flatnonzero(self.shares > _TINY)
        order = found[np.argsort(-self.shares[found])]
        return [(int(i), float(self.shares[i])) for i in order.tolist()]

    def _cheapest(self, prices: FloatArray, root: int) -> tuple[float, Pair]:
        machine, far = self.machine, self._far
        forth, back = machine.forth, machine.back
        near = np.where(far[root][forth.source] + 1 == far[root][forth.target], 0.0, _FAR)
        out = forth.number[_least(near + prices[forth.number], forth.target, self._first_in, root)]
        near = np.where(far[back.source, root] + 1 == far[back.target, root], 0.0, _FAR)
        into = back.number[_least(near + prices[back.number], back.target, self._first_back, root)]
        nodes = np.delete(np.arange(machine.num_nodes), root)
        begun = (self._into - far[nodes, root]).tolist()
        ended = (self._into + far[root][nodes] - 1).tolist()
        sends = [*zip(begun, into.tolist(), strict=True), *zip(ended, out.tolist(), strict=True)]
        cost = float(prices[into].sum() + prices[out].sum())
        return cost, Pair(tuple(sorted(sends)), (root,), self._into)


def _least(prices: FloatArray, target: IntArray, first: IntArray, root: int) -> IntArray:
    """Of the links into each node but the root the cheapest."""
    least = np.minimum.reduceat(prices, first)
    place = np.where(prices == least[target], np.arange(len(prices)), len(prices))
    return np.delete(np.minimum.reduceat(place, first), root)


def waves(
    packing: WavePacking, most_chunks: int, most_steps: int | None, until: Deadline
) -> Iterator[Dealt]:
    """A wave, two, four and so on, for as long as there is room for them."""
    machine = packing.machine
    wave = deal(packing, max(machine.order, most_chunks // _LEAST_WAVES), None, until)
    if wave is None:
        return
    begins = min(int(pair.steps[0]) for pair, _ in wave.pairs)
    pairs = [(pair.later(-begins), number) for pair, number in wave.pairs]
    depth = 1 + max(int(pair.steps[-1]) for pair, _ in pairs)
    load = sum(
        (number * machine.load(pair.links, pair.steps, depth) for pair, number in pairs),
        np.zeros((len(machine.rates), depth), dtype=np.int64),
    )
    count = 1
    while count * wave.chunks <= most_chunks:
        if most_steps is not None and depth + count - 1 > most_steps:
            return
        total = np.zeros((len(machine.rates), depth + count), dtype=np.int64)
        total[:, :depth] += load
        total[:, count:] -= load
        # Of the loads of all waves: a wave ends to count when the last has begun.
        summed = np.cumsum(total, axis=1)[:, :-1]
        dealt: Counter[Pair] = Counter()
        for pair, number in pairs:
            for later in range(count):
                dealt[pair.later(later)] += number
        yield Dealt(wave.chunks * count, rounds_of(machine, summed), tuple(dealt.items()))
        count += max(1, count)


_LEAST_WAVES = 256
"""C of a wave is at most that part of what C may be."""
