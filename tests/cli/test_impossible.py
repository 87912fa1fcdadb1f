"""Impossible limits are reported at once, with the least possible ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import syncoll
from syncoll.solving import Solver

Run = Callable[..., Any]

COLLECTIVES = [
    *("allgather", "broadcast(root=1)", "gather", "scatter", "alltoall", "reduce"),
    *("reducescatter", "allreduce", "2 * allgather + alltoall", "allgatherv([1,2,1,1,0])"),
    *("allreduce within [[0,1,2],[3,4]]", "reduce + allgather"),
]


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails if a solver is called."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a solver was asked")

    monkeypatch.setattr(Solver, "solve", refuse)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("collective", COLLECTIVES)
def test_fewer_steps_than_distances(collective: str, run: Run) -> None:
    least = syncoll.bounds("line(5)", collective, max_steps=0).steps
    done = run("pareto", "line(5)", collective, "--max-steps", str(least - 1))
    assert done.code == 1
    words = f"Impossible: no algorithm has fewer than {least} steps, and --max-steps {least - 1} "
    assert words in done.out
    with_one_more = syncoll.pareto("line(5)", collective, max_steps=least - 1, progress="none")
    assert with_one_more.impossible
    assert not with_one_more.points


@pytest.mark.usefixtures("alone")
def test_fewer_rounds_than_cuts(run: Run, tmp_path: Path) -> None:
    """On a line of five, the link at an end carries the data of the four other nodes."""
    file = str(tmp_path / "f.json")
    done = run("pareto", "line(5)", "allgather", "--max-rounds", "3", "-o", file)
    assert done.code == 1
    assert "no algorithm has fewer than 4 rounds, and --max-rounds 3 asks for fewer" in done.out
    checked = run("check", file, "--collective", "allgather")
    assert checked.code == 0
    assert "bandwidth cost below 4" in checked.out


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(("steps", "rounds"), [(3, 9), (9, 3)])
def test_a_single_question(steps: int, rounds: int, run: Run) -> None:
    numbers = ("-C", "5", "-S", str(steps), "-R", str(rounds))
    done = run("solve", "line(5)", "allreduce", *numbers)
    assert done.code == 1
    noun = "steps" if steps < 4 else "rounds"
    assert f"No algorithm with C = 5 has fewer than 4 {noun}." in done.out


@pytest.mark.parametrize(("rounds", "least"), [("1/3", "2/3 rounds"), ("1", "")])
def test_each_step_takes_at_least_a_grain(rounds: str, least: str) -> None:
    """With two chunks 1 round is too few, but 4/3 rounds are enough, which is less than 2."""
    ends = [(0, 1), (1, 0), (1, 2), (2, 1)]
    fast = syncoll.Topology.from_links("fast", 3, dict.fromkeys(ends, 3), grains=3)
    page = str(syncoll.solve(fast, "allgather", chunks=2, steps=2, rounds=rounds))
    assert "has no algorithm" in page
    assert (f"No algorithm with C = 2 has fewer than {least}." in page) == bool(least)
    assert ("fewer" in page) == bool(least)


def test_limits_that_are_just_possible_are_searched(run: Run) -> None:
    done = run("pareto", "line(3)", "allgather", "--max-steps", "2", "--max-rounds", "2")
    assert done.code == 0
    assert "1 verified point" in done.out


@pytest.mark.parametrize("command", ["pareto", "search"])
def test_help_names_the_code(command: str, run: Run) -> None:
    assert "at once, with exit code 1" in " ".join(run(command, "--help").out.split())
