"""SolveTask: an instance that may be decided in any process of this machine.

A task names its plugins, options and limits instead of holding them, so it is small and can be
pickled.  A process keeps its solvers with their warm workers, one for each of its threads and
settings.

A thread in another process cannot be interrupted.  So a task carries a `StopSignal`, which the
solver polls.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from syncoll.memory import resume
from syncoll.model import Instance
from syncoll.plugins import PluginManager
from syncoll.processes import LivingProcess
from syncoll.results.solution import Solution, without_caches
from syncoll.solving.members import SolverSettings, installed
from syncoll.solving.solver import Solver

How = Callable[[Solver, Instance, float | None], Solution]
"""Decides an instance within a time limit; a function at the top level of a module."""

_LOOK_SECONDS = 0.1


@dataclass(frozen=True)
class StopSignal:
    """Signals to the process of a task that the answer is no longer wanted.

    It is given by creating a file, seen by every process of the machine; it also counts as given if
    the folder disappears or the giver, the process that asked, ends.
    """

    file: str
    giver: LivingProcess

    @classmethod
    def of_this_process(cls, file: Path) -> "StopSignal":
        """A signal given by creating a file."""
        return cls(str(file), LivingProcess.this())

    def give(self) -> None:
        """Gives the signal."""
        with contextlib.suppress(OSError):  # its folder is gone: everything is over
            Path(self.file).touch()

    def is_given(self) -> bool:
        """Whether to stop."""
        file = Path(self.file)
        if file.exists() or not file.parent.exists():
            return True
        return not self.giver.lives()


def solve_plainly(solver: Solver, instance: Instance, seconds: float | None) -> Solution:
    """Decides an instance without changes."""
    return solver.solve(instance, seconds=seconds)


@dataclass(frozen=True, eq=False)
class SolveTask:
    """An instance to decide, by default within the seconds of the settings; a signal ends it
    early."""

    instance: Instance
    settings: SolverSettings
    seconds: float | None = None
    how: How = solve_plainly
    stop: StopSignal | None = None

    def __getstate__(self) -> Mapping[str, object]:
        return {**vars(self), "instance": without_caches(self.instance)}


@dataclass(eq=False)
class SolverCache:
    """Idle solvers, by their settings.  Thread-safe."""

    manager: PluginManager | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _idle: dict[SolverSettings, list[Solver]] = field(default_factory=dict)

    @contextlib.contextmanager
    def borrow(self, settings: SolverSettings) -> Iterator[Solver]:
        """A solver for the caller alone, until the block ends."""
        with self._lock:
            idle = self._idle.setdefault(settings, [])
            solver = idle.pop() if idle else None
        if solver is None:
            solver = Solver(self.manager or installed(), settings)
        try:
            yield solver
        except BaseException:
            solver.close()
            raise
        with self._lock:
            self._idle.setdefault(settings, []).append(solver)

    def release(self, settings: SolverSettings) -> None:
        """Ends the workers of the idle solvers of these settings."""
        with self._lock:
            solvers = self._idle.pop(settings, [])
        for solver in solvers:
            solver.close()

    def decide(self, task: SolveTask) -> Solution:
        """Like the function `decide`, with solvers of this cache."""
        if task.settings.memory is not None:
            resume(task.settings.memory)
        with self.borrow(task.settings) as solver:
            solver.stop_when = None if task.stop is None else _now_and_then(task.stop)
            try:
                return task.how(solver, task.instance, task.seconds)
            finally:
                if solver.stop_when is not None and solver.stop_when():
                    solver.close()  # it may never be used again, or released
                solver.stop_when = None


_CACHE = SolverCache()


def decide(task: SolveTask) -> Solution:
    """Decides a task in this process, with a solver that is kept for the next one; raises as
    `Solver`."""
    return _CACHE.decide(task)


def release(settings: SolverSettings) -> None:
    """Ends the idle workers that `decide` keeps in this process for these settings."""
    _CACHE.release(settings)


def _now_and_then(signal: StopSignal) -> Callable[[], bool]:
    """Whether a signal has been given, polled at most every `_LOOK_SECONDS`."""
    given, next_look = False, 0.0

    def is_given() -> bool:
        nonlocal given, next_look
        now = time.monotonic()
        if not given and now >= next_look:
            next_look = now + _LOOK_SECONDS
            given = signal.is_given()
        return given

    return is_given
