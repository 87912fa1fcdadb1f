"""What stands between a plugin's code and everything else.

A plugin may raise anything, exit, print, or return what it should not.  Its records wrap their
functions in what is here, so that calling them raises a `PluginError` that names the plugin, or
returns an `Answer` that says no with the reason, and nothing else.

What a plugin prints goes to standard error: standard output belongs to the command's result.
Errors of syncoll's own tree are part of what a plugin's methods may do and pass as they are.
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

__all__ = [
    "Answer",
    "Guard",
    "GuardedFunction",
    "GuardedQuestion",
    "Loader",
    "Recogniser",
    "Returns",
    "calling",
]


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
    """An exception in one line, also one whose own text cannot be made."""
    text = "".join(traceback.format_exception_only(error)).strip()
    return " ".join(text.split()) or type(error).__name__


@contextlib.contextmanager
def calling(who: str, what: str = "") -> Iterator[None]:
    """Runs a plugin's code; whatever it raises becomes an error that names it.

    Errors of syncoll's own pass, and so do the user's interrupt and an exhausted memory, which are
    not the plugin's fault.

    Args:
        who: the plugin in words: ``seed rings``.
        what: which function of it: ``propose``.

    Raises:
        PluginError: for everything else that it raises, ``SystemExit`` included.
    """
    try:
        with _quiet():
            yield
    except PluginError as error:
        # Of the types that the host offers, whose messages do not know who made them.
        if type(error) is PluginError and who not in str(error):
            raise PluginError(f"{who}: {error}") from error
        raise
    except (SyncollError, MemoryError, KeyboardInterrupt):
        raise
    except BaseException as error:
        where = f" in `{what}`" if what else ""
        raise PluginError(f"{who} failed{where}: {_in_words(error)}") from error


@dataclass(frozen=True)
class GuardedFunction:
    """A record's field with the plugin's function in it; ``who`` is the plugin in words."""

    function: Callable[..., object]
    name: str
    who: str = ""


Guard = Callable[[Callable[..., Any], str, str], GuardedFunction]
"""Wraps a function of a record, given the name of its field and the plugin in words."""


class GuardedQuestion(GuardedFunction):
    """A function that answers in words; one that fails says no."""

    def __call__(self, *arguments: object) -> Answer:
        """The plugin's answer, or a no that says how it failed.

        Raises:
            OutOfTimeError: when the caller's time is over.
            MemoryError: when the command's memory is exhausted.
        """
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
            return Answer(False, f"its `{self.name}` failed: {_in_words(error)}", failed=True)


class Recogniser(GuardedFunction):
    """A function that says yes or no; where it fails it raises `PluginError`."""

    def __call__(self, *arguments: object) -> bool:
        """Whether it recognises something."""
        with calling(self.who, self.name):
            answer = self.function(*arguments)
            if not isinstance(answer, bool):
                raise TypeError(f"it returned a {type(answer).__name__}, not True or False")
            return answer


@dataclass(frozen=True)
class Returns:
    """What a method of a plugin must return.

    Args:
        kind: its type.
        each: whether it returns an iterator of these.
        or_none: whether it may also return None, and only some objects have the method.
        pauses: whether the iterator may give None in between, and is sent what it asked for.
    """

    kind: type
    each: bool = False
    or_none: bool = False
    pauses: bool = False

    def check(self, value: object) -> None:
        """Passes what is of the type, and raises `TypeError` otherwise."""
        none_is_fine = self.or_none or self.pauses
        if not (isinstance(value, self.kind) or (none_is_fine and value is None)):
            raise TypeError(f"it returned a {type(value).__name__}, not a {self.kind.__name__}")


@dataclass(frozen=True)
class Loader(GuardedFunction):
    """A function that loads the plugin's object, whose methods are guarded too.

    Args:
        methods: what the object can do, and what that must return.
        around: makes of the object what stands between it and its callers; None for nothing.
    """

    methods: Mapping[str, Returns] = field(default_factory=dict)
    around: Callable[[Any], object] | None = None

    def __call__(self) -> Any:
        """Imports and returns the plugin's object.

        Raises:
            PluginError: when it cannot be loaded, or lacks a method.
        """
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
    """An object of a plugin; what its methods raise or return wrongly is a `PluginError`."""

    _loaded: object
    _who: str
    _methods: Mapping[str, Returns]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # not set yet, as while it is copied
            raise AttributeError(name)
        returns = self._methods.get(name)
        if returns is None:
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
    """Whether something can be sent: not where a generator stands at ``yield from`` of a list."""
    while isinstance(rest, GeneratorType) and rest.gi_yieldfrom is not None:
        rest = rest.gi_yieldfrom
    return isinstance(rest, Generator)


# Standard output -------------------------------------------------------------------------------


class _Inside(threading.local):
    """Whether this thread runs a plugin's code."""

    depth = 0


@dataclass(eq=False)
class _Shared:
    """Standard output while some thread runs a plugin's code: for that one it is standard error."""

    own: TextIO | None

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr if _inside.depth else self.own, name)


_inside = _Inside()
_lock = threading.Lock()
_running: set[object] = set()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """What this thread prints goes to standard error; what others print, where it did before."""
    # Ctrl-C may come between any two lines: whatever was done until then is undone exactly.
    me, depth = object(), _inside.depth
    try:
        with _lock:  # standard output is one for all threads
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
