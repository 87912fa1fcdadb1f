"""Progress: long tasks report how much of them is done; a command may show it.

::

    with reported(show):                                 # a command
        for one in tracked(files, lambda file: f"reading {file}"):
            ...                                          # show(0, 3, "reading a.json") comes first
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

_T = TypeVar("_T")

Report = Callable[[int, int, str], None]
"""Receives the number of finished parts, of all parts, and the next part in words."""

_REPORT: ContextVar[Report | None] = ContextVar("report", default=None)


@contextmanager
def reported(to: Report) -> Iterator[None]:
    """Tasks within this context report to a function."""
    token = _REPORT.set(to)
    try:
        yield
    finally:
        _REPORT.reset(token)


def is_reported() -> bool:
    """Whether something receives reports."""
    return _REPORT.get() is not None


def report(done: int, total: int, words: str) -> None:
    """Reports the number of finished parts of a task, of all parts, and the next part."""
    to = _REPORT.get()
    if to is not None:
        to(done, total, words)


def tracked(parts: Iterable[_T], words: Callable[[_T], str]) -> Iterator[_T]:
    """The parts of a task; each is reported before it is handed out."""
    if not is_reported():
        yield from parts
        return
    every = list(parts)
    for done, one in enumerate(every):
        report(done, len(every), words(one))
        yield one
