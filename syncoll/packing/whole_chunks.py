"""From a fractional packing of timed trees to whole chunks: which trees, how often, for which C.

For a C and the trees of a packing, the numbers of chunks that take each tree are whole, and so are
the rounds of each step: an integer program of few variables.  Rounded shares are improved by moving
chunks between trees (`exchanges`), and by CP-SAT where there is little to decide or much time.  C
is chosen by what the optimum of the fractional packing promises for it, ``max(S, ceil(C value)) /
C``.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from itertools import compress
from math import ceil, floor, gcd

import numpy as np

from syncoll.arrays import IntArray
from syncoll.clock import took
from syncoll.deadline import Deadline
from syncoll.linear.effort import TICKS_PER_UNIT, limit_cp_sat
from syncoll.packing.local_search import ChunkMoves
from syncoll.packing.problem import PackingProblem
from syncoll.packing.timed_packing import TimedPacking
from syncoll.packing.trees import TimedTree

__all__ = ["FINE", "FINE_PART", "ChunkRounding", "WholeChunks", "coarsest", "kindest", "promising"]

_MOST_TREES, _MOST_OF_USE = 2400, 600
"""To choose from, beyond those with a share."""

_NEAR, _NEXT = Fraction(1004, 1000), Fraction(10005, 10000)
"""How near values of C have to come to the best promise."""

_SMALL = 8
_MOST_ROUNDS, _MOST_OF_STEP = 400, 100
"""With so many rounds, and so many for each step, one more a step does not matter: C is at most
what they allow, or small."""

FINE, FINE_PART = 4, 2
"""So many times as many are allowed where every bit counts: of an algorithm, and of a part of
others, which have twice its sends and more."""

_MANY_ROUNDS = 20
"""On the average of the steps."""

_KIND = 64
"""Values of C for which shares are rounded to see where little is lost."""

_KINDEST = 6
"""Of these so many are dealt."""

_TOTALS = 2
"""Sums of whole rounds that are tried."""

_GOOD = 1.003
"""Within so much of what was promised there is little to be had."""

_ENRICHED = 20
_TINY = 1e-9

_FEW_ROUNDS, _FEW_ENTRIES = 200, 1 << 15
"""Where there are more rounds, or trees load more bounds in steps together, CP-SAT finds nothing
better at once."""

_TOLERANCE = 1e-7
_NEARLY = 0.01
"""A packing may overload its rounds by this part: whole numbers of chunks may fit all the same."""


@dataclass(frozen=True, eq=False)
class WholeChunks:
    """Chunks dealt to timed trees.

    Args:
        chunks: C.
        rounds: R.
        trees: for each demand its trees, each with a number of chunks above 0.
    """

    chunks: int
    rounds: int
    trees: tuple[tuple[tuple[TimedTree, int], ...], ...]

    @property
    def bandwidth(self) -> Fraction:
        """R/C."""
        return Fraction(self.rounds, self.chunks)


def promising(
    packing: TimedPacking, most_chunks: int, below: Fraction | None, *, finer: int = 1
) -> list[int]:
    """Values of C worth trying: a small one, the best, and one where whole numbers matter little.

    Args:
        packing: an optimum.
        most_chunks: C at most.
        below: only what promises a R/C less than this.
        finer: so many times larger than elsewhere C may be.
    """
    least = packing.problem.least_chunks
    rounds_of_use = finer * (_MOST_ROUNDS + _MOST_OF_STEP * packing.steps)
    most = min(most_chunks, max(_SMALL * least, ceil(rounds_of_use / packing.value)))
    promise: dict[int, Fraction] = {}
    for chunks in range(least, most + 1, least):
        rounds = max(packing.steps, ceil(packing.value * chunks - 1e-6))
        if below is None or Fraction(rounds, chunks) < below:
            promise[chunks] = Fraction(rounds, chunks)
    if not promise:
        return []
    best = min(promise.values())
    small = min(c for c, p in promise.items() if p <= best * _NEAR)
    exact = min(c for c, p in promise.items() if p == best)
    large = max(c for c, p in promise.items() if p <= best * _NEXT)
    return list(dict.fromkeys((small, exact, large)))


def kindest(
    packing: TimedPacking, most_chunks: int, below: Fraction | None, *, finer: int = 1
) -> list[int]:
    """Large C for which little is lost when the shares are rounded, the kindest first.

    Args:
        packing: an optimum.
        most_chunks: C at most.
        below: only what promises a R/C less than this.
        finer: so many times larger than elsewhere C may be.
    """
    promised = promising(packing, most_chunks, below, finer=finer)
    if not promised:
        return []
    least, largest = packing.problem.least_chunks, max(promised)
    choice = _Choice(packing, 0)
    cost = {
        chunks: Fraction(choice.rounds(choice.rounded(chunks)), chunks)
        for chunks in range(max(least, largest - (_KIND - 1) * least), largest + 1, least)
    }
    return sorted(cost, key=lambda chunks: cost[chunks])[:_KINDEST]


class ChunkRounding:
    """Deals chunks to the trees of a packing as it is now.

    Args:
        packing: trees and their shares.
    """

    def __init__(self, packing: TimedPacking) -> None:
        self._packing = packing
        self._choice = _Choice(packing, _MOST_TREES)
        sizes = [len(some) for some in self._choice.trees]
        self._ends = np.cumsum(sizes)[:-1]
        self._exchanges = ChunkMoves(self._choice.loads, packing.problem.rate, sizes)

    def deal(self, chunks: int, until: Deadline, *, thorough: bool = True) -> WholeChunks:
        """The best way that is found soon to deal C chunks.

        Args:
            chunks: C, a multiple of the least.
            until: when to be done.
            thorough: whether CP-SAT is asked where there is much to decide, too, and trees are made
                for whole rounds.
        """
        packing = self._packing
        promised = max(packing.steps, ceil(packing.value * chunks - 1e-6))
        # Where there are many rounds, about half a round is needed more for each step.
        many = promised > _MANY_ROUNDS * packing.steps
        total = promised + many * packing.steps // 2
        rounds = _rounded((packing.rounds * chunks).tolist(), total)
        best = self.within(chunks, rounds, until.share(0.3) if thorough else until, thorough)
        if not thorough:
            return best
        for total in range(promised, min(best.rounds, promised + _TOTALS)):
            if until.passed or best.rounds <= promised * _GOOD:
                break
            # The same with whole rounds in every step, and trees made for these.
            rounds = _rounded((packing.rounds * chunks).tolist(), total)
            trees = [[tree for tree, _ in some] for some in packing.of_use(_MOST_OF_USE)]
            fixed = TimedPacking(
                packing.problem, packing.steps, trees, [Fraction(r, chunks) for r in rounds]
            )
            share = until.share(0.5)
            while not fixed.rested and fixed.value > 1 + _TOLERANCE and not share.passed:
                fixed.improve(share)
            if fixed.value <= 1 + _NEARLY:
                fixed.enrich(_ENRICHED, share)
                dealt = ChunkRounding(fixed).within(chunks, rounds, until.share(0.5), thorough)
                best = min(best, dealt, key=lambda dealt: dealt.rounds)
        return best

    def within(
        self, chunks: int, rounds: list[int], until: Deadline, thorough: bool
    ) -> WholeChunks:
        """The best way to deal C chunks in about these rounds.

        Args:
            chunks: C.
            rounds: of each step, if all goes well.
            until: when to be done.
            thorough: whether CP-SAT is asked where there is much to decide, too.
        """
        choice = self._choice
        hint = choice.rounded(chunks)
        flat = np.array([number for some in hint for number in some], dtype=np.int64)
        fitted = self._exchanges.fitted(flat, np.array(rounds), until)
        better = [some.tolist() for some in np.split(fitted, self._ends)]
        numbers = min(better, hint, key=choice.rounds)
        few = sum(rounds) <= _FEW_ROUNDS and choice.entries <= _FEW_ENTRIES
        if not few:
            choice, numbers = choice.without_idle(numbers)
        if choice.rounds(numbers) > sum(rounds) and (thorough or few):
            numbers = _solve(choice, choice.wanted(chunks), numbers, until.left())
        trees = tuple(
            tuple((tree, n) for (tree, _), n in zip(some, many, strict=True) if n)
            for some, many in zip(choice.trees, numbers, strict=True)
        )
        return WholeChunks(chunks, choice.rounds(numbers), trees)


class _Choice:
    """Trees to choose from.

    Args:
        packing: where they are from.
        most: of those without a share.

    Attributes:
        trees: for each demand, with their shares.
        loads: ``[T, B, S]``, what one chunk on each tree loads one bound of each orbit with.
    """

    def __init__(self, packing: TimedPacking, most: int) -> None:
        self.problem, self.steps = packing.problem, packing.steps
        self.trees = packing.of_use(most)
        loads = [
            self.problem.load(tree.links, tree.steps, self.steps)
            for some in self.trees
            for tree, _ in some
        ]
        self.loads: IntArray = np.rint(np.stack(loads)).astype(np.int64)

    @property
    def entries(self) -> int:
        """How many bounds in steps all trees load."""
        return int(np.count_nonzero(self.loads))

    def without_idle(self, numbers: list[list[int]]) -> tuple[_Choice, list[list[int]]]:
        """Those that have a share or chunks, with the numbers of these."""
        kept = [
            [share > _TINY or number > 0 for (_, share), number in zip(some, many, strict=True)]
            for some, many in zip(self.trees, numbers, strict=True)
        ]
        less = copy(self)
        less.loads = self.loads[[keep for some in kept for keep in some]]
        less.trees = [list(compress(*pair)) for pair in zip(self.trees, kept, strict=True)]
        return less, [list(compress(*pair)) for pair in zip(numbers, kept, strict=True)]

    def wanted(self, chunks: int) -> list[int]:
        """How many chunks each demand has."""
        times = chunks // self.problem.least_chunks
        return [demand.count * times for demand in self.problem.demands]

    def rounded(self, chunks: int) -> list[list[int]]:
        """The shares as whole numbers of chunks."""
        return [
            _rounded([share * chunks for _, share in some], whole)
            for some, whole in zip(self.trees, self.wanted(chunks), strict=True)
        ]

    def rounds(self, numbers: list[list[int]]) -> int:
        """R of chunks dealt so."""
        flat = np.concatenate([np.array(some, dtype=np.int64) for some in numbers])
        return _rounds_of(self.problem, np.tensordot(flat, self.loads, axes=1))


def _rounds_of(problem: PackingProblem, load: IntArray) -> int:
    """R of sends that load one bound of each orbit, ``[B, S]``."""
    over = np.array([rate.denominator for rate in problem.exact_rate])[:, None]
    rate = np.array([rate.numerator for rate in problem.exact_rate])[:, None]
    return int((-(-load * over // rate)).max(axis=0).sum())


def coarsest(packing: TimedPacking, dealt: WholeChunks) -> WholeChunks:
    """The same with as few chunks as cost no more: where all numbers have a common factor."""
    least = packing.problem.least_chunks
    numbers = [number for trees in dealt.trees for _, number in trees]
    common = gcd(dealt.chunks // least, *numbers)
    for factor in range(common, 1, -1):
        if common % factor:
            continue
        trees = tuple(tuple((tree, n // factor) for tree, n in some) for some in dealt.trees)
        load = sum(
            n * packing.problem.load(tree.links, tree.steps, packing.steps)
            for some in trees
            for tree, n in some
        )
        rounds = _rounds_of(packing.problem, np.rint(load).astype(np.int64))
        coarse = WholeChunks(dealt.chunks // factor, rounds, trees)
        if coarse.bandwidth <= dealt.bandwidth:
            return coarse
    return dealt


def _rounded(shares: list[float], whole: int) -> list[int]:
    """Whole numbers near these that add up to another (largest remainders)."""
    total = sum(shares) or 1.0
    shares = [share * whole / total for share in shares]
    numbers = [floor(share + 1e-9) for share in shares]
    order = sorted(range(len(shares)), key=lambda i: numbers[i] - shares[i])
    for i in order[: whole - sum(numbers)]:
        numbers[i] += 1
    numbers[order[0]] += whole - sum(numbers)
    return numbers


def _solve(
    choice: _Choice, wanted: list[int], hint: list[list[int]], seconds: float
) -> list[list[int]]:
    """The numbers by CP-SAT; the hint where it finds nothing better in time."""
    from ortools.sat.python import cp_model

    rates = choice.problem.exact_rate
    model = cp_model.CpModel()
    most = choice.rounds(hint)
    rounds = [model.new_int_var(0, most, "") for _ in range(choice.steps)]
    terms: dict[tuple[int, int], list[tuple[int, cp_model.IntVar]]] = {}
    numbers = []
    loads = iter(choice.loads)
    for some, whole, near in zip(choice.trees, wanted, hint, strict=True):
        variables = [model.new_int_var(0, whole, "") for _ in some]
        model.add(sum(variables) == whole)
        for variable, number in zip(variables, near, strict=True):
            model.add_hint(variable, number)
            load = next(loads)
            for bound, step in zip(*(a.tolist() for a in np.nonzero(load)), strict=True):
                terms.setdefault((bound, step), []).append((int(load[bound, step]), variable))
        numbers.append(variables)
    for (bound, step), parts in terms.items():
        total = sum(times * variable for times, variable in parts)
        model.add(rates[bound].denominator * total <= rates[bound].numerator * rounds[step])
    model.add(sum(rounds) <= most)
    model.minimize(sum(rounds))
    solver = cp_model.CpSolver()
    limit_cp_sat(solver.parameters, max(0.05, seconds))
    solver.parameters.relative_gap_limit = 0.001
    status = solver.solve(model)
    took(solver.response_proto.deterministic_time / TICKS_PER_UNIT)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return hint
    return [[solver.value(variable) for variable in variables] for variables in numbers]
