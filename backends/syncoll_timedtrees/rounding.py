"""From a fractional packing of timed trees to whole chunks: which trees, how often, for which C.

For a C and the trees of a packing, the numbers of chunks that take each tree are whole, and so are
the rounds of each step: an integer program of few variables, for CP-SAT.  C is chosen by what the
optimum of the fractional packing promises for it, ``max(S, ceil(C value)) / C``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

import numpy as np
import numpy.typing as npt

from syncoll.deadline import Deadline
from syncoll_timedtrees.program import Packing
from syncoll_timedtrees.trees import TimedTree

__all__ = ["Dealt", "deal", "promising"]

_MOST_TREES = 600
"""To choose from, beyond those with a share."""

_NEAR, _NEXT = Fraction(1004, 1000), Fraction(10005, 10000)
"""How near values of C have to come to the best promise."""

_SMALL = 8
_MOST_ROUNDS, _MOST_OF_STEP = 400, 100
"""With so many rounds, and so many for each step, one more a step does not matter: C is at most
what they allow, or small."""

_TOTALS = 2
"""Sums of whole rounds that are tried."""

_GOOD = 1.003
"""Within so much of what was promised there is little to be had."""

_ENRICHED = 20
_TOLERANCE = 1e-7
_NEARLY = 0.01
"""A packing may overload its rounds by this part: whole numbers of chunks may fit all the same."""

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Dealt:
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


def promising(packing: Packing, most_chunks: int, below: Fraction | None) -> list[int]:
    """Values of C worth trying: a small one, the best, and one where whole numbers matter little.

    Args:
        packing: an optimum.
        most_chunks: C at most.
        below: only what promises a R/C less than this.
    """
    least = packing.problem.least_chunks
    rounds_of_use = _MOST_ROUNDS + _MOST_OF_STEP * packing.steps
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


def deal(packing: Packing, chunks: int, until: Deadline, *, thorough: bool = True) -> Dealt:
    """The best way that is found soon to deal C chunks to timed trees.

    Args:
        packing: trees and their shares.
        chunks: C, a multiple of the least.
        until: when to be done.
        thorough: whether trees may be made for whole rounds.
    """
    best = _deal(packing, chunks, until.share(0.3 if thorough else 1.0))
    if not thorough:
        return best
    promised = max(packing.steps, ceil(packing.value * chunks - 1e-6))
    for total in range(promised, min(best.rounds, promised + _TOTALS)):
        if until.passed or best.rounds <= promised * _GOOD:
            break
        # The same with whole rounds in every step, and trees made for these.
        rounds = _rounded((packing.rounds * chunks).tolist(), total)
        trees = [[tree for tree, _ in some] for some in packing.of_use(_MOST_TREES)]
        fixed = Packing(
            packing.problem, packing.steps, trees, [Fraction(r, chunks) for r in rounds]
        )
        share = until.share(0.5)
        while not fixed.rested and fixed.value > 1 + _TOLERANCE and not share.passed:
            fixed.improve(max(0.05, until.left()))
        if fixed.value <= 1 + _NEARLY:
            fixed.enrich(_ENRICHED, max(0.05, until.left()))
            best = min(best, _deal(fixed, chunks, until.share(0.5)), key=lambda d: d.rounds)
    return best


def _deal(packing: Packing, chunks: int, until: Deadline) -> Dealt:
    """The same with the trees of this packing."""
    problem = packing.problem
    choice = packing.of_use(_MOST_TREES)
    times = chunks // problem.least_chunks
    wanted = [demand.count * times for demand in problem.demands]
    rounded = [
        _rounded([share * chunks for _, share in trees], whole)
        for trees, whole in zip(choice, wanted, strict=True)
    ]
    numbers = _solve(packing, choice, wanted, rounded, until.left())
    return _dealt(packing, choice, numbers, chunks)


def _dealt(
    packing: Packing,
    choice: list[list[tuple[TimedTree, float]]],
    numbers: list[list[int]],
    chunks: int,
) -> Dealt:
    trees = tuple(
        tuple((tree, n) for (tree, _), n in zip(some, many, strict=True) if n)
        for some, many in zip(choice, numbers, strict=True)
    )
    return Dealt(chunks, _rounds(packing, choice, numbers), trees)


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


def _loads(packing: Packing, tree: TimedTree) -> IntArray:
    return np.rint(packing.problem.load(tree.links, tree.steps, packing.steps)).astype(np.int64)


def _rounds(
    packing: Packing, choice: list[list[tuple[TimedTree, float]]], numbers: list[list[int]]
) -> int:
    """R of chunks dealt so."""
    problem = packing.problem
    load = np.zeros((len(problem.rate), packing.steps), dtype=np.int64)
    for some, many in zip(choice, numbers, strict=True):
        for (tree, _), n in zip(some, many, strict=True):
            if n:
                load += n * _loads(packing, tree)
    rounds = 0
    for step in range(packing.steps):
        rounds += max(
            ceil(Fraction(int(one)) / rate)
            for one, rate in zip(load[:, step], problem.exact_rate, strict=True)
        )
    return rounds


def _solve(
    packing: Packing,
    choice: list[list[tuple[TimedTree, float]]],
    wanted: list[int],
    hint: list[list[int]],
    seconds: float,
) -> list[list[int]]:
    """The numbers by CP-SAT; the hint where it finds nothing better in time."""
    from ortools.sat.python import cp_model

    problem = packing.problem
    model = cp_model.CpModel()
    most = _rounds(packing, choice, hint)
    rounds = [model.new_int_var(0, most, "") for _ in range(packing.steps)]
    terms: dict[tuple[int, int], list[tuple[int, cp_model.IntVar]]] = {}
    numbers = []
    for some, whole, near in zip(choice, wanted, hint, strict=True):
        variables = [model.new_int_var(0, whole, "") for _ in some]
        model.add(sum(variables) == whole)
        for (tree, _), variable, number in zip(some, variables, near, strict=True):
            model.add_hint(variable, number)
            load = _loads(packing, tree)
            for bound, step in zip(*(a.tolist() for a in np.nonzero(load)), strict=True):
                terms.setdefault((bound, step), []).append((int(load[bound, step]), variable))
        numbers.append(variables)
    for (bound, step), parts in terms.items():
        rate = problem.exact_rate[bound]
        load = sum(times * variable for times, variable in parts)
        model.add(rate.denominator * load <= rate.numerator * rounds[step])
    model.add(sum(rounds) <= most)
    model.minimize(sum(rounds))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = max(0.05, seconds)
    solver.parameters.num_workers = 1
    solver.parameters.catch_sigint_signal = False  # Ctrl-C ends the search, not this call
    solver.parameters.relative_gap_limit = 0.001
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return hint
    return [[solver.value(variable) for variable in variables] for variables in numbers]
