"""Errors that the handler of a signal raises: where they may be raised, and where they get lost.

Python prints an error that leaves a finalizer (a generator that is closed because it was dropped,
``__del__``, the callback of a weak reference), and continues without it.  The end of a time limit
and Ctrl-C must not get lost there, and must not be printed.
"""

import gc
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from syncoll.errors import OutOfTimeError

AGAIN_SECONDS = 0.05
"""Seconds until a delayed or lost interruption is repeated."""

_ENTERED_AND_LEFT = frozenset(
    {__name__, "syncoll.clock", "syncoll.deadline", "syncoll.memory", "syncoll.plugins.guard"}
)
"""Modules whose own lines must not be interrupted; their callees may be."""


def may_raise(frame: FrameType | None) -> bool:
    """Whether a signal handler may raise an error in a frame that it interrupted.

    It must not during the import of a module, which cannot be repeated.  It must not where Python
    would only print the error: in garbage collection, and when a dropped generator is closed.  And
    it must not while a deadline or the guard of a plugin is being entered or left.
    """
    inner = frame
    while inner is not None and inner.f_globals.get("__name__") == "contextlib":
        inner = inner.f_back
    if inner is not None and inner.f_globals.get("__name__") in _ENTERED_AND_LEFT:
        return False
    error = sys.exc_info()[1]  # the interrupted code handles it: a generator that is being closed
    while error is not None:
        if isinstance(error, GeneratorExit):
            return False
        error = error.__context__
    collecting = {getattr(one, "__code__", None) for one in gc.callbacks}
    while frame is not None:
        module, name = frame.f_globals.get("__name__"), frame.f_code.co_name
        if module == "importlib._bootstrap" or name == "__del__" or frame.f_code in collecting:
            return False
        if module in ("weakref", "_weakrefset") and name in ("remove", "_remove"):
            return False  # called when something is collected
        frame = frame.f_back
    return True


def interruption(error: BaseException) -> BaseException | None:
    """The end of the time or memory, or Ctrl-C, that C code turned into a `SystemError`, as igraph
    does, and numpy with objects; None for other errors."""
    found: BaseException | None = error
    while isinstance(found, SystemError):
        found = found.__cause__
    return found if isinstance(found, OutOfTimeError | KeyboardInterrupt | MemoryError) else None


def unprinted(
    hook: Callable[[Any], object], *kinds: type[BaseException], lost: Callable[[], object] = int
) -> Callable[[Any], None]:
    """A ``sys.unraisablehook`` that does not print errors that are raised again.

    Args:
        hook: prints all others.
        kinds: types of the errors that are raised again.
        lost: called when one of them was lost.
    """

    def told(unraisable: Any) -> None:
        if issubclass(unraisable.exc_type, kinds):
            lost()
        else:
            hook(unraisable)

    return told


@contextmanager
def ctrl_c() -> Iterator[None]:
    """In this context Ctrl-C waits if `may_raise` says so, and is repeated if it was lost.

    A second Ctrl-C during the wait takes effect at once.  The context changes nothing outside the
    main thread, on systems whose threads get no signals (Windows), and if the program around
    syncoll handles Ctrl-C itself.
    """
    main, number = threading.main_thread(), signal.SIGINT
    if (
        threading.current_thread() is not main
        or not hasattr(signal, "pthread_kill")
        or signal.getsignal(number) is not signal.default_int_handler
    ):
        yield
        return
    waiting, ended, sending = threading.Event(), threading.Event(), threading.Lock()

    def repeat() -> None:
        ended.wait(AGAIN_SECONDS)
        with sending:
            if not ended.is_set():
                waiting.clear()
                signal.pthread_kill(main.ident or 0, number)

    def later() -> None:
        waiting.set()
        threading.Thread(target=repeat, daemon=True).start()

    def interrupt(_: int, frame: FrameType | None) -> None:
        if ended.is_set():
            return  # a repeated signal for a finished block
        if waiting.is_set() or may_raise(frame):
            raise KeyboardInterrupt
        later()

    hook = sys.unraisablehook
    # The guards of time and memory raise again by themselves.
    sys.unraisablehook = unprinted(
        unprinted(hook, OutOfTimeError, MemoryError), KeyboardInterrupt, lost=later
    )
    signal.signal(number, interrupt)
    try:
        yield
    except SystemError as error:
        raise interruption(error) or error from None
    finally:
        ended.set()
        with sending:  # none is sent after this, and one that was sent is handled
            signal.signal(number, signal.default_int_handler)
        sys.unraisablehook = hook
