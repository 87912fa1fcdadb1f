"""Which S comes next: from few to many in growing strides, then where most is left."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from math import inf

from syncoll.packing.timed_packing import TimedPacking

__all__ = ["NEARLY_THERE", "NEAR_LEAST", "STRIDES", "StepOrder"]

STRIDES = 4
"""S that are tried with one stride before it is doubled, half as many where trees are known before:
each is packed soon then.  Row mesh(8,8) of benchmarks/results/scale.md."""

_WIDEST = 3
"""A stride is at most this part of S, or 2.  These and all below: rows torus(8,8) and mesh(8,8) of
benchmarks/results/scale.md."""

_CLOSE = 0.0025
"""When R/C is this near to its least, relatively, or two S in a row within four times as much, more
steps are tried only after it is at rest.  Row torus(8,8) allgather of
benchmarks/results/scale.md."""

NEAR_LEAST = 1 + 2 * _CLOSE
"""When R/C is this near to its least, more steps come after everything that is better to do."""

NEARLY_THERE = 1 + 20 * _CLOSE
"""Until a packing is this near to what it may fall to, more steps wait ..."""

_FIRST_TURNS = 5
"""... up to so many times."""

_WORTH = 1 - 0.8 * _CLOSE
"""More steps are of use when they lower R/C to this part."""

_STEPS_OF_NO_USE = 2
"""After so many S that are of no use no larger one is tried."""

_LEFT = 1e-5
"""Less is not worth while."""

_BETWEEN = 0.2
"""An S between others, which has points on both sides, is worth less by this factor, but comes
before larger ones where R/C falls by half of it from the one to the other."""

_DEALS = 3
"""So often a packing at rest is dealt."""


class StepOrder:
    """What was tried, and what comes next.

    Args:
        first: the fewest steps.
        most: the most steps.
        least: what R/C comes down to with many steps, or less.
        strides: so many S are tried with one stride.

    Attributes:
        packings: for each S that was tried.
    """

    def __init__(self, first: int, most: int, least: float, strides: int = STRIDES) -> None:
        self.first, self.most, self.least = first, most, least
        self._strides = strides
        self.packings: dict[int, TimedPacking] = {}
        self._tries: dict[int, int] = {}
        self._at_rest: dict[int, int] = {}

    def tried(self, steps: int) -> None:
        """Says that a packing had its turn, and was dealt."""
        self._tries[steps] = self._tries.get(steps, 0) + 1
        if self.packings[steps].rested:
            self._at_rest[steps] = self._at_rest.get(steps, 0) + 1

    def around(self, steps: int) -> list[TimedPacking]:
        """The packings of the next fewer and of the next more steps."""
        fewer = [s for s in self.packings if s < steps]
        more = [s for s in self.packings if s > steps]
        return [self.packings[s] for s in [*sorted(fewer)[-1:], *sorted(more)[:1]]]

    def following(self, best: Mapping[int, Fraction]) -> int | None:
        """The next S, or None where nothing is left to be done.

        Args:
            best: the least R/C that is known for S, where there is one.
        """
        further = self._further()
        last = max(self.packings, default=None)
        if last is None:
            return further
        if further is not None and self.packings[last].value > self.least * NEAR_LEAST:
            if self._needs_more(last):
                return last
            skipped = self._skipped(best)
            return further if skipped is None else skipped
        candidates = range(self.first, last + 1)
        left = {steps: self._left(steps, best) for steps in candidates}
        if further is not None:
            left[further] = self._gap(further, best, self.least)
        else:  # the end, which large messages want, has its second turn soon
            tries = self._tries.get(last, 0)
            left[last] *= (1 + tries) / max(1, tries)
        most = max(left, key=lambda steps: left[steps], default=None)
        return None if most is None or left[most] <= _LEFT else most

    def _skipped(self, best: Mapping[int, Fraction]) -> int | None:
        """An S between two that were tried, of which the larger costs much less."""
        for fewer, more in pairwise(sorted(self.packings)):
            known = min((float(cost) for s, cost in best.items() if s <= fewer), default=inf)
            if more > fewer + 1 and known > self.packings[more].value * (1 + _BETWEEN / 2):
                return (fewer + more) // 2
        return None

    def _needs_more(self, steps: int) -> bool:
        """Whether a packing is still far from what it may fall to."""
        packing = self.packings[steps]
        if packing.rested or self._tries.get(steps, 0) >= _FIRST_TURNS:
            return False
        return packing.value > max(packing.estimate, self.least) * NEARLY_THERE

    def _further(self) -> int | None:
        """The next S after all that were tried, if more steps seem to be of use."""
        tried = sorted(self.packings)
        if not tried:
            return self.first if self.first <= self.most else None
        values = [inf, *(self.packings[steps].value for steps in tried)]
        if values[-1] <= self.least * (1 + _LEFT) or tried[-1] >= self.most:
            return None
        close = values[-1] <= self.least * (1 + _CLOSE) or values[-2] <= self.least * (
            1 + 4 * _CLOSE
        )
        if close and not self.packings[tried[-1]].rested:
            return None  # it has more to give than more steps
        gains = [after < before * _WORTH for before, after in pairwise(values)]
        if len(gains) > _STEPS_OF_NO_USE and not any(gains[-_STEPS_OF_NO_USE:]):
            return None
        if not gains[-1] and not self.packings[tried[-1]].rested:
            return None  # that may change
        stride = min(1 << (len(tried) // self._strides), max(2, tried[-1] // _WIDEST))
        if values[-1] <= self.least * NEARLY_THERE:  # the end is soon reached
            stride = max(stride, tried[-1] // 2)
        return min(tried[-1] + stride, self.most)

    def _left(self, steps: int, best: Mapping[int, Fraction]) -> float:
        """By what part R/C may fall for so many steps, the less the more often it was tried."""
        packing = self.packings.get(steps)
        # With fewer steps hardly anything falls below what more have reached.
        larger = [s for s in self.packings if s > steps]
        least = max(self.least, self.packings[min(larger)].value) if larger else self.least
        if packing is None:
            return _BETWEEN * self._gap(steps, best, least)
        if not packing.rested:
            return self._gap(steps, best, max(packing.estimate, least))
        if self._at_rest.get(steps, 0) >= _DEALS:
            return 0.0
        return self._gap(steps, best, packing.value)

    def _gap(self, steps: int, best: Mapping[int, Fraction], least: float) -> float:
        known = min((float(cost) for s, cost in best.items() if s <= steps), default=inf)
        return (known / least - 1) / (1 + self._tries.get(steps, 0))
