"""Asking: the session and the limits of a call, and errors for keywords that do not exist."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache, wraps
from typing import Any, Literal, TypeAlias, TypeVar, cast

from syncoll import values
from syncoll.clock import counting as counting_work, is_counted, now
from syncoll.deadline import NEVER, Deadline, interrupted_at
from syncoll.errors import UsageError
from syncoll.lazy import import_names
from syncoll.live.tasks import counting
from syncoll.session import Session, Settings
from syncoll.session.names import What as What, Where as Where
from syncoll.session.settings import SettingsOptions, SolverOptions
from syncoll.verbs.declaration import described, parameters_of
from syncoll.wording import argument, meant

Progress: TypeAlias = Literal["auto", "live", "plain", "none"]

_F = TypeVar("_F", bound="Callable[..., Any]")


def verb(function: _F) -> _F:
    """Wraps a verb: an unknown keyword is an error that suggests the nearest one, and work is
    counted if its keyword ``work``, or the request that it is given, limits it.  A keyword of the
    type `Progress` is the style in which progress is shown.

    The names that the folder of a verb imports for type checkers are imported at the first call.

    Raises:
        UsageError: on a call with an unknown keyword.
    """
    module = sys.modules[function.__module__]
    names = [module.__name__] if str(module.__file__).endswith("__init__.py") else []
    parameters = inspect.signature(function).parameters.values()
    named = {one.name for one in parameters if one.kind is not one.VAR_KEYWORD}
    shows = any(one.annotation == "Progress" for one in parameters)
    free = any(one.kind is one.VAR_KEYWORD and "Unpack" not in one.annotation for one in parameters)

    @wraps(function)
    def asked(*arguments: Any, **keywords: Any) -> Any:
        if not free and not keywords.keys() <= named:
            known = [one.name for one in parameters_of(function)]
            for name in keywords:
                if name not in known:
                    hint = meant(name, known) or f"; it has {', '.join(known)}"
                    raise UsageError(f"{function.__name__} has no keyword {name}{hint}")
        for name in names:
            import_names(name)
        names.clear()
        work = keywords.get("work", getattr(arguments[0], "work", None) if arguments else None)
        progress = counting(keywords.get("progress", "auto")) if shows else nullcontext()
        with nullcontext() if work is None else counting_work(), progress:
            return function(*arguments, **keywords)

    asked.__doc__ = described(function)
    return cast("_F", asked)


# Sessions -----------------------------------------------------------------------------------------

_COMMAND: ContextVar[tuple[Session, float] | None] = ContextVar("command", default=None)

_SHARE_KEPT = 0.03
_LEAST_KEPT_SECONDS = 0.15
_MOST_KEPT_SECONDS = 5.0

_READING_SECONDS = 3.0


@contextmanager
def command(session: Session, began: float) -> Iterator[None]:
    """A context in which verbs use the session of a command of the shell.

    A limit of time counts from the start of the command.  A little of it is kept to show and save
    the answer, and to end workers.

    Args:
        session: with the settings of the command line.
        began: the start of the command, on the clock of a `Deadline`.
    """
    token = _COMMAND.set((session, began))
    try:
        yield
    finally:
        _COMMAND.reset(token)


@cache
def _usual() -> Session:
    """A session with every default; plugins and libraries are looked up once."""
    return Session()


def session_for(options: SolverOptions | SettingsOptions | None = None) -> Session:
    """A session with these settings, or the session of the command, or one with defaults.

    Raises `UsageError` on an unknown setting, or one that is incompatible with counted work.
    """
    asking = _COMMAND.get()
    session = usual = _usual() if asking is None else asking[0]
    if options:
        session = Session(Settings.of(options))
        session.plugins = usual.plugins
        session.specs = usual.specs
    if is_counted():
        session.settings.require_countable()
    return session


def session_of(value: object) -> Session:
    """The session of a result, or the usual one."""
    found = getattr(value, "session", None)
    return found if isinstance(found, Session) else session_for()


# Limits -------------------------------------------------------------------------------------------


def reading(until: Deadline) -> interrupted_at:
    """A context for reading a request, which always gets a minimum of time.

    So cuts and distances of all but the largest machines are known under any limit.
    """
    return interrupted_at(until.granting(_READING_SECONDS))


def deadline_of(
    limit: float | str | None, began: float | None = None, *, work: float | None = None
) -> Deadline:
    """The end of a limit that begins now, at `began`, or with the command (see `command`).

    Args:
        work: units of work in place of seconds, see `verb`.

    Raises:
        UsageError: if it is not a time or an amount of work, or both are given.
    """
    if work is not None:
        if limit is not None:
            raise UsageError(f"{argument('work')} and {argument('time_limit')}: give one of them")
        if isinstance(work, bool) or not isinstance(work, int | float) or not 0 <= work < math.inf:
            raise UsageError(f"{argument('work')}: {work!r} is not a number of units of work")
        return Deadline.after(float(work))
    seconds, asking = values.seconds_of(limit), _COMMAND.get()
    if seconds is None:
        return NEVER
    if asking is None:
        return Deadline((now() if began is None else began) + seconds)
    kept = min(_MOST_KEPT_SECONDS, max(_LEAST_KEPT_SECONDS, seconds * _SHARE_KEPT))
    return Deadline(asking[1] + max(0.0, seconds - kept))
