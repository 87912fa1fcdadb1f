"""SolverPool: many instances decided at once, by whatever executor there is.

Any `concurrent.futures.Executor` will do; what the pool adds is that every question ends with a
`Solution`.  A process or a machine of the executor that dies makes an unknown of the questions that
it had, with the reason in words, and the search goes on; a question can be stopped while it runs.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path

from syncoll.errors import SyncollError, UsageError
from syncoll.formula import StopReason
from syncoll.model import Instance
from syncoll.results.solution import Solution, undecided
from syncoll.solving.question import (
    How,
    Question,
    SolverSettings,
    StopSignal,
    decide,
    release,
    solve_plainly,
)

__all__ = ["Asked", "SolverPool"]


@dataclass(eq=False)
class Asked:
    """A question that is on its way.

    Args:
        question: it.
        answer: what the pool's caller holds.
        theirs: what the executor made of it, once it has it.
        tries: how often an executor was given it.
        cancelled: whether nobody waits for the answer any more.
    """

    question: Question
    answer: Future[Solution]
    theirs: Future[Solution] | None = None
    tries: int = 0
    cancelled: bool = False


class SolverPool:
    """Decides instances with an executor.  Its methods may be called from any thread.

    Use it as a context manager, or `close` it: only that ends what is still running.  Ctrl-C
    reaches the caller alone, wherever it waits; it should then call `cancel_all`, after which all
    futures are done within a second, or leave the ``with`` block.

    Args:
        executor: runs the questions: threads, processes, or a cluster's.  What a question needs is
            pickled when the executor does so; then plugins are found by name where it runs.
        settings: what decides them; the threads are those of each question.
        width: how many questions the executor runs at once.
        own: whether to shut the executor down in the end.
        decide: what the executor calls with each question; a function at the top level of a module
            where the executor pickles it.
    """

    def __init__(
        self,
        executor: Executor,
        settings: SolverSettings,
        *,
        width: int,
        own: bool = False,
        decide: Callable[[Question], Solution] = decide,
    ) -> None:
        if width < 1:
            raise UsageError(f"a pool of {width} solvers; it must be at least 1")
        self.settings = settings.named()
        self._executor = executor
        self._width = width
        self._own = own
        self._decide = decide
        self._lock = threading.Lock()
        self._asked: dict[Future[Solution], Asked] = {}
        self._numbers = count()
        self._folder = Path(tempfile.mkdtemp(prefix="syncoll-"))
        self._closed = False

    def __enter__(self) -> SolverPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def width(self) -> int:
        """How many questions are worth asking at once; a cluster's may change."""
        return self._width

    def submit(
        self, instance: Instance, seconds: float | None = None, *, how: How = solve_plainly
    ) -> Future[Solution]:
        """Asks for an instance to be decided.

        Args:
            instance: the problem.
            seconds: time limit of its run, without what it waits in a queue; None for that of the
                settings.
            how: a function of a solver, the instance and the seconds, in place of
                `Solver.solve`; at the top level of a module, so that it can be pickled.

        Returns:
            A future that ends with a solution.  Unknown are those that were cancelled
            (`INTERRUPTED`) or whose process died (`CRASHED`).  It raises what `Solver` and
            `Solver.solve` raise: a `SyncollError`, such as a `BackendError` for a wrong answer.

        Raises:
            UsageError: when the pool is closed.
        """
        with self._lock:
            if self._closed:
                raise UsageError("this pool of solvers is closed")
            stop = StopSignal.of_this_process(self._folder / str(next(self._numbers)))
            question = Question(instance, self.settings, seconds, how, stop)
            answer: Future[Solution] = Future()
            answer.set_running_or_notify_cancel()
            asked = Asked(question, answer)
            self._asked[answer] = asked
        self._ask(asked)
        return answer

    def cancel(self, future: Future[Solution]) -> None:
        """Nobody waits for this future's answer any more: it soon ends as unknown, if not done."""
        with self._lock:
            asked = self._asked.get(future)
        if asked is not None:
            asked.cancelled = True
            if asked.question.stop is not None:
                asked.question.stop.give()
            if asked.theirs is not None:
                asked.theirs.cancel()

    def cancel_all(self) -> None:
        """`cancel` for all futures that are not done."""
        with self._lock:
            futures = list(self._asked)
        for future in futures:
            self.cancel(future)

    def close(self) -> None:
        """Cancels everything, waits for its end where the executor is its own, ends workers."""
        with self._lock:
            self._closed = True
        self.cancel_all()
        try:
            if self._own:
                self._executor.shutdown(wait=True, cancel_futures=True)
        finally:
            for asked in self._outstanding():
                self._end(asked, StopReason.INTERRUPTED, "the pool of solvers was closed")
            shutil.rmtree(self._folder, ignore_errors=True)
            self._release()

    def _release(self) -> None:
        """Ends the workers of solvers that are idle now."""
        release(self.settings)

    def _outstanding(self) -> list[Asked]:
        with self._lock:
            return list(self._asked.values())

    def _ask(self, asked: Asked) -> None:
        asked.tries += 1
        try:
            asked.theirs = self._executor.submit(self._decide, asked.question)
        except Exception as error:  # it is broken or shut down
            self._failed(asked, error)
        else:
            asked.theirs.add_done_callback(partial(self._take, asked))

    def _take(self, asked: Asked, theirs: Future[Solution]) -> None:
        """Called, in some thread of the executor, when it is done with a question."""
        try:
            error = theirs.exception()
        except CancelledError as cancelled:
            error = cancelled
        if error is None:
            self._settle(asked, theirs.result())
        else:
            self._failed(asked, error)

    def _failed(self, asked: Asked, error: BaseException) -> None:
        if asked.cancelled:
            self._end(asked, StopReason.INTERRUPTED, "stopped on request")
        elif isinstance(error, SyncollError):
            self._settle(asked, error)
        elif isinstance(error, MemoryError):
            self._end(asked, StopReason.MEMORY_LIMIT, f"no memory for the formula: {error}")
        elif self._is_loss(error):
            text = f"the process that was to decide it is gone: {_one_line(error)}"
            self._end(asked, StopReason.CRASHED, text)
        else:
            self._settle(asked, error)

    def _is_loss(self, error: BaseException) -> bool:
        """Whether an exception says that the executor lost a question."""
        return isinstance(error, BrokenExecutor | CancelledError)

    def _end(self, asked: Asked, reason: StopReason, message: str) -> None:
        settings, instance = self.settings, asked.question.instance
        encoding = settings.combining_encoding if instance.combining else settings.encoding
        unknown = undecided(instance, reason, message, encoding=encoding, backend=settings.backend)
        self._settle(asked, unknown)

    def _settle(self, asked: Asked, result: Solution | BaseException) -> None:
        with self._lock:
            if self._asked.pop(asked.answer, None) is None:
                return  # it has been given up before
        if isinstance(result, BaseException):
            asked.answer.set_exception(result)
        else:
            asked.answer.set_result(result)


def _one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
