"""The packing of pairs of trees as a linear program, made pair by pair.

Find rounds r_t >= 0 of each step and shares x >= 0 of ways to sum a chunk, which add up to 1, that
minimise sum r_t where what they send over the links of a bound in step t is at most b r_t.  Solved
is the dual: prices for each bound and step, of which a round costs at most 1 in every step, that
make the cheapest way as dear as possible.  Cheap ways under the present prices are looked for and
added, until there are none (column generation; prices are mixed with those before, Pessoa, Sadykov,
Uchoa & Vanderbeck 2018).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from syncoll.arrays import FloatArray, IntArray
from syncoll.deadline import Deadline
from syncoll.linear import GrowingProgram
from syncoll_treepairs.machine import Machine
from syncoll_treepairs.pairs import Pair, PairFinder

__all__ = ["Packing", "whenever"]


_KEPT = 0.6
"""How much of the prices before is kept."""

_GAIN, _PATIENCE = 1e-3, 12
"""A packing that has fallen by less than this part in so many turns is at rest."""

_NEAR = 1e-4
_BEGUN_WITH = 600
"""Pairs of a packing in fewer steps that one begins with."""

_TINY = 1e-9


class Packing:
    """Fractional packings of pairs of trees in S steps.

    Args:
        machine: where.
        steps: S.
        pairs: to begin with.

    Attributes:
        value: R/C of the best packing so far; infinity before there is one.
        pairs: all that are known.
        shares: of each, in the best packing.
        rested: whether nothing becomes cheaper any more.
    """

    def __init__(self, machine: Machine, steps: int, pairs: Iterable[Pair] = ()) -> None:
        self.machine, self.steps = machine, steps
        self.value = float("inf")
        self.pairs: list[Pair] = []
        self.loads: list[IntArray] = []
        self.shares: FloatArray = np.zeros(0)
        self.rested = False
        self._known: set[Pair] = set()
        self._finder = PairFinder(machine, steps, np.random.default_rng(steps))
        bounds = len(machine.rates)
        rates = np.array([float(rate) for rate in machine.rates])
        self._prices = np.repeat((1 / (rates * bounds))[:, None], steps, axis=1)
        self._program = GrowingProgram(np.concatenate([np.zeros(bounds * steps), [-1.0]]))
        for step in range(steps):
            row = {b * steps + step: float(rate) for b, rate in enumerate(rates)}
            self._program.add(row, -np.inf, 1.0)
        self._pay = float("inf")
        self._falls: list[float] = []
        for pair in (*self._finder.fixed, *pairs):
            self._add(pair)

    @property
    def feasible(self) -> bool:
        """Whether so many steps suffice."""
        return self._finder.feasible

    def improve(self, until: Deadline) -> None:
        """Looks for cheap pairs once, and solves the program again."""
        found, least = self._finder.cheap(self._prices, self._pay * (1 - _TINY), until)
        added = sum(self._add(pair) for pair in found)
        if not self.pairs:
            self.rested = not np.isfinite(least)
            return
        optimum = self._program.minimise(max(0.05, until.left()))
        if optimum is None:
            self.rested = True
            return
        self.value = -optimum.value / self.machine.order
        self._pay = -optimum.value
        self.shares = np.maximum(0.0, optimum.row_duals[self.steps :])
        fresh = np.maximum(0.0, optimum.columns[:-1]).reshape(self._prices.shape)
        kept = _KEPT if added else 0.0
        self._prices = kept * self._prices + (1 - kept) * fresh
        self._falls.append(self.value)
        before = self._falls[-_PATIENCE - 1] if len(self._falls) > _PATIENCE else np.inf
        near = self.value <= self.machine.least * (1 + _NEAR)
        self.rested = near or self.value > before * (1 - _GAIN)

    def begin(self, steps: int) -> list[Pair]:
        """What a packing in more steps may begin with: pairs with a share, now and later."""
        return _later([self.pairs[i] for i, _ in self.shared()], steps - self.steps)

    def shared(self) -> list[tuple[int, float]]:
        """Positions of the pairs with a share, the largest first."""
        found = np.flatnonzero(self.shares > _TINY)
        order = found[np.argsort(-self.shares[found])]
        return [(int(i), float(self.shares[i])) for i in order.tolist()]

    def _add(self, pair: Pair) -> bool:
        if pair in self._known or pair.sends[-1][0] >= self.steps:
            return False
        self._known.add(pair)
        load = self.machine.load(pair.links, pair.steps, self.steps)
        flat = load.ravel()
        row = {int(i): float(flat[i]) for i in np.flatnonzero(flat)}
        row[flat.size] = -1.0
        self._program.add(row, 0.0, np.inf)
        self.pairs.append(pair)
        self.loads.append(load)
        return True


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
