"""Pools of solvers by name: threads with solver processes, a process pool, or a Dask cluster.

``local`` is best on one machine: threads, each with worker processes that end with this one however
it ends.  ``processes:N`` encodes and lowers in processes too, which pays when that, and not the
solving, takes the time.  ``dask://HOST:PORT`` (or ``tcp://``, ``tls://``) is a scheduler of Dask;
it and its workers must have syncoll installed.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import re
import signal
import threading
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, ThreadPoolExecutor

from syncoll.errors import UsageError
from syncoll.plugins import PluginManager
from syncoll.solving.pool import Asked, SolverPool
from syncoll.solving.question import SolverCache, SolverSettings

__all__ = ["open_pool"]

_MOST = 1024

_UNGUARDED = (
    "the processes of the pool end while they begin. A script that asks for them must do so under "
    '`if __name__ == "__main__":`, for each of them runs it once more'
)


def open_pool(
    text: str,
    settings: SolverSettings,
    *,
    jobs: int = 1,
    manager: PluginManager | None = None,
) -> SolverPool:
    """The pool that a text names.

    Args:
        text: ``local``, ``local:N``, ``processes``, ``processes:N``, or the address of a Dask
            scheduler such as ``dask://host:8786``.
        settings: what decides the questions; checked here, so that a wrong name is one clear error.
        jobs: N where the text has none; nothing to a cluster, which knows its own size.
        manager: the plugins; None for those that are installed.  Only ``local`` can use others.

    Raises:
        UsageError: on a text that is none of these, when ``dask[distributed]`` is not installed, or
            no scheduler answers.
        PluginError: on an unknown backend or encoding in the settings.
        OptionError: on an unknown option in the settings, or a bad value.
    """
    solvers = SolverCache(manager)
    settings = settings.named(manager)
    kind, colon, number = text.partition(":")
    if kind in ("local", "processes") and "//" not in text:
        width = jobs
        if colon:
            if not re.fullmatch("[0-9]{1,4}", number):
                raise UsageError(f"executor {text!r}: write {kind}:N, with N from 1 to {_MOST}")
            width = int(number)
        if not 1 <= width <= _MOST:
            raise UsageError(f"executor {text!r}: {width} jobs; they must be from 1 to {_MOST}")
        _check(solvers, settings)
        if kind == "processes":
            solvers.release(settings)
            return _ProcessPool(settings, width)
        return _ThreadPool(settings, width, solvers)
    if match := re.fullmatch(r"(dask|tcp|tls)://(\[[0-9A-Fa-f:.]+\]|[^\s/:]+):([0-9]{1,5})", text):
        _check(solvers, settings)
        solvers.release(settings)
        from syncoll.solving.dask_pool import DaskPool

        scheme = "tcp" if match[1] == "dask" else match[1]
        return DaskPool(f"{scheme}://{match[2]}:{match[3]}", settings)
    raise UsageError(
        f"there is no executor {text!r}; write local, local:N, processes:N or dask://HOST:PORT"
    )


def _check(solvers: SolverCache, settings: SolverSettings) -> None:
    """Opens a solver, which complains about wrong settings; threads will use it."""
    with solvers.borrow(settings):
        pass


class _ThreadPool(SolverPool):
    """Threads of this process, each with a solver, whose backends have processes of their own."""

    def __init__(self, settings: SolverSettings, width: int, solvers: SolverCache) -> None:
        threads = ThreadPoolExecutor(width, thread_name_prefix="syncoll solver")
        super().__init__(threads, settings, width=width, own=True, decide=solvers.decide)
        self._solvers = solvers

    def _release(self) -> None:
        self._solvers.release(self.settings)


class _ProcessPool(SolverPool):
    """A process pool that is renewed once a process of it has died.

    Then every question that it had is lost, though at most one is to blame: each gets a second try.
    """

    def __init__(self, settings: SolverSettings, width: int) -> None:
        super().__init__(_processes(width), settings, width=width, own=True)
        self._renewing = threading.Lock()
        try:
            self._first = self._executor.submit(os.getpid)
        except RuntimeError:  # this is such a process, and runs a script once more
            self.close()
            raise UsageError(_UNGUARDED) from None

    def _failed(self, asked: Asked, error: BaseException) -> None:
        if self._first.done() and self._first.exception() is not None:
            self._settle(asked, UsageError(_UNGUARDED))  # a new one would not begin either
        elif isinstance(error, BrokenExecutor) and asked.tries < 2 and not self._closed:
            with self._renewing:
                if getattr(self._executor, "_broken", True):  # another question may have been first
                    self._executor.shutdown(wait=False)
                    self._executor = _processes(self._width)
            self._ask(asked)
        else:
            super()._failed(asked, error)


def _processes(width: int) -> ProcessPoolExecutor:
    # Forked children would inherit locks that threads of this process hold.
    return ProcessPoolExecutor(
        width, mp_context=multiprocessing.get_context("spawn"), initializer=_begin
    )


def _begin() -> None:
    """Begins a process of the pool: Ctrl-C is the parent's business, and it ends with the parent.

    A pool whose parent was killed would wait for questions for ever.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    multiprocessing.connection.wait([sentinel])
    os._exit(1)
