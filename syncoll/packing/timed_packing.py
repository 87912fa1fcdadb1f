"""The packing of timed trees as a linear program, made tree by tree.

Find rounds r_t >= 0 of each step and shares x_T >= 0 of timed trees that minimise sum r_t, where
the trees of each demand have shares that add up to its chunks, and where what they send over the
links of a bound in step t is at most b r_t.  Solved is the dual: prices y for each bound and step,
of which a round costs at most 1 in every step, that make the cheapest trees as dear as possible.
Every tree is a row there; trees that are cheap under the present prices are looked for and added,
until there are none (column generation).

Prices of a vertex jump to and fro, and trees that are cheap under them are of no use for the next:
they are mixed with those before (smoothing; Pessoa, Sadykov, Uchoa & Vanderbeck 2018, "Automation
and combination of linear-programming based stabilization techniques").  What demands pay for the
cheapest trees that are found estimates the optimum from below; a proof it is not, for there may be
cheaper ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from syncoll.clock import now
from syncoll.deadline import Deadline
from syncoll.linear import GrowingProgram
from syncoll.packing.pricing import TreePricing
from syncoll.packing.problem import PackingProblem
from syncoll.packing.trees import TimedTree

__all__ = ["TimedPacking"]

FloatArray = npt.NDArray[np.float64]

_KEPT = 0.7
"""How much of the prices before is kept."""

_NEAR = 1e-4
"""A packing that is so near to what is estimated from below is at rest ..."""

_GAIN, _PATIENCE = 5e-4, 40
"""... and one that has fallen by less than this part in so many turns."""

_TINY = 1e-9

_NOISE = 0.5
"""By how much prices are raised at random, at most."""


class TimedPacking:
    """Fractional packings of timed trees in S steps.

    Args:
        problem: what to pack, on orbits.
        steps: S.
        trees: for each demand timed trees to begin with, or others of which who sends to whom is of
            use.
        rounds: for each step r_t, if only packings that keep to these proportions are wanted.
        timeless: whether what is sent in any step loads a bound alike: the packings then are of
            trees of at most S links from end to end, in the time that many chunks in a row take.
        prices: ``[B]``, prices of a bound in any step to begin with.

    Attributes:
        value: R/C of the best packing so far; infinity before there is one.
        estimate: about what it can fall to, or less.
        rounds: r_t of that packing.
        rested: whether no cheaper tree is found any more.
        feasible: whether every demand has a tree.
    """

    def __init__(
        self,
        problem: PackingProblem,
        steps: int,
        trees: Sequence[Sequence[TimedTree]] | None = None,
        rounds: Sequence[Fraction] | None = None,
        *,
        timeless: bool = False,
        prices: FloatArray | None = None,
    ) -> None:
        self.problem, self.steps = problem, steps
        self.trees: list[list[TimedTree]] = [[] for _ in problem.demands]
        self.value, self.estimate = float("inf"), 0.0
        self.rested = False
        self.feasible = True
        self._known: list[set[TimedTree]] = [set() for _ in problem.demands]
        self._random = np.random.default_rng(steps)
        self._pricing = TreePricing(problem, steps, self._random)
        self._row_of: list[tuple[int, int]] = []
        self.shares: FloatArray = np.zeros(0)
        self._bounds = len(problem.rate)
        cell = np.arange(self._bounds * steps)
        self._column_of = cell // steps if timeless else cell
        self._columns = int(self._column_of.max()) + 1
        self._counts = np.array([d.count / problem.least_chunks for d in problem.demands])
        self._program = GrowingProgram(np.concatenate([np.zeros(self._columns), -self._counts]))
        self._spend(timeless, rounds)
        start = 1 / (problem.rate * self._bounds) if prices is None else prices
        self._prices = np.repeat(start[:, None], steps, axis=1)
        self._at_estimate = self._prices
        self._pays: FloatArray | None = None
        self._turn = 0
        self._is_smoothed = False
        self._last_fall = (0, self.value)
        for demand, known in enumerate(trees or []):
            for tree in known:
                self._pricing.know(demand, tree)
                if tree.length <= steps:
                    self._add(demand, tree)

    @property
    def prices(self) -> FloatArray:
        """``[B]``, the prices that estimate what it can fall to, over all steps."""
        return np.asarray(self._at_estimate.mean(axis=1))

    def improve(self, until: Deadline) -> None:
        """Looks for cheap trees once for every demand, and solves the program again.

        Args:
            until: when HiGHS has to be done.
        """
        pays = np.full(len(self._counts), np.inf) if self._pays is None else self._pays
        found, costs = self._pricing.cheap(self._prices, pays, self._shared(), until)
        added = sum(self._add(demand, tree) for demand, tree in found)
        if not np.isfinite(costs).all():
            self.feasible = until.passed
            return
        estimate = float(self._counts @ costs)
        if estimate > self.estimate:
            self.estimate, self._at_estimate = estimate, self._prices
        left, began = max(0.05, until.left()), now()
        optimum = self._program.minimise(left)
        if optimum is None:
            self.rested = now() - began < left / 2  # more time would not help
            return
        self.value = min(-optimum.value, self.value)
        self.rounds = np.maximum(0.0, -optimum.row_duals[: self._spent])
        self.shares = np.maximum(0.0, optimum.row_duals[self._spent :])
        self._pays = optimum.columns[self._columns :]
        self._turn += 1
        self.rested = self._is_at_rest(added)
        fresh = np.maximum(0.0, optimum.columns[: self._columns])[self._column_of]
        kept = _KEPT if added else 0.0
        self._is_smoothed = kept > 0
        self._prices = kept * self._prices + (1 - kept) * fresh.reshape(self._prices.shape)

    def enrich(self, times: int, until: Deadline) -> None:
        """Adds trees that are cheap under prices near the last ones, for what has to be whole."""
        for _ in range(times):
            if until.passed:
                break
            noise = 1 + _NOISE * self._random.random(self._prices.shape)
            none = np.full(len(self._counts), np.inf)
            prices, shared = self._prices * noise, self._shared()
            for demand, tree in self._pricing.cheap(prices, none, shared, until)[0]:
                self._add(demand, tree)
        optimum = self._program.minimise(max(0.05, until.left()))
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
        # Of those without a share the last ones come first: prices have changed little since then.
        for (demand, i), share in reversed(list(zip(self._row_of, shares.tolist(), strict=True))):
            found[demand].append((self.trees[demand][i], share))
        few = max(2, most // max(1, len(found)))
        kept = []
        for trees in found:
            trees.sort(key=lambda item: -item[1])
            shared = sum(share > _TINY for _, share in trees)
            kept.append(trees[: max(shared, min(few, len(trees)))])
        return kept

    def _spend(self, timeless: bool, rounds: Sequence[Fraction] | None) -> None:
        """The rows of what costs 1: a round of a step, a round, or all rounds in proportion."""
        together = [range(self.steps)] if rounds is not None else [[t] for t in range(self.steps)]
        if timeless:
            together = [[0]]
        for steps in together:
            row = {
                int(self._column_of[b * self.steps + step]): float(rate)
                * (1.0 if rounds is None else float(rounds[step]))
                for b, rate in enumerate(self.problem.rate)
                for step in steps
            }
            self._program.add(row, -np.inf, 1.0)
        self._spent = len(together)

    def _is_at_rest(self, added: int) -> bool:
        if self.value <= self.estimate * (1 + _NEAR) or not (added or self._is_smoothed):
            return True
        since, value = self._last_fall
        if self.value < value * (1 - _GAIN):
            self._last_fall = (self._turn, self.value)
        return self._turn - since > _PATIENCE

    def _shared(self) -> list[list[TimedTree]]:
        """For each demand the trees with a share."""
        shared: list[list[TimedTree]] = [[] for _ in self.problem.demands]
        for row in np.flatnonzero(self.shares > _TINY).tolist():
            demand, tree = self._row_of[row]
            shared[demand].append(self.trees[demand][tree])
        return shared

    def _add(self, demand: int, tree: TimedTree) -> bool:
        if tree in self._known[demand]:
            return False
        self._known[demand].add(tree)
        each = self.problem.load(tree.links, tree.steps, self.steps).ravel()
        load = np.bincount(self._column_of, each, self._columns)
        row = {int(column): float(load[column]) for column in np.flatnonzero(load)}
        row[self._columns + demand] = -1.0
        self._program.add(row, 0.0, np.inf)
        self._row_of.append((demand, len(self.trees[demand])))
        self.trees[demand].append(tree)
        return True
