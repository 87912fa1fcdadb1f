"""A time limit includes the time of saving at the end."""

from __future__ import annotations

from pathlib import Path

import pytest

import syncoll
from syncoll.clock import counting, now
from syncoll.documents import growing


@pytest.mark.parametrize("saved", [False, True])
def test_a_search_ends_in_time_to_be_saved(
    saved: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without saving no time is reserved."""
    monkeypatch.setattr(growing, "_SECONDS_AT_THE_END", 1.0)
    monkeypatch.setattr(growing, "_MOST_AT_THE_END", 0.5)
    output = tmp_path / "f.json" if saved else None
    with counting():
        found = syncoll.pareto(
            "mi250(boxes=1)", "allgather", time_limit=1, output=output, progress="none"
        )
        spent = now()
    assert found.points
    assert not found.complete
    assert (spent < 0.8) is saved
