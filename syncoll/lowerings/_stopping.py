"""Lowerings that can be stopped: a thread that is no longer waited for ends at the next step.

An alarm ends the main thread's computation; other threads have to ask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["go_on", "stoppable"]

_check: ContextVar[Callable[[], None]] = ContextVar("check", default=lambda: None)


@contextmanager
def stoppable(check: Callable[[], None]) -> Iterator[None]:
    """While it lasts, lowerings of this thread ask this now and then; it may raise."""
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def go_on() -> None:
    """Raises what the check raises, if there is one."""
    _check.get()()
