"""Questions: instances that may be decided in any process, on this machine or another.

A question names what decides it (plugins, options, limits) instead of holding it, so it is small
and can be pickled.  A process that answers questions keeps its solvers, one for each of its threads
and settings, and with them their warm workers.

Nobody can interrupt a thread in another process.  So a question carries a `StopSignal`, which the
solver looks at every few hundredths of a second.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import psutil

from syncoll.formula import Limits
from syncoll.memory import MemoryBudget, resume
from syncoll.model import Instance
from syncoll.plugins import PluginManager
from syncoll.results.solution import Solution, without_caches
from syncoll.solving.members import AUTO, choose_encoding
from syncoll.solving.solver import Solver

__all__ = [
    "How",
    "Question",
    "SolverCache",
    "SolverSettings",
    "StopSignal",
    "decide",
    "release",
    "solve_plainly",
]

How = Callable[[Solver, Instance, float | None], Solution]
"""How an instance is decided within so many seconds; a function at the top level of a module."""

_LOOK_SECONDS = 0.1


@dataclass(frozen=True)
class SolverSettings:
    """Everything that makes a `Solver`, by name; see there.

    Args:
        encoding: for collectives that only move data, or ``auto``.
        combining_encoding: for combining instances, or ``auto``.
        backend: one, several joined with ``+``, or ``auto``.
        encoding_options: pairs of name and value.
        backend_options: pairs of name and value.
        limits: of each run.
        memory: what the command that asks may take; None where nobody said.
    """

    encoding: str = AUTO
    combining_encoding: str = AUTO
    backend: str = AUTO
    encoding_options: tuple[tuple[str, str], ...] = ()
    backend_options: tuple[tuple[str, str], ...] = ()
    limits: Limits = field(default_factory=Limits)
    memory: MemoryBudget | None = None

    def named(self, manager: PluginManager | None = None) -> SolverSettings:
        """The same with the encodings' own names, so that they are the same in every process.

        Args:
            manager: knows the plugins; None for those that are installed.

        Raises:
            PluginError: on an unknown name, or ``auto`` where nothing has a rank.
            UsageError: on an encoding for the other kind of instance.
        """
        names = self.encoding, self.combining_encoding
        if AUTO not in names:
            return self
        plugins = manager or _installed()
        moving, combining = (
            choose_encoding(plugins, name, combining=kind).name
            for name, kind in zip(names, (False, True), strict=True)
        )
        return replace(self, encoding=moving, combining_encoding=combining)

    def open(self, manager: PluginManager, *, start: bool = True) -> Solver:
        """The solver.

        Args:
            manager: knows the plugins.
            start: see `Solver`.

        Raises:
            PluginError: on an unknown name, or a backend that is not installed or not licensed.
            OptionError: on an unknown option or a bad value.
            UsageError: on names that do not go together.
        """
        return Solver(
            manager,
            encoding=self.encoding,
            combining_encoding=self.combining_encoding,
            backend=self.backend,
            encoding_options=dict(self.encoding_options),
            backend_options=dict(self.backend_options),
            limits=self.limits,
            start=start,
        )


@dataclass(frozen=True)
class StopSignal:
    """Tells whoever answers a question that nobody waits for the answer any more.

    It is a file that appears, seen by every process of the machine; that its folder disappears, or
    that the process that asked ends, counts as well.  On other machines it says nothing.

    Args:
        file: exists once the signal is given.
        host: the machine that asked.
        pid: the process that asked.
        born: when that process was started, since process ids are used again.
    """

    file: str
    host: str
    pid: int
    born: float

    @classmethod
    def of_this_process(cls, file: Path) -> StopSignal:
        """A signal that is given by making a file."""
        return cls(str(file), socket.gethostname(), os.getpid(), psutil.Process().create_time())

    def give(self) -> None:
        """From now on it is given."""
        with contextlib.suppress(OSError):  # its folder is gone: everything is over
            Path(self.file).touch()

    def is_given(self) -> bool:
        """Whether to stop."""
        if self.host != socket.gethostname():
            return False
        file = Path(self.file)
        if file.exists() or not file.parent.exists():
            return True
        return self.pid != os.getpid() and not self._alive()

    def _alive(self) -> bool:
        try:
            return abs(psutil.Process(self.pid).create_time() - self.born) < 1.0
        except psutil.Error:
            return False


def solve_plainly(solver: Solver, instance: Instance, seconds: float | None) -> Solution:
    """Decides an instance as it stands."""
    return solver.solve(instance, seconds=seconds)


@dataclass(frozen=True, eq=False)
class Question:
    """An instance to be decided.

    Args:
        instance: the problem.
        settings: by what.
        seconds: the time limit; None for that of the settings.
        how: how; it must be importable where the question is decided.
        stop: when to give it up; None for never.
    """

    instance: Instance
    settings: SolverSettings
    seconds: float | None = None
    how: How = solve_plainly
    stop: StopSignal | None = None

    def __getstate__(self) -> Mapping[str, object]:
        return {**vars(self), "instance": without_caches(self.instance)}


class SolverCache:
    """Solvers that nobody uses at the moment, by their settings.  For any number of threads.

    Args:
        manager: knows the plugins; None for everything that is installed.
    """

    def __init__(self, manager: PluginManager | None = None) -> None:
        self._manager = manager
        self._lock = threading.Lock()
        self._idle: dict[SolverSettings, list[Solver]] = {}

    @contextlib.contextmanager
    def borrow(self, settings: SolverSettings) -> Iterator[Solver]:
        """A solver for the caller alone, until the block ends."""
        with self._lock:
            idle = self._idle.setdefault(settings, [])
            solver = idle.pop() if idle else None
        if solver is None:
            solver = settings.open(self._manager or _installed())
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

    def decide(self, question: Question, also_stop: Callable[[], bool] | None = None) -> Solution:
        """As the function `decide`, with solvers of this cache.

        Args:
            question: what to decide.
            also_stop: one more reason to stop.
        """
        if question.settings.memory is not None:
            resume(question.settings.memory)
        with self.borrow(question.settings) as solver:
            signals = [] if question.stop is None else [question.stop.is_given]
            if also_stop is not None:
                signals.append(also_stop)
            solver.stop_when = _now_and_then(signals) if signals else None
            try:
                return question.how(solver, question.instance, question.seconds)
            finally:
                if solver.stop_when is not None and solver.stop_when():
                    solver.close()  # perhaps nobody will ask again, or release it
                solver.stop_when = None


@cache
def _installed() -> PluginManager:
    return PluginManager.discover()


_CACHE = SolverCache()


def decide(question: Question) -> Solution:
    """Decides a question in this process, with a solver that is kept for the next one.

    Raises:
        SyncollError: as `Solver` and `Solver.solve` do.
    """
    return _CACHE.decide(question)


def release(settings: SolverSettings) -> None:
    """Ends the idle workers that `decide` has kept in this process for these settings."""
    _CACHE.release(settings)


def _now_and_then(signals: list[Callable[[], bool]]) -> Callable[[], bool]:
    """Whether any signal has been given, looked at only so often, for a look costs something."""
    given, next_look = False, 0.0

    def is_given() -> bool:
        nonlocal given, next_look
        now = time.monotonic()
        if not given and now >= next_look:
            next_look = now + _LOOK_SECONDS
            given = any(signal() for signal in signals)
        return given

    return is_given
