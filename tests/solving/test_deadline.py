"""A deadline ends a run at any stage: before, while the formula is built, and in every worker."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

from syncoll.deadline import NEVER, Deadline
from syncoll.formula import StopReason, Verdict
from syncoll.model import Instance
from syncoll.plugins import PluginManager
from syncoll.searching import AnswerSource
from syncoll.solving import Solver, SolverPool, SolverSettings

Make = Callable[..., PluginManager]

pytestmark = pytest.mark.usefixtures("no_children")


def undecided(solver: Solver, instance: Instance, seconds: float) -> str:
    """Why, in words; it took not much longer."""
    until = Deadline.after(seconds)
    solution = solver.solve(instance, until=until)
    assert until.left() > -20.0  # instead of an hour
    assert (solution.verdict, solution.outcome.reason) == (Verdict.UNKNOWN, StopReason.TIME_LIMIT)
    return solution.outcome.message


@pytest.mark.parametrize("backend", ["one", "one+two"])
def test_in_the_worker(manager: Make, racers: Any, allgather: Instance, backend: str) -> None:
    """One worker is never ready; the other one has its formula, and ignores its limit."""
    never = racers.record("one", load=racers.load_for_ever)
    plugins = manager(never, racers.record("two", "sleep"))
    with Solver(plugins, backend=backend, head_start=0.1) as solver:
        undecided(solver, allgather, 1.0)
        assert undecided(solver, allgather, -1.0) == "no time was left"


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no such alarm")
@pytest.mark.parametrize("backend", ["one", "one+two"])
@pytest.mark.parametrize("where", ["encode", "lower"])
def test_before_the_worker(
    manager: Make,
    racers: Any,
    allgather: Instance,
    monkeypatch: pytest.MonkeyPatch,
    where: str,
    backend: str,
) -> None:
    ended = Deadline.after(30.0)

    def endless(*_: object) -> Any:
        while not ended.passed:  # its thread cannot be interrupted where there are two
            time.sleep(0.01)

    class Endless:
        encode = staticmethod(endless)

    plugins = manager(racers.record("one"), racers.record("two"))
    with Solver(plugins, backend=backend) as solver:
        if where == "encode":
            solver._loaded["step"] = Endless()
        else:
            monkeypatch.setattr("syncoll.solving.portfolio.lower", endless)
        undecided(solver, allgather, 0.3)
        assert not ended.passed


def test_who_waits_for_a_pool(
    manager: Make, allgather: Instance, racers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SolverPool, "_decide", lambda *_: time.sleep(1.0))
    plugins, settings = manager(racers.record("one")), SolverSettings(backend="one")
    with Solver(plugins, settings, start=False) as solver, SolverPool(settings, 1, plugins) as pool:
        asking = AnswerSource(solver, pool=pool)
        solution = asking.ask(allgather, None, until=Deadline.after(0.1)).result()
    assert (solution.verdict, solution.outcome.reason) == (Verdict.UNKNOWN, StopReason.TIME_LIMIT)


def test_without_one(manager: Make, racers: Any, allgather: Instance) -> None:
    with Solver(manager(racers.record("one")), backend="one") as solver:
        assert solver.solve(allgather, until=NEVER).verdict is Verdict.SAT
