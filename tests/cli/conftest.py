"""Runs of the command line, in this process if possible, otherwise in a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import psutil
import pytest

from syncoll.cli.main import main
from syncoll.errors import ExportError
from syncoll.model import Instance
from syncoll.plugins import ExportRequest


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """Standard output as exactly one object."""
        value = json.loads(self.out)
        assert isinstance(value, dict)
        return value


Run = Callable[..., Result]

COUNT = "syncoll_msccl_xml.writer.program_of"
"""Part of the count and of the export to MSCCL XML."""
EXPORT = "syncoll_msccl_xml.writer.MscclXmlExporter.export"


def refuse(monkeypatch: pytest.MonkeyPatch, name: str, refused: Callable[[Instance], bool]) -> None:
    """Makes a function of an `ExportRequest` refuse some instances."""
    plain = resolve_name(name)

    def function(*given: Any) -> Any:
        if any(isinstance(one, ExportRequest) and refused(one.instance) for one in given):
            raise ExportError("it is too long")
        return plain(*given)

    monkeypatch.setattr(name, function)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command line within this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object) -> Result:
        capsys.readouterr()
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 99
        captured = capsys.readouterr()
        return Result(int(code), captured.out, captured.err)

    return call


@pytest.fixture
def process(tmp_path: Path) -> Run:
    """Runs a command line as a process of its own, in an empty folder."""

    def call(*arguments: object, **environment: str) -> Result:
        done = subprocess.run(
            [sys.executable, "-m", "syncoll", *map(str, arguments)],
            capture_output=True,
            cwd=tmp_path,
            env={**os.environ, **environment},
            timeout=120,
            check=False,
        )
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    return call


PATIENCE = 120.0


class Background:
    """A running command, in a process group of its own as in a terminal."""

    def __init__(self, arguments: tuple[object, ...], folder: Path, environment: Any) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "syncoll", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env={**os.environ, **environment},
            start_new_session=True,
        )

    def wait_until(self, happened: Callable[[], object]) -> None:
        """Waits for something that the command does before it ends."""
        end = time.monotonic() + PATIENCE
        while not happened():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < end
            time.sleep(0.02)

    def children(self) -> list[psutil.Process]:
        """Its child processes, and their children."""
        return psutil.Process(self.process.pid).children(recursive=True)

    def result(self) -> Result:
        """Waits for its end."""
        out, err = self.process.communicate(timeout=PATIENCE)
        return Result(self.process.returncode, out, err)

    def interrupt(self) -> Result:
        """Ctrl-C: the signal goes to the whole group."""
        os.killpg(self.process.pid, signal.SIGINT)
        return self.result()

    def kill(self) -> None:
        """``kill -9`` of this process alone."""
        self.process.kill()
        self.process.wait(PATIENCE)


@pytest.fixture
def background(tmp_path: Path) -> Iterator[Callable[..., Background]]:
    """Starts commands in an empty folder; ends processes that a failed test left."""
    started: list[Background] = []

    def begin(*arguments: object, **environment: str) -> Background:
        started.append(Background(arguments, tmp_path, environment))
        return started[-1]

    yield begin
    for one in started:
        with contextlib.suppress(psutil.NoSuchProcess):
            left = one.children()
            one.process.kill()
            for child in left:
                child.kill()
        one.process.communicate()


@pytest.fixture(scope="session")
def all_end() -> Callable[[list[psutil.Process]], None]:
    """Waits until processes have ended; fails if one survives."""

    def wait(processes: list[psutil.Process]) -> None:
        end = time.monotonic() + PATIENCE
        while left := [p for p in processes if _lives(p)]:
            assert time.monotonic() < end, f"alive: {left}"
            time.sleep(0.02)

    return wait


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


COUNTED = """\
import os, signal, time
from pathlib import Path
from syncoll.formula import Outcome, StopReason, Verdict
from syncoll.plugins import Answer, BackendRecord, hookimpl


class Counted:
    def __init__(self):
        import syncoll_pysat
        record = syncoll_pysat.RECORD
        self.backend = record.load()
        self.options = {option.name: option.default for option in record.options}

    def solve(self, formula, limits, options):
        with Path(os.environ["COUNTED"]).open("a") as note:
            note.write(f"{os.getpid()}\\n")
        crashes = os.environ.get("COUNTED_CRASHES")
        if crashes == "no memory":
            raise MemoryError
        if crashes and crashes.startswith("SIG"):
            os.kill(os.getpid(), getattr(signal, crashes))
        if crashes:
            os._exit(1)
        time.sleep(float(os.environ.get("COUNTED_SLEEPS", "0")))
        if os.environ.get("COUNTED_OUT_OF_TIME"):
            return Outcome(Verdict.UNKNOWN, reason=StopReason.TIME_LIMIT)
        return self.backend.solve(formula, limits, self.options)


def load():
    return Counted()


@hookimpl
def syncoll_backends():
    import syncoll_pysat
    features = syncoll_pysat.RECORD.features
    return [BackendRecord("counted", "counts", load, features, lambda: Answer(True), ())]
"""


@dataclass(frozen=True)
class Counted:
    """A backend ``counted``: a SAT solver that starts quickly and records each question.

    Args:
        note: where.
    """

    note: Path

    def questions(self) -> int:
        """The number of questions since the last call."""
        count = len(self.note.read_text().splitlines()) if self.note.exists() else 0
        self.note.unlink(missing_ok=True)
        return count


@pytest.fixture
def counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Counted:
    """The backend, installed for this process and its children."""
    folder = tmp_path / "plugin"
    info = folder / "counted-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "counted_for_syncoll.py").write_text(COUNTED)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: counted\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[syncoll]\ncounted = counted_for_syncoll\n")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
    monkeypatch.setenv("COUNTED", str(tmp_path / "questions"))
    return Counted(tmp_path / "questions")


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of every kind, and some specs."""
    folder = tmp_path_factory.mktemp("files")
    for name, command in {
        "frontier.json": ["pareto", "dgx1", "allgather"],
        "sat.json": ["solve", "dgx1", "allgather", "-C", "1", "-S", "2", "-R", "2"],
        "unsat.json": ["solve", "ring(4)", "allgather", "-C", "1", "-S", "1", "-R", "1"],
    }.items():
        assert main([*command, "-o", str(folder / name)]) in (0, 1)
    (folder / "quad.syncoll").write_text(
        "# Four in a circle.\n"
        "topology quad { nodes 4  link (i, (i + 1) mod 4) for i in nodes  bandwidth 2 }\n"
    )
    (folder / "both.syncoll").write_text(
        "topology quad { nodes 4  link (i, (i + 1) mod 4) for i in nodes  bandwidth 2 }\n"
        "collective shift {\n"
        "    chunks P * C\n"
        "    pre { (c, n) : n == c mod P }\n"
        "    post { (c, n) : n == (c + 1) mod P }\n"
        "}\n"
        "search small { topology quad  collective shift  steps <= 2  chunks <= 2 }\n"
    )
    (folder / "wrong.syncoll").write_text("topology t { nodes 4  link (0, 9) bandwidth 1 }\n")
    return folder
