"""Whole numbers of chunks for a small C: columns are replaced until they fit into whole rounds.

With few chunks the shares of a linear program say little.  The rounds of each step are fixed
instead, and the overload of bounds is minimised.  A search begins with a dive (`diving`) or with
sweeps.  In these, overloaded cells of bounds and steps have prices, which rise as long as they stay
overloaded.  One chunk after the other takes the cheapest column that the packing's oracle finds, as
in the routing of FPGAs (McMurchie & Ebeling 1995, "PathFinder").  Then `SendPrograms` chooses the
columns of a few chunks at a time for the room that the others leave (large neighbourhood search).
Where nothing helps, the step with the best ratio of overload to rounds gets more rounds.  A
solution is squeezed: a step loses rounds, and the search continues.
"""

from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from typing import Generic

import numpy as np

from syncoll import clock
from syncoll.arrays import Bools, Floats, Ints
from syncoll.deadline import Deadline
from syncoll.packing.column_generation import TINY, C, Packing
from syncoll.packing.diving import Dive
from syncoll.packing.remainders import largest_remainders
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

_SWEEPS, _BASE = 30, 0.05
"""Sweeps over all chunks without a gain before programs repair a few of them, and the price of a
round without overload, relative to a chunk too many.  Row mi250(boxes=1) of
benchmarks/results/deployable.md."""

_SECONDS, _CHOICE_SECONDS = 0.1, 0.3
"""Time limits of a repair, and of the integer program over the known columns, for a solution to
begin with."""

_LOWERED_SECONDS, _FRUITLESS_LOWERED, _KEPT = 0.3, 8, 4
"""Time limit of a program that chooses the rounds of all steps, too; the number of these without a
gain after which no more are solved; and most chunks of one if leaves keep their links.  Rows
dgx_h100(boxes=4) of benchmarks/results/deployable.md."""

_VARIABLES, _FAILURES = 6000, 3
"""Most variables of a repair, and searches without a gain after which a number of chunks is given
up; limits work."""

_ROOM, _LEAST_ROOM, _DIVE_SECONDS = 1.02, 1.01, 0.6
"""Ratio of a dive's rounds to the packing's, at first and then; and the time of its search:
another dive is better than a long repair.  Row mi250(boxes=1) allgather of
benchmarks/results/deployable.md."""

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
    loads: Ints

    @property
    def load(self) -> Ints:
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
        dives: whether searches begin with dives.
        tight: whether these may aim at as many rounds as the packing has.
        found: for each number of units the least rounds so far.
    """

    def __init__(
        self, packing: Packing[C], choice: ColumnChoice[C], repair: SendPrograms[C], each: int
    ) -> None:
        self.dives, self.tight, self.found = repair.at_once is None, False, dict[int, int]()
        self._packing, self._choice, self._repair = packing, choice, repair
        self._each, self._counts, self._rates = each, choice.counts, choice.rates
        self._numerator, self._denominator = (
            np.array([getattr(rate, part) for rate in choice.rates], dtype=np.int64)[:, None]
            for part in ("numerator", "denominator")
        )
        self._random = np.random.default_rng(len(choice.columns))
        self._best: dict[int, _Solution[C]] = {}
        self._failures: dict[int, int] = {}
        self._unfinished: dict[int, Generator[None, Deadline, None]] = {}

    def least(self, units: int) -> int:
        """A bound on the rounds by the packing's value."""
        return max(self._packing.steps, ceil(self._packing.value * units * self._each - WHOLE))

    def aim(self, units: int) -> int:
        """Rounds of the next search: of a dive a few more than the packing has, and fewer than the
        best so far; the least if it may be `tight`."""
        least = self.least(units)
        if not self.dives:
            return least
        whole = self._choice.slowest
        fewest, exact = ceil(least / whole), self._packing.value * units * self._each / whole
        rooms = (0.0, 0.0) if self.tight else (_LEAST_ROOM, _ROOM)
        low, aim = (max(fewest, ceil(exact * room - WHOLE)) for room in rooms)
        if units in self.found:
            aim = max(low, min(aim, ceil(self.found[units] / whole) - 1))
        return aim * whole

    def is_open(self, units: int, *, lowers: bool = False) -> bool:
        """Whether a search, or `lower`, may find fewer rounds."""
        known, least = self.found.get(units), (self.least if lowers else self.aim)(units)
        failed = self._failures.get(units, 0) >= _FAILURES
        return known is None or (known > least and not failed)

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
        """Looks for fewer rounds once: from nothing in the first turn, then also by squeezing the
        best."""
        if units not in self.found:
            self._begin(units, until)
        best, failures = self.found[units], self._failures.get(units, 0)
        begun = self._unfinished.pop(units, None)
        if begun is None:
            whole = int(self._random.choice([1, self._choice.slowest]))
            dives = self.dives and not failures % 2
            if dives:
                whole = self._choice.slowest
                rounds = self._proportional(units, whole, self.aim(units) // whole)
            else:
                rounds = self._squeezed(units) if failures else self._chosen(units, whole)
            begun = self._fitting(units, rounds, whole, dives=dives)
            next(begun)
        try:
            begun.send(until)
            self._unfinished[units] = begun
        except StopIteration:
            pass
        failures += units not in self._unfinished
        self._failures[units] = failures if self.found[units] == best else 0

    def lower(self, units: int, until: Deadline, *, kept: bool = False) -> None:
        """Replaces a few columns of the best at a time, with fewer rounds in all or as many; with
        `kept`, most leaves keep their links."""
        if units not in self.found:
            self._begin(units, until)
        now, fruitless = self._best[units].copied(), 0
        while fruitless < _FRUITLESS_LOWERED:
            order = self._random.permutation(len(now.columns))
            which = order[: self._random.integers(_KEPT if kept else _FIRST) + 1].tolist()
            if kept:
                nodes = self._random.permutation(self._repair.network.num_nodes)
                self._repair.senders = nodes[: self._random.integers(1 + fruitless)].tolist()
            others, best = now.load - now.loads[which].sum(axis=0), self.found[units]
            demands, known = ([some[i] for i in which] for some in (now.demands, now.columns))
            columns = self._repair.cheaper(demands, known, others, _LOWERED_SECONDS)
            self._replace(now, which, columns)
            self._keep(units, now.copied())
            fruitless = fruitless + 1 if self.found[units] == best else 0
            if until.passed:
                break
        self._repair.senders = None

    def fit(self, units: int, until: Deadline) -> None:
        """Looks by programs alone for fewer rounds, in the packing's proportions and whole for the
        slowest bound: half way to the least, and after a failure nearer to the best."""
        whole, failures = self._choice.slowest, 0
        while failures < _FAILURES and not until.passed:
            best = self.found[units]
            least, most = ceil(self.least(units) / whole), ceil(best / whole) - 1
            if least > most:
                return
            total = most if failures else (least + most) // 2
            rounds = self._proportional(units, whole, total)
            begun = self._fitting(units, rounds, whole, programs=True)
            next(begun)
            with suppress(StopIteration):
                begun.send(until)
            failures = failures + 1 if self.found[units] == best else 0

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
        if not self.dives:
            numbers = self._choice.solved(numbers, min(_CHOICE_SECONDS, until.left()))
        self.know(units, self._choice.dealt(numbers, units).columns)

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

    def _room(self, rounds: Ints) -> Ints:
        """``[B, S]``: whole chunks that fit into these rounds."""
        return np.asarray(self._numerator * rounds // self._denominator)

    def _proportional(self, units: int, whole: int, total: int) -> Ints:
        """Rounds of each step ``[S]`` in proportion to the packing, of sum `total * whole`."""
        rounds = self._packing.rounds * (units * self._each / whole)
        return largest_remainders(rounds, total) * whole

    def _chosen(self, units: int, whole: int) -> Ints:
        """Rounds of each step ``[S]`` for the loads of the shares, multiples of `whole`, half way
        between the least and the best so far: with many demands the first solutions are far from
        the least."""
        shares = self._choice.shares * units * sum(self._counts) / self._choice.shares.sum()
        load = np.tensordot(shares, self._choice.loads, axes=1)
        rounds = np.zeros(load.shape[1], dtype=np.int64)
        noise = 1 + _MIXED * (2 * self._random.random(load.shape[1]) - 1)
        half = (self.least(units) + self.found[units]) // 2
        while rounds.sum() < half:
            over = np.maximum(0.0, load - self._room(rounds)) * noise
            step, more = self._raise(rounds, over, whole)
            rounds[step] += more
        return rounds

    def _squeezed(self, units: int) -> Ints:
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

    def _raise(self, rounds: Ints, over: Floats, whole: int) -> tuple[int, int]:
        """The step, and its additional rounds, that remove the most overload for each round; it
        then has a multiple of `whole` rounds."""
        room = self._room(rounds)
        best = (-1.0, 0, 1)
        for step in range(len(rounds)):
            bounds = np.flatnonzero(over[:, step] > 0)
            need = (room[bounds, step, None] + 1) * self._denominator[bounds]
            least = np.unique(-(-need // self._numerator[bounds]))
            more = -(-least // whole) * whole - rounds[step]
            for one in more.tolist():
                fresh = self._room(np.array([rounds[step] + one]))[bounds, 0]
                removed = np.minimum(over[bounds, step], fresh - room[bounds, step]).sum()
                best = max(best, (float(removed) / one, step, one))
        return best[1], best[2]

    def _fitting(
        self, units: int, rounds: Ints, whole: int, *, programs: bool = False, dives: bool = False
    ) -> Generator[None, Deadline, None]:
        """Replaces columns until all fit into the rounds, or into fewer than the best; a step
        gets more in multiples of `whole`.  Stops at a deadline, and goes on until the next one; a
        search with a dive ends after `_DIVE_SECONDS`.  With `programs` there are no sweeps, and at
        first one chunk is replaced at a time: see row mi250(boxes=1) allreduce of
        benchmarks/results/deployable.md."""
        until = yield
        since, spent = clock.worked(), 0.0
        now, rounds = self._best[units].copied(), rounds.copy()
        if dives:
            dive = Dive(self._packing, self._choice, units, self._room(rounds), self._random)
            now = self._solution(*map(list, zip(*dive.chunks(until), strict=True)))
            self._keep(units, now.copied())
        load, exact, at_once = now.load, self._repair.variables <= _VARIABLES, self._repair.at_once
        programs = programs or at_once is None
        size = low = 1 if programs else _FIRST
        few = programs or len(now.columns) <= (at_once or 0)
        first = 0 if exact and few else _SWEEPS
        weights, fruitless, least, sweeps = np.ones_like(load), 0, int(load.sum()), first
        while rounds.sum() < self.found[units]:
            room = self._room(rounds)
            over = np.maximum(0, load - room)
            if not over.any():
                self._keep(units, now)
                return
            if dives and spent + clock.worked() - since > _DIVE_SECONDS:
                return
            if until.passed:
                spent += clock.worked() - since
                until = yield
                since = clock.worked()
            if sweeps:
                load = self._rerouted(now, room, weights, until)
                over = np.maximum(0, load - room)
                sweeps, weights = sweeps - 1, weights + over
                if over.sum() < least:
                    sweeps, least = _SWEEPS, int(over.sum())
                continue
            if not exact or fruitless >= _FRUITLESS + _LAST // int(over.sum()):
                step, more = self._raise(rounds, (over * weights).astype(np.float64), whole)
                rounds[step] += more
                fruitless, least, sweeps = 0, int(over.sum()), first
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
            size = self._resized(size, proved, low)

    def _rerouted(self, now: _Solution[C], room: Ints, weights: Ints, until: Deadline) -> Ints:
        """Gives each chunk with overload the cheapest column found; returns the load ``[B, S]``."""
        packing, load = self._packing, now.load
        network, base = packing.network, _BASE / packing.network.rate[:, None]
        guilt = (now.loads * (load > room)).sum(axis=(1, 2))
        order = np.argsort(-guilt * self._random.random(len(guilt)))
        for i in order[: np.count_nonzero(guilt)].tolist():
            if until.passed:
                break
            others, mine = load - now.loads[i], np.arange(len(self._counts)) == now.demands[i]
            prices = base + weights * np.maximum(0, others - room + 1)
            shared = [[now.columns[i]] if own else [] for own in mine.tolist()]
            found, _ = packing.oracle.cheap(prices, np.where(mine, np.inf, -np.inf), shared, until)
            columns = [*(column for demand, column in found if mine[demand]), now.columns[i]]
            loads = np.stack([network.load(c.links, c.steps, packing.steps) for c in columns])
            over = weights * np.maximum(0, others + loads - room)
            best = int((over + base * loads).sum(axis=(1, 2)).argmin())
            now.columns[i], now.loads[i] = columns[best], loads[best]
            load = others + loads[best]
        return load

    def _drawn(self, now: _Solution[C], cells: Bools, size: int) -> tuple[list[int], int]:
        """Chunks that load some of these cells ``[B, S]`` more often than others, and their
        number, which is limited."""
        largest = max(1, min(_MOST, len(now.columns), _VARIABLES // self._repair.variables))
        guilt = (now.loads * cells).sum(axis=(1, 2)) + _MIXED
        order = np.argsort(-guilt * self._random.random(len(guilt)))
        size = min(size, largest)
        return order[:size].tolist(), size

    def _replace(self, now: _Solution[C], which: list[int], columns: Sequence[C]) -> Ints:
        """Replaces columns; returns their load ``[B, S]``."""
        fresh = self._solution([now.demands[i] for i in which], list(columns))
        for i, column in zip(which, columns, strict=True):
            now.columns[i] = column
        now.loads[which] = fresh.loads
        return fresh.load

    def _resized(self, size: int, proved: bool, low: int) -> int:
        return size + int(self._random.random() < _GROWS) if proved else max(low, size - 1)
