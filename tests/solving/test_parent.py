"""The end of a worker when its parent is interrupted or dies."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

FAKES = Path(__file__).parent / "fakes"

SCRIPT = """\
import sys, threading, time
sys.path.insert(0, sys.argv[1])
import misbehaving
from syncoll.formula import FormulaBuilder, Limits
from syncoll.solving import SolverProcess

process = SolverProcess(misbehaving.record())
formula = FormulaBuilder().build()
process.solve(formula, Limits(), {"do": "answer"})
print(process.pid, flush=True)
if sys.argv[2] == "idle":
    sys.stdin.read()
try:
    process.solve(formula, Limits(), {"do": sys.argv[2]})
except KeyboardInterrupt:
    print("interrupted", process.pid, flush=True)
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


def start(what: str) -> tuple[subprocess.Popen[str], psutil.Process]:
    parent = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(FAKES), what],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    worker = psutil.Process(int(parent.stdout.readline()))
    time.sleep(0.5)  # the second call is under way
    assert worker.is_running()
    return parent, worker


def ended(worker: psutil.Process) -> bool:
    """Gone, or waiting for a new parent that reaps it."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            if worker.status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.05)
    worker.kill()
    return False


@pytest.mark.parametrize(
    "what",
    [
        "idle",
        "sleep",
        pytest.param(
            "hold",
            marks=pytest.mark.skipif(
                sys.platform != "linux", reason="only Linux signals the end of a pipe"
            ),
        ),
    ],
)
def test_a_worker_dies_with_its_parent(what: str) -> None:
    parent, worker = start(what)
    parent.send_signal(signal.SIGKILL)
    parent.communicate()
    assert ended(worker)


@pytest.mark.parametrize("what", ["sleep", "hold"])
def test_an_interrupt_reaches_only_the_parent(what: str) -> None:
    parent, worker = start(what)
    parent.send_signal(signal.SIGINT)
    output, _ = parent.communicate(timeout=10)
    assert output == "interrupted None\n"
    assert ended(worker)


def test_a_worker_is_in_a_session_of_its_own() -> None:
    import os

    parent, worker = start("sleep")
    try:
        assert os.getsid(worker.pid) == worker.pid != os.getsid(parent.pid)
    finally:
        parent.kill()
        parent.communicate()
    assert ended(worker)
