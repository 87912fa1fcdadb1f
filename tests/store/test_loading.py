"""A search loads its solver when the store lacks something."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import syncoll
from syncoll.searching import AnswerSource
from syncoll.solving import Solver


class Starts:
    backend_name, encoding = "test", SimpleNamespace(name="test")

    def __init__(self) -> None:
        self.count = 0

    def start(self) -> None:
        self.count += 1


@pytest.mark.parametrize("first", [False, True])
def test_it_waits_for_a_point_and_an_unstored_question(first: bool) -> None:
    solver: Any = Starts()
    memory: Any = object()
    source = AnswerSource(solver, memory=memory)
    source.begin(lacking=first)
    assert solver.count == 0
    source.begin(lacking=not first)
    assert solver.count > 0


def test_without_a_store_it_waits_for_a_point() -> None:
    solver: Any = Starts()
    AnswerSource(solver).begin()
    assert solver.count == 1


def test_a_question_that_was_answered_starts_no_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Solver] = []
    start = Solver.start

    def counted(solver: Solver) -> None:
        started.append(solver)
        start(solver)

    monkeypatch.setattr(Solver, "start", counted)
    store = str(tmp_path / "store.sqlite")
    first = syncoll.pareto("dgx1", "allgather", max_steps=2, store=store)
    assert started
    started.clear()
    again = syncoll.pareto("dgx1", "allgather", max_steps=2, store=store)
    assert not started
    costs = [[(point.steps, point.bandwidth) for point in one] for one in (first, again)]
    assert costs[0] == costs[1]
