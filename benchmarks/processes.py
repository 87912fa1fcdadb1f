"""Runs the command line in processes of their own, and measures time and memory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from syncoll.documents import read_file
from syncoll.results import Frontier

__all__ = ["Process", "pareto", "process"]


@dataclass(frozen=True)
class Process:
    """The time and memory of a process.

    Args:
        seconds: on the clock on the wall.
        work: seconds of CPU, including the processes that it started and waited for.
        mebibytes: the most memory that it, or one of these, had.
    """

    seconds: float
    work: float
    mebibytes: float


def process(
    command: Sequence[str], *, allowed: Sequence[int] = (0,), python: str = sys.executable
) -> Process:
    """Runs ``python -m syncoll`` with these arguments.

    Args:
        allowed: exit codes.
        python: the interpreter; another one may have another version of syncoll.

    Raises:
        RuntimeError: when it ends with another code.
    """
    began = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        one = subprocess.Popen(
            [python, "-m", "syncoll", *command],
            stdout=subprocess.DEVNULL,
            stderr=said,
            # Where Python keeps no compiled modules, each process would compile them anew.
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""},
        )
        _, status, usage = os.wait4(one.pid, 0)
        one.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - began
        if one.returncode not in allowed:
            said.seek(0)
            words = said.read().decode().strip().splitlines()[-1:]
            raise RuntimeError(f"ended with {one.returncode}: {' '.join(words)}")
    return Process(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def pareto(
    topology: str,
    collective: str,
    seconds: float,
    file: Path,
    more: Sequence[str] = (),
    *,
    python: str = sys.executable,
    solver: bool = True,
) -> tuple[Process, Frontier | None]:
    """Searches a frontier with no store, and reads its file; None for no point.

    Args:
        seconds: the time limit.
        file: its path; an existing file is overwritten.
        more: further options.
        solver: whether one is asked; without, there is no store to leave out.

    Raises:
        RuntimeError: when the command fails.
    """
    file.unlink(missing_ok=True)
    limits = ["--time-limit", f"{seconds:g}s", "-o", str(file)]
    limits += ["--store", "none"] if solver else []
    # 3: stopped by the limit without a point.
    took = process(["pareto", topology, collective, *limits, *more], allowed=(0, 3), python=python)
    return took, read_file(file).claims() if file.exists() else None
