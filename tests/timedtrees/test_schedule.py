"""The order of S near the end: the last has its turns before others, and before more steps."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any, cast

import pytest

from syncoll.packing.step_order import StepOrder


@pytest.mark.parametrize(
    ("values", "known", "following"),
    [
        # Between 12 and 18 the gap may exceed half of the gap at 27.
        ({12: 1.015, 18: 1.0043, 27: 1.003}, {12: "1.019", 18: "1.0056", 27: "1.0047"}, 27),
        # More steps would help, but two S in a row are near enough to the end that 27 suffices.
        ({12: 1.015, 18: 1.0075, 27: 1.0045}, {12: "1.019", 18: "1.013"}, 27),
        # One alone is not enough.
        ({12: 1.015, 18: 1.0043}, {12: "1.019", 18: "1.0056"}, 27),
    ],
)
def test_the_end_comes_soon(
    values: dict[int, float], known: dict[int, str], following: int
) -> None:
    schedule = StepOrder(min(values), 64, 1.0)
    for steps, value in values.items():
        rested = steps <= 12
        packing = SimpleNamespace(value=value, estimate=value if rested else 1.0, rested=rested)
        schedule.packings[steps] = cast("Any", packing)
        for _ in range(3 if rested else 1):
            schedule.tried(steps)
    assert schedule.following({s: Fraction(cost) for s, cost in known.items()}) == following


@pytest.mark.parametrize(("gain", "following"), [(0.05, None), (0.03, 7), (0.0, 7)])
def test_a_small_gain_is_not_worth_more_steps(gain: float, following: int | None) -> None:
    # R/C falls by 0.8 % each time, steps are a fourth and a fifth more.
    schedule = StepOrder(4, 64, 1.0, gain=gain)
    for steps, value in {4: 1.2, 5: 1.19, 6: 1.18}.items():
        packing = SimpleNamespace(value=value, estimate=value, rested=True)
        schedule.packings[steps] = cast("Any", packing)
        schedule.tried(steps)
    best = {steps: Fraction(packing.value) for steps, packing in schedule.packings.items()}
    assert schedule.following(best) == following
