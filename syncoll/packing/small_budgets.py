"""The least R/C of few chunks, for each S and each limit on C of a search."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import ceil, inf, isinf
from typing import Generic

from syncoll.deadline import Deadline
from syncoll.packing.column_generation import C, Packing
from syncoll.packing.few_chunks import FewChunks
from syncoll.packing.whole_chunks import WHOLE, DealtChunks

_FEW, _SIMPLE = 64, 1.02
"""Most chunks of a solution, one of each orbit, which limits work.  A number of chunks within this
factor of the packing's R/C is not improved, and larger ones are not needed."""

_FEW_ROOM, _MOST_ROOM = 1.02, 1.05
"""Ratio of whole rounds to the fractional ones with which a solution is likely and still good."""


class SmallBudgets(Generic[C]):
    """The least R/C for each S and each of some small C.

    Args:
        make: the solutions of a packing.
        each: the chunks C of a unit.
        demands: chunks of all demands for a unit, one of each orbit.
        costs: the least R/C found for each S and C; others may add to it.
        lowered: most chunks of a solution for which programs choose all rounds.

    Attributes:
        tight: whether dives may aim at as many rounds as a packing has.
    """

    def __init__(
        self,
        make: Callable[[Packing[C]], FewChunks[C]],
        each: int,
        demands: int = 1,
        costs: dict[tuple[int, int], Fraction] | None = None,
        lowered: int = 0,
    ) -> None:
        self.costs, self.tight = {} if costs is None else costs, False
        self._make, self._each, self._demands = make, each, demands
        self.most_searched, self._most_lowered = (n // demands * each for n in (_FEW, lowered))
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
        found, simple = [], 1 + WHOLE if self.tight else _SIMPLE
        for units in self._tried(packing, budgets):
            known = self.least(packing.steps, units * self._each)
            if known is not None and known <= packing.value * simple:
                break
            few, lowers = self._begun(packing, units), units * self._each <= self._most_lowered
            idle = few.dives and not lowers and self._is_idle(packing, units, known)
            if few.is_open(units, lowers=lowers) and not idle:
                found.append(units)
        return found

    def _is_idle(self, packing: Packing[C], units: int, known: Fraction | None) -> bool:
        """Whether a dive cannot lower the known R/C, or aims no lower than one of fewer steps."""
        aim = self._few[packing.steps].aim(units)
        if known is not None and aim >= known * units * self._each:
            return True
        fewer = (few for steps, few in self._few.items() if steps < packing.steps)
        return any(
            few.aim(units) <= aim for few in fewer if units in few.found and few.is_open(units)
        )

    def _begun(self, packing: Packing[C], units: int) -> FewChunks[C]:
        """The solutions of a packing, with the ones of fewer steps for a number of units."""
        steps = packing.steps
        if steps not in self._few:
            self._few[steps] = self._make(packing)
        few = self._few[steps]
        few.tight = self.tight
        for fewer, other in self._few.items():
            rounds = other.found.get(units, inf) if fewer < steps else inf
            if rounds < few.found.get(units, inf):
                few.know(units, other.dealt(units).columns)
        return few

    def _tried(self, packing: Packing[C], budgets: Sequence[int]) -> Iterator[int]:
        """The limits in units; before each a smaller number with more room in rounds, or none."""
        below, value = 0, packing.value * self._each
        slowest = ceil(1 / packing.network.rate.min() - WHOLE)
        for units in sorted({chunks // self._each for chunks in budgets}):
            if units <= below or units * self._each > self.most_searched:
                continue
            exact = {u: value * u / slowest for u in range(below + 1, units + 1)}
            room = {u: ceil(one - WHOLE) / one for u, one in exact.items()}
            low, high = (0.0, 1 + WHOLE) if self.tight else (_FEW_ROOM, _MOST_ROOM)
            fits = [u for u, one in room.items() if low <= one <= high]
            if fits and units not in fits:
                yield max(fits)
            yield units
            below = units

    def improved(
        self, packing: Packing[C], budgets: Sequence[int], until: Deadline
    ) -> Iterator[DealtChunks[C]]:
        """Improves open numbers of units, the largest for half of the time; yields solutions, the
        best so far."""
        steps = packing.steps
        numbers = [] if until.passed else self.open(packing, budgets)
        for left, units in zip(range(len(numbers), 0, -1), numbers, strict=True):
            if until.passed:
                return
            few, known = self._few[steps], self.least(steps, units * self._each)
            part = until.share(max(1 / (2**left - 1), 1 / (4 * left)))
            searches = units * self._each > self._most_lowered
            if not searches:
                few.lower(units, part, kept=True)
            while searches:
                few.improve(units, part)
                searches = few.is_open(units) and not part.passed
            dealt = few.dealt(units)
            if known is None or dealt.bandwidth < known:
                self.note(steps, dealt)
                yield dealt
