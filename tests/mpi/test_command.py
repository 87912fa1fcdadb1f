"""``syncoll run --via mpi``: its output, and that no process hangs or survives."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import psutil
import pytest

import syncoll
from syncoll.cli.main import main
from syncoll.errors import UsageError
from syncoll.mpi import communicators, launcher
from syncoll.mpi.rank import write_text

pytest.importorskip("mpi4py", reason="the extra [mpi] is not installed")

Say = Callable[..., tuple[int, str, str]]
ENDLESS = ("--size", "64KiB", "--repeats", "9999999")


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str], stored: Path) -> Say:
    """Runs the command in this process: exit code, output, errors."""

    def call(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        try:
            code = main(["run", str(stored), *arguments])
        except SystemExit as end:
            code = int(end.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_a_comparison_as_json(say: Say) -> None:
    code, out, err = say(
        *("--via", "mpi", "-n", "3", "--sizes", "4,1000,4104", "--repeats", "3"),
        *("--dtype", "float32", "--op", "prod", "--format", "json"),
    )
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert document["schema"] == "syncoll/mpi-execution/2"
    assert (document["ranks"], document["machines"], document["shows"]) == (3, 1, "correctness")
    assert (document["operation"], document["ok"]) == ("prod", True)
    (algorithm,) = document["algorithms"]
    assert algorithm["does"] == "allreduce"
    assert document["messages"] == [4, 1000, 4104]
    assert [run["message_bytes"] for run in algorithm["runs"]] == [4, 1000, 4104]
    for run in algorithm["runs"]:
        assert run["elements"] == run["message_bytes"] // 4
        assert run["compared_with"] == "MPI_Allreduce"
        assert (run["ok"], run["mismatch"]) == (True, None)
        assert 0 <= run["bound_used"] < 1
        for times in (run["seconds"], run["mpi_seconds"]):
            assert 0 < times["least"] <= times["median"] <= times["most"]


def test_a_comparison_as_a_table(say: Say) -> None:
    code, out, _ = say("--via", "mpi", "--size", "1000", "--dtype", "int64", "--op", "max")
    assert code == 0
    assert "allreduce on ring(3)^-1; 3 ranks on 1 machine" in out
    assert "MPI_Allreduce" in out
    assert "bit for bit" in out
    assert "not how fast they are" in out


def test_from_python(stored: Path) -> None:
    (done,) = syncoll.run(stored, via="mpi", ranks=3, sizes=["4KiB"], repeats=2)
    assert isinstance(done, syncoll.MpiResult)
    assert done.ok
    assert [run.size for run in done.runs] == [4096]
    assert "MPI_Allreduce" in repr(done)
    with pytest.raises(UsageError, match="expected ranks=3, one rank for each node"):
        syncoll.run(stored, via="mpi", ranks=2)
    with pytest.raises(UsageError, match="repeats is for via='mpi'"):
        syncoll.run(stored, repeats=2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--via", "mpi", "-n", "8"], "expected --ranks 3, one rank for each node"),
        (["--via", "mpi", "--size", "4", "--sizes", "4,8"], "give one of them"),
        (["--via", "mpi", "--sizes", "4,6"], "expected a multiple of 4"),
        (["--via", "mpi", "--sizes", "4,,8"], "'4,,8' has an empty size"),
        (["--via", "mpi", "--size", "900TiB"], "use a smaller size"),
        (["-n", "3"], "--ranks is for --via mpi"),
        (["--sizes", "4,8"], "--sizes is for --via mpi"),
        (["--repeats", "4"], "--repeats is for --via mpi"),
        (["--time-limit", "4s"], "--time-limit is for --via mpi"),
    ],
)
def test_invalid_requests_are_refused(arguments: list[str], words: str, say: Say) -> None:
    code, out, err = say(*arguments)
    assert (code, out) == (2, "")
    assert words in err


def test_without_the_extra(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_name: str) -> None:
        raise PackageNotFoundError

    monkeypatch.setattr(launcher, "distribution", missing)
    monkeypatch.setattr(launcher.shutil, "which", lambda _name: None)
    code, _, err = say("--via", "mpi")
    assert code == 2
    assert "needs an MPI library" in err
    assert "pip install 'syncoll[mpi]'" in err
    monkeypatch.setattr(launcher, "find_spec", lambda _name: None)
    code, _, err = say("--via", "mpi")
    assert code == 2
    assert "needs mpi4py; install it with `pip install 'syncoll[mpi]'`" in err


def test_importing_needs_no_mpi() -> None:
    """A call without MPI names the package to install."""
    program = (
        "import sys; sys.modules['mpi4py'] = None\n"
        "import syncoll.mpi\n"
        "from syncoll.errors import UsageError\n"
        "from syncoll.mpi.communicators import mpi\n"
        "try: mpi()\n"
        "except UsageError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert communicators.HOW_TO_INSTALL in done.stdout


def test_mpiexec_is_found_without_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    found = launcher.find_mpiexec()
    assert Path(found.command[0]).is_absolute()
    assert found.origin.startswith("package ")


class Background:
    """The command in a process of its own, with its own folder for temporary files."""

    def __init__(self, stored: Path, folder: Path, *arguments: str) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-m", "syncoll", "run", str(stored), "--via", "mpi", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(folder), "PATH": ""},
            start_new_session=True,
        )
        self.ranks: list[psutil.Process] = []
        end = time.monotonic() + 120
        while not self._at_work():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < end
            time.sleep(0.05)

    def _at_work(self) -> bool:
        """Whether all ranks have read their job and loaded MPI."""
        children = psutil.Process(self.process.pid).children(recursive=True)
        self.ranks = []
        for child in children:
            with contextlib.suppress(psutil.Error):
                loaded = any("libmpi" in map_.path for map_ in child.memory_maps())
                if loaded and "syncoll.mpi.rank" in " ".join(child.cmdline()):
                    self.ranks.append(child)
        return len(self.ranks) == 3

    def result(self) -> tuple[int, str]:
        """Exit code and errors."""
        _, err = self.process.communicate(timeout=120)
        return self.process.returncode, err

    def require_all_gone(self) -> None:
        end = time.monotonic() + 60
        while any(rank.is_running() and rank.status() != "zombie" for rank in self.ranks):
            assert time.monotonic() < end, "a rank is left"
            time.sleep(0.05)
        while list(self.folder.iterdir()):
            assert time.monotonic() < end, "files are left"
            time.sleep(0.05)


@pytest.fixture
def begin(stored: Path, tmp_path: Path) -> Iterator[Callable[..., Background]]:
    """Starts the command; ends processes that a failed test left."""
    started: list[Background] = []

    def call(*arguments: str) -> Background:
        started.append(Background(stored, tmp_path, *arguments))
        return started[-1]

    yield call
    for one in started:
        one.process.kill()
        one.process.communicate()
        for rank in one.ranks:
            with contextlib.suppress(psutil.NoSuchProcess):
                rank.kill()


def test_ctrl_c_ends_all_ranks(begin: Callable[..., Background]) -> None:
    running = begin(*ENDLESS)
    for rank in running.ranks[1:]:  # they cannot end by themselves
        rank.suspend()
    os.killpg(running.process.pid, signal.SIGINT)
    assert running.result() == (130, "syncoll: interrupted\n")
    running.require_all_gone()


def test_a_rank_that_dies_ends_the_others(begin: Callable[..., Background]) -> None:
    running = begin(*ENDLESS)
    running.ranks[1].kill()
    code, err = running.result()
    assert code == 2
    # Either mpiexec or the ranks that waited for this one report the reason.
    assert "a rank died" in err or "MPI.Exception" in err
    assert "Traceback" not in err
    running.require_all_gone()


def test_ranks_that_hang_are_named(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = launcher._start

    def start(command: list[str], folder: Path) -> subprocess.Popen[bytes]:
        write_text(folder / "late.0", "algorithm with 65536 bytes")
        return plain([sys.executable, "-c", "import time; time.sleep(1000)"], folder)

    monkeypatch.setattr(launcher, "_start", start)
    monkeypatch.setattr(launcher, "_GRACE_SECONDS", -1e9)  # the time is up at once
    code, _, err = say("--via", "mpi", *ENDLESS, "--time-limit", "1s")
    assert code == 3
    assert "the time limit of 1 s passed" in err
    assert err.count("no answer; it is stopped or hangs") == 2
    assert err.count("rank 0: algorithm with 65536 bytes") == 1


def test_ranks_do_not_outlive_the_command(begin: Callable[..., Background]) -> None:
    running = begin(*ENDLESS)
    running.process.kill()
    running.require_all_gone()


@pytest.mark.parametrize(
    ("dtype", "named", "reference"),
    [
        ("fp16", "float16", "the definition"),
        ("bf16", "bfloat16", "the definition"),
        ("int8", "int8", "MPI_Allreduce"),
    ],
)
def test_types_of_one_and_two_bytes(dtype: str, named: str, reference: str, say: Say) -> None:
    """MPI cannot reduce floats of two bytes, but moves them correctly."""
    code, out, err = say(
        *("--via", "mpi", "--sizes", "2,1002", "--repeats", "1"),
        *("--dtype", dtype, "--format", "json"),
    )
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert (document["dtype"], document["ok"]) == (named, True)
    for run in document["algorithms"][0]["runs"]:
        assert run["compared_with"] == reference
        assert run["bound_used"] is None if dtype == "int8" else 0 <= run["bound_used"] < 1
