"""The choice of C, where whole chunks cost more than split ones: few chunks, finer ones, the best.

C = m times the least takes at least the sum over steps of ``ceil(load * m)`` rounds.  The most
promising C is rounded first, until none promises more than was reached.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from syncoll.deadline import Deadline
from syncoll_bfb.arrivals import SeparateStep
from syncoll_bfb.sharing import SharedStep, StepChunks

__all__ = ["DealtSteps", "choices"]

_FEW_TIMES = 8
"""So many times the least C is few."""

_FEWER, _BEST = Fraction(1005, 1000), Fraction(10005, 10000)
"""Fewer chunks are worth while where they lose no more than this part; the least C within the
second stands for the best."""

_TRIES = 24
"""So many C are rounded for each of the three."""

_SECONDS = 10.0
"""Of work on rounding, also where nothing limits the time."""


@dataclass(frozen=True, eq=False)
class DealtSteps:
    """Whole chunks of each step for a C that is `times` the least."""

    times: int
    dealt: tuple[StepChunks, ...]

    @property
    def cost(self) -> Fraction:
        """R/C, for the least C 1."""
        return Fraction(sum(one.rounds for one in self.dealt), self.times)


def choices(
    steps: Sequence[SharedStep | SeparateStep],
    weight: int,
    times: range,
    until: Deadline,
    *,
    exact: bool = False,
) -> Iterator[DealtSteps]:
    """Whole chunks for up to three C, each with a smaller R/C than the one before.

    Args:
        weight: chunks of each source, for the least C.
        times: C as multiples of the least, from 1.
        until: when to stop improving.
        exact: whether whole chunks take the fewest rounds; then there is only the best C.
    """
    tries = len(times) if exact else _TRIES
    until = until.working(_SECONDS)
    promise = {m: Fraction(sum(step.least_rounds(m * weight) for step in steps), m) for m in times}

    @cache
    def rounded(m: int) -> DealtSteps:
        return DealtSteps(m, tuple(step.whole(m * weight, until) for step in steps))

    def best(candidates: Sequence[int]) -> DealtSteps:
        """The least R/C, and of equal ones the least C."""
        found: DealtSteps | None = None
        for m in sorted(candidates, key=lambda m: (promise[m], m))[:tries]:
            if found is not None and (promise[m] >= found.cost or until.passed):
                break
            if found is None or rounded(m).cost < found.cost:
                found = rounded(m)
        assert found is not None
        least = min(promise[m] for m in candidates)
        if found.cost > least * _BEST and not until.passed:
            # A round that whole chunks cost more matters the less, the more of them there are.
            finest = rounded(max(m for m in candidates if promise[m] == least))
            found = min(found, finest, key=lambda one: one.cost)
        return found

    def least(within: Fraction) -> DealtSteps | None:
        """The least C that is tried with so small a R/C."""
        near = [m for m in times if promise[m] <= within]
        for m in near[:_TRIES]:
            if until.passed:
                break
            if rounded(m).cost <= within:
                return rounded(m)
        return None

    few = best(times if exact else times[:_FEW_TIMES])
    yield few
    if exact:
        return
    finest = best(times)
    last = few
    for part in (_FEWER, _BEST):
        found = least(finest.cost * part) or finest
        if found.cost < last.cost:
            yield found
            last = found
