"""Bounds are proved in this process, or in several, here threads."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Executor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import syncoll
from syncoll.cli.main import main
from syncoll.deadline import NEVER, Deadline, OutOfTimeError
from syncoll.designing import assessing, workers
from syncoll.designing.assessing import DesignFolder
from syncoll.ledger.lower_bounds import lower_bounds
from syncoll.results import LowerBounds

COMMAND = ["design", "ring(n)", "allgather", "--most", "5", "--jobs", "2"]


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Threads instead of processes, and how many each command took."""
    made: list[int] = []

    @contextmanager
    def processes(width: int) -> Iterator[Executor]:
        made.append(width)
        with ThreadPoolExecutor(width) as pool:
            yield pool

    monkeypatch.setattr(workers, "_processes", processes)
    return made


def test_it_finds_the_same(
    threads: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = []
    for where in ([], ["--jobs", "2"]):
        assert main([*COMMAND[:-2], *where, "--steps", "2", "--format", "json"]) == 0
        printed.append(json.loads(capsys.readouterr().out))
    assert printed[0] == printed[1]
    assert threads == [2]
    assert main([*COMMAND, "-o", str(tmp_path / "made")]) == 0
    assert main([*COMMAND, "-o", str(tmp_path / "made")]) == 0
    assert threads == [2, 2], "all was there, and no process is started"


@pytest.mark.usefixtures("threads")
def test_bounds_proved_before_a_worker_died_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done, asked = threading.Event(), list[str]()

    def dying(topology: syncoll.Topology, *given: Any, **how: Any) -> LowerBounds:
        asked.append(topology.name)
        if topology.name == "ring(5)":
            assert done.wait(30)
            raise BrokenExecutor
        return lower_bounds(topology, *given, **how)

    folder, usual = tmp_path / "made", DesignFolder.keep

    def keep(*given: Any) -> None:
        usual(*given)
        if len(list(folder.glob("allgather-*.json"))) == 4:
            done.set()

    monkeypatch.setattr(assessing, "lower_bounds", dying)
    monkeypatch.setattr(DesignFolder, "keep", keep)
    assert main([*COMMAND, "-o", str(folder)]) == 2
    printed = capsys.readouterr().err
    assert "a process that proves bounds died" in printed
    assert sorted(asked) == [f"ring({n})" for n in range(1, 6)]
    asked.clear()
    monkeypatch.setattr(assessing, "lower_bounds", lower_bounds)
    assert main([*COMMAND, "-o", str(folder)]) == 0
    assert main(["check", str(folder)]) == 0
    assert "Checked: 5 files" in capsys.readouterr().out


@pytest.mark.usefixtures("threads")
def test_time_runs_out_while_workers_are_busy() -> None:
    until = Deadline.after(0.05)
    given = workers.answers(lambda _: time.sleep(0.2), [1, 2], 2, until)
    with pytest.raises(OutOfTimeError):
        next(given)


def test_few_tasks_run_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(workers, "_processes")
    for jobs, tasks in ((4, [1]), (1, [1, 2])):
        assert list(workers.answers(abs, tasks, jobs, NEVER)) == [(one, one) for one in tasks]
