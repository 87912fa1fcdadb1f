"""Deadline: the time by which work must end.

The owner of a time limit makes one deadline and passes it on.  Long computations read it, give the
remaining time to solvers, and skip work that would not fit.  It is a moment of wall-clock time, for
which a person waits.  A share of the time within it may be measured in work instead: the CPU time
of the main thread (of the whole process, if another thread sets it).  Neither a busy machine nor
other threads then reduce it.  If work is counted (`syncoll.clock`), every deadline is a number of
units.

Two mechanisms stop code that does not read its deadline in time.  A worker process is killed
(`syncoll.solving`).  Python code in this process is stopped by `interrupted_at`; only a single call
into a library cannot be interrupted, so that such calls get a limit of their own.  If work is
counted, nothing is stopped from outside.
"""

from __future__ import annotations

import math
import signal
import sys
import threading
import time
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any

from syncoll.clock import is_counted, limit_in_words, now, remembered, worked
from syncoll.errors import OutOfTimeError
from syncoll.interrupts import AGAIN_SECONDS, interruption, may_raise, unprinted

__all__ = ["NEVER", "Deadline", "OutOfTimeError", "Reserve", "enclosing", "interrupted_at"]

_SLOWEST = 10  # wall-clock time over processor time on a busy machine, at most
_GRACE_SECONDS = 0.2  # for code that reads its deadline to end by itself, with its results


@dataclass
class Reserve:
    """Seconds that a search leaves free for the processing of its results.  The estimate improves
    as results come, and may be set anew at any time."""

    seconds: float = 0.0


@dataclass(frozen=True)
class Deadline:
    """A moment, or never.

    A pickle holds the remaining time, so that it is valid in other processes and machines.

    Args:
        ends: its time on the clock `syncoll.clock.now`; None for never.
        works: the CPU time by which the work must end; None for no such limit.
        by_main: whether this is the CPU time of the main thread, not of the process.
        reserves: seconds by which `ends` is earlier.
    """

    ends: float | None = None
    works: float | None = None
    by_main: bool = False
    reserves: tuple[Reserve, ...] = ()

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """The deadline in `seconds` from now; None for never."""
        return cls(None if seconds is None else now() + seconds)

    @property
    def is_never(self) -> bool:
        """Whether there is no limit at all."""
        return self.ends is None and self.works is None

    @property
    def passed(self) -> bool:
        """Whether it is over."""
        return self.left() <= 0

    @property
    def seconds(self) -> float | None:
        """The remaining seconds, at least 0, for functions whose None means no limit."""
        return None if self.is_never else max(0.0, self.left())

    def left(self) -> float:
        """The remaining seconds; below 0 if it is over, infinite for never."""
        left = math.inf if self.ends is None else self.ends - self._kept - now()
        return left if self.works is None else min(left, self.works - _worked(self.by_main))

    @property
    def _kept(self) -> float:
        return sum(reserve.seconds for reserve in self.reserves)

    def check(self) -> None:
        """Raises `OutOfTimeError` if it is over."""
        if self.left() <= 0:
            raise OutOfTimeError(f"the {limit_in_words()} was reached")

    def sooner(self, seconds: float | None) -> Deadline:
        """This deadline, or an earlier one in `seconds` from now (None: this)."""
        if seconds is None:
            return self
        ends = now() + seconds + self._kept
        return replace(self, ends=ends if self.ends is None else min(ends, self.ends))

    def granting(self, seconds: float) -> Deadline:
        """This deadline, or `seconds` of work if less time is left, up to a multiple of it."""
        if self.left() >= seconds:
            return self
        return NEVER.sooner(_SLOWEST * seconds).working(seconds)

    def share(self, part: float) -> Deadline:
        """The deadline after this part of the remaining time."""
        return self if self.is_never else self.sooner(max(0.0, self.left()) * part)

    def keeping(self, reserve: Reserve) -> Deadline:
        """This deadline, earlier by a reserve that may change; deadlines from it follow."""
        return self if self.ends is None else replace(self, reserves=(*self.reserves, reserve))

    def before(self, seconds: float) -> Deadline:
        """The deadline `seconds` before this, for work at the end."""
        return self if self.ends is None else replace(self, ends=self.ends - seconds)

    def working(self, seconds: float | None) -> Deadline:
        """This deadline with at most `seconds` of work (None: as much as there is time for).

        Work is the CPU time of the main thread if that calls, and otherwise of this process, its
        threads together.
        """
        if seconds is None:
            return self
        if self.works is not None:
            seconds = min(seconds, self.works - _worked(self.by_main))
        by_main = _is_main()
        return replace(self, works=_worked(by_main) + seconds, by_main=by_main)

    def __reduce__(self) -> tuple[object, tuple[float | None]]:
        return Deadline.after, (self.seconds,)


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


def _worked(by_main: bool) -> float:
    """CPU seconds of the main thread or of the process, whichever thread asks."""
    if is_counted() or not by_main:
        return worked()
    if _is_main():
        return time.thread_time()
    if sys.platform == "win32":
        return -math.inf  # no other thread's clock can be read there; the wall clock remains
    return time.clock_gettime(time.pthread_getcpuclockid(threading.main_thread().ident or 0))


NEVER = Deadline()
"""No limit."""


@dataclass(eq=False)
class interrupted_at:  # noqa: N801  # reads well in use: with interrupted_at(deadline)
    """Raises `OutOfTimeError` inside a computation that exceeds its deadline.

    The computation must not leave anything behind when it is cut short; it may be a plugin's.  Code
    that reads the deadline itself has a fraction of a second to end in order.  It does nothing
    outside the main thread, on systems without such alarms (Windows), and if the program around
    syncoll uses the alarm itself.
    """

    _deadline: Deadline
    _entered: bool = False
    _before: Any = None
    _hook: Any = None

    def __enter__(self) -> None:
        if self._deadline.is_never or not self._possible():
            return
        self._entered = True
        _active().append(self._deadline)
        if not is_counted():
            self._before = signal.getsignal(signal.SIGALRM)
            self._hook = sys.unraisablehook
            sys.unraisablehook = unprinted(self._hook, OutOfTimeError)
            signal.signal(signal.SIGALRM, _ring)
            self._set()

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if self._entered:
            _active().pop()
        if self._before is not None:
            self._set()
            signal.signal(signal.SIGALRM, self._before)
            sys.unraisablehook = self._hook
        if isinstance(error, SystemError):
            raise interruption(error) or error

    def _possible(self) -> bool:
        """Whether the system has such alarms, and no other code in this process uses them."""
        if is_counted():
            return True
        if not hasattr(signal, "setitimer") or not _is_main():
            return False
        return bool(_active()) or (
            signal.getsignal(signal.SIGALRM) == signal.SIG_DFL
            and signal.getitimer(signal.ITIMER_REAL)[0] == 0
        )

    def _set(self) -> None:
        """Sets the system's timer for the earliest of all that are active."""
        first = enclosing().left()
        seconds = 0.0 if first == math.inf else max(first, 0.0) + _GRACE_SECONDS
        signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_SECONDS)


def enclosing() -> Deadline:
    """The earliest deadline that may interrupt the caller: a limit for uninterruptible calls."""
    if not (_is_main() or is_counted()):
        return NEVER
    return min(_active(), key=Deadline.left, default=NEVER)


def _active() -> list[Deadline]:
    """Deadlines of all entered `interrupted_at`, in this process or this `counting`."""
    return remembered("interrupted_at", list)


def _ring(_: int, frame: FrameType | None) -> None:
    if not may_raise(frame):
        return  # it rings again
    if any(deadline.left() <= -_GRACE_SECONDS for deadline in _active()):
        raise OutOfTimeError(f"the {limit_in_words()} was reached")
