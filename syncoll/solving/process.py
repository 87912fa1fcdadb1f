"""A backend in a worker process, which may hang, leak or crash: the caller only sees an Outcome.

The worker is started on first use and reused.  While it waits, the parent checks the clock, the
worker's resident memory and requests to stop every few hundredths of a second.  A solver that
exceeds a limit is killed, and the next call starts a fresh worker.  The assignment of a sat outcome
is evaluated on the formula here.

A worker is a plain ``subprocess``: one of ``multiprocessing`` would import the user's ``__main__``
again.
"""

import dataclasses
import pickle
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

from syncoll.clock import is_counted, took
from syncoll.deadline import NEVER, Deadline
from syncoll.errors import BackendError, PluginError, UsageError
from syncoll.formula import Formula, Limits, Outcome, StopReason
from syncoll.memory import budget
from syncoll.plugins import BackendRecord, Options, resolve_options
from syncoll.solving.connection import RESTING, WorkerConnection
from syncoll.solving.worker import Done, Failed, LoadRequest, Ready, SolveRequest

_POLL_SECONDS = 0.02
_MEMORY_POLL_SECONDS = 0.05
_MEMORY_OF_ALL_POLL_SECONDS = 0.25
_START_SECONDS = 120.0
_LEAST_GRACE_SECONDS = 1.0
_GRACE_SHARE = 0.1

_SHARE_OF_REST = 0.95
"""The part of the time until a deadline that a backend gets for itself."""


@dataclasses.dataclass(eq=False)
class SolverProcess(AbstractContextManager["SolverProcess"]):
    """A backend that solves in a process of its own.  For one thread at a time.

    Args:
        grace_seconds: seconds after the time limit at which a silent worker is killed; None for a
            second or a tenth of the limit, whichever is more.
    """

    record: BackendRecord
    grace_seconds: float | None = None
    _connection: WorkerConnection | None = None
    _idle_memory: int = 0
    _loading_since: float | None = None

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """The worker's process id; None when none runs."""
        return self._connection.pid if self._connection else None

    def start(self) -> None:
        """Starts the worker, which imports the backend in the meantime.  Raises `PluginError` if
        the record's loader cannot be passed to it, and `BackendError` if it cannot be started."""
        if self._connection is None:
            RESTING.keep(self._started())

    def _started(self) -> WorkerConnection:
        """A new worker that is not idle yet."""
        try:
            pickle.dumps(self.record.load)
        except Exception as error:
            raise PluginError(
                f"backend {self.record.name} cannot be loaded in a worker process: {error}; "
                "its `load` must be a function at the top level of an importable module"
            ) from error
        self._loading_since = time.perf_counter()
        try:
            self._connection = WorkerConnection()
        except OSError as error:
            raise BackendError(f"cannot start a worker process: {error}") from error
        self._connection.send(LoadRequest(self.record.load))
        return self._connection

    def close(self) -> None:
        """Ends the worker at once; the next `solve` starts another."""
        self._loading_since = None
        if self._connection is not None:
            RESTING.take(self._connection)
            self._connection.kill()
            self._connection = None

    def solve(
        self,
        formula: Formula,
        limits: Limits,
        options: Mapping[str, object],
        *,
        should_stop: Callable[[], bool] | None = None,
        when_ready: Callable[[], None] | None = None,
        until: Deadline = NEVER,
    ) -> Outcome:
        """Decides a formula that uses only features of the record.

        Starting a worker counts to ``seconds["start"]``, passing the formula and the answer to
        ``seconds["transfer"]``; the time limit only covers the backend, the deadline covers all.

        Args:
            limits: enforced from outside as well.
            should_stop: polled; True kills the worker.
            when_ready: called once the worker has imported its solver.
            until: kills the worker at this time.

        Returns:
            The backend's outcome, or unknown: `TIME_LIMIT`, `MEMORY_LIMIT` (also of a command, see
            `syncoll.memory`) or `INTERRUPTED` if the worker was killed for it.  `CRASHED`, with its
            last words or the traceback, if it ended or raised by itself.

        Raises:
            OptionError: for an unknown option or a bad value.
            UsageError: if the formula uses a feature that the record lacks.
            PluginError: if the record's loader cannot be passed to a worker, or fails there.
            BackendError: if the outcome cannot be true, or no worker can be started.
            KeyboardInterrupt: passed on after the worker is killed.
        """
        resolved = resolve_options(self.record.options, options, f"backend {self.record.name}")
        missing = formula.size().features - self.record.features
        if missing:
            raise UsageError(
                f"backend {self.record.name} does not take {', '.join(sorted(missing))}; "
                "lower the formula to its features first"
            )
        try:
            outcome = self._solve(formula, limits, resolved, should_stop, when_ready, until)
        except BaseException:
            self.close()
            raise
        if self._connection is not None:
            RESTING.keep(self._connection)
        return outcome

    def _solve(
        self,
        formula: Formula,
        limits: Limits,
        options: Options,
        should_stop: Callable[[], bool] | None,
        when_ready: Callable[[], None] | None,
        until: Deadline,
    ) -> Outcome:
        seconds: dict[str, float] = {}
        if is_counted():  # then it only ends when the solver has counted enough
            units = [one for one in (limits.work, limits.seconds, until.seconds) if one is not None]
            limits = dataclasses.replace(limits, seconds=None, work=min(units, default=None))
            until = NEVER
        connection = self._ready_connection(limits, should_stop, seconds, until)
        if isinstance(connection, Outcome):
            return connection
        if when_ready is not None:
            when_ready()
        if until.ends is not None:  # a moment earlier, so that its own answer still arrives
            left = max(0.0, until.left() * _SHARE_OF_REST)
            own = limits.seconds
            limits = dataclasses.replace(limits, seconds=left if own is None else min(own, left))
        began = time.perf_counter()
        sent = connection.send(SolveRequest(formula, limits, options))
        answer = self._wait(connection, limits, should_stop, began, until) if sent else None
        spent = time.perf_counter() - began
        if isinstance(answer, Done):
            outcome = answer.outcome
            seconds |= outcome.seconds
            seconds["transfer"] = max(0.0, spent - answer.seconds)
            took(outcome.work)
            self._check(formula, outcome)
            return dataclasses.replace(outcome, seconds=seconds)
        return self._ended(connection, answer, {**seconds, "solve": spent})

    def _ready_connection(
        self,
        limits: Limits,
        should_stop: Callable[[], bool] | None,
        seconds: dict[str, float],
        until: Deadline,
    ) -> WorkerConnection | Outcome:
        """A worker that has imported the backend, or why it could not start."""
        old, most = self._connection, limits.memory_bytes
        if old is not None:
            usable = RESTING.take(old) and old.alive()
            # Earlier runs may have left too much memory in use for this run.
            if not usable or (most and old.memory() - self._idle_memory > most // 4):
                self.close()
        if self._connection is not None and self._loading_since is None:
            return self._connection
        began = time.perf_counter()
        connection = self._connection or self._started()
        assert self._loading_since is not None
        # Importing has a generous limit of its own, apart from the solver's.
        lenient = Limits(None if is_counted() else _START_SECONDS, memory_bytes=limits.memory_bytes)
        answer = self._wait(connection, lenient, should_stop, self._loading_since, until)
        self._loading_since = None
        seconds["start"] = time.perf_counter() - began
        if isinstance(answer, Ready):
            self._idle_memory = connection.memory()
            return connection
        name = self.record.name
        if isinstance(answer, Failed):
            self.close()
            if not answer.out_of_memory:
                raise PluginError(f"backend {name} cannot be loaded: {answer.message}")
        if isinstance(answer, Outcome) and answer.reason is StopReason.TIME_LIMIT:
            if until.passed:
                message = f"backend {name} was not loaded when the time was over"
                return Outcome.unknown(StopReason.TIME_LIMIT, message, seconds=seconds)
            message = f"backend {name} was not loaded after {_START_SECONDS:.0f} s"
            return Outcome.unknown(StopReason.CRASHED, message, seconds=seconds)
        return self._ended(connection, answer, seconds)

    def _wait(
        self,
        connection: WorkerConnection,
        limits: Limits,
        should_stop: Callable[[], bool] | None,
        began: float,
        until: Deadline,
    ) -> object:
        """The worker's next message, None when it died, or the outcome of killing it."""
        deadline = None
        if limits.seconds is not None:
            grace = self.grace_seconds
            if grace is None:
                grace = max(_LEAST_GRACE_SECONDS, _GRACE_SHARE * limits.seconds)
            deadline = began + limits.seconds + grace
        next_memory_look = next_look_at_all = began
        while True:
            message = connection.poll(_POLL_SECONDS)
            if message is not WorkerConnection.NOTHING:
                return message
            now = time.perf_counter()
            if should_stop is not None and should_stop():
                return self._kill(StopReason.INTERRUPTED, "stopped on request")
            if until.passed:
                text = f"killed {now - began:.1f} s after it began, when the time was over"
                return self._kill(StopReason.TIME_LIMIT, text)
            if deadline is not None and now >= deadline:
                text = (
                    f"killed {now - began:.1f} s after it began; its limit was {limits.seconds} s"
                )
                return self._kill(StopReason.TIME_LIMIT, text)
            if limits.memory_bytes is not None and now >= next_memory_look:
                next_memory_look = now + _MEMORY_POLL_SECONDS
                memory = connection.memory()
                if memory > limits.memory_bytes:
                    text = (
                        f"killed at {memory / 2**20:.0f} MiB of memory; "
                        f"its limit was {limits.memory_bytes / 2**20:.0f} MiB"
                    )
                    return self._kill(StopReason.MEMORY_LIMIT, text)
            if now >= next_look_at_all:
                next_look_at_all = now + _MEMORY_OF_ALL_POLL_SECONDS
                if not RESTING.make_room() and (why := budget().must_go(connection.pid)):
                    return self._kill(StopReason.MEMORY_LIMIT, why)

    def _kill(self, reason: StopReason, message: str) -> Outcome:
        self.close()
        return Outcome.unknown(reason, message)

    def _ended(
        self, connection: WorkerConnection, answer: object, seconds: Mapping[str, float]
    ) -> Outcome:
        """The outcome of a worker that failed, died or was killed instead of answering."""
        if isinstance(answer, Outcome):
            return dataclasses.replace(answer, seconds=seconds)
        if isinstance(answer, Failed):
            if answer.out_of_memory:
                return Outcome.unknown(StopReason.MEMORY_LIMIT, answer.message, seconds=seconds)
            message = f"{answer.message}\n{answer.details}".strip()
            return Outcome.unknown(StopReason.CRASHED, message, seconds=seconds)
        message = f"the process of backend {self.record.name} {connection.exit_description()}"
        self.close()
        return Outcome.unknown(StopReason.CRASHED, message, seconds=seconds)

    def _check(self, formula: Formula, outcome: Outcome) -> None:
        """Evaluates the assignment, if any, on the formula."""
        if outcome.assignment is None:
            return
        try:
            violation = formula.violation(outcome.assignment)
        except Exception as error:
            violation = f"it cannot be evaluated: {error!r}"
        if violation is not None:
            raise BackendError(
                f"backend {self.record.name} answered sat, but its assignment is not a model: "
                f"{violation}; this is a bug of the backend or of its solver"
            )
