"""DaskPool: tasks decided by the workers of a Dask cluster.

Dask gives the tasks of a worker that died to others, up to its own limit of deaths
(``distributed.scheduler.allowed-failures``); after that they are unknown here.  What cannot be
decided any more, because the scheduler or all of its workers are gone, is unknown after a while.

A task that runs on a worker cannot be interrupted from outside, but the worker knows when it is not
waited for: its future was cancelled, or the client that asked has gone.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from concurrent.futures import CancelledError
from typing import Any

import syncoll
from syncoll.errors import UsageError
from syncoll.formula import StopReason
from syncoll.results.solution import Solution
from syncoll.solving.members import SolverSettings
from syncoll.solving.pool import SolverPool
from syncoll.solving.task import SolveTask, decide, release

__all__ = ["DaskPool", "decide_on_worker"]

_CONNECT_SECONDS = 5.0
_WATCH_SECONDS = 1.0
_ABANDONED = ("cancelled", "resumed", "released", "forgotten")
"""The states of a running task that is not waited for any more."""

_LONE_SECONDS = 20.0
"""How long a cluster may be without a worker before its tasks are given up."""


class DaskPool(SolverPool):
    """A pool of solvers on a Dask cluster; its width is the number of the workers' threads.

    Args:
        address: of the scheduler: ``tcp://host:8786``.
        settings: what decides the tasks; the threads are those of each task.
        lone_seconds: how long to wait for a worker when there is none.

    Raises:
        UsageError: when ``dask[distributed]`` is not installed, no scheduler answers, or a worker
            has another version of syncoll, or none.
    """

    def __init__(
        self, address: str, settings: SolverSettings, *, lone_seconds: float = _LONE_SECONDS
    ) -> None:
        try:
            import distributed
            from distributed.comm.core import CommClosedError
        except ImportError as error:
            raise UsageError(
                f"executor {address} needs Dask ({error}); pip install 'syncoll[dask]'"
            ) from error
        self._client = _connect(distributed, address)
        try:
            _check_workers(self._client, address)
            self._threads = _count_threads(self._client)
        except BaseException:
            self._client.close(timeout=2)
            raise
        self._address = address
        self._lone_seconds = lone_seconds
        self._losses = (distributed.KilledWorker, CommClosedError)
        # Two equal tasks are still two: they must not be taken for one.
        executor = self._client.get_executor(pure=False)
        super().__init__(executor, settings, width=max(1, self._threads), decide=decide_on_worker)
        self._over = threading.Event()
        self._watch = threading.Thread(target=self._watch_cluster, daemon=True)
        self._watch.start()

    @property
    def width(self) -> int:
        """How many tasks are worth submitting at once, with the workers that are there now."""
        return max(1, self._threads)

    def close(self) -> None:
        """Cancels everything and leaves the cluster, whose workers stay."""
        self._over.set()
        try:
            super().close()
        finally:
            self._watch.join()
            with contextlib.suppress(Exception):  # the scheduler may be gone
                self._client.close(timeout=2)

    def _release(self) -> None:
        if self._threads:
            with contextlib.suppress(Exception):  # a worker may be gone
                self._client.run(release, self.settings, on_error="ignore")

    def _is_loss(self, error: BaseException) -> bool:
        return isinstance(error, self._losses) or super()._is_loss(error)

    def _watch_cluster(self) -> None:
        """Keeps the number of threads; gives up all tasks when there is no worker for long."""
        seen = time.monotonic()
        while not self._over.wait(_WATCH_SECONDS):
            try:
                self._threads = _count_threads(self._client)
            except Exception:  # whatever it is, there was no answer
                self._threads = 0
            now = time.monotonic()
            if self._threads:
                seen = now
            elif now - seen > self._lone_seconds:
                text = (
                    f"the Dask cluster at {self._address} has had no worker for {now - seen:.0f} s"
                )
                for one in self._outstanding():
                    self._end(one, StopReason.CRASHED, text)


def decide_on_worker(task: SolveTask) -> Solution:
    """As `decide`, on a worker of a Dask cluster; stops when the task is not waited for."""
    from distributed import get_worker

    worker: Any = get_worker()
    key = worker.get_current_task()

    def is_abandoned() -> bool:
        running = worker.state.tasks.get(key)
        return running is None or running.state in _ABANDONED

    return decide(task, is_abandoned)


def _connect(distributed: Any, address: str) -> Any:
    """A client; made in a thread of its own, since Dask waits for ever where something listens at
    the address but keeps silent."""
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
        client = TimeoutError("what listens there keeps silent")
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
    for worker, version in versions.items():
        if version != syncoll.__version__:
            raise UsageError(
                f"worker {worker} of the Dask cluster at {address} has syncoll {version}, "
                f"this is {syncoll.__version__}; install the same version there"
            )


def _version() -> str:
    return syncoll.__version__


def _count_threads(client: Any) -> int:
    return sum(client.nthreads().values())
