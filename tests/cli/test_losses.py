"""A solver that dies or runs out of memory is named with the reason, without stack traces."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., Any]

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")

KILLED = "the process of backend counted was killed by signal 9 (SIGKILL)"
NO_MEMORY = "backend counted ran out of memory"
COUNTED = ("--backend", "counted", "--seeds", "none")


@pytest.mark.parametrize(
    ("collective", "how", "words"),
    [
        ("allgather", "SIGKILL", KILLED),
        ("allgather", "no memory", NO_MEMORY),
        ("allreduce", "no memory", NO_MEMORY),
    ],
)
def test_a_frontier_names_lost_solvers(
    collective: str, how: str, words: str, run: Run, counted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COUNTED_CRASHES", how)
    limits = ("--max-steps", "2", "--max-chunks", "1", "--max-rounds", "2")
    result = run("pareto", "ring(3)", collective, *COUNTED, *limits)
    assert words in result.out.partition("Not settled:")[2]
    assert result.err.count(f"not everything was decided: {words}") == 1
    assert "Traceback" not in result.out + result.err


@pytest.mark.parametrize("backend", ["counted", "counted+cpsat"])
def test_solve_shows_no_stacks(
    backend: str, run: Run, counted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COUNTED_CRASHES", "SIGSEGV")
    hard = ("hypercube(4)", "alltoall", "-C", "16", "-S", "4", "-R", "7", "--time-limit", "4")
    result = run("solve", *hard, "--threads", "1", "--backend", backend)
    assert result.code == 3
    assert "the process of backend counted was killed by signal 11 (SIGSEGV)" in result.out
    for word in ("Fatal Python error", 'File "', "thread"):
        assert word not in result.out + result.err
