"""Whole numbers of chunks for a small C: columns are replaced until they fit into whole rounds.

With few chunks the shares of a linear program say little.  The rounds of each step are fixed
instead, and the overload of bounds is minimised: a few chunks at a time get other columns, which
`SendPrograms` chooses for the room that the others leave (large neighbourhood search).  Cells of
bounds and steps that stay overloaded weigh more and more, as in the routing of FPGAs (McMurchie &
Ebeling 1995, "PathFinder").  Where nothing helps, the step with the best ratio of overload to
rounds gets more rounds.  A solution is squeezed: a step loses rounds, and the search continues.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, isinf
from typing import Generic

import numpy as np

from syncoll.arrays import BoolArray, FloatArray, IntArray
from syncoll.deadline import Deadline
from syncoll.packing.column_generation import TINY, C, Packing
from syncoll.packing.send_programs import SendPrograms
from syncoll.packing.whole_chunks import WHOLE, ColumnChoice, DealtChunks, rounds_per_step

_FIRST, _MOST = 2, 12
"""Chunks that are replaced at once: at first, and at most.  More where the solver proves its
results, fewer where it does not."""

_GROWS = 0.05
"""Probability with which a repair replaces one chunk more after a proved result."""

_FRUITLESS, _LAST, _HEAVIER = 20, 60, 5
"""Repairs without a gain after which a step gets more rounds; additional ones, divided by the
overload; and repairs after which weights rise."""

_SECONDS = 0.1
"""Time limit of a repair."""

_VARIABLES = 6000
"""Most variables of a repair, and of all chunks that are solved at once; limits work."""

_SOLVE_SECONDS = 3.0
"""Time limit of all chunks at once in some rounds (mi250(boxes=1) allgather in
`benchmarks/deployable.py`)."""

_FAILURES = 3
"""Searches without a gain after which a number of chunks is given up."""

_ALL = 4
"""With at most this number of chunks rounds are minimised first, otherwise overloads."""

_CHOICE_SECONDS = 0.3
"""Time limit of the integer program over the known columns, for a solution to begin with."""

_FEW = 64
"""Most chunks of a solution, one of each orbit; limits work."""

_SIMPLE = 1.02
"""A number of chunks within this factor of the packing's R/C is not improved, and larger ones are
not needed."""

_LEAST_ROOM, _MOST_ROOM = 1.01, 1.05
"""Ratio of whole rounds to the fractional ones with which a solution is likely and still good."""

_MIXED = 0.3
"""Random share by which overloads are raised or lowered when rounds are chosen."""


@dataclass(eq=False)
class _Solution(Generic[C]):
    """A column for every chunk.

    Args:
        demands: ``[U]``, of each chunk.
        columns: ``[U]``.
        loads: ``[U, B, S]``.
    """

    demands: list[int]
    columns: list[C]
    loads: IntArray

    @property
    def load(self) -> IntArray:
        """``[B, S]``."""
        return np.asarray(self.loads.sum(axis=0))

    def copied(self) -> "_Solution[C]":
        return _Solution(self.demands, list(self.columns), self.loads.copy())

    def joined(self, other: "_Solution[C]") -> "_Solution[C]":
        """The chunks of both."""
        return _Solution(
            [*self.demands, *other.demands],
            [*self.columns, *other.columns],
            np.concatenate([self.loads, other.loads]),
        )


class FewChunks(Generic[C]):
    """Deals few chunks to the columns of a packing and to others.

    Args:
        packing: of S steps, with shares.
        choice: columns to begin with; its counts are chunks for a unit of C.
        repair: replaces columns of a few chunks.
        each: the chunks C of a unit.

    Attributes:
        found: for each number of units the least rounds so far.
    """

    def __init__(
        self, packing: Packing[C], choice: ColumnChoice[C], repair: SendPrograms[C], each: int
    ) -> None:
        self.found: dict[int, int] = {}
        self._packing, self._choice, self._repair = packing, choice, repair
        self._each, self._counts, self._rates = each, choice.counts, choice.rates
        self._numerator, self._denominator = (
            np.array([getattr(rate, part) for rate in choice.rates], dtype=np.int64)[:, None]
            for part in ("numerator", "denominator")
        )
        self._random = np.random.default_rng(len(choice.columns))
        self._best: dict[int, _Solution[C]] = {}
        self._failures: dict[int, int] = {}
        self._solved: set[int] = set()

    def least(self, units: int) -> int:
        """A bound on the rounds by the packing's value."""
        return max(self._packing.steps, ceil(self._packing.value * units * self._each - WHOLE))

    def is_open(self, units: int) -> bool:
        """Whether more time may find fewer rounds."""
        known = self.found.get(units)
        failed = self._failures.get(units, 0) >= _FAILURES
        return known is None or (known > self.least(units) and not failed)

    def know(self, units: int, columns: Sequence[Sequence[tuple[C, int]]]) -> None:
        """Adds a solution: for each demand its columns with their numbers of chunks."""
        flat = [(d, c) for d, some in enumerate(columns) for c, n in some for _ in range(n)]
        self._keep(units, self._solution([d for d, _ in flat], [c for _, c in flat]))

    def dealt(self, units: int) -> DealtChunks[C]:
        """The best solution for this number of units."""
        best = self._best[units]
        numbers: list[dict[C, int]] = [{} for _ in self._counts]
        for demand, column in zip(best.demands, best.columns, strict=True):
            numbers[demand][column] = numbers[demand].get(column, 0) + 1
        columns = tuple(tuple(some.items()) for some in numbers)
        return DealtChunks(units * self._each, self.found[units], columns)

    def improve(self, units: int, until: Deadline) -> None:
        """Looks for fewer rounds once: from nothing and with all chunks at once in the first turn,
        then by squeezing the best."""
        if units not in self.found:
            self._begin(units, until)
        if self._repair.variables > _VARIABLES:
            self._failures[units] = _FAILURES
            return
        few = len(self._best[units].columns) <= _ALL  # repairs replace all of them
        if not few and units not in self._solved:
            self._solved.add(units)
            self._solve(units, until)
        best, failures = self.found[units], self._failures.get(units, 0)
        turn = (failures + (0 if few else 1)) % _FAILURES
        if turn == 0:
            self._shorten(units, until)
        else:
            rounds = self._chosen(units) if turn == 1 else self._squeezed(units)
            self._fit(units, rounds, best - 1, until)
        self._failures[units] = failures + 1 if self.found[units] == best else 0

    def _begin(self, units: int, until: Deadline) -> None:
        """A first solution: of smaller numbers of units, or by the shares."""
        for part in self._best.copy():
            rest = units - part
            if rest in self._best and part <= rest:
                self._keep(units, self._best[part].joined(self._best[rest]))
            elif units % part == 0:
                whole = self._best[part]
                for _ in range(units // part - 1):
                    whole = whole.joined(self._best[part])
                self._keep(units, whole)
        numbers = self._choice.rounded(units)
        seconds = min(_CHOICE_SECONDS, until.left())
        dealt = self._choice.dealt(self._choice.solved(numbers, seconds), units)
        self.know(units, dealt.columns)

    def _solve(self, units: int, until: Deadline) -> None:
        """Asks for all columns at once, in fewer and fewer rounds: halves the interval that is
        neither found nor given up."""
        low, few = self.least(units), _VARIABLES // self._repair.variables
        if len(self._best[units].columns) > few:
            return
        while low < self.found[units] and not until.passed:
            most, best = (low + self.found[units] - 1) // 2, self._best[units]
            seconds = min(_SOLVE_SECONDS, until.left())
            columns, _ = self._repair.within(best.demands, best.columns, most, seconds)
            self._keep(units, self._solution(best.demands, columns))
            if self.found[units] > most:
                low = most + 1

    def _solution(self, demands: list[int], columns: list[C]) -> _Solution[C]:
        steps, network = self._packing.steps, self._packing.network
        alike = {column: network.load(column.links, column.steps, steps) for column in columns}
        loads = np.stack([alike[column] for column in columns])
        return _Solution(demands, columns, loads)

    def _keep(self, units: int, solution: _Solution[C]) -> None:
        """Keeps a solution if it is the best, with the least rounds of each step."""
        rounds = int(rounds_per_step(self._rates, solution.load).sum())
        if units not in self.found or rounds < self.found[units]:
            self.found[units], self._best[units] = rounds, solution

    def _room(self, rounds: IntArray) -> IntArray:
        """``[B, S]``: whole chunks that fit into these rounds."""
        return np.asarray(self._numerator * rounds // self._denominator)

    def _chosen(self, units: int) -> IntArray:
        """Rounds of each step ``[S]`` for the loads of the shares, half way between the least and
        the best so far: with many demands the first solutions are far from the least."""
        shares = self._choice.shares * units * sum(self._counts) / self._choice.shares.sum()
        load = np.tensordot(shares, self._choice.loads, axes=1)
        rounds = np.zeros(load.shape[1], dtype=np.int64)
        noise = 1 + _MIXED * (2 * self._random.random(load.shape[1]) - 1)
        half = (self.least(units) + self.found[units]) // 2
        while rounds.sum() < half:
            over = np.maximum(0.0, load - self._room(rounds)) * noise
            step, more = self._raise(rounds, over)
            rounds[step] += more
        return rounds

    def _squeezed(self, units: int) -> IntArray:
        """Rounds of the best solution, fewer in the step that loses least by it."""
        load = self._best[units].load
        rounds = rounds_per_step(self._rates, load)
        less = load - (load > self._room(rounds - 1))  # one chunk fewer on the fullest bounds
        lower = rounds_per_step(self._rates, less)
        over = np.maximum(0, load - self._room(lower)).sum(axis=0) + _MIXED
        costs = over / np.maximum(rounds - lower, TINY)
        step = int((costs * (1 + self._random.random(len(costs)))).argmin())
        rounds[step] = lower[step]
        return rounds

    def _raise(self, rounds: IntArray, over: FloatArray) -> tuple[int, int]:
        """The step, and its additional rounds, that remove the most overload for each round."""
        room = self._room(rounds)
        best = (-1.0, 0, 1)
        for step in range(len(rounds)):
            bounds = np.flatnonzero(over[:, step] > 0)
            need = (room[bounds, step, None] + 1) * self._denominator[bounds]
            more = np.unique(-(-need // self._numerator[bounds])) - rounds[step]
            for one in more.tolist():
                fresh = self._room(np.array([rounds[step] + one]))[bounds, 0]
                removed = np.minimum(over[bounds, step], fresh - room[bounds, step]).sum()
                best = max(best, (float(removed) / one, step, one))
        return best[1], best[2]

    def _shorten(self, units: int, until: Deadline) -> None:
        """Replaces columns of the best solution as long as rounds become fewer."""
        now, size = self._best[units].copied(), _FIRST
        load, fruitless = now.load, 0
        rounds, least = self.found[units], self.least(units)
        while fruitless < 2 * _HEAVIER and rounds > least and not until.passed:
            full = load == self._room(rounds_per_step(self._rates, load))
            which, size = self._drawn(now, full, size)
            others = load - now.loads[which].sum(axis=0)
            known = [now.columns[i] for i in which]
            demands, seconds = [now.demands[i] for i in which], min(_SECONDS, until.left())
            columns, proved = self._repair.shortened(demands, known, others, rounds, seconds)
            load = others + self._replace(now, which, columns)
            after = int(rounds_per_step(self._rates, load).sum())
            fruitless = 0 if after < rounds else fruitless + 1
            rounds, size = after, self._resized(size, proved)
        self._keep(units, now)

    def _fit(self, units: int, rounds: IntArray, most: int, until: Deadline) -> None:
        """Replaces columns until all fit into the rounds, or into at most `most` in total."""
        now, size = self._best[units].copied(), _FIRST
        load, rounds = now.load, rounds.copy()
        weights, fruitless, least = np.ones_like(load), 0, int(load.sum())
        while rounds.sum() <= most:
            room = self._room(rounds)
            over = np.maximum(0, load - room)
            if not over.any():
                self._keep(units, now)
                return
            if until.passed:
                return
            if fruitless >= _FRUITLESS + _LAST // int(over.sum()):
                step, more = self._raise(rounds, (over * weights).astype(np.float64))
                rounds[step] += more
                fruitless, least = 0, int(over.sum())
                continue
            which, size = self._drawn(now, over > 0, size)
            others = load - now.loads[which].sum(axis=0)
            known = [now.columns[i] for i in which]
            demands, seconds = [now.demands[i] for i in which], min(_SECONDS, until.left())
            columns, proved = self._repair.fitted(demands, known, room - others, weights, seconds)
            load = others + self._replace(now, which, columns)
            after = np.maximum(0, load - room)
            fruitless += 1
            if after.sum() < least:
                fruitless, least = 0, int(after.sum())
            if fruitless % _HEAVIER == _HEAVIER - 1:
                weights = weights + (after > 0)
            size = self._resized(size, proved)

    def _drawn(self, now: _Solution[C], cells: BoolArray, size: int) -> tuple[list[int], int]:
        """Chunks that load some of these cells ``[B, S]`` more often than others, and their
        number, which is limited."""
        largest = max(1, min(_MOST, len(now.columns), _VARIABLES // self._repair.variables))
        guilt = (now.loads * cells).sum(axis=(1, 2)) + _MIXED
        order = np.argsort(-guilt * self._random.random(len(guilt)))
        size = min(size, largest)
        return order[:size].tolist(), size

    def _replace(self, now: _Solution[C], which: list[int], columns: Sequence[C]) -> IntArray:
        """Replaces columns; returns their load ``[B, S]``."""
        fresh = self._solution([now.demands[i] for i in which], list(columns))
        for i, column in zip(which, columns, strict=True):
            now.columns[i] = column
        now.loads[which] = fresh.loads
        return fresh.load

    def _resized(self, size: int, proved: bool) -> int:
        return size + int(self._random.random() < _GROWS) if proved else max(_FIRST, size - 1)


class SmallBudgets(Generic[C]):
    """The least R/C for each S and each of some small C.

    Args:
        make: the solutions of a packing.
        each: the chunks C of a unit.
        demands: chunks of all demands for a unit, one of each orbit.
        costs: the least R/C found for each S and C; others may add to it.
    """

    def __init__(
        self,
        make: Callable[[Packing[C]], FewChunks[C]],
        each: int,
        demands: int = 1,
        costs: dict[tuple[int, int], Fraction] | None = None,
    ) -> None:
        self.costs = {} if costs is None else costs
        self._make, self._each, self._demands = make, each, demands
        self._few: dict[int, FewChunks[C]] = {}

    def note(self, steps: int, dealt: DealtChunks[C]) -> None:
        """Remembers the cost of an algorithm."""
        key, cost = (steps, dealt.chunks), dealt.bandwidth
        self.costs[key] = min(cost, self.costs.get(key, cost))

    def least(self, steps: int, chunks: int) -> Fraction | None:
        """The least R/C found for at most these steps and chunks."""
        found = (cost for (s, c), cost in self.costs.items() if s <= steps and c <= chunks)
        return min(found, default=None)

    def open(self, packing: Packing[C], budgets: Sequence[int]) -> list[int]:
        """Numbers of units within some limits on C for which more time may lower R/C."""
        if isinf(packing.value) or not packing.feasible:
            return []
        few, found = self._few.get(packing.steps), []
        for units in self._tried(packing, budgets):
            known = self.least(packing.steps, units * self._each)
            if known is not None and known <= packing.value * _SIMPLE:
                break
            if few is None or few.is_open(units):
                found.append(units)
        return found

    def _tried(self, packing: Packing[C], budgets: Sequence[int]) -> Iterator[int]:
        """The limits in units, and before each a smaller number with more room in whole rounds."""
        below, value = 0, packing.value * self._each
        for units in sorted({chunks // self._each for chunks in budgets}):
            if units <= below or units * self._demands > _FEW:
                continue
            room = {u: ceil(value * u - WHOLE) / (value * u) for u in range(below + 1, units + 1)}
            fits = [u for u, one in room.items() if _LEAST_ROOM <= one <= _MOST_ROOM]
            if fits and units not in fits:
                yield max(fits, key=lambda u: room[u])
            yield units
            below = units

    def improved(
        self, packing: Packing[C], budgets: Sequence[int], until: Deadline
    ) -> Iterator[DealtChunks[C]]:
        """Improves each open number of units once; yields solutions that are the best so far."""
        steps = packing.steps
        numbers = self.open(packing, budgets)
        for left, units in zip(range(len(numbers), 0, -1), numbers, strict=True):
            if until.passed:
                return
            if steps not in self._few:
                self._few[steps] = self._make(packing)
            few = self._few[steps]
            for fewer, other in self._few.items():
                if fewer < steps and units in other.found:
                    few.know(units, other.dealt(units).columns)
            known = self.least(steps, units * self._each)
            few.improve(units, until.share(1 / left))
            dealt = few.dealt(units)
            if known is None or dealt.bandwidth < known:
                self.note(steps, dealt)
                yield dealt
