"""DaskCluster: a Dask cluster whose workers have the same version of syncoll."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from concurrent.futures import CancelledError, Executor
from typing import Any

from syncoll.errors import UsageError
from syncoll.version import __version__

__all__ = ["LONE_SECONDS", "DaskCluster"]

_CONNECT_SECONDS = 5.0

LONE_SECONDS = 20.0
"""How long a cluster may be without a worker before its tasks are given up."""


class DaskCluster:
    """A client of a cluster.

    Args:
        address: of the scheduler: ``tcp://host:8786``.

    Raises:
        UsageError: when ``dask[distributed]`` is not installed, no scheduler answers, it has no
            worker, or a worker has another version of syncoll, or none.
    """

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
        """When it last had a worker."""
        self.losses = (distributed.KilledWorker, CommClosedError)
        """What a task ends with when nothing is known of it any more."""

    @property
    def executor(self) -> Executor:
        """Runs functions on the workers."""
        # Two equal tasks are still two: they must not be taken for one.
        executor: Executor = self.client.get_executor(pure=False)
        return executor

    def workers(self) -> dict[str, int]:
        """The number of threads of each worker, by address; empty without an answer."""
        try:
            found: dict[str, int] = dict(self.client.nthreads())
        except Exception:  # whatever it is, there was no answer
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
