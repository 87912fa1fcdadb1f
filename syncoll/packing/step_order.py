"""StepOrder: tries S from few to many in growing strides, then where most is left to gain."""

from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from math import inf

from syncoll.packing.timed_packing import TimedPacking

STRIDES = 4
"""Number of S that are tried with one stride before it is doubled; half of it with known trees,
which make packings fast.  Row mesh(8,8) of benchmarks/results/scale.md."""

_WIDEST = 3
"""A stride is at most S divided by this, or 2. This and all below: rows torus(8,8) and mesh(8,8) of
benchmarks/results/scale.md."""

_CLOSE = 0.0025
"""Relative distance of R/C from its least, or four times that for two S in a row, within which more
steps wait until it is at rest.  Row torus(8,8) allgather of benchmarks/results/scale.md."""

NEAR_LEAST = 1 + 2 * _CLOSE
"""When R/C is this near to its least, more steps come after everything else that improves more."""

NEARLY_THERE = 1 + 20 * _CLOSE
"""Until a packing is this near to its estimate, more steps wait ..."""

_FIRST_TURNS = 5
"""... up to this number of turns."""

_WORTH = 1 - 0.8 * _CLOSE
"""More steps are worthwhile when they lower R/C to this share."""

_USELESS_STEPS = 2
"""After this number of S without such a gain no larger one is tried."""

_LEFT = 1e-5
"""Smaller gains are ignored."""

_BETWEEN = 0.2
"""An S between others, which has points on both sides, is worth less by this factor.  It comes
before larger ones if R/C falls by half of it between its neighbours."""

_DEALS = 3
"""Number of times that a packing at rest is dealt."""


class StepOrder:
    """The packings tried so far, and the next S.

    Args:
        first: the fewest steps.
        most: the most steps.
        least: a lower bound on R/C for any number of steps.
        strides: number of S that are tried with one stride.
        gain: least share by which more steps lower R/C if they are worthwhile, for each share by
            which there are more; or `_WORTH`, if that is lower.

    Attributes:
        packings: for each S that was tried.
    """

    def __init__(
        self, first: int, most: int, least: float, strides: int = STRIDES, gain: float = 0.0
    ) -> None:
        self.first, self.most, self.least = first, most, least
        self._strides, self._gain = strides, gain
        self.packings: dict[int, TimedPacking] = {}
        self._tries: dict[int, int] = {}
        self._at_rest: dict[int, int] = {}

    def tried(self, steps: int) -> None:
        """Records that a packing had its turn, and was dealt."""
        self._tries[steps] = self._tries.get(steps, 0) + 1
        if self.packings[steps].rested:
            self._at_rest[steps] = self._at_rest.get(steps, 0) + 1

    def around(self, steps: int) -> list[TimedPacking]:
        """The packings of the next fewer and of the next more steps."""
        fewer = [s for s in self.packings if s < steps]
        more = [s for s in self.packings if s > steps]
        return [self.packings[s] for s in [*sorted(fewer)[-1:], *sorted(more)[:1]]]

    def following(self, best: Mapping[int, Fraction]) -> int | None:
        """The next S, by the best known R/C of each S; None where nothing is left to be done."""
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
        """An S between two tried ones, if the larger costs much less."""
        for fewer, more in pairwise(sorted(self.packings)):
            known = min((float(cost) for s, cost in best.items() if s <= fewer), default=inf)
            if more > fewer + 1 and known > self.packings[more].value * (1 + _BETWEEN / 2):
                return (fewer + more) // 2
        return None

    def _needs_more(self, steps: int) -> bool:
        """Whether a packing is still far from its estimate."""
        packing = self.packings[steps]
        if packing.rested or self._tries.get(steps, 0) >= _FIRST_TURNS:
            return False
        return packing.value > max(packing.estimate, self.least) * NEARLY_THERE

    def _further(self) -> int | None:
        """The next S after all that were tried, if more steps seem worthwhile."""
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
            return None  # it can improve more than more steps
        gains = [values[1] < inf, *(self._is_gain(*both) for both in pairwise(tried))]
        if len(gains) > _USELESS_STEPS and not any(gains[-_USELESS_STEPS:]):
            return None
        if not gains[-1] and not self.packings[tried[-1]].rested:
            return None  # it may still improve
        stride = min(1 << (len(tried) // self._strides), max(2, tried[-1] // _WIDEST))
        if values[-1] <= self.least * NEARLY_THERE:  # the end is soon reached
            stride = max(stride, tried[-1] // 2)
        return min(tried[-1] + stride, self.most)

    def _is_gain(self, fewer: int, more: int) -> bool:
        """Whether an S lowers R/C enough, compared with a smaller one."""
        worth = min(_WORTH, 1 - self._gain * (more / fewer - 1))
        return self.packings[more].value < self.packings[fewer].value * worth

    def _left(self, steps: int, best: Mapping[int, Fraction]) -> float:
        """The relative amount by which R/C may fall for S, divided by the number of tries."""
        packing = self.packings.get(steps)
        # With fewer steps R/C seldom falls below the value of more.
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
