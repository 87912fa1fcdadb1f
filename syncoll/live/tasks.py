"""Shows on standard error how much of a task is done."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from syncoll.errors import UsageError
from syncoll.progress import is_reported, reported
from syncoll.wording import argument

if TYPE_CHECKING:
    from rich.progress import Progress

_STYLES = ("auto", "live", "plain", "none")

_SECONDS_UNSHOWN = 1.0
"""Seconds before a bar appears."""


@contextmanager
def counting(style: str) -> Iterator[None]:
    """Shows the reports of `syncoll.progress`: finished parts, all parts, and the next one.

    Args:
        style: ``auto``, ``live``, ``plain`` or ``none``; ignored within another `counting`.

    Raises:
        UsageError: on another style.
    """
    if style not in _STYLES:
        raise UsageError(f"{argument('progress')}: {style!r}; expected {' or '.join(_STYLES)}")
    if style == "auto":
        style = "live" if sys.stderr.isatty() else "none"
    if style == "none" or is_reported():
        yield
        return
    began = time.perf_counter()

    def line(done: int, total: int, words: str) -> None:
        sys.stderr.write(f"[{time.perf_counter() - began:7.1f} s] {done}/{total} {words}\n")
        sys.stderr.flush()

    bar = _Bar() if style == "live" else None
    try:
        with reported(bar.show if bar else line):
            yield
    finally:
        if bar:
            bar.stop()


class _Bar:
    """A bar that appears after a second: short tasks show none."""

    def __init__(self) -> None:
        self._shown: Progress | None = None
        self._last: dict[str, Any] = {"description": "", "total": None}
        self._lock = threading.Lock()
        self._timer = threading.Timer(_SECONDS_UNSHOWN, self._start)
        self._timer.daemon = True
        self._timer.start()

    def _start(self) -> None:
        from rich import progress as bars
        from rich.console import Console

        console = Console(stderr=True, highlight=False, markup=False)
        columns = (bars.BarColumn(), bars.MofNCompleteColumn(), bars.TimeElapsedColumn())
        words = bars.TextColumn("{task.description}")
        with self._lock:
            if not self._timer.finished.is_set():  # or the task has ended meanwhile
                self._shown = bars.Progress(*columns, words, console=console, transient=True)
                self._shown.start()
                self._shown.add_task(**self._last)

    def show(self, done: int, total: int, words: str) -> None:
        with self._lock:
            self._last = {"completed": done, "total": total, "description": words}
            if self._shown is not None:
                self._shown.update(self._shown.task_ids[0], **self._last)

    def stop(self) -> None:
        with self._lock:
            self._timer.cancel()
            if self._shown is not None:
                self._shown.stop()
