"""Searches that are limited by work: every run is the same."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from typing import Any

import pytest

import syncoll
from syncoll import clock
from syncoll.clock import counting, now, remembered, took
from syncoll.deadline import Deadline, OutOfTimeError, enclosing, interrupted_at
from syncoll.linear.program import GrowingProgram

SLOW = """
import random, sys, time
from syncoll.solving import process, connection
solve = process.SolverProcess.solve
def slowly(*args, **keywords):
    time.sleep(random.random() / 4)
    return solve(*args, **keywords)
process.SolverProcess.solve = slowly
first = time.perf_counter
time.perf_counter = lambda: first() + random.random() * 1e4
"""


def asked(questions: list[str], *before: str, hashes: str = "0") -> list[str]:
    """The answers of a separate process, without the recorded seconds."""
    lines = ["import json, syncoll", *before]
    lines += [f"print(json.dumps({one}.document(), sort_keys=True))" for one in questions]
    environment = {**os.environ, "PYTHONHASHSEED": hashes}
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    text = re.sub(r'"(seconds": [0-9.e-]+|digest": "sha256:[0-9a-f]+")', "", done.stdout)
    return text.splitlines()


def test_slow_solvers_and_a_jumping_clock_change_no_result() -> None:
    questions = [
        'syncoll.pareto("ring(5)", "allreduce", work=0.08, progress="none")',
        'syncoll.pareto("mi250(boxes=1)", "reducescatter", work=0.08, progress="none")',
        'syncoll.pareto("hypercube(3)", "allgather", work=0.4, max_steps=4, progress="none")',
    ]
    # The other process is asked for the last one twice: its state must not matter, either.
    again = [questions[-1], *reversed(questions)]
    first = asked(questions)
    ended = ['"complete": false' in one for one in first]
    assert ended == [True, True, False], "the limit ends the first two"
    assert asked(again, SLOW, hashes="7") == [first[-1], *reversed(first)]


def test_work_excludes_time_limits_and_parallel_solvers() -> None:
    ask: Any = syncoll.pareto
    for more, words in (
        ({"time_limit": 3}, "give one of them"),
        ({"threads": 2}, "one thread"),
        ({"jobs": 2}, "one thread"),
        ({"store": "answers.db"}, "store='answers.db': .* no earlier answers"),
        ({"backend": "highs"}, "does not count its work"),
    ):
        with pytest.raises(syncoll.SyncollError, match=words):
            ask("ring(4)", "allgather", work=1, progress="none", **more)
    with pytest.raises(syncoll.SyncollError, match="units of work"):
        ask("ring(4)", "allgather", work=-1, progress="none")
    assert not clock.is_counted()
    same: dict[str, Any] = {"threads": 1, "jobs": 1, "store": "none"}
    assert ask("ring(3)", "allgather", work=1, progress="none", **same).points


def test_the_limit_is_recorded_and_holds() -> None:
    found = syncoll.pareto("mesh(3,3)", "allgather", work=0.3, progress="none")
    assert found.settings["work"] == 0.3
    assert found.settings["time_limit"] is None
    assert found.points
    nothing = syncoll.solve("dgx1", "allgather", chunks=10, steps=3, rounds=11, work=0.001)
    assert str(nothing.verdict) == "unknown"


@pytest.mark.parametrize("backend", ["cpsat", "pysat", "z3"])
def test_solvers_keep_the_limit_and_report_their_work(backend: str) -> None:
    asking: dict[str, Any] = {"chunks": 4, "steps": 4, "rounds": 15, "backend": backend}
    found = syncoll.solve("hypercube(4)", "allgather", **asking, work=0.2)
    assert str(found.outcome.reason) == "time limit"
    assert 0.1 < found.outcome.work < 0.4


def test_a_deadline_of_counted_work() -> None:
    with counting():
        until = Deadline.after(0.01)
        assert not until.passed
        with interrupted_at(until):
            assert enclosing() is until
            took(0.02)
            with pytest.raises(OutOfTimeError, match="work limit"):
                enclosing().check()
        assert enclosing().is_never
        remembered("something", list).append(1)
    with counting():
        assert remembered("something", list) == []


def test_repeated_looks_at_the_clock_count_as_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "perf_counter", lambda: 1e9)
    with counting():
        until, looks = Deadline.after(0.1).working(0.05), 0
        while not until.passed:
            looks += 1
    assert 0 < looks < 1000


def test_a_linear_program_is_limited_by_iterations() -> None:
    def run(limit: float) -> tuple[bool, bool]:
        program = GrowingProgram([1.0] * 40)
        for i in range(40):
            program.add({i: 2.0, (i + 1) % 40: 1.0, (i * 7 + 3) % 40: 1.0}, 1.0 + i, 1e6)
        return program.run(limit), program.was_stopped

    with counting():
        began = now()
        assert run(1e-5) == (False, True)
        assert run(10.0) == (True, False)
        assert 1e-4 < now() - began < 1


def test_bounds_do_not_depend_on_earlier_questions() -> None:
    def proved() -> list[Any]:
        found = syncoll.bounds("mesh(2,3)", "allreduce", max_steps=4, work=0.05)
        return [found.any_steps.rounds, [(s, one.rounds) for s, one in found.by_steps], found.late]

    first = proved()
    syncoll.bounds("mesh(2,3)", "allreduce", max_steps=4)
    assert proved() == first
