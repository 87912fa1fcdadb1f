"""Several solvers at once, on any executor, find the same frontier and leave no process.

Each search runs on several solvers, and each executor runs a search; not each search on each.
"""

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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "name"),
    [("processes", "broadcast"), ("processes:2", "refuting"), ("local:3", "combining")],
)
def test_executors(where: str, name: str, run: Run, alone: dict[str, list[object]]) -> None:
    require_the_same(name, run, alone, "--executor", where)


def test_nothing_is_left_behind(run: Run) -> None:
    before = set(psutil.Process().children(recursive=True))
    for how in (("--jobs", "2"), ("--executor", "processes:2")):
        assert run(*SEARCHES["broadcast"], *ONE, *how).code == 0
        end = time.monotonic() + 60
        while left := set(psutil.Process().children(recursive=True)) - before:
            # Python's own, of the first pool of processes; it stays for the next one.
            left = {p for p in left if "resource_tracker" not in " ".join(p.cmdline())}
            if not left:
                break
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
@pytest.mark.parametrize("how", [("--jobs", "2"), ("--executor", "processes:2")])
def test_ctrl_c_saves_known_points(
    how: tuple[str, ...], background: Run, counted: Any, all_end: Any, tmp_path: Any
) -> None:
    running = background(*LONG, *how, "-o", "saved.json", COUNTED_SLEEPS="0.4")
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
@pytest.mark.parametrize(
    ("number", "how"),
    [
        (signal.SIGTERM, ("--executor", "processes:2")),
        (signal.SIGKILL, ("--executor", "processes:2")),
        (signal.SIGKILL, ("--jobs", "2")),
    ],
)
def test_no_worker_survives(
    number: signal.Signals, how: tuple[str, ...], background: Run, counted: Any, all_end: Any
) -> None:
    running = background(*LONG, *how, COUNTED_SLEEPS="100")
    running.wait_until(lambda: counted.note.exists() and len(counted.note.read_text().split()) == 2)
    children = running.children()
    running.process.send_signal(number)
    running.process.wait(10)
    all_end(children)


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("nonsense", ["`nonsense`", "processes:N"]),
        ("", ["executor"]),
        ("processes:", ["N"]),
        ("processes:0", ["from 1"]),
        ("processes:many", ["N"]),
        ("local:5000", ["1024"]),
        ("http://127.0.0.1:80", ["processes:N"]),
    ],
)
def test_invalid_executors(where: str, words: list[str], run: Run) -> None:
    result = run(*SEARCHES["broadcast"], "--executor", where)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("syncoll")
    for word in words:
        assert word.replace("`", "'") in result.err


@pytest.mark.parametrize("jobs", ["0", "-1", "two", "5000"])
def test_invalid_jobs(jobs: str, run: Run) -> None:
    result = run(*SEARCHES["broadcast"], "--jobs", jobs)
    assert (result.code, result.out) == (2, "")


def test_the_number_of_jobs_is_given_once(run: Run) -> None:
    result = run(*SEARCHES["broadcast"], "--jobs", "2", "--executor", "processes:3")
    assert (result.code, result.out) == (2, "")
    assert "--jobs 2" in result.err
    assert "processes:3" in result.err
    short = ("--max-steps", "1", *ONE)
    assert run(*SEARCHES["broadcast"], *short, "--jobs", "2", "--executor", "local:2").code != 2


@pytest.mark.parametrize(
    ("how", "jobs"),
    [
        (("--jobs", "3"), 3),
        (("--executor", "local:4"), 4),
        (("--executor", "processes:2"), 2),
        (("--executor", "processes"), 1),
        (("--jobs", "2", "--executor", "processes"), 2),
    ],
)
def test_solvers_share_the_cores(
    how: tuple[str, ...], jobs: int, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each solver gets its share of cores."""
    import syncoll.solving

    given: list[tuple[int, int]] = []
    made = syncoll.solving.open_pool

    def noted(text: str, settings: Any, *, jobs: int, **more: Any) -> Any:
        pool = made(text, settings, jobs=jobs, **more)
        given.append((pool.width, settings.limits.threads))
        return pool

    monkeypatch.setattr("syncoll.session.answers.open_pool", noted)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(24)), raising=False)
    monkeypatch.setattr("os.cpu_count", lambda: 24)
    assert run(*SEARCHES["broadcast"], "--max-steps", "2", *how).code == 0
    assert given == [(jobs, min(8, 24 // jobs))]
