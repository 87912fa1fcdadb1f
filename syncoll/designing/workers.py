"""Proves bounds in this process or in several."""

import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import contextmanager
from typing import TypeVar

from syncoll.deadline import Deadline
from syncoll.errors import UsageError

_Given = TypeVar("_Given")
_Answer = TypeVar("_Answer")

_WATCH_SECONDS = 1.0

_BROKEN = (
    "a process that proves bounds died; fewer (jobs) need less memory. "
    'A script with several must call this under `if __name__ == "__main__":`, since each of '
    "them runs the script again"
)


def answers(
    work: Callable[[_Given], _Answer], tasks: Sequence[_Given], jobs: int, until: Deadline
) -> Iterator[tuple[_Given, _Answer]]:
    """The results of a function at the top level of a module for each task, in order of completion.
    Raises `OutOfTimeError` if time runs out before all are finished, and `UsageError` if a process
    has died."""
    width = min(jobs, len(tasks))
    if width < 2:
        for one in tasks:
            until.check()
            yield one, work(one)
        return
    with _processes(width) as executor:
        futures: dict[Future[_Answer], _Given] = {executor.submit(work, one): one for one in tasks}
        left = set(futures)
        try:
            while left:
                seconds = until.seconds
                patience = _WATCH_SECONDS if seconds is None else min(_WATCH_SECONDS, seconds)
                ready, left = wait(left, patience, FIRST_COMPLETED)
                if not ready:
                    until.check()
                for future in ready:
                    try:
                        answer = future.result()
                    except BrokenExecutor as error:
                        raise UsageError(_BROKEN) from error
                    yield futures[future], answer
        finally:
            for future in left:
                future.cancel()


@contextmanager
def _processes(width: int) -> Iterator[Executor]:
    """Processes that ignore Ctrl-C and end with this one.  They are spawned, since forked ones
    would inherit locks held by threads of this process."""
    spawned = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(width, mp_context=spawned, initializer=_begin)
    try:
        yield pool
    except BaseException:
        for process in list((pool._processes or {}).values()):
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    multiprocessing.connection.wait([sentinel])
    os._exit(1)
