"""Many instances at once, on threads and processes; answers come even if some die."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from syncoll.errors import BackendError, OptionError, PluginError, UsageError
from syncoll.formula import Limits, StopReason, Verdict
from syncoll.model import Instance
from syncoll.plugins import PluginManager
from syncoll.results import Solution
from syncoll.solving import SolverPool, SolverSettings, SolveTask, decide, open_pool
from syncoll.solving.task import release
from syncoll.trust import violations

FAKES = Path(__file__).parent / "fakes"
SETTINGS = SolverSettings(backend="pysat", limits=Limits(threads=2))

pytestmark = pytest.mark.usefixtures("no_children")


@pytest.fixture
def asking(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FAKES))
    import asking  # type: ignore[import-not-found]

    return asking


def _spawned() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn"))


KINDS = ("local:2", "processes:2", "threads", "spawned")
PROCESSES = ("processes:2", "spawned")


def make(kind: str) -> SolverPool:
    """A pool of one of the kinds."""
    passed: dict[str, Callable[[], Executor]] = {
        "threads": lambda: ThreadPoolExecutor(2),
        "spawned": _spawned,
    }
    if kind in passed:
        return SolverPool(passed[kind](), SETTINGS, width=2)
    return open_pool(kind, SETTINGS)


@pytest.fixture
def pool(request: pytest.FixtureRequest, asking: Any) -> Iterator[SolverPool]:
    with make(request.param) as pool:
        yield pool


def every(kinds: tuple[str, ...] = KINDS) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("pool", kinds, indirect=True)


def results(futures: list[Future[Solution]]) -> list[Solution]:
    return [future.result(timeout=60) for future in futures]


def until(happened: Callable[[], object]) -> None:
    """Waits for an event in other threads or processes."""
    ends = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < ends
        time.sleep(0.02)


@every()
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
    *words, pid = future.result(timeout=60).outcome.message.split()
    assert words == ["7.5", "2", "pysat"]
    assert (int(pid) == os.getpid()) == (pool._executor.__class__ is ThreadPoolExecutor)


@every()
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


@every()
def test_closing_ends_everything(pool: SolverPool, allgather: Instance, asking: Any) -> None:
    futures = [pool.submit(allgather, how=asking.hang) for _ in range(4)]
    time.sleep(0.5)
    pool.close()  # hanging tasks would hang for ever
    assert all(s.outcome.reason is StopReason.INTERRUPTED for s in results(futures))
    with pytest.raises(UsageError, match="closed"):
        pool.submit(allgather)
    pool.close()


@every()
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


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
@every(PROCESSES)
def test_a_process_that_dies_takes_no_search_down(
    pool: SolverPool, allgather: Instance, asking: Any
) -> None:
    assert pool.submit(allgather).result(timeout=60).verdict is Verdict.SAT
    lost = pool.submit(allgather, how=asking.die).result(timeout=60)
    assert (lost.verdict, lost.outcome.reason) == (Verdict.UNKNOWN, StopReason.CRASHED)
    assert "the process that should decide it is gone" in lost.outcome.message
    assert (lost.encoding, lost.backend) == ("step", "pysat")
    later = pool.submit(allgather).result(timeout=60)
    if pool._executor.__class__ is ProcessPoolExecutor and type(pool) is SolverPool:
        # A foreign executor stays broken; the pool must not make another.
        assert later.outcome.reason is StopReason.CRASHED
    else:
        assert later.verdict is Verdict.SAT


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
@pytest.mark.parametrize("pool", ["processes:2"], indirect=True)
def test_a_dead_process_costs_the_others_nothing(
    pool: SolverPool, allgather: Instance, asking: Any
) -> None:
    futures = [pool.submit(allgather) for _ in range(3)]
    dying = pool.submit(allgather, how=asking.die)
    futures += [pool.submit(allgather) for _ in range(3)]
    assert dying.result(timeout=60).outcome.reason is StopReason.CRASHED
    # A second death may have met a second try; but with the dying question gone, all is well.
    assert {s.verdict for s in results([pool.submit(allgather)])} == {Verdict.SAT}
    assert all(
        s.verdict is Verdict.SAT or s.outcome.reason is StopReason.CRASHED for s in results(futures)
    )


class TestRequests:
    @pytest.mark.parametrize(
        "text",
        ["", "lokal", "local:0", "local:-1", "local:x", "processes:", "dask://host:80",
         "http://host:80", "local://host:1", "local:1:2"],
    )  # fmt: skip
    def test_unknown_executors(self, text: str) -> None:
        with pytest.raises(UsageError, match=r"executor"):
            open_pool(text, SETTINGS)

    @pytest.mark.parametrize("text", ["local", "processes"])
    def test_wrong_settings(self, text: str) -> None:
        with pytest.raises(PluginError, match="did you mean pysat"):
            open_pool(text, replace(SETTINGS, backend="pysatt"))
        with pytest.raises(OptionError, match="no option 'dance'"):
            open_pool(text, replace(SETTINGS, backend_options=(("dance", "1"),)))

    def test_no_room(self) -> None:
        with pytest.raises(UsageError, match="0 jobs"):
            open_pool("local", SETTINGS, jobs=0)

    def test_plugins_from_python_in_threads(
        self, manager: Callable[..., PluginManager], racers: Any, allgather: Instance
    ) -> None:
        plugins = manager(racers.record("one", "hold"), racers.record("two"))
        settings = SolverSettings(backend="one+two", limits=Limits(threads=2))
        with open_pool("local", settings, jobs=2, manager=plugins) as pool:
            futures = [pool.submit(allgather) for _ in range(4)]
            assert {s.backend for s in results(futures)} == {"two"}


class TestPickles:
    def test_a_question_is_small_and_the_same(self, allgather: Instance) -> None:
        fresh = len(pickle.dumps(SolveTask(allgather, SETTINGS)))
        assert allgather.distance_to_post.shape == (4, 4)  # a cached property, as are these
        assert allgather.least_steps == 2
        assert allgather.topology.distances.shape == (4, 4)
        data = pickle.dumps(SolveTask(allgather, SETTINGS, 3.0))
        assert len(data) < fresh + 50 < 3000
        assert "least_steps" in vars(allgather)  # the original keeps its cached values
        copy = pickle.loads(data)
        assert copy.settings == SETTINGS
        assert copy.instance.topology == allgather.topology
        assert np.array_equal(copy.instance.post, allgather.post)
        assert copy.instance.least_steps == 2

    def test_the_formula_does_not_travel(self, allgather: Instance) -> None:
        try:
            solution = decide(SolveTask(allgather, SETTINGS))
        finally:
            release(SETTINGS)
        assert solution.outcome.assignment is not None
        count = len(solution.outcome.assignment.booleans)
        assert count > 20
        copy = pickle.loads(pickle.dumps(solution))
        assert len(copy.outcome.assignment.booleans) == 1
        assert copy.verdict is Verdict.SAT
        assert copy.algorithm == solution.algorithm
        assert copy.seconds == solution.seconds
        assert len(solution.outcome.assignment.booleans) == count
