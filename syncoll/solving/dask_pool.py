"""DaskPool: tasks decided by the workers of a Dask cluster, all of the same version of syncoll.

Dask reschedules the tasks of a dead worker up to its own limit
(``distributed.scheduler.allowed-failures``); after that they are unknown here.  All tasks become
unknown once the scheduler or all workers have been gone for a while.

A running task cannot be interrupted from outside, but its worker notices when its future was
cancelled or its client has gone.
"""

import contextlib
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor
from typing import Any

from syncoll.errors import UsageError
from syncoll.formula import StopReason
from syncoll.results.solution import Solution
from syncoll.solving.members import SolverSettings
from syncoll.solving.pool import SolverPool
from syncoll.solving.task import SolveTask, decide, release
from syncoll.version import __version__
from syncoll.wording import counted

_CONNECT_SECONDS = 5.0

LONE_SECONDS = 20.0
"""Longest time that a cluster may be without a worker before its tasks are given up."""


class DaskCluster:
    """A client of the cluster with a scheduler at ``tcp://host:8786``.  Raises `UsageError` if
    ``dask[distributed]`` is not installed, no scheduler answers, it has no worker, or a worker has
    another version of syncoll, or none."""

    def __init__(self, address: str) -> None:
        try:
            import distributed
            from distributed.comm.core import CommClosedError
        except ImportError as error:
            raise UsageError(
                f"executor {address} needs Dask ({error}); pip install 'syncoll[dask]'"
            ) from error
        self.address = address
        self.client = _connect(distributed, address)
        try:
            _check_workers(self.client, address)
        except BaseException:
            self.client.close(timeout=2)
            raise
        self.seen = time.monotonic()
        """The last time when it had a worker."""
        self.losses = (distributed.KilledWorker, CommClosedError)
        """The errors of a task that was lost."""

    @property
    def executor(self) -> Executor:
        """Runs functions on the workers."""
        # Two equal tasks are still two: Dask must not merge them.
        executor: Executor = self.client.get_executor(pure=False)
        return executor

    def workers(self) -> dict[str, int]:
        """The number of threads of each worker, by address; empty without an answer."""
        try:
            found: dict[str, int] = dict(self.client.nthreads())
        except Exception:  # any error means that there was no answer
            return {}
        if found:
            self.seen = time.monotonic()
        return found

    def is_lost(self, patience: float | None = None) -> str:
        """A message if there was no worker for `patience` (`LONE_SECONDS`); else empty."""
        seconds = time.monotonic() - self.seen
        if seconds <= (LONE_SECONDS if patience is None else patience) or self.workers():
            return ""
        return f"the Dask cluster at {self.address} has had no worker for {seconds:.0f} s"

    def close(self) -> None:
        """Leaves the cluster, whose workers stay."""
        with contextlib.suppress(Exception):  # the scheduler may be gone
            self.client.close(timeout=2)


def _connect(distributed: Any, address: str) -> Any:
    """A client, created in a thread, since Dask waits forever if the address accepts but never
    answers."""
    made: queue.Queue[Any] = queue.Queue()

    def make() -> None:
        try:
            made.put(distributed.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False))
        except Exception as error:  # handed over to the thread that waits
            made.put(error)

    threading.Thread(target=make, daemon=True).start()
    try:
        client = made.get(timeout=_CONNECT_SECONDS + 1)
    except queue.Empty:
        client = TimeoutError("the program that listens there does not answer")
    if isinstance(client, (OSError, ValueError)):  # a time-out is an OSError
        raise UsageError(
            f"no Dask scheduler answers at {address} within {_CONNECT_SECONDS:.0f} s: "
            f"{' '.join(str(client).split())}"
        ) from client
    if isinstance(client, Exception):
        raise client
    return client


def _check_workers(client: Any, address: str) -> None:
    try:
        versions = client.run(_version)
    except (Exception, CancelledError) as error:
        raise UsageError(
            f"the workers of the Dask cluster at {address} cannot run syncoll "
            f"({type(error).__name__}: {' '.join(str(error).split())}); install the same version "
            "of it there"
        ) from error
    if not versions:
        raise UsageError(
            f"the Dask cluster at {address} has no worker; start one there with "
            f"`dask worker {address}`"
        )
    for worker, version in versions.items():
        if version != __version__:
            raise UsageError(
                f"worker {worker} of the Dask cluster at {address} has syncoll {version}, "
                f"this is {__version__}; install the same version there"
            )


def _version() -> str:
    return __version__


_WATCH_SECONDS = 1.0
_ABANDONED = ("cancelled", "resumed", "released", "forgotten")
"""States of a running task whose result is no longer wanted."""


class DaskPool(SolverPool):
    """A pool of solvers on a `DaskCluster`; its width is the number of the workers' threads.

    It reports lost workers to `tell`; once none is left, it waits for one for `lone_seconds`.
    """

    def __init__(
        self,
        address: str,
        settings: SolverSettings,
        *,
        lone_seconds: float = LONE_SECONDS,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._cluster = DaskCluster(address)
        self._workers = self._cluster.workers()
        self._lone_seconds, self._tell = lone_seconds, tell
        executor = self._cluster.executor
        super().__init__(executor, settings, width=self.width, decide=decide_on_worker)
        self._over = threading.Event()
        self._watch = threading.Thread(target=self._watch_cluster, daemon=True)
        self._watch.start()

    @property
    def width(self) -> int:
        """Number of tasks that are worth submitting at once, with the present workers."""
        return max(1, sum(self._workers.values()))

    def close(self) -> None:
        """Cancels everything and leaves the cluster, whose workers stay."""
        self._over.set()
        try:
            super().close()
        finally:
            self._watch.join()
            self._cluster.close()

    def _release(self) -> None:
        if self._workers:
            with contextlib.suppress(Exception):  # a worker may be gone
                self._cluster.client.run(release, self.settings, on_error="ignore")

    def _is_loss(self, error: BaseException) -> bool:
        return isinstance(error, self._cluster.losses) or super()._is_loss(error)

    def _watch_cluster(self) -> None:
        """Updates the list of workers, reports lost ones, and gives up if none is left."""
        while not self._over.wait(_WATCH_SECONDS):
            before, self._workers = self._workers, self._cluster.workers()
            lost = [worker for worker in before if worker not in self._workers]
            if lost and not self._over.is_set():
                names, left = ", ".join(lost), counted(len(self._workers), "worker")
                where = f"the Dask cluster at {self._cluster.address}"
                self._tell(f"{where} lost {counted(len(lost), 'worker')} ({names}); {left} left")
            if not self._workers and (text := self._cluster.is_lost(self._lone_seconds)):
                for one in self._outstanding():
                    self._end(one, StopReason.CRASHED, text)


def decide_on_worker(task: SolveTask) -> Solution:
    """Like `decide`, on a worker of a Dask cluster; stops when the task is abandoned."""
    from distributed import get_worker

    worker: Any = get_worker()
    key = worker.get_current_task()

    def is_abandoned() -> bool:
        running = worker.state.tasks.get(key)
        return running is None or running.state in _ABANDONED

    return decide(task, is_abandoned)
