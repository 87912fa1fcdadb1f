"""The clock that limits go by: seconds on the wall, or counted work.

What happens by the clock on the wall depends on the machine and on what else it does.  Where work
is counted instead, the clock is a counter that nothing else moves: every look at it costs a moment,
and what takes longer (a solver, an encoding, a verification) adds what it took by a measure of its
own, such as iterations.  So the same question has the same answer, however long that takes.

One unit is about what one core does in a second.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

__all__ = [
    "counting",
    "is_counted",
    "limit_in_words",
    "now",
    "remembered",
    "remembering",
    "took",
    "worked",
]

_P = ParamSpec("_P")
_T = TypeVar("_T")

_UNITS_PER_LOOK = 1e-4
_MOST_REMEMBERED = 32


@dataclass(eq=False)
class _Counter:
    units: float = 0.0
    memory: dict[str, Any] = field(default_factory=dict)


_COUNTER: ContextVar[_Counter | None] = ContextVar("counter", default=None)
_PROCESS: dict[str, Any] = {}


def now() -> float:
    """Seconds or units of work since some moment; a look at counted work counts as some."""
    counter = _COUNTER.get()
    if counter is None:
        return time.perf_counter()
    counter.units += _UNITS_PER_LOOK
    return counter.units


def worked() -> float:
    """The same, but seconds are those of the processor for this process, its threads together."""
    return now() if is_counted() else time.process_time()


def is_counted() -> bool:
    """Whether work is counted here, so that nothing may go by seconds or run in parallel."""
    return _COUNTER.get() is not None


def took(units: float) -> None:
    """Counts work that was done; nothing where seconds are."""
    counter = _COUNTER.get()
    if counter is not None:
        counter.units += units


def limit_in_words() -> str:
    """Which kind of limit ends what is being done."""
    return "work limit" if is_counted() else "time limit"


def remembered(name: str, make: Callable[[], _T]) -> _T:
    """What code remembers from one call to the next, made when it is first asked for: in all of
    this process, but where work is counted only until that ends.
    """
    counter = _COUNTER.get()
    memory = _PROCESS if counter is None else counter.memory
    if name not in memory:
        memory[name] = make()
    found: _T = memory[name]
    return found


def remembering(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Keeps the last answers of a function whose limits are those of a clock, see `remembered`."""

    @wraps(function)
    def ask(*args: _P.args, **keywords: _P.kwargs) -> _T:
        name = f"{function.__module__}.{function.__qualname__}"
        known: Any = remembered(name, lambda: lru_cache(maxsize=_MOST_REMEMBERED)(function))
        found: _T = known(*args, **keywords)
        return found

    return ask


@contextmanager
def counting() -> Iterator[None]:
    """While it lasts, `now` counts work from 0 on, in this thread."""
    token = _COUNTER.set(_Counter())
    try:
        yield
    finally:
        _COUNTER.reset(token)
