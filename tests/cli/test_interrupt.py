"""Ctrl-C prints and saves known points; no worker survives the end of the command.

A backend that answers its first question and then sleeps replaces a hard problem.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from syncoll.__main__ import main as command
from syncoll.documents import load_text, read_file
from syncoll.plugins import PluginManager

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")

Run = Callable[..., Any]

PATIENCE = 120.0


class Running:
    """A running command, in a process group of its own as in a terminal."""

    def __init__(self, folder: Path, path: Path, arguments: tuple[object, ...]) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-m", "syncoll", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(path), "SLEEPY_FOLDER": str(folder)},
            start_new_session=True,
        )

    def wait_for_sleep(self) -> int:
        """Waits until the backend sleeps; its process id."""
        note = self.folder / "asleep"
        end = time.monotonic() + PATIENCE
        while not (note.exists() and note.read_text()):
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < end
            time.sleep(0.02)
        worker = int(note.read_text())
        assert psutil.pid_exists(worker)
        return worker

    def signal(self, number: signal.Signals) -> tuple[int, str, str]:
        """Sends a signal to the group; exit code and output."""
        os.killpg(self.process.pid, number)
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out, err


Start = Callable[..., Running]

SLEEPY = """\
import os, time
from pathlib import Path
from syncoll.formula import Outcome, StopReason, Verdict
from syncoll.plugins import Answer, BackendRecord, Option, hookimpl


class Sleepy:
    asked = 0

    def solve(self, formula, limits, options):
        self.asked += 1
        if self.asked == 1 and not options["at_once"]:
            import syncoll_pysat
            record = syncoll_pysat.RECORD
            values = {o.name: o.default for o in record.options}
            return record.load().solve(formula, limits, values)
        note = Path(os.environ["SLEEPY_FOLDER"], "asleep")
        note.write_text(str(os.getpid()))
        time.sleep(3600 if limits.seconds is None else limits.seconds)
        return Outcome(Verdict.UNKNOWN, reason=StopReason.TIME_LIMIT)


def load():
    return Sleepy()


@hookimpl
def syncoll_backends():
    import syncoll_pysat
    features = syncoll_pysat.RECORD.features
    options = (Option("at_once", False, "sleep at the first question"),)
    return [BackendRecord("sleepy", "sleeps", load, features, lambda: Answer(True), options)]
"""


@pytest.fixture
def sleepy(tmp_path: Path) -> Path:
    """A folder from which the plugin can be imported and found."""
    folder = tmp_path / "plugin"
    info = folder / "sleepy-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "sleepy_for_syncoll.py").write_text(SLEEPY)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sleepy\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[syncoll]\nsleepy = sleepy_for_syncoll\n")
    return folder


@pytest.fixture
def start(tmp_path: Path, sleepy: Path) -> Iterator[Start]:
    """Starts commands; ends processes that a failed test left."""
    started: list[Running] = []

    def begin(*arguments: object) -> Running:
        folder = tmp_path / "work"
        folder.mkdir(exist_ok=True)
        started.append(Running(folder, sleepy, arguments))
        return started[-1]

    yield begin
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.communicate()


def assert_gone(worker: int) -> None:
    """Checks that the process ends, at once or very soon."""
    end = time.monotonic() + PATIENCE
    while psutil.pid_exists(worker) and psutil.Process(worker).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < end, "a worker survives"
        time.sleep(0.02)


PARETO = (
    *("pareto", "dgx1", "allgather", "--seeds", "none"),
    *("--backend", "sleepy", "--point-limit", "3000"),
)
SOLVE = ("solve", "dgx1", "allgather", "-C", "6", "-S", "3", "-R", "7", "--backend", "sleepy")
SAVED = "dgx1-allgather.frontier.json"


def test_a_search_prints_and_saves_known_points(start: Start) -> None:
    running = start(*PARETO)
    worker = running.wait_for_sleep()
    code, out, err = running.signal(signal.SIGINT)
    assert_gone(worker)
    assert code == 130
    assert "1 verified point" in out
    assert "Not settled:" in out
    assert "interrupted" in out
    assert f"saved in {SAVED}" in err
    assert "Traceback" not in err
    frontier = read_file(running.folder / SAVED).frontier
    assert frontier is not None
    assert frontier.interrupted
    assert [(p.steps, str(p.bandwidth)) for p in frontier.points] == [(2, "3/2")]


def test_json_is_still_one_object_and_o_is_honoured(start: Start) -> None:
    running = start(*PARETO, "--format", "json", "-o", "mine.json", "--progress", "plain")
    worker = running.wait_for_sleep()
    # Points are saved while the search still runs.
    assert len(read_file(running.folder / "mine.json").algorithms) == 1
    code, out, _ = running.signal(signal.SIGINT)
    assert_gone(worker)
    assert code == 130
    content = json.loads(out)
    assert content["interrupted"]
    assert not content["complete"]
    assert [claim["reason"] for claim in content["open"]] == ["interrupted"] * 2
    assert json.loads((running.folder / "mine.json").read_text("utf-8")) == content
    assert not (running.folder / SAVED).exists()
    assert [p.name for p in running.folder.iterdir() if p.name.startswith(".")] == []


def test_an_earlier_result_is_not_overwritten(start: Start) -> None:
    running = start(*PARETO)
    worker = running.wait_for_sleep()
    (running.folder / SAVED).write_text("precious")
    _, _, err = running.signal(signal.SIGINT)
    assert_gone(worker)
    assert (running.folder / SAVED).read_text() == "precious"
    assert "saved in dgx1-allgather-2.frontier.json" in err


@pytest.mark.parametrize("style", ["table", "json"])
def test_a_solve_says_that_it_was_interrupted(style: str, start: Start) -> None:
    running = start(*SOLVE, "--backend-option", "at_once=yes", "--format", style, "-o", "mine.json")
    worker = running.wait_for_sleep()
    code, out, err = running.signal(signal.SIGINT)
    assert_gone(worker)
    assert code == 130
    assert "Traceback" not in err
    if style == "json":
        content = json.loads(out)
        assert (content["verdict"], content["reason"]) == ("unknown", "interrupted")
        assert load_text(out, "stdout").algorithms == ()
    else:
        assert out.startswith("unknown: ")
        assert "interrupted" in out
    assert read_file(running.folder / "mine.json").document["reason"] == "interrupted"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGHUP])
def test_no_worker_survives_its_parent(number: signal.Signals, start: Start) -> None:
    running = start(*PARETO, "-o", "mine.json")
    worker = running.wait_for_sleep()
    code, _, _ = running.signal(number)
    assert code == -number
    assert_gone(worker)
    assert len(read_file(running.folder / "mine.json").algorithms) == 1


def test_time_that_runs_out_costs_no_point(
    run: Run, sleepy: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(str(sleepy))
    monkeypatch.setenv("SLEEPY_FOLDER", str(tmp_path))
    result = run(*PARETO, "--time-limit", "8", "--format", "json")
    assert result.code == 0
    assert [p["bandwidth"] for p in result.json["points"]] == ["3/2"]
    assert not result.json["complete"]
    assert not result.json["interrupted"]
    assert result.json["open"][0]["bandwidth"] == ["7/6", "3/2"]


def test_ctrl_c_before_anything_is_known(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("syncoll.searching.interruptible.search", interrupt)
    result = run("pareto", "dgx1", "allgather", "--format", "json", "-o", "mine.json")
    assert result.code == 130
    assert result.json["points"] == []
    assert result.json["open"] == [
        {"steps": [0, None], "bandwidth": ["0", None], "reason": "interrupted"}
    ]
    assert run("show", "mine.json").code == 0


def test_ctrl_c_elsewhere(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(PluginManager, "discover", interrupt)
    result = run("show", "dgx1")
    assert (result.code, result.out, result.err) == (130, "", "syncoll: interrupted\n")


def test_during_the_imports(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Impatient:
        def find_spec(self, name: str, *_: object) -> None:
            if name == "syncoll.cli.main":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "syncoll.cli.main", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Impatient(), *sys.meta_path])
    before = signal.getsignal(signal.SIGINT)
    try:
        assert command() == 130
    finally:
        signal.signal(signal.SIGINT, before)
    assert capsys.readouterr().err == "syncoll: interrupted\n"


def test_as_the_interpreter_ends() -> None:
    """The answer is printed, and nothing else."""
    program = (
        "import atexit, signal, sys",
        "atexit.register(signal.raise_signal, signal.SIGINT)",
        "from syncoll.__main__ import main",
        "sys.argv = ['syncoll', 'show', 'ring(3)']",
        "sys.exit(main())",
    )
    command = [sys.executable, "-c", "\n".join(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")
    assert "ring(3): 3 nodes" in done.stdout
