"""Packings of timed trees: column generation with the oracle of `pricing`.

The prices that demands pay for the cheapest trees found estimate the optimum from below.  The
estimate is no proof, because cheaper trees may exist.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from syncoll.arrays import Floats
from syncoll.packing.column_generation import TINY, Packing, Tuning
from syncoll.packing.pricing import TreePricing
from syncoll.packing.problem import PackingProblem
from syncoll.packing.trees import TimedTree

_TUNING = Tuning(kept=0.7, gain=5e-4, patience=40)
"""Chosen by row torus(8,8) allgather of benchmarks/results/scale.md."""


class TimedPacking(Packing[TimedTree]):
    """Fractional packings of timed trees in S steps.

    Args:
        trees: for each demand timed trees to begin with; of trees with more steps only the links
            are used.
        rounds: see `Master`.
        timeless: see `Packing`: trees then have at most S links from end to end.
    """

    def __init__(
        self,
        problem: PackingProblem,
        steps: int,
        trees: Sequence[Sequence[TimedTree]] | None = None,
        rounds: Sequence[Fraction] | None = None,
        *,
        timeless: bool = False,
        prices: Floats | None = None,
    ) -> None:
        self.problem = problem
        self._random = np.random.default_rng(steps)
        self._pricing = TreePricing(problem, steps, self._random)
        counts = [demand.count / problem.least_chunks for demand in problem.demands]
        super().__init__(
            problem,
            counts,
            steps,
            self._pricing,
            _TUNING,
            rounds=rounds,
            timeless=timeless,
            prices=prices,
        )
        for demand, known in enumerate(trees or []):
            for tree in known:
                self._pricing.know(demand, tree)
                if tree.length <= steps:
                    self.add(demand, tree)

    def trees_of_use(self, most: int) -> list[list[TimedTree]]:
        """The trees of `of_use`."""
        return [[self.columns[i] for i in own] for own in self.of_use(most)]

    def of_use(self, most: int) -> list[list[int]]:
        """For each demand positions of trees by their shares, the largest first, and of a few
        without a share.  There are at most `most` trees beyond the ones with a share."""
        # Trees added after the last solution have no share yet.
        shares = np.zeros(len(self.columns))
        shares[: len(self.master.shares)] = self.master.shares
        # Of trees without a share the last ones come first: prices have changed little since then.
        demands, last = np.array(self.master.demands, dtype=np.int64), -np.arange(len(shares))
        order = np.lexsort((last, -shares, demands))
        sizes = np.bincount(demands, minlength=len(self.problem.demands))
        few = max(2, most // max(1, len(sizes)))
        kept = []
        for own in np.split(order, np.cumsum(sizes)[:-1]):
            used = own[: max(few, np.count_nonzero(shares[own] > TINY))]
            kept.append(used.tolist())
        return kept
