"""DaskPool: tasks decided by the workers of a Dask cluster.

Dask reschedules the tasks of a dead worker up to its own limit
(``distributed.scheduler.allowed-failures``); after that they are unknown here.  So are all tasks
once the scheduler or all workers have been gone for a while.

A running task cannot be interrupted from outside, but its worker notices when its future was
cancelled or its client has gone.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

from syncoll.formula import StopReason
from syncoll.results.solution import Solution
from syncoll.solving.dask_cluster import LONE_SECONDS, DaskCluster
from syncoll.solving.members import SolverSettings
from syncoll.solving.pool import SolverPool
from syncoll.solving.task import SolveTask, decide, release
from syncoll.wording import counted

__all__ = ["DaskPool", "decide_on_worker"]

_WATCH_SECONDS = 1.0
_ABANDONED = ("cancelled", "resumed", "released", "forgotten")
"""States of a running task whose result is no longer wanted."""


class DaskPool(SolverPool):
    """A pool of solvers on a Dask cluster; its width is the number of the workers' threads.

    Args:
        address: of the scheduler: ``tcp://host:8786``.
        lone_seconds: how long to wait for a worker once none is left.
        tell: called with a message for the user when workers are lost.

    Raises:
        UsageError: as `DaskCluster`.
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
        """How many tasks are worth submitting at once, with the workers that are there now."""
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
    """As `decide`, on a worker of a Dask cluster; stops when the task is abandoned."""
    from distributed import get_worker

    worker: Any = get_worker()
    key = worker.get_current_task()

    def is_abandoned() -> bool:
        running = worker.state.tasks.get(key)
        return running is None or running.state in _ABANDONED

    return decide(task, is_abandoned)
