"""The packing of timed trees as a linear program, made tree by tree.

Find rounds r_t >= 0 of each step and shares x_T >= 0 of timed trees that minimise sum r_t, where
the trees of each demand have shares that add up to its chunks, and where what they send over the
links of a bound in step t is at most b r_t.  Solved is the dual: prices y for each bound and step,
of which a round costs at most 1 in every step, that make the cheapest trees as dear as possible.
Every tree is a row there; trees that are cheap under the present prices are looked for and added,
until there are none (column generation).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from syncoll.linear import GrowingProgram
from syncoll_timedtrees.problem import Problem
from syncoll_timedtrees.trees import TimedTree, TreeFinder

__all__ = ["Packing"]

FloatArray = npt.NDArray[np.float64]

_EFFORTS = (0, 4, 12)
"""How hard cheap trees are looked for, one after the other as the program comes to rest."""

_GAIN = 2e-3
"""By this part the optimum has to fall, or the next effort is made."""

_PATIENCE = 2
"""So many times in turn it may fall less."""

_NOISE = 0.5
"""By how much prices are raised at random, at most."""

_SMOOTHED = (0.0, 0.5, 0.0, 0.3, 0.7)
"""How much of the prices before is kept, in turn: prices of a vertex jump to and fro."""


class Packing:
    """Fractional packings of timed trees in S steps.

    Args:
        problem: what to pack, on orbits.
        steps: S.
        trees: for each demand timed trees of as many steps or fewer, to begin with.
        rounds: for each step r_t, if only packings that keep to these proportions are wanted.

    Attributes:
        value: R/C of the best packing so far; infinity before there is one.
        rounds: r_t of that packing.
        rested: whether no cheaper tree is found any more.
        feasible: whether every demand has a tree.
    """

    def __init__(
        self,
        problem: Problem,
        steps: int,
        trees: Sequence[Sequence[TimedTree]] | None = None,
        rounds: Sequence[Fraction] | None = None,
    ) -> None:
        self.problem, self.steps = problem, steps
        self.trees: list[list[TimedTree]] = [[] for _ in problem.demands]
        self.value = float("inf")
        self.rested = False
        self.feasible = True
        self._known: list[set[TimedTree]] = [set() for _ in problem.demands]
        self._random = np.random.default_rng(steps)
        self._finder = TreeFinder(problem, steps, self._random)
        self._row_of: list[tuple[int, int]] = []
        self._bounds = len(problem.rate)
        self._cells = self._bounds * steps
        counts = np.array([d.count / problem.least_chunks for d in problem.demands])
        self._program = GrowingProgram(np.concatenate([np.zeros(self._cells), -counts]))
        for several in [[step] for step in range(steps)] if rounds is None else [range(steps)]:
            # What is to be spent costs 1: a round of a step, or all rounds in proportion.
            row = {
                b * steps + step: float(rate) * (1.0 if rounds is None else float(rounds[step]))
                for b, rate in enumerate(problem.rate)
                for step in several
            }
            self._program.add(row, -np.inf, 1.0)
        self._spent = steps if rounds is None else 1
        start = 1 / (problem.rate * self._bounds)
        self._prices = np.repeat(start[:, None], steps, axis=1)
        self._effort = self._idle = self._turn = 0
        self._single = all(len(demand.destinations) == 1 for demand in problem.demands)
        for demand, known in enumerate(trees or []):
            for tree in known:
                self._add(demand, tree)

    def improve(self, seconds: float) -> None:
        """Looks for cheap trees once for every demand, and solves the program again.

        Args:
            seconds: what HiGHS may take.
        """
        added = 0
        for demand, tree in self._cheap(self._prices):
            if tree is None:
                self.feasible = False
                return
            added += self._add(demand, tree)
        optimum = self._program.minimise(seconds)
        if optimum is None:
            self.rested = True
            return
        value = -optimum.value
        fell = value < self.value * (1 - _GAIN)
        self.value = min(value, self.value)
        self.rounds = np.maximum(0.0, -optimum.row_duals[: self._spent])
        self.shares = np.maximum(0.0, optimum.row_duals[self._spent :])
        self._idle = 0 if fell else self._idle + 1
        if self._idle >= _PATIENCE or (not added and self._single):
            self._idle, self._effort = 0, self._effort + 1
            self.rested = self._effort >= len(_EFFORTS) or self._single
        fresh = np.maximum(0.0, optimum.columns[: self._cells]).reshape(self._bounds, self.steps)
        kept = _SMOOTHED[self._turn % len(_SMOOTHED)] if self._turn else 0.0
        self._turn += 1
        self._prices = kept * self._prices + (1 - kept) * fresh

    def enrich(self, times: int, seconds: float) -> None:
        """Adds trees that are cheap under prices near the last ones, for what has to be whole."""
        for _ in range(times):
            noise = 1 + _NOISE * self._random.random(self._prices.shape)
            for demand, tree in self._cheap(self._prices * noise):
                if tree is not None:
                    self._add(demand, tree)
        optimum = self._program.minimise(seconds)
        if optimum is not None:
            self.shares = np.maximum(0.0, optimum.row_duals[self._spent :])

    def of_use(self, most: int) -> list[list[tuple[TimedTree, float]]]:
        """For each demand trees with their shares, the largest first, and a few without a share.

        Args:
            most: trees for all demands together, beyond those with a share.
        """
        found: list[list[tuple[TimedTree, float]]] = [[] for _ in self.problem.demands]
        # Trees that were added since the program was solved have no share yet.
        shares = np.zeros(len(self._row_of))
        shares[: len(self.shares)] = self.shares
        for (demand, i), share in zip(self._row_of, shares.tolist(), strict=True):
            found[demand].append((self.trees[demand][i], share))
        few = max(2, most // max(1, len(found)))
        kept = []
        for trees in found:
            trees.sort(key=lambda item: -item[1])
            shared = sum(share > 1e-9 for _, share in trees)
            kept.append(trees[: max(shared, min(few, len(trees)))])
        return kept

    def _cheap(self, prices: FloatArray) -> list[tuple[int, TimedTree | None]]:
        """Cheap trees under prices ``[B, S]`` of the bounds."""
        prices = (self.problem.orbits.members @ prices)[self.problem.orbit].T.copy()
        demands = self.problem.demands
        found: list[tuple[int, TimedTree | None]] = []
        if self._single:
            by_sources: dict[tuple[int, ...], list[int]] = {}
            for i, demand in enumerate(demands):
                by_sources.setdefault(demand.sources, []).append(i)
            for members in by_sources.values():
                ways = self._finder.ways([demands[i] for i in members], prices)
                found += zip(members, ways, strict=True)
            return found
        effort = _EFFORTS[min(self._effort, len(_EFFORTS) - 1)]
        for i, demand in enumerate(demands):
            trees = self._finder.trees(demand, prices, effort)
            found += [(i, tree) for tree in trees] or [(i, None)]
        return found

    def _add(self, demand: int, tree: TimedTree) -> bool:
        if tree in self._known[demand]:
            return False
        self._known[demand].add(tree)
        load = self.problem.load(tree.links, tree.steps, self.steps).ravel()
        row = {int(cell): float(load[cell]) for cell in np.flatnonzero(load)}
        row[self._cells + demand] = -1.0
        self._program.add(row, 0.0, np.inf)
        self._row_of.append((demand, len(self.trees[demand])))
        self.trees[demand].append(tree)
        return True
