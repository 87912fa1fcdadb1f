"""Several solvers at once find the same frontier and leave no process."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from typing import Any

import psutil
import pytest

from syncoll.documents import read_file

Run = Callable[..., Any]

SEARCHES = {
    "allgather": ("pareto", "dgx1", "allgather", "--seeds", "none"),
    "broadcast": ("pareto", "ring(5)", "broadcast", "--seeds", "none"),
    "refuting": (
        *("pareto", "dgx1", "broadcast", "--strategy", "paper", "--k", "2", "--max-chunks", "6"),
        *("--max-steps", "4", "--seeds", "none"),
    ),
    "combining": ("pareto", "line(3)", "allreduce", "--max-chunks", "3", "--seeds", "none"),
}
LONG = (*SEARCHES["refuting"], "--backend", "counted")
ONE = ("--backend", "pysat")
"""The solver with the fastest start, if the choice does not matter."""


def costs(document: dict[str, Any]) -> list[object]:
    """The costs of a frontier, without engines and times."""
    points = [
        (p["steps"], p["bandwidth"], p["proof"]["scope"], p["proof"]["bound"])
        for p in document["points"]
    ]
    return [*points, json.dumps(document["open"]), document["complete"]]


@pytest.fixture(scope="module")
def alone() -> dict[str, list[object]]:
    """The frontiers that one solver finds."""
    return {}


def require_the_same(name: str, run: Run, alone: dict[str, list[object]], *how: object) -> None:
    one = () if name == "allgather" else ONE  # it would take long
    if name not in alone:
        alone[name] = costs(run(*SEARCHES[name], *one, "--format", "json").json)
        assert len(alone[name]) > 2
    result = run(*SEARCHES[name], *one, *how, "--format", "json")
    assert (result.code, result.err) == (0, "")
    assert costs(result.json) == alone[name]


@pytest.mark.parametrize("name", SEARCHES)
def test_two_jobs(name: str, run: Run, alone: dict[str, list[object]]) -> None:
    require_the_same(name, run, alone, "--jobs", "2")


def test_nothing_is_left_behind(run: Run) -> None:
    before = set(psutil.Process().children(recursive=True))
    assert run(*SEARCHES["broadcast"], *ONE, "--jobs", "2").code == 0
    end = time.monotonic() + 60
    while left := set(psutil.Process().children(recursive=True)) - before:
        assert time.monotonic() < end, left
        time.sleep(0.05)


def test_several_are_asked_at_once(background: Run, counted: Any, all_end: Any) -> None:
    running = background(*LONG, "--jobs", "3", COUNTED_SLEEPS="100")
    running.wait_until(
        lambda: counted.note.exists() and len(set(counted.note.read_text().split())) == 3
    )
    children = running.children()
    assert running.interrupt().code == 130
    all_end(children)


@pytest.mark.slow
def test_ctrl_c_saves_known_points(
    background: Run, counted: Any, all_end: Any, tmp_path: Any
) -> None:
    running = background(*LONG, "--jobs", "2", "-o", "saved.json", COUNTED_SLEEPS="0.4")
    running.wait_until((tmp_path / "saved.json").exists)
    children = running.children()
    assert children  # of two at once, one may have been ended if its answer was not needed
    result = running.interrupt()
    all_end(children)
    assert result.code == 130, result.err
    assert "Traceback" not in result.err
    assert "interrupted" in result.out
    assert "saved in saved.json" in result.err
    frontier = read_file(tmp_path / "saved.json").frontier
    assert frontier is not None
    assert frontier.interrupted
    assert [(p.steps, str(p.bandwidth)) for p in frontier.points][:1] == [(2, "1")]


@pytest.mark.slow
def test_no_worker_survives(background: Run, counted: Any, all_end: Any) -> None:
    running = background(*LONG, "--jobs", "2", COUNTED_SLEEPS="100")
    running.wait_until(lambda: counted.note.exists() and len(counted.note.read_text().split()) == 2)
    children = running.children()
    running.process.send_signal(signal.SIGKILL)
    running.process.wait(10)
    all_end(children)


@pytest.mark.parametrize("jobs", ["0", "-1", "two", "5000"])
def test_invalid_jobs(jobs: str, run: Run) -> None:
    result = run(*SEARCHES["broadcast"], "--jobs", jobs)
    assert (result.code, result.out) == (2, "")


def test_solvers_share_the_cores(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from syncoll.solving import SolverPool

    given: list[tuple[int, int]] = []

    def noted(settings: Any, width: int, plugins: Any) -> SolverPool:
        given.append((width, settings.limits.threads))
        return SolverPool(settings, width, plugins)

    monkeypatch.setattr("syncoll.session.answers.SolverPool", noted)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(24)), raising=False)
    monkeypatch.setattr("os.cpu_count", lambda: 24)
    assert run(*SEARCHES["broadcast"], "--max-steps", "2", "--jobs", "4").code == 0
    assert given == [(4, 6)]
