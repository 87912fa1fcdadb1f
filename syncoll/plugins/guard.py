"""Guards between a plugin's code and the rest of the program.

A plugin may raise any error, exit, print, or return a wrong type.  Records wrap their functions in
guards.  A guarded call raises a `PluginError` that names the plugin, or returns an `Answer` that
says no with the reason.

Output of a plugin goes to standard error: standard output belongs to the command's result.  Errors
of syncoll itself are allowed from a plugin's methods and pass unchanged.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import GeneratorType
from typing import Any, TextIO, cast

from syncoll.errors import OutOfTimeError, PluginError, SyncollError
from syncoll.interrupts import interruption


@dataclass(frozen=True)
class Answer:
    """Yes or no, with the reason in words.

    Args:
        ok: yes.
        reason: a no has one.
        failed: whether the plugin could not answer, which counts as a no.
    """

    ok: bool
    reason: str = ""
    failed: bool = False


def _in_words(error: BaseException) -> str:
    """An exception in one line, even if its own text cannot be made."""
    text = "".join(traceback.format_exception_only(error)).strip()
    return " ".join(text.split()) or type(error).__name__


@contextlib.contextmanager
def calling(who: str, function: str = "") -> Iterator[None]:
    """Runs a plugin's code, such as ``propose`` of ``seed rings``; its errors, ``SystemExit``
    included, become a `PluginError` that names both.

    Errors of syncoll itself pass, as do the user's interrupt and an exhausted memory.
    """
    try:
        with _quiet():
            yield
    except PluginError as error:
        # Types that the host offers raise errors that do not name the plugin.
        if type(error) is PluginError and who not in str(error):
            raise PluginError(f"{who}: {error}") from error
        raise
    except (SyncollError, MemoryError, KeyboardInterrupt):
        raise
    except BaseException as error:
        if found := interruption(error):
            raise found from None
        where = f" in `{function}`" if function else ""
        raise PluginError(f"{who} failed{where}: {_in_words(error)}") from error


@dataclass(frozen=True)
class GuardedFunction:
    """A field of a record with the plugin's function; ``who`` names the plugin in words."""

    function: Callable[..., object]
    name: str
    who: str = ""


Guard = Callable[[Callable[..., Any], str, str], GuardedFunction]
"""Wraps a function of a record, given the name of its field and the plugin in words."""


class GuardedQuestion(GuardedFunction):
    """A function that answers in words; a failure counts as a no."""

    def __call__(self, *arguments: object) -> Answer:
        """The plugin's answer, or a no with the failure.  Raises `OutOfTimeError` and `MemoryError`
        if the caller's time is over, or the command's memory exhausted."""
        try:
            with _quiet():
                answer = self.function(*arguments)
            if not isinstance(answer, Answer):
                raise TypeError(f"it returned a {type(answer).__name__}, not an Answer")
            kinds = (type(answer.ok), type(answer.reason))
            if kinds != (bool, str):
                raise TypeError(f"its Answer holds {kinds[0].__name__} and {kinds[1].__name__}")
            return answer
        except (KeyboardInterrupt, MemoryError, OutOfTimeError):
            raise
        except BaseException as error:
            if found := interruption(error):
                raise found from None
            return Answer(False, f"its `{self.name}` failed: {_in_words(error)}", failed=True)


class Recogniser(GuardedFunction):
    """A function that answers True or False; a failure raises `PluginError`."""

    def __call__(self, *arguments: object) -> bool:
        """Whether it recognises its arguments."""
        with calling(self.who, self.name):
            answer = self.function(*arguments)
            if not isinstance(answer, bool):
                raise TypeError(f"it returned a {type(answer).__name__}, not True or False")
            return answer


@dataclass(frozen=True)
class Returns:
    """The type that a method of a plugin must return.

    Args:
        kind: its type.
        each: whether it returns an iterator of `kind`.
        or_none: whether it may also return None; the method is then optional.
        pauses: whether the iterator may yield None in between and receives new limits.
    """

    kind: type
    each: bool = False
    or_none: bool = False
    pauses: bool = False

    def check(self, value: object) -> None:
        """Passes values of the type, and raises `TypeError` for others."""
        none_is_fine = self.or_none or self.pauses
        if not (isinstance(value, self.kind) or (none_is_fine and value is None)):
            raise TypeError(f"it returned a {type(value).__name__}, not a {self.kind.__name__}")


@dataclass(frozen=True)
class Returning(GuardedFunction):
    """A function whose return type is checked; a failure raises `PluginError`."""

    returns: Returns = field(default_factory=lambda: Returns(object))

    def __call__(self, *arguments: object) -> Any:
        """The plugin's result."""
        with calling(self.who, self.name):
            result = self.function(*arguments)
            self.returns.check(result)
            return result


@dataclass(frozen=True)
class Loader(GuardedFunction):
    """A function that loads the plugin's object, which `around` wraps for its callers.  Its methods
    are guarded too, and their return types checked."""

    methods: Mapping[str, Returns] = field(default_factory=dict)
    around: Callable[[Any], object] | None = None

    def __call__(self) -> Any:
        """Imports and returns the plugin's object; raises `PluginError` if it fails, or lacks a
        method."""
        with calling(self.who, self.name):
            loaded = self.function()
            for method, returns in self.methods.items():
                if not returns.or_none and not callable(getattr(loaded, method, None)):
                    raise TypeError(
                        f"it returned a {type(loaded).__name__}, which has no method `{method}`"
                    )
        guarded = _Guarded(loaded, self.who, self.methods)
        return guarded if self.around is None else self.around(guarded)


@dataclass(eq=False)
class _Guarded:
    """An object of a plugin; errors and wrong return types of its methods become `PluginError`."""

    _loaded: object
    _who: str
    _methods: Mapping[str, Returns]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # not set yet, as during a copy
            raise AttributeError(name)
        returns = self._methods.get(name)
        if returns is None or (returns.or_none and not hasattr(self._loaded, name)):
            return getattr(self._loaded, name)

        def call(*arguments: Any, **named: Any) -> Any:
            with calling(self._who, name):
                result = getattr(self._loaded, name)(*arguments, **named)
                if not returns.each:
                    returns.check(result)
                elif not isinstance(result, Iterable):
                    raise TypeError(f"it returned a {type(result).__name__}, not an iterator")
            return self._each(result, name, returns) if returns.each else result

        return call

    def _each(
        self, results: Iterable[object], name: str, returns: Returns
    ) -> Generator[object, object, None]:
        given: object = None
        with calling(self._who, name):
            rest = iter(results)
        while True:
            with calling(self._who, name):
                try:
                    if isinstance(rest, Generator) and _hears(rest):
                        result = rest.send(given)
                    else:
                        result = next(rest)
                except StopIteration:
                    return
                returns.check(result)
            given = yield result


def _hears(rest: Iterator[object]) -> bool:
    """Whether an iterator can receive a value: not while it stands at ``yield from`` of a list."""
    while isinstance(rest, GeneratorType) and rest.gi_yieldfrom is not None:
        rest = rest.gi_yieldfrom
    return isinstance(rest, Generator)


# Standard output -------------------------------------------------------------------------------


class _Inside(threading.local):
    """Whether this thread runs a plugin's code."""

    depth = 0


@dataclass(eq=False)
class _Shared:
    """Standard output while a thread runs a plugin's code: this thread writes to standard error."""

    own: TextIO | None

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr if _inside.depth else self.own, name)


_inside = _Inside()
_lock = threading.Lock()
_running: set[object] = set()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Sends the output of this thread to standard error; other threads keep standard output."""
    # Ctrl-C may come between any two lines: all changes until then are undone exactly.
    me, depth = object(), _inside.depth
    try:
        with _lock:  # all threads share standard output
            if not _running:
                sys.stdout = cast("TextIO", _Shared(sys.stdout))
            _running.add(me)
        _inside.depth = depth + 1
        yield
    finally:
        _inside.depth = depth
        with _lock:
            _running.discard(me)
            if not _running and isinstance(sys.stdout, _Shared):
                sys.stdout = cast("TextIO", sys.stdout.own)
