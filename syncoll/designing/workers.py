"""Proves bounds in this process, in several, or on the workers of a Dask cluster."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    wait,
)
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from syncoll.deadline import Deadline
from syncoll.errors import UsageError
from syncoll.solving.executor_name import ExecutorName
from syncoll.solving.pool import spawned_processes

_Given = TypeVar("_Given")
_Answer = TypeVar("_Answer")

_WATCH_SECONDS = 1.0

_BROKEN = (
    "a process that proves bounds died; fewer (jobs) need less memory. "
    'A script with several must call this under `if __name__ == "__main__":`, since each of '
    "them runs the script again"
)


@dataclass(frozen=True)
class Workers:
    """Parallel workers.  The executor pickles functions and results; `check` raises `UsageError` if
    no worker is left.  A task whose worker has died raises one of `losses`, with the message
    `lost`."""

    executor: Executor
    losses: tuple[type[BaseException], ...]
    lost: str
    check: Callable[[], None] = lambda: None


def answers(
    work: Callable[[_Given], _Answer], tasks: Sequence[_Given], named: ExecutorName, until: Deadline
) -> Iterator[tuple[_Given, _Answer]]:
    """The results of a function at the top level of a module for each task, in order of completion.
    Raises `OutOfTimeError` if time runs out before all are finished, and `UsageError` if a worker
    has died, or no worker exists."""
    width, on_cluster = min(named.width, len(tasks)), named.kind == "dask"
    if not tasks or (width < 2 and not on_cluster):
        for one in tasks:
            until.check()
            yield one, work(one)
        return
    with _cluster(named.address) if on_cluster else _processes(width) as workers:
        futures: dict[Future[_Answer], _Given] = {
            workers.executor.submit(work, one): one for one in tasks
        }
        left = set(futures)
        try:
            while left:
                seconds = until.seconds
                patience = _WATCH_SECONDS if seconds is None else min(_WATCH_SECONDS, seconds)
                ready, left = wait(left, patience, FIRST_COMPLETED)
                if not ready:
                    until.check()
                    workers.check()
                for future in ready:
                    try:
                        answer = future.result()
                    except workers.losses as error:
                        raise UsageError(workers.lost) from error
                    yield futures[future], answer
        finally:
            for future in left:
                future.cancel()


@contextmanager
def _processes(width: int) -> Iterator[Workers]:
    pool = spawned_processes(width)
    try:
        yield Workers(pool, (BrokenExecutor,), _BROKEN)
    except BaseException:
        for process in list((pool._processes or {}).values()):
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _cluster(address: str) -> Iterator[Workers]:
    from syncoll.solving.dask_pool import DaskCluster

    cluster = DaskCluster(address)
    kept = "bounds in a folder (output) are kept, and the same command continues from there"

    def check() -> None:
        if why := cluster.is_lost():
            raise UsageError(f"{why}; {kept}")

    lost = (
        f"a task of the Dask cluster at {address} is lost, as its workers died, or the scheduler "
        f"is gone; {kept}"
    )
    try:
        yield Workers(cluster.executor, (*cluster.losses, CancelledError), lost, check)
    finally:
        cluster.close()
