"""From shares of columns to whole chunks: the number of chunks on each column, for which C.

For a C and the columns of a packing, the numbers of chunks on each column are whole, and so are the
rounds of each step: an integer program of few variables.  Shares are rounded by largest remainders,
improved by moving chunks between columns (`local_search`), and by CP-SAT where there is little to
decide or much time.  C is chosen by the promise of the fractional optimum, ``max(S, ceil(C value))
/ C``, or by the loss of rounding for it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, compress
from math import ceil, gcd
from operator import itemgetter
from typing import Generic

import numpy as np
import numpy.typing as npt

from syncoll.arrays import Floats, Ints
from syncoll.clock import took
from syncoll.deadline import Deadline
from syncoll.linear.effort import TICKS_PER_UNIT, limit_cp_sat
from syncoll.packing.arrivals import MOST_CELLS
from syncoll.packing.column_generation import TINY, C, Packing
from syncoll.packing.local_search import ChunkMoves
from syncoll.packing.remainders import largest_remainders
from syncoll.packing.timed_packing import TimedPacking
from syncoll.packing.trees import TimedTree

_MOST_TREES = 2400
"""Trees to choose from, beyond the ones with a share; limits memory.  A fourth begins a packing
with fixed rounds."""

NEAR_PROMISE, _NEXT = Fraction(1004, 1000), Fraction(10005, 10000)
"""Ratio of a small and a large C to the best promise: rows a100(boxes=4) allgather and torus(8,8)
allgather of benchmarks/results/scale.md."""

_SMALL = 8
ROUNDS_OF_STEP = 100
"""C is small, or has at most this number of rounds for each of S + 4 steps, where one more does not
matter.  Row torus(8,8) allgather of benchmarks/results/scale.md."""

FINE = 4
"""Factor by which C may grow where R/C matters most; half of it for parts of compositions, because
compositions have twice the sends or more.  Row torus(8,8) allgather of benchmarks/results/scale.md.
"""

_MANY_ROUNDS = 20
"""Average rounds of a step above which each step needs about half a round more.  This, the tried
sums and the accepted distance: row torus(8,8) allgather of benchmarks/results/scale.md."""

KIND, KINDEST = 64, 6
"""Large C that are tried for their loss by rounding, and the number that are dealt: row
mi250(boxes=2) allgather of benchmarks/results/scale.md."""

_TOTALS = 2
"""Sums of whole rounds that are tried; limits work."""

_GOOD = 1.003
"""A result within this factor of the promise is not improved."""

_ENRICHED = 20
"""Turns that look for trees near the last prices: row mesh(8,8) of benchmarks/results/scale.md."""

WHOLE = 1e-6
"""Tolerance of whole numbers; noise of the linear program is smaller."""

_FEW_ROUNDS, _FEW_ENTRIES = 200, MOST_CELLS >> 6
"""With more rounds, or more loads of columns on bounds in steps, CP-SAT finds nothing better
quickly; limits work."""

_NEARLY = 0.01
"""A packing may overload its rounds by this share: whole numbers of chunks may fit all the same."""


def rounds_per_step(rates: Sequence[Fraction], load: Ints) -> Ints:
    """``[S]``: rounds of loads ``[B, S]`` on bounds of these chunks per round."""
    over = np.array([rate.denominator for rate in rates])[:, None]
    rate = np.array([rate.numerator for rate in rates])[:, None]
    return np.asarray((-(-load * over // rate)).max(axis=0))


def rounds_of(rates: Sequence[Fraction], load: Ints) -> int:
    """R of loads, see `rounds_per_step`."""
    return int(rounds_per_step(rates, load).sum())


@dataclass(frozen=True, eq=False)
class DealtChunks(Generic[C]):
    """Whole numbers of chunks on columns.

    Args:
        chunks: C.
        rounds: R.
        columns: for each demand its columns, each with a number of chunks above 0.
    """

    chunks: int
    rounds: int
    columns: tuple[tuple[tuple[C, int], ...], ...]

    @property
    def bandwidth(self) -> Fraction:
        """R/C."""
        return Fraction(self.rounds, self.chunks)


@dataclass(frozen=True, eq=False)
class ColumnChoice(Generic[C]):
    """Columns to choose from.

    Args:
        rates: ``[B]``, chunks per round.
        counts: ``[D]``, chunks of each demand for one unit of C.
        sizes: ``[D]``, number of columns of each demand, which follow one another.
        columns: ``[T]``.
        shares: ``[T]``, in any scale.
        loads: ``[T, B, S]``, the load of one chunk on each column.
    """

    rates: Sequence[Fraction]
    counts: Sequence[int]
    sizes: Sequence[int]
    columns: Sequence[C]
    shares: Floats
    loads: Ints

    @classmethod
    def of(
        cls,
        packing: Packing[C],
        rates: Sequence[Fraction],
        counts: Sequence[int],
        which: Iterable[int] | None = None,
    ) -> "ColumnChoice[C]":
        """The columns of a packing at these positions; None for the ones with a share."""
        master = packing.master
        chosen = (i for i, _ in packing.shared()) if which is None else which
        order = sorted(chosen, key=master.demands.__getitem__)
        shares = [float(master.shares[i]) if i < len(master.shares) else 0.0 for i in order]
        return cls(
            rates,
            counts,
            np.bincount([master.demands[i] for i in order], minlength=len(counts)).tolist(),
            [packing.columns[i] for i in order],
            np.array(shares),
            np.rint(np.stack([master.loads[i] for i in order])).astype(np.int64),
        )

    @property
    def slowest(self) -> int:
        """Rounds of a chunk on the slowest bound, which a part of them helps nothing."""
        return max(ceil(1 / rate) for rate in self.rates)

    def rounded(self, units: int) -> Ints:
        """The shares as whole numbers of chunks, ``[T]``."""
        ends = np.cumsum(self.sizes)[:-1]
        parts = zip(np.split(self.shares, ends), self.counts, strict=True)
        return np.concatenate([largest_remainders(part, units * own) for part, own in parts])

    def rounds(self, numbers: Ints) -> int:
        """R of these numbers of chunks on each column."""
        return rounds_of(self.rates, np.tensordot(numbers, self.loads, axes=1))

    def losses(self, units: Iterable[int]) -> dict[int, Fraction]:
        """Rounds per unit for each number of units, with simple rounding of the shares."""
        return {one: Fraction(self.rounds(self.rounded(one)), one) for one in units}

    def least_lost(self, units: Iterable[int], slack: Fraction = Fraction(0)) -> int | None:
        """The number of units with the least loss; None for no units.

        Args:
            units: ascending.
            slack: a larger number must lose less by this share.
        """
        best: tuple[Fraction, int] | None = None
        for one, cost in self.losses(units).items():
            if best is None or cost < best[0] * (1 - slack):
                best = cost, one
        return None if best is None else best[1]

    def kept(self, keep: npt.NDArray[np.bool_]) -> "ColumnChoice[C]":
        """Some of the columns, ``[T]``; every demand keeps one."""
        demand = np.repeat(np.arange(len(self.sizes)), self.sizes)
        return replace(
            self,
            sizes=np.bincount(demand[keep], minlength=len(self.sizes)).tolist(),
            columns=list(compress(self.columns, keep.tolist())),
            shares=self.shares[keep],
            loads=self.loads[keep],
        )

    def dealt(self, numbers: Ints, chunks: int) -> DealtChunks[C]:
        """The columns with these numbers of chunks."""
        pairs = iter(zip(self.columns, numbers.tolist(), strict=True))
        columns = [[next(pairs) for _ in range(size)] for size in self.sizes]
        used = tuple(tuple(pair for pair in some if pair[1]) for some in columns)
        return DealtChunks(chunks, self.rounds(numbers), used)

    def coarsened(self, numbers: Ints, units: int) -> tuple[Ints, int]:
        """The same with fewer units at no higher cost, if all numbers have a common factor."""
        common, rounds = gcd(units, *numbers.tolist()), self.rounds(numbers)
        for factor in range(common, 1, -1):
            if common % factor == 0 and self.rounds(numbers // factor) * factor <= rounds:
                return numbers // factor, units // factor
        return numbers, units

    def solved(
        self, numbers: Ints, seconds: float, costs: Sequence[int] | None = None, whole: int = 1
    ) -> Ints:
        """Numbers with the same sums by CP-SAT; the given ones if it finds none better in time.

        Args:
            numbers: a hint.
            seconds: time limit.
            costs: ``[T]``, of a chunk on each column, to choose between numbers of equal rounds;
                None if only rounds count, and a slight excess does not matter.
            whole: the rounds of each step are a multiple of it; a program of fewer values.
        """
        from ortools.sat.python import cp_model

        model = cp_model.CpModel()
        most = self.rounds(numbers)
        terms: dict[tuple[int, int], list[tuple[int, cp_model.IntVar]]] = {}
        variables: list[cp_model.IntVar] = []
        loads = iter(self.loads)
        for near in np.split(numbers, np.cumsum(self.sizes)[:-1]):
            count = int(near.sum())
            own = [model.new_int_var(0, count, "") for _ in near]
            model.add(sum(own) == count)
            for variable, number in zip(own, near.tolist(), strict=True):
                model.add_hint(variable, number)
                load = next(loads)
                for bound, step in zip(*(a.tolist() for a in np.nonzero(load)), strict=True):
                    terms.setdefault((bound, step), []).append((int(load[bound, step]), variable))
            variables += own
        rounds = [model.new_int_var(0, most, "") for _ in range(self.loads.shape[2])]
        for (bound, step), parts in sorted(terms.items(), key=itemgetter(0)):
            total = sum(times * variable for times, variable in parts)
            rate = self.rates[bound]
            model.add(rate.denominator * total <= rate.numerator * whole * rounds[step])
        if whole == 1:
            model.add(sum(rounds) <= most)
        extra = [cost * variable for cost, variable in zip(costs or [], variables, strict=False)]
        scale = 1 + max(costs or [0]) * int(numbers.sum())
        model.minimize(scale * sum(rounds) + sum(extra))
        solver = cp_model.CpSolver()
        limit_cp_sat(solver.parameters, max(0.05, seconds))
        solver.parameters.interleave_search = whole > 1
        solver.parameters.relative_gap_limit = 0.001 if costs is None else 0.0
        status = solver.solve(model)
        took(solver.response_proto.deterministic_time / TICKS_PER_UNIT)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return numbers
        found = np.array([solver.value(variable) for variable in variables], dtype=np.int64)
        return found if whole == 1 or self.rounds(found) < most else numbers


def promising(
    packing: TimedPacking, most_chunks: int, below: Fraction | None, *, finer: int = 1
) -> list[int]:
    """Values of C worth trying: a small one, the best, and one where whole numbers matter little.

    Args:
        below: only C that promise a R/C less than this.
        finer: factor by which C may exceed the usual limit.
    """
    least = packing.problem.least_chunks
    most_rounds = finer * ROUNDS_OF_STEP * (4 + packing.steps)
    most = min(most_chunks, max(_SMALL * least, ceil(most_rounds / packing.value)))
    promise: dict[int, Fraction] = {}
    for chunks in range(least, most + 1, least):
        rounds = max(packing.steps, ceil(packing.value * chunks - WHOLE))
        if below is None or Fraction(rounds, chunks) < below:
            promise[chunks] = Fraction(rounds, chunks)
    if not promise:
        return []
    best = min(promise.values())
    small = min(c for c, p in promise.items() if p <= best * NEAR_PROMISE)
    exact = min(c for c, p in promise.items() if p == best)
    large = max(c for c, p in promise.items() if p <= best * _NEXT)
    return list(dict.fromkeys((small, exact, large)))


def kindest(packing: TimedPacking, most_chunks: int) -> list[int]:
    """Large C with little loss from rounding the shares, the least loss first."""
    least, largest = packing.problem.least_chunks, most_chunks // packing.problem.least_chunks
    losses = column_choice(packing, 0).losses(range(max(1, largest - KIND + 1), largest + 1))
    return [units * least for units in sorted(losses, key=lambda one: losses[one])[:KINDEST]]


def column_choice(packing: TimedPacking, most: int) -> ColumnChoice[TimedTree]:
    """The trees with a share, and some others, see `TimedPacking.of_use`."""
    problem = packing.problem
    counts = [demand.count for demand in problem.demands]
    return ColumnChoice.of(packing, problem.exact_rate, counts, chain(*packing.of_use(most)))


class ChunkRounding:
    """Deals chunks to the trees of a packing as it is now."""

    def __init__(self, packing: TimedPacking) -> None:
        self._packing = packing
        self._choice = column_choice(packing, _MOST_TREES)
        self._moves = ChunkMoves(self._choice.loads, packing.problem.rate, self._choice.sizes)

    def deal(
        self, chunks: int, until: Deadline, *, thorough: bool = True
    ) -> DealtChunks[TimedTree]:
        """The best deal of C chunks found by the deadline, with fewer chunks at no higher cost.

        Args:
            chunks: C, a multiple of the least.
            until: deadline.
            thorough: whether CP-SAT also decides large cases, and trees are constructed for whole
                rounds.
        """
        packing = self._packing
        promised = max(packing.steps, ceil(packing.value * chunks - WHOLE))
        many = promised > _MANY_ROUNDS * packing.steps
        total = promised + many * packing.steps // 2
        rounds = largest_remainders(packing.rounds * chunks, total)
        best = self._within(chunks, rounds, until.share(0.3) if thorough else until, thorough)
        if not thorough:
            return best
        for total in range(promised, promised + _TOTALS):
            if until.passed or best.bandwidth * chunks <= max(promised * _GOOD, total):
                break
            # Tries whole rounds in every step, and trees constructed for these.
            rounds = largest_remainders(packing.rounds * chunks, total)
            trees = packing.trees_of_use(_MOST_TREES // 4)
            proportions = [Fraction(int(r), chunks) for r in rounds]
            fixed = TimedPacking(packing.problem, packing.steps, trees, proportions)
            share = until.share(0.5)
            while not fixed.rested and fixed.value > 1 + WHOLE and not share.passed:
                fixed.improve(share)
            if fixed.value <= 1 + _NEARLY:
                fixed.enrich(_ENRICHED, share)
                other = ChunkRounding(fixed)._within(chunks, rounds, until.share(0.5), thorough)
                best = min(best, other, key=lambda dealt: dealt.bandwidth)
        return best

    def _within(
        self, chunks: int, rounds: Ints, until: Deadline, thorough: bool
    ) -> DealtChunks[TimedTree]:
        """The best way to deal C chunks in about these rounds of steps, ``[S]``."""
        choice = self._choice
        least = self._packing.problem.least_chunks
        hint = choice.rounded(chunks // least)
        fitted = self._moves.fitted(hint, rounds, until)
        numbers = min(fitted, hint, key=choice.rounds)
        few = rounds.sum() <= _FEW_ROUNDS and np.count_nonzero(choice.loads) <= _FEW_ENTRIES
        if not few:
            used = (choice.shares > TINY) | (numbers > 0)
            choice, numbers = choice.kept(used), numbers[used]
        if choice.rounds(numbers) > rounds.sum() and (thorough or few):
            numbers = choice.solved(numbers, until.left())
        numbers, units = choice.coarsened(numbers, chunks // least)
        return choice.dealt(numbers, least * units)
