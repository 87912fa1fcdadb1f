"""Column generation: an oracle looks for cheap columns, again and again, until none is left.

Prices of a vertex oscillate, and columns that are cheap under them seldom help the next ones, so
prices are mixed with the ones before (smoothing; Pessoa, Sadykov, Uchoa & Vanderbeck 2018,
"Automation and combination of linear-programming based stabilization techniques").
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from syncoll.arrays import Floats, Ints
from syncoll.clock import now
from syncoll.deadline import Deadline
from syncoll.packing.master import Master

TINY = 1e-9
"""Smaller shares are noise of the solver, and so are smaller savings."""


class Column(Protocol):
    """The sends of one chunk."""

    @property
    def links(self) -> Ints:
        """``[K]``, the link of each send."""

    @property
    def steps(self) -> Ints:
        """``[K]``, the step of each send."""


_NOISE = 0.5
"""Prices are raised at random by this share at most, to find trees that are cheap nearby.  Row
mesh(8,8) of benchmarks/results/scale.md."""

C = TypeVar("C", bound=Column)


class Loads(Protocol):
    """The loads of columns on a network modulo a group."""

    @property
    def rate(self) -> Floats:
        """``[B]``, chunks per round of one bound of each orbit."""

    def load(self, links: Ints, steps: Ints, count: int) -> Ints:
        """``[B, count]``: loads of sends with all their images on bounds in each step."""


class Oracle(Protocol[C]):
    """Finds cheap columns; heuristically for algorithms, exactly for bounds."""

    def cheap(
        self, prices: Floats, pays: Floats, shared: Sequence[Sequence[C]], until: Deadline
    ) -> tuple[list[tuple[int, C]], Floats]:
        """Columns with the position of their demand, and the least cost found for each demand.

        Args:
            prices: ``[B, S]``.
            pays: ``[D]``; only cheaper columns improve the packing.
            shared: for each demand the columns that are in use now.
            until: deadline; the columns found by then are returned.
        """


@dataclass(frozen=True)
class Tuning:
    """Rules for the movement of prices and for the end of a packing.

    Args:
        kept: the share of the earlier prices that is kept.
        gain, patience: at rest after `patience` turns in which the value falls by less than `gain`.
        complete: whether the oracle looks at all kinds of columns in a turn; then the least costs
            estimate the optimum, and a turn without new columns is the last one.
        near: at rest when the value is this near to a lower estimate, relatively.
    """

    kept: float
    gain: float
    patience: int
    complete: bool = True
    near: float = 1e-4


class Packing(Generic[C]):
    """Fractional packings of columns in S steps.

    Args:
        network: computes the loads of columns.
        counts: ``[D]``, chunks of each demand.
        chunks: of all demands together; `value` is for each of them.
        rounds: see `Master`.
        timeless: whether a load counts alike in any step: the packings then take the time of many
            chunks in a row, and oracles see a single step.
        prices: ``[B]``, initial prices of a bound in any step.

    Attributes:
        estimate: an approximate lower bound on the value.
        columns: all that are known.
        rested: whether no cheaper column is found any more.
        feasible: whether every demand has a column.
    """

    _random: np.random.Generator

    def __init__(
        self,
        network: Loads,
        counts: npt.ArrayLike,
        steps: int,
        oracle: Oracle[C],
        tuning: Tuning,
        *,
        chunks: int = 1,
        rounds: Sequence[Fraction] | None = None,
        timeless: bool = False,
        prices: Floats | None = None,
    ) -> None:
        self.network, self.steps, self.oracle = network, steps, oracle
        self.master = Master(network.rate, counts, 1 if timeless else steps, rounds=rounds)
        self.estimate = 0.0
        self.columns: list[C] = []
        self.rested, self.feasible = False, True
        self._tuning, self._chunks, self._timeless = tuning, chunks, timeless
        self._known: list[set[bytes]] = [set() for _ in self.master.counts]
        start = 1 / (network.rate * len(network.rate)) if prices is None else prices
        self._prices = np.repeat(start[:, None], self.master.steps, axis=1)
        self._at_estimate = self._prices
        self._turn, self._last_fall = 0, (0, self.value)
        self._is_smoothed = True  # the first prices are not optimal

    @property
    def value(self) -> float:
        """R/C of the best packing so far; infinity before there is one."""
        return self.master.value / self._chunks

    @property
    def prices(self) -> Floats:
        """``[B]``, the prices of the best estimate, over all steps."""
        return np.asarray(self._at_estimate.mean(axis=1))

    @property
    def rounds(self) -> Floats:
        """``[S]``, r_t for each chunk."""
        return self.master.rounds / self._chunks

    def add(self, demand: int, column: C) -> bool:
        """Adds a column, unless the demand has one with the same load; returns whether it did."""
        steps = np.zeros_like(column.steps) if self._timeless else column.steps
        load = self.network.load(column.links, steps, self.master.steps)
        if load.tobytes() in self._known[demand]:
            return False
        self._known[demand].add(load.tobytes())
        self.master.add(demand, load)
        self.columns.append(column)
        return True

    def improve(self, until: Deadline) -> None:
        """Asks the oracle once, and solves the program again, by the deadline."""
        master = self.master
        found, costs = self.oracle.cheap(self._prices, master.pays, self._in_use(), until)
        added = sum([self.add(demand, column) for demand, column in found])
        if not all(self._known):
            self.feasible = until.passed
            return
        estimate = float(master.counts @ costs) / self._chunks
        if self._tuning.complete and self.estimate < estimate < np.inf:
            self.estimate, self._at_estimate = estimate, self._prices
        left, began = until.left(), now()
        fresh = master.solve(left)
        if fresh is None:
            self.rested = now() - began < left / 2  # more time would not help
            return
        self._turn += 1
        self.rested = self._is_at_rest(added)
        kept = self._tuning.kept if added else 0.0
        self._is_smoothed = kept > 0
        self._prices = kept * self._prices + (1 - kept) * fresh

    def enrich(self, times: int, until: Deadline) -> None:
        """Adds columns that are cheap under prices near the last ones, for rounding."""
        for _ in range(times):
            if until.passed:
                break
            noise = 1 + _NOISE * self._random.random(self._prices.shape)
            pays = np.full(len(self.master.counts), np.inf)
            found, _ = self.oracle.cheap(self._prices * noise, pays, self._in_use(), until)
            for demand, column in found:
                self.add(demand, column)
        self.master.solve(until.left())

    def shared(self) -> list[tuple[int, float]]:
        """Positions of the columns with a share, the largest first."""
        shares = self.master.shares
        found = np.flatnonzero(shares > TINY)
        order = found[np.argsort(-shares[found])]
        return [(int(i), float(shares[i])) for i in order.tolist()]

    def _in_use(self) -> list[list[C]]:
        """For each demand the columns with a share."""
        shared: list[list[C]] = [[] for _ in self._known]
        for i in np.flatnonzero(self.master.shares > TINY).tolist():
            shared[self.master.demands[i]].append(self.columns[i])
        return shared

    def _is_at_rest(self, added: int) -> bool:
        if self.value <= self.estimate * (1 + self._tuning.near):
            return True
        if self._tuning.complete and not (added or self._is_smoothed):
            return True
        since, value = self._last_fall
        if self.value < value * (1 - self._tuning.gain):
            self._last_fall = (self._turn, self.value)
        return self._turn - since > self._tuning.patience
