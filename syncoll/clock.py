"""The clock of limits: wall-clock seconds, or counted work.

Wall-clock results depend on the machine and its load.  With counted work the clock is a counter,
apart from all other clocks.  Every reading costs a little; solvers, encodings and verifications add
their own measures, such as iterations.  The same question then has the same answer on any machine.

One unit is about one second of one core.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

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
    """Seconds or units of work since an arbitrary start; reading counted work adds a little."""
    counter = _COUNTER.get()
    if counter is None:
        return time.perf_counter()
    counter.units += _UNITS_PER_LOOK
    return counter.units


def worked() -> float:
    """As `now`, but in processor seconds of all threads of this process, or units of work."""
    return now() if is_counted() else time.process_time()


def is_counted() -> bool:
    """Whether work is counted here; nothing may then depend on seconds or run in parallel."""
    return _COUNTER.get() is not None


def took(units: float) -> None:
    """Adds finished work to the counter; does nothing if limits are in seconds."""
    counter = _COUNTER.get()
    if counter is not None:
        counter.units += units


def limit_in_words() -> str:
    """The name of the current kind of limit, for messages."""
    return "work limit" if is_counted() else "time limit"


def remembered(name: str, make: Callable[[], _T]) -> _T:
    """A value kept between calls, made on first use.  It lives as long as the process, or as long
    as `counting` if work is counted."""
    counter = _COUNTER.get()
    memory = _PROCESS if counter is None else counter.memory
    if name not in memory:
        memory[name] = make()
    found: _T = memory[name]
    return found


def remembering(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Caches the last answers of a function that depends on the clock, see `remembered`."""

    @wraps(function)
    def ask(*args: _P.args, **keywords: _P.kwargs) -> _T:
        name = f"{function.__module__}.{function.__qualname__}"
        known: Any = remembered(name, lambda: lru_cache(maxsize=_MOST_REMEMBERED)(function))
        found: _T = known(*args, **keywords)
        return found

    return ask


@contextmanager
def counting() -> Iterator[None]:
    """A context in which `now` counts work, from 0, in this thread."""
    token = _COUNTER.set(_Counter())
    try:
        yield
    finally:
        _COUNTER.reset(token)
