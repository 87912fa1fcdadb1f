"""SolverPool: decides many instances at once with any `concurrent.futures.Executor`.

Every task ends with a `Solution`, and a running task can be stopped.  If a process of the executor
dies, its tasks end as unknown, with the reason in words, and the search goes on.

`open_pool` opens one by name.  ``local`` is best on one machine: threads, each with worker
processes that end with this one.  ``processes:N`` encodes and lowers in processes too, which pays
if these take most of the time.
"""

import multiprocessing
import multiprocessing.connection
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path

from syncoll.errors import SyncollError, UsageError
from syncoll.formula import StopReason
from syncoll.model import Instance
from syncoll.plugins import PluginManager
from syncoll.results.solution import Solution, undecided
from syncoll.solving.executor_name import ExecutorName
from syncoll.solving.members import SolverSettings
from syncoll.solving.task import (
    How,
    SolverCache,
    SolveTask,
    StopSignal,
    decide,
    release,
    solve_plainly,
)

_UNGUARDED = (
    "the worker processes cannot start. Each of them imports the script, so its calls must stand "
    'under `if __name__ == "__main__":`'
)


@dataclass(eq=False)
class Submitted:
    """A submitted task, and the executor's future, once there is one."""

    task: SolveTask
    answer: Future[Solution]
    theirs: Future[Solution] | None = None
    tries: int = 0
    cancelled: bool = False


class SolverPool:
    """Decides instances with an executor.  Thread-safe.

    Use it as a context manager, or `close` it: only that ends running tasks.  Ctrl-C reaches only
    the caller, which should then call `cancel_all`, after which all futures are done within a
    second, or leave the ``with`` block.

    Args:
        executor: threads or processes, which `close` shuts down.  If it pickles tasks, plugins are
            found by name where they run.
        settings: settings of the solvers that decide the tasks; the threads are per task.
        width: the number of tasks that the executor runs at once.
        decide: called by the executor with each task; must be at the top level of a module if the
            executor pickles it.
    """

    def __init__(
        self,
        executor: Executor,
        settings: SolverSettings,
        *,
        width: int,
        decide: Callable[[SolveTask], Solution] = decide,
    ) -> None:
        if width < 1:
            raise UsageError(f"a pool of {width} solvers; it must be at least 1")
        self.settings = settings.named()
        self._executor = executor
        self.width = width
        self._decide = decide
        self._lock = threading.Lock()
        self._submitted: dict[Future[Solution], Submitted] = {}
        self._numbers = count()
        self._folder = Path(tempfile.mkdtemp(prefix="syncoll-"))
        self._closed = False

    def __enter__(self) -> "SolverPool":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(
        self, instance: Instance, seconds: float | None = None, *, how: How = solve_plainly
    ) -> Future[Solution]:
        """Submits an instance; raises `UsageError` if the pool is closed.

        Args:
            seconds: time limit of its run, without time in a queue; None for the settings' limit.
            how: called with a solver, the instance and the seconds instead of `Solver.solve`; at
                the top level of a module, so that it can be pickled.

        Returns:
            A future of a solution, unknown if it was cancelled (`INTERRUPTED`) or its process died
            (`CRASHED`); it raises as `Solver` and `Solver.solve` do.
        """
        with self._lock:
            if self._closed:
                raise UsageError("this pool of solvers is closed")
            stop = StopSignal.of_this_process(self._folder / str(next(self._numbers)))
            task = SolveTask(instance, self.settings, seconds, how, stop)
            answer: Future[Solution] = Future()
            answer.set_running_or_notify_cancel()
            one = Submitted(task, answer)
            self._submitted[answer] = one
        self._ask(one)
        return answer

    def cancel(self, future: Future[Solution]) -> None:
        """Cancels a future, which soon ends as unknown if it is not done."""
        with self._lock:
            one = self._submitted.get(future)
        if one is not None:
            one.cancelled = True
            if one.task.stop is not None:
                one.task.stop.give()
            if one.theirs is not None:
                one.theirs.cancel()

    def cancel_all(self) -> None:
        """Cancels all futures that are not done."""
        with self._lock:
            futures = list(self._submitted)
        for future in futures:
            self.cancel(future)

    def close(self) -> None:
        """Cancels everything, waits, and ends idle workers."""
        with self._lock:
            self._closed = True
        self.cancel_all()
        try:
            self._executor.shutdown(wait=True, cancel_futures=True)
        finally:
            for one in self._outstanding():
                self._end(one, StopReason.INTERRUPTED, "the pool of solvers was closed")
            shutil.rmtree(self._folder, ignore_errors=True)
            self._release()

    def _release(self) -> None:
        """Ends the workers of idle solvers."""
        release(self.settings)

    def _outstanding(self) -> list[Submitted]:
        with self._lock:
            return list(self._submitted.values())

    def _ask(self, one: Submitted) -> None:
        one.tries += 1
        try:
            one.theirs = self._executor.submit(self._decide, one.task)
        except Exception as error:  # it is broken or shut down
            self._failed(one, error)
        else:
            one.theirs.add_done_callback(partial(self._take, one))

    def _take(self, one: Submitted, theirs: Future[Solution]) -> None:
        """Done-callback of a task, in any thread of the executor."""
        try:
            error = theirs.exception()
        except CancelledError as cancelled:
            error = cancelled
        if error is None:
            self._settle(one, theirs.result())
        else:
            self._failed(one, error)

    def _failed(self, one: Submitted, error: BaseException) -> None:
        if one.cancelled:
            self._end(one, StopReason.INTERRUPTED, "stopped on request")
        elif isinstance(error, SyncollError):
            self._settle(one, error)
        elif isinstance(error, MemoryError):
            self._end(one, StopReason.MEMORY_LIMIT, f"no memory for the formula: {error}")
        elif isinstance(error, BrokenExecutor | CancelledError):
            why = " ".join(f"{type(error).__name__}: {error}".split())
            text = f"the process that should decide it is gone: {why}"
            self._end(one, StopReason.CRASHED, text)
        else:
            self._settle(one, error)

    def _end(self, one: Submitted, reason: StopReason, message: str) -> None:
        settings, instance = self.settings, one.task.instance
        encoding = settings.combining_encoding if instance.combining else settings.encoding
        unknown = undecided(instance, reason, message, encoding=encoding, backend=settings.backend)
        self._settle(one, unknown)

    def _settle(self, one: Submitted, result: Solution | BaseException) -> None:
        with self._lock:
            if self._submitted.pop(one.answer, None) is None:
                return  # it has been given up before
        if isinstance(result, BaseException):
            one.answer.set_exception(result)
        else:
            one.answer.set_result(result)


def open_pool(
    text: str,
    settings: SolverSettings,
    *,
    jobs: int = 1,
    manager: PluginManager | None = None,
) -> SolverPool:
    """The pool of a name.  Wrong settings raise errors here, as by `Solver`.  Raises `UsageError`
    for an invalid name.

    Args:
        jobs: the default N.
        manager: the plugins; None for the installed ones.  Only ``local`` can use others.
    """
    solvers = SolverCache(manager)
    settings = settings.named(manager)
    named = ExecutorName.of(text, jobs)
    with solvers.borrow(settings):  # it raises errors for wrong ones; threads will use it
        pass
    if named.kind == "local":
        return _ThreadPool(settings, named.width, solvers)
    solvers.release(settings)
    return _ProcessPool(settings, named.width)


class _ThreadPool(SolverPool):
    """Threads of this process, each with a solver, whose backends have processes of their own."""

    def __init__(self, settings: SolverSettings, width: int, solvers: SolverCache) -> None:
        threads = ThreadPoolExecutor(width, thread_name_prefix="syncoll solver")
        super().__init__(threads, settings, width=width, decide=solvers.decide)
        self._solvers = solvers

    def _release(self) -> None:
        self._solvers.release(self.settings)


class _ProcessPool(SolverPool):
    """A process pool that is replaced once one of its processes has died.  All of its tasks are
    lost then, though at most one is to blame: each gets a second try."""

    def __init__(self, settings: SolverSettings, width: int) -> None:
        super().__init__(spawned_processes(width), settings, width=width)
        self._renewing = threading.Lock()
        try:
            self._first = self._executor.submit(os.getpid)
        except RuntimeError:  # this is such a process, and runs a script once more
            self.close()
            raise UsageError(_UNGUARDED) from None

    def _failed(self, one: Submitted, error: BaseException) -> None:
        if self._first.done() and self._first.exception() is not None:
            self._settle(one, UsageError(_UNGUARDED))  # a new one would not begin either
        elif isinstance(error, BrokenExecutor) and one.tries < 2 and not self._closed:
            with self._renewing:
                if getattr(self._executor, "_broken", True):  # another task may have been first
                    self._executor.shutdown(wait=False)
                    self._executor = spawned_processes(self.width)
            self._ask(one)
        else:
            super()._failed(one, error)


def spawned_processes(width: int) -> ProcessPoolExecutor:
    """A pool of processes that ignore Ctrl-C and end with this one.  They are spawned, since forked
    ones would inherit locks held by threads of this process."""
    return ProcessPoolExecutor(
        width, mp_context=multiprocessing.get_context("spawn"), initializer=_begin
    )


def _begin() -> None:
    """Initialises a process of the pool: it ignores Ctrl-C, and ends with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    multiprocessing.connection.wait([sentinel])
    os._exit(1)
