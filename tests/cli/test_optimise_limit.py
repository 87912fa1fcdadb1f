"""--time-limit also holds with --optimise-for: simulations get the remaining time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from syncoll.errors import OutOfTimeError

Run = Callable[..., Any]


def late(*_: object, **__: object) -> None:
    raise OutOfTimeError("the time limit was reached")


def test_points_stay_if_no_time_is_left_to_simulate(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("syncoll.simulating.urgency.by_urgency", late)
    monkeypatch.setattr("syncoll.simulate", late)
    sizes = ("--optimise-for", "64KiB:1MiB", "--alpha", "1us", "--beta", "25GB/s")
    done = run("pareto", "line(3)", "allgather", "--time-limit", "1h", *sizes)
    assert done.code == 0
    assert "verified point" in done.out
    assert "no time was left to simulate the points" in done.err
