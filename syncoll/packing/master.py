"""The linear program that packs columns against prices, built column by column.

The variables are rounds r_t >= 0 of each step and shares x >= 0 of columns; the sum of r_t is
minimal.  The shares of each demand's columns add up to its chunks, and the load on a bound b in
step t is at most b r_t.  The program solved is the dual: prices y for each bound and step, with a
cost of at most 1 for a round of every step, that maximise the cost of the cheapest columns.  Every
column is a row there.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from syncoll.arrays import Floats, Ints
from syncoll.linear import GrowingProgram

_LEAST_SECONDS = 0.05
"""HiGHS has this much even after the deadline: a program without an answer is useless."""


class Master:
    """Fractional packings of the columns so far.

    Args:
        rates: ``[B]``, chunks per round of each bound.
        counts: ``[D]``, chunks of each demand.
        steps: S.
        rounds: for each step r_t, to restrict packings to these proportions.

    Attributes:
        value: the least sum of rounds so far; infinity before there is one.
        rounds: ``[S]``, r_t of that packing; one for all steps where proportions are given.
        shares: of each column solved so far, in the order of addition.
        pays: ``[D]``, the price that each demand pays for a chunk.
        demands: of each column.
        loads: of each column, see `add`.
    """

    def __init__(
        self,
        rates: npt.ArrayLike,
        counts: npt.ArrayLike,
        steps: int,
        *,
        rounds: Sequence[Fraction] | None = None,
    ) -> None:
        self.rates = np.asarray(rates, dtype=np.float64)
        self.counts = np.asarray(counts, dtype=np.float64)
        self.steps, self.value = steps, float("inf")
        self.pays: Floats = np.full(len(self.counts), np.inf)
        self.shares: Floats = np.zeros(0)
        self.demands: list[int] = []
        self.loads: list[Ints | Floats] = []
        self._firsts: list[int] = []
        self._rules = 0
        self._priced = len(self.rates) * steps
        self._program = GrowingProgram(np.concatenate([np.zeros(self._priced), -self.counts]))
        every = list(range(steps))
        together = [[step] for step in every] if rounds is None else [every]
        for some in together:  # costs 1: a round of a step, or all rounds in proportion
            row = {
                b * steps + step: rate * (float(rounds[step]) if rounds else 1)
                for b, rate in enumerate(self.rates.tolist())
                for step in some
            }
            self._program.add(row, -np.inf, 1.0)
        self._spent = len(together)
        self.rounds: Floats = np.zeros(self._spent)

    def limit(self, coefficients: Mapping[tuple[int, int], float]) -> None:
        """Adds a rule before any column: prices of (bound, step) with these coefficients add up
        to at most 0."""
        row = {b * self.steps + t: c for (b, t), c in coefficients.items()}
        self._program.add(row, -np.inf, 0.0)
        self._rules += 1

    def add(self, demand: int, load: Ints | Floats, first: int = 0) -> None:
        """Adds a column.

        Args:
            demand: its position in `counts`.
            load: ``[b, S]``, the load of a chunk on these bounds; it does not load others.
            first: the first of these bounds.
        """
        flat = load.ravel()
        row = {first * self.steps + int(i): float(flat[i]) for i in np.flatnonzero(flat)}
        row[self._priced + demand] = -1.0
        self._program.add(row, 0.0, np.inf)
        self.demands.append(demand)
        self.loads.append(load)
        self._firsts.append(first)

    def solve(self, seconds: float | None = None) -> Floats | None:
        """The best prices against the columns so far, ``[B, S]``; None where time was too short.

        Every demand must have a column.
        """
        left = None if seconds is None else max(_LEAST_SECONDS, seconds)
        optimum = self._program.minimise(left)
        if optimum is None:
            return None
        self.value = min(-optimum.value, self.value)
        self.rounds = np.maximum(0.0, -optimum.row_duals[: self._spent])
        self.shares = np.maximum(0.0, optimum.row_duals[self._spent + self._rules :])
        self.pays = optimum.columns[self._priced :]
        fresh = np.maximum(0.0, optimum.columns[: self._priced])
        return np.asarray(fresh.reshape(len(self.rates), self.steps))

    def cheapest(self, demand: int, prices: Floats) -> float:
        """The cost of a demand's cheapest column under prices ``[B, S]``."""
        costs = (
            float((load * prices[first : first + len(load)]).sum())
            for load, first, d in zip(self.loads, self._firsts, self.demands, strict=True)
            if d == demand
        )
        return min(costs, default=float("inf"))
