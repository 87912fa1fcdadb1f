"""The checks that contributors run by name."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import psutil
import pytest

import tasks


def children() -> set[psutil.Process]:
    return set(psutil.Process().children())


@pytest.mark.parametrize("end", [0, 1, KeyboardInterrupt()])
def test_busy(end: int | KeyboardInterrupt, monkeypatch: pytest.MonkeyPatch) -> None:
    before, asked = children(), []

    def run(commands: Sequence[Sequence[str]]) -> int:
        asked.append(commands)
        assert len(children() - before) == 8
        if isinstance(end, KeyboardInterrupt):
            raise end
        return end

    monkeypatch.setattr(tasks, "run", run)
    monkeypatch.setattr(sys, "argv", ["tasks", "busy", "--times", "2", "tests/model", "-k", "x"])
    assert tasks.main() == (130 if isinstance(end, KeyboardInterrupt) else end)
    assert asked == [[["pytest", "-q", "tests/model", "-k", "x"]]] * (1 if end else 2)
    assert children() == before


@pytest.mark.parametrize("words", [["busy"], ["busy", "--times"], ["busy", "--times", "x", "y"]])
def test_busy_says_what_it_expects(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["tasks", *words])
    with pytest.raises(SystemExit, match="for example: busy"):
        tasks.main()
