"""The linear program over trees, by column generation.

Minimise C subject to: the trees of each group carry its share of the data, and no row carries more
than C times its capacity ("Optimal Message Scheduling for Aggregation", problem (2)).  The program
has a variable for each tree.  It is solved with a few of them by HiGHS; its duals are prices of the
rows, and the cheapest trees under these prices join, until none is cheaper than what the trees so
far pay.

Two things keep the number of solved programs small, often at one.  The first trees come from a
greedy packing: each is cheapest under prices that grow with the load, which is near the optimum
already.  And every program is answered by several trees, each under prices raised where the ones
before it went.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf

import numpy as np

from syncoll.arrays import FloatArray, IntArray
from syncoll.clock import now
from syncoll.linear import GrowingProgram
from syncoll_treepacking.oracle import Column, Oracle

__all__ = ["Basis", "ColumnGeneration", "Master", "packing_program"]


_TOLERANCE = 1e-9
_TREES_PER_PROGRAM = 12


@dataclass(frozen=True, eq=False)
class Basis:
    """Which variables of the last program are basic, and which of its rows are tight.

    Args:
        columns: positions of basic trees; C is basic too, unless it was fixed.
        rows: positions of tight capacity rows.
        groups: positions of tight group rows.
    """

    columns: tuple[int, ...]
    rows: tuple[int, ...]
    groups: tuple[int, ...]


class Master:
    """The program with some of its columns.

    Args:
        oracle: whose trees it packs.
        fixed: C, where the least total load is sought for a known C; None where C is sought.
    """

    def __init__(self, oracle: Oracle, fixed: Fraction | None = None) -> None:
        self.oracle, self.fixed = oracle, fixed
        self.columns: list[Column] = []
        self.loads: list[IntArray] = []
        """For each column how often it uses each row."""
        self.solved = False
        """Whether the last program has an optimum, which the methods below are about."""
        system = oracle.system
        largest = max(system.capacities)
        self.capacities = np.array([float(c / largest) for c in system.capacities])
        """The capacities, the largest 1: C of the program is C times the largest capacity."""
        self.cost_of_link = 0.0 if fixed is None else 1.0
        """What each use of a link costs by itself."""
        self._known: set[tuple[int, tuple[int, ...]]] = set()
        self._groups = len(oracle.shares)
        self._program = packing_program(
            self.oracle,
            [float(share) for share in oracle.shares],
            None if fixed is None else float(fixed * largest),
            primal_feasibility_tolerance=1e-10,
            dual_feasibility_tolerance=1e-10,
        )

    def add(self, columns: Iterable[Column]) -> int:
        """Adds those that are new, and says how many they are."""
        before = len(self.columns)
        sizes: list[int] = []
        index: list[IntArray] = []
        value: list[FloatArray] = []
        costs: list[float] = []
        for column in columns:
            key = (column.group, column.links)
            if key in self._known:
                continue
            self._known.add(key)
            load = self.oracle.system.loads(column.links)
            used = np.flatnonzero(load)
            self.columns.append(column)
            self.loads.append(load)
            index += [np.array([column.group]), used + self._groups]
            value += [np.ones(1), load[used].astype(np.float64)]
            sizes.append(1 + len(used))
            costs.append(self.cost_of_link * len(column.links))
        if sizes:
            entries = np.array(sizes), np.concatenate(index), np.concatenate(value)
            self._program.add_columns(costs, entries=entries)
        return len(self.columns) - before

    def solve(self, seconds: float) -> bool:
        """Whether there is an optimum within this time."""
        self.solved = self._program.run(seconds)
        return self.solved

    def weights(self) -> FloatArray:
        """How much of the data each tree carries."""
        return self._program.optimum().columns[1:]

    def prices(self) -> FloatArray:
        """Of the rows: their duals."""
        return np.maximum(-self._program.optimum().row_duals[self._groups :], 0.0)

    def paid(self) -> FloatArray:
        """What the trees of each group that carry data cost under these prices."""
        return self._program.optimum().row_duals[: self._groups]

    def basis(self) -> Basis | None:
        """Of the last program; None when it is not square (C at zero, say)."""
        columns, tight = self._program.basis()
        if len(columns) != len(tight) or (self.fixed is None) != (0 in columns):
            return None
        return Basis(
            tuple(i - 1 for i in columns if i),
            tuple(i - self._groups for i in tight if i >= self._groups),
            tuple(i for i in tight if i < self._groups),
        )


def packing_program(
    oracle: Oracle, carried: Sequence[float], fixed: float | None = None, **options: float
) -> GrowingProgram:
    """The program without trees: what each group carries, the loads, and C times the capacities.

    Args:
        oracle: whose trees are to be packed.
        carried: by the trees of each group together.
        fixed: C in units of the largest capacity, where it is known.
        options: of HiGHS.
    """
    system, groups = oracle.system, len(carried)
    largest = max(system.capacities)
    program = GrowingProgram(**options)
    program.add_rows(carried, carried)
    program.add_rows(np.full(system.num_rows, -np.inf), np.zeros(system.num_rows))
    rows = np.arange(groups, groups + system.num_rows)
    loads = np.array([-float(c / largest) for c in system.capacities])
    low, high = (0.0, np.inf) if fixed is None else (fixed, fixed)
    program.add_columns([1.0], low, high, ([len(rows)], rows, loads))
    return program


class ColumnGeneration:
    """Solves the program in floating point.

    Args:
        oracle: whose trees are packed.
        seconds: when to stop, converged or not; None for no limit.
    """

    def __init__(self, oracle: Oracle, seconds: float | None = None) -> None:
        self._oracle = oracle
        self._ends = inf if seconds is None else now() + seconds
        self._chance = np.random.default_rng(7)
        self.programs = 0
        """How many were solved."""
        self.converged = False
        """Whether no tree is cheaper than those in the last program."""

    def run(self, master: Master) -> None:
        """Adds columns to a master, and solves it, until nothing gets better."""
        self.converged = False
        if not master.columns:
            master.add(self._greedy(master))
        while (left := self._left()) > 0:
            self.programs += 1
            if not master.solve(left):
                return
            paid = master.paid()
            costs = self._oracle.system.costs(master.prices()) + master.cost_of_link
            limit = paid - _TOLERANCE * np.maximum(1.0, abs(paid))
            found = [*self._oracle.cheapest(costs), *self._more(costs)]
            if not master.add(t for t in found if costs[list(t.links)].sum() < limit[t.group]):
                self.converged = True
                return

    def _left(self) -> float:
        return self._ends - now()

    def _more(self, costs: FloatArray) -> list[Column]:
        """Trees that are nearly cheapest, and share few links."""
        step = float(costs.mean()) * 0.02
        found: list[Column] = []
        used = np.zeros(len(costs))
        for _ in range(max(1, _TREES_PER_PROGRAM // len(self._oracle.shares))):
            noise = self._chance.uniform(0, step, len(costs))
            trees = self._oracle.cheapest(costs + step * used + noise)
            for tree in trees:
                np.add.at(used, list(tree.links), 1.0)
            found += trees
        return found

    def _greedy(self, master: Master) -> list[Column]:
        """Trees that each avoid what the ones before them loaded."""
        system, shares = self._oracle.system, self._oracle.shares
        load = np.zeros(system.num_rows)
        trees: list[Column] = []
        for turn in range(max(8, min(2 * system.num_rows // len(shares), 600))):
            level = load / master.capacities
            sharp = np.exp(np.minimum((level - level.max()) * np.sqrt(turn + 1.0), 0.0))
            prices = (sharp + 1e-9) / master.capacities
            noise = 1 + self._chance.uniform(0, 1e-3, len(system.ends))
            found = self._oracle.cheapest(system.costs(prices) * noise)
            for tree in found:
                load += float(shares[tree.group]) * system.loads(tree.links)
            trees += found
            if self._left() < 0:
                break
        return trees
