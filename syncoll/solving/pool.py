"""SolverPool: decides many instances at once, each on a thread with a solver of its own.

Every question ends with a `Solution`, and can be stopped.  A thread only waits for the worker
processes of its solver's backends, which end with this one.
"""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import partial

from syncoll.errors import UsageError
from syncoll.formula import StopReason
from syncoll.model import Instance
from syncoll.plugins import PluginManager
from syncoll.results.solution import Solution, undecided
from syncoll.solving.members import SolverSettings, installed
from syncoll.solving.solver import Solver

How = Callable[[Solver, Instance, float | None], Solution]
"""Decides an instance within a time limit."""


class SolverPool(AbstractContextManager["SolverPool"]):
    """Decides instances on threads.  Thread-safe.

    Use it as a context manager, or `close` it: only that ends running questions.  Ctrl-C reaches
    only the caller, which should then call `cancel_all`, after which all futures are done within a
    second, or leave the ``with`` block.

    Args:
        settings: of the solvers; the threads are per question.  Wrong ones raise errors here, as by
            `Solver`.
        width: the number of questions that are decided at once.
        manager: the plugins; None for the installed ones.
    """

    def __init__(
        self, settings: SolverSettings, width: int, manager: PluginManager | None = None
    ) -> None:
        self.width = width
        self._settings = settings.named(manager)
        self._manager = manager or installed()
        self._idle = [Solver(self._manager, self._settings)]
        self._lock = threading.Lock()
        self._asked: dict[Future[Solution], tuple[threading.Event, Future[Solution]]] = {}
        self._threads = ThreadPoolExecutor(width, thread_name_prefix="syncoll solver")
        self._closed = False

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(
        self, instance: Instance, seconds: float | None = None, *, how: How | None = None
    ) -> Future[Solution]:
        """Submits an instance; raises `UsageError` if the pool is closed.

        Args:
            seconds: time limit of its run, without time in a queue; None for the settings' limit.
            how: called with a solver, the instance and the seconds instead of `Solver.solve`.

        Returns:
            A future of a solution, unknown if it was cancelled (`INTERRUPTED`); it raises as
            `Solver.solve` does.
        """
        stop, answer = threading.Event(), Future[Solution]()
        answer.set_running_or_notify_cancel()
        with self._lock:
            if self._closed:
                raise UsageError("this pool of solvers is closed")
            theirs = self._threads.submit(self._decide, instance, seconds, how, stop)
            self._asked[answer] = stop, theirs
        theirs.add_done_callback(partial(self._take, instance, answer, stop))
        return answer

    def cancel(self, future: Future[Solution]) -> None:
        """Cancels a future, which soon ends as unknown if it is not done."""
        with self._lock:
            asked = self._asked.get(future)
        if asked is not None:
            stop, theirs = asked
            stop.set()
            theirs.cancel()

    def cancel_all(self) -> None:
        """Cancels all futures that are not done."""
        with self._lock:
            futures = list(self._asked)
        for future in futures:
            self.cancel(future)

    def close(self) -> None:
        """Cancels everything, waits, and ends idle workers."""
        with self._lock:
            self._closed = True
        self.cancel_all()
        try:
            self._threads.shutdown(wait=True, cancel_futures=True)
        finally:
            while self._idle:
                self._idle.pop().close()

    @contextmanager
    def _borrowed(self) -> Iterator[Solver]:
        """A solver for one thread alone, until the block ends."""
        with self._lock:
            solver = self._idle.pop() if self._idle else None
        if solver is None:
            solver = Solver(self._manager, self._settings)
        try:
            yield solver
        except BaseException:
            solver.close()
            raise
        with self._lock:
            self._idle.append(solver)

    def _decide(
        self, instance: Instance, seconds: float | None, how: How | None, stop: threading.Event
    ) -> Solution:
        with self._borrowed() as solver:
            solver.stop_when = stop.is_set
            try:
                if how is not None:
                    return how(solver, instance, seconds)
                return solver.solve(instance, seconds=seconds)
            finally:
                if stop.is_set():
                    solver.close()  # it may never be used again
                solver.stop_when = lambda: False

    def _take(
        self,
        instance: Instance,
        answer: Future[Solution],
        stop: threading.Event,
        theirs: Future[Solution],
    ) -> None:
        """Done-callback of a thread's future, in any thread."""
        with self._lock:
            del self._asked[answer]
        error = None if theirs.cancelled() else theirs.exception()
        if theirs.cancelled() or (error is not None and stop.is_set()):
            answer.set_result(self._unknown(instance, StopReason.INTERRUPTED, "stopped on request"))
        elif isinstance(error, MemoryError):
            message = f"no memory for the formula: {error}"
            answer.set_result(self._unknown(instance, StopReason.MEMORY_LIMIT, message))
        elif error is not None:
            answer.set_exception(error)
        else:
            answer.set_result(theirs.result())

    def _unknown(self, instance: Instance, reason: StopReason, message: str) -> Solution:
        settings = self._settings
        encoding = settings.combining_encoding if instance.combining else settings.encoding
        return undecided(instance, reason, message, encoding=encoding, backend=settings.backend)
