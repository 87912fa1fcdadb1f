"""Packings of pairs of trees: column generation with the oracle of `pairs`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from syncoll.packing.column_generation import Packing, Tuning
from syncoll_treepairs.network import AllreduceNetwork
from syncoll_treepairs.pairs import Pair, PairFinder

__all__ = ["AllreducePacking", "PairPacking", "whenever"]

_TUNING = Tuning(kept=0.6, gain=1e-3, patience=12, complete=False)
"""Chosen by rows torus(4,4) and mesh(4,4) of benchmarks/results/allreduce.md."""

_BEGUN_WITH = 600
"""Pairs of a packing in fewer steps that one begins with; limits work."""


class AllreducePacking(Packing[Pair]):
    """Fractional packings of ways to sum a chunk."""

    network: AllreduceNetwork


class PairPacking(AllreducePacking):
    """Fractional packings of pairs of trees in S steps.

    Args:
        network: where.
        steps: S.
        pairs: to begin with.
    """

    def __init__(self, network: AllreduceNetwork, steps: int, pairs: Iterable[Pair] = ()) -> None:
        finder = PairFinder(network, steps, np.random.default_rng(steps))
        order, least = network.order, network.least
        super().__init__(network, [1.0], steps, finder, _TUNING, chunks=order, least=least)
        for pair in (*finder.fixed, *pairs):
            if pair.sends[-1][0] < steps:
                self.add(0, pair)
        self.feasible = finder.feasible

    def begin(self, steps: int) -> list[Pair]:
        """Pairs for a packing in more steps: those with a share, now and later."""
        return _later([self.columns[i] for i, _ in self.shared()], steps - self.steps)


def whenever(pairs: Sequence[Pair], steps: int) -> list[Pair]:
    """Pairs begun at any time at which so many steps leave room for them."""
    found = []
    for pair in pairs:
        left = steps - 1 - int(pair.steps[-1] - pair.steps[0])
        if left >= 0:
            found.append((left, pair.later(-int(pair.steps[0]))))
    return [one for left, pair in found for one in _later([pair], left, len(found))]


def _later(pairs: Sequence[Pair], most: int, of: int | None = None) -> list[Pair]:
    """Pairs now and up to so many steps later, not too many of them.

    Args:
        of: so many share the number of pairs to begin with; None for these.
    """
    times = max(2, min(most + 1, _BEGUN_WITH // max(1, of or len(pairs))))
    shifts = sorted({round(i * most / (times - 1)) for i in range(times)})
    return [pair.later(shift) for shift in shifts for pair in pairs]
