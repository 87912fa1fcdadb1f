"""Many instances at once, on threads; each has an answer, even if it is stopped."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from syncoll.errors import BackendError, OptionError, PluginError, UsageError
from syncoll.formula import Limits, StopReason, Verdict
from syncoll.model import Instance
from syncoll.plugins import PluginManager
from syncoll.results import Solution
from syncoll.solving import SolverPool, SolverSettings
from syncoll.trust import violations

FAKES = Path(__file__).parent / "fakes"
SETTINGS = SolverSettings(backend="pysat", limits=Limits(threads=2))

pytestmark = pytest.mark.usefixtures("no_children")


@pytest.fixture
def asking(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FAKES))
    import asking  # type: ignore[import-not-found]

    return asking


@pytest.fixture
def pool() -> Iterator[SolverPool]:
    with SolverPool(SETTINGS, 2) as pool:
        yield pool


def results(futures: list[Future[Solution]]) -> list[Solution]:
    return [future.result(timeout=60) for future in futures]


def test_it_decides(
    pool: SolverPool, allgather: Instance, impossible: Instance, allreduce: Instance, asking: Any
) -> None:
    assert pool.width == 2
    futures = [pool.submit(one) for one in (allgather, impossible, allreduce)]
    future = pool.submit(allgather, 7.5, how=asking.tell_seconds)
    sat, unsat, reduced = results(futures)
    assert [s.verdict for s in (sat, unsat, reduced)] == [Verdict.SAT, Verdict.UNSAT, Verdict.SAT]
    for solution, instance in ((sat, allgather), (reduced, allreduce)):
        assert solution.algorithm is not None
        assert violations(instance, solution.algorithm) == []
        assert (solution.instance.steps, solution.backend) == (instance.steps, "pysat")
    assert future.result(timeout=60).outcome.message == "7.5 2 pysat"


def test_running_and_waiting_tasks_can_be_stopped(
    pool: SolverPool, allgather: Instance, asking: Any
) -> None:
    assert pool.submit(allgather).result(timeout=60).verdict is Verdict.SAT
    futures = [pool.submit(allgather, how=asking.hang) for _ in range(6)]
    time.sleep(0.5)
    assert not any(future.done() for future in futures)
    pool.cancel(futures[0])
    assert futures[0].result(timeout=60).outcome.reason is StopReason.INTERRUPTED
    time.sleep(0.3)
    assert not any(future.done() for future in futures[1:])
    pool.cancel_all()
    assert wait(futures, timeout=60).not_done == set()
    for solution in results(futures):
        assert (solution.verdict, solution.outcome.reason) == (
            Verdict.UNKNOWN,
            StopReason.INTERRUPTED,
        )
    pool.cancel(futures[0])  # done: nothing happens
    assert pool.submit(allgather).result(timeout=60).verdict is Verdict.SAT


def test_closing_ends_everything(pool: SolverPool, allgather: Instance, asking: Any) -> None:
    futures = [pool.submit(allgather, how=asking.hang) for _ in range(4)]
    time.sleep(0.5)
    pool.close()  # hanging tasks would hang for ever
    assert all(s.outcome.reason is StopReason.INTERRUPTED for s in results(futures))
    with pytest.raises(UsageError, match="closed"):
        pool.submit(allgather)
    pool.close()


def test_wrong_answers_and_bugs_are_raised(
    pool: SolverPool, allgather: Instance, asking: Any
) -> None:
    with pytest.raises(BackendError, match="it lied"):
        pool.submit(allgather, how=asking.lie).result(timeout=60)
    with pytest.raises(ZeroDivisionError, match="a bug"):
        pool.submit(allgather, how=asking.fail).result(timeout=60)
    short = pool.submit(allgather, how=asking.run_out).result(timeout=60)
    assert short.outcome.reason is StopReason.MEMORY_LIMIT
    assert pool.submit(allgather).result(timeout=60).verdict is Verdict.SAT


def test_wrong_settings() -> None:
    with pytest.raises(PluginError, match="did you mean pysat"):
        SolverPool(replace(SETTINGS, backend="pysatt"), 2)
    with pytest.raises(OptionError, match="no option 'dance'"):
        SolverPool(replace(SETTINGS, backend_options=(("dance", "1"),)), 2)


def test_plugins_from_python(
    manager: Callable[..., PluginManager], racers: Any, allgather: Instance
) -> None:
    plugins = manager(racers.record("one", "hold"), racers.record("two"))
    settings = SolverSettings(backend="one+two", limits=Limits(threads=2))
    with SolverPool(settings, 2, plugins) as pool:
        futures = [pool.submit(allgather) for _ in range(4)]
        assert {s.backend for s in results(futures)} == {"two"}
