"""What verbs share: who is asked, numbers as people write them, and values that show themselves."""

from __future__ import annotations

import difflib
import inspect
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import fields
from functools import cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, TypeAlias, TypeVar, cast

from syncoll import documents
from syncoll.api import arguments
from syncoll.clock import counting as counting_work, is_counted, now
from syncoll.deadline import NEVER, Deadline, interrupted_at
from syncoll.errors import UsageError
from syncoll.pages import Page
from syncoll.session import Session, Settings
from syncoll.session.counting import counting
from syncoll.session.settings import SettingsOptions
from syncoll.wording import argument

if TYPE_CHECKING:
    from pandas import DataFrame

    from syncoll.model import Collective, Fabric, Topology

__all__ = [
    "Displayable",
    "Saved",
    "Tabular",
    "What",
    "Where",
    "as_result",
    "command",
    "counts_work",
    "data_frame",
    "deadline_of",
    "reading",
    "session_for",
    "session_of",
    "shows_progress",
    "verb",
]

Where: TypeAlias = "str | Topology | Fabric"
What: TypeAlias = "str | Collective"

_P = ParamSpec("_P")
_T = TypeVar("_T")
_F = TypeVar("_F", bound="Callable[..., Any]")


# Keywords that do not exist -----------------------------------------------------------------------


def verb(function: _F) -> _F:
    """Wraps a function so that an error for an unknown keyword suggests the nearest one.

    Raises:
        UsageError: on a call with an unknown keyword.
    """
    parameters = inspect.signature(function).parameters.values()
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    named = [one.name for one in parameters if one.kind not in several]
    rest = next((one for one in parameters if one.kind is one.VAR_KEYWORD), None)
    options = re.fullmatch(r"Unpack\[(\w+)\]", str(rest.annotation)) if rest else None
    if rest is not None and options is None:  # any keyword
        return function

    @wraps(function)
    def asked(*arguments: Any, **keywords: Any) -> Any:
        if not keywords.keys() <= set(named):
            module = sys.modules[function.__module__]
            known = [*named, *(vars(module)[options[1]].__annotations__ if options else ())]
            for name in keywords:
                if name not in known:
                    raise UsageError(_unknown_keyword(function.__name__, name, known))
        return function(*arguments, **keywords)

    return cast("_F", asked)


def _unknown_keyword(owner: str, name: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]}?" if close else f"it has {', '.join(known)}"
    return f"{owner} has no keyword {name}; {hint}"


# Who is asked -------------------------------------------------------------------------------------

_COMMAND: ContextVar[tuple[Session, float] | None] = ContextVar("command", default=None)

_SHARE_KEPT = 0.03
_LEAST_KEPT_SECONDS = 0.15
_MOST_KEPT_SECONDS = 5.0

_READING_SECONDS = 3.0


@contextmanager
def command(session: Session, began: float) -> Iterator[None]:
    """While it lasts, verbs are asked by the command line.

    They ask its session.  A limit of time counts from the command's start, and a little of it is
    kept for what comes after the work: the answer is shown and saved, and workers end.

    Args:
        session: with the settings of the command line.
        began: when the command did, on the clock of a `Deadline`.
    """
    token = _COMMAND.set((session, began))
    try:
        yield
    finally:
        _COMMAND.reset(token)


@cache
def _usual() -> Session:
    """With every default; what is installed and the library are looked up once."""
    return Session()


def session_for(options: SettingsOptions | None = None) -> Session:
    """A session with these settings; the usual one where nothing is set.

    Raises:
        UsageError: on an unknown setting, or one that is incompatible with counted work.
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
    """The session that a value came from; the usual one where it does not say."""
    found = getattr(value, "session", None)
    return found if isinstance(found, Session) else session_for()


# Limits -------------------------------------------------------------------------------------------


def reading(until: Deadline) -> interrupted_at:
    """A context for reading a request, which always gets a minimum of time.

    So cuts and distances of all but the largest machines are known whatever the limit.
    """
    return interrupted_at(until.granting(_READING_SECONDS))


def counts_work(verb: Callable[_P, _T]) -> Callable[_P, _T]:
    """Wraps a verb so that work is counted when its keyword ``work``, or its request, limits it."""

    @wraps(verb)
    def ask(*args: _P.args, **keywords: _P.kwargs) -> _T:
        work = keywords.get("work", getattr(args[0], "work", None) if args else None)
        with nullcontext() if work is None else counting_work():
            return verb(*args, **keywords)

    return ask


def shows_progress(verb: Callable[_P, _T]) -> Callable[_P, _T]:
    """Wraps a verb so that progress is shown in the style of its keyword ``progress``."""

    @wraps(verb)
    def ask(*args: _P.args, **keywords: _P.kwargs) -> _T:
        with counting(str(keywords.get("progress", "auto"))):
            return verb(*args, **keywords)

    return ask


def deadline_of(
    limit: float | str | None, began: float | None = None, *, work: float | None = None
) -> Deadline:
    """The end of a limit that begins now, or has begun then, or with the command (see `command`).

    Args:
        work: units of work in place of seconds, see `counts_work`.

    Raises:
        UsageError: when it is not a time or an amount of work, or both are given.
    """
    if work is not None:
        if limit is not None:
            raise UsageError(f"{argument('work')} and {argument('time_limit')}: say one of them")
        if isinstance(work, bool) or not isinstance(work, int | float) or not 0 <= work < math.inf:
            raise UsageError(f"{argument('work')}: {work!r} is not a number of units of work")
        return Deadline.after(float(work))
    seconds, asking = arguments.seconds_of(limit), _COMMAND.get()
    if seconds is None:
        return NEVER
    if asking is None:
        return Deadline((now() if began is None else began) + seconds)
    kept = min(_MOST_KEPT_SECONDS, max(_LEAST_KEPT_SECONDS, seconds * _SHARE_KEPT))
    return Deadline(asking[1] + max(0.0, seconds - kept))


# Values that show themselves ----------------------------------------------------------------------

_AT_HOME = {"session", "source"}


class Displayable:
    """Has a page, which is its representation: text in a terminal, HTML in a notebook."""

    def page(self) -> Page:
        """What it looks like."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return str(self.page())

    def __str__(self) -> str:
        return str(self.page())

    def _repr_html_(self) -> str:
        return self.page().to_html()

    def __getstate__(self) -> dict[str, Any]:
        """Without what stays where it is: the session, and a definition with its library."""
        own = {field.name for field in fields(self)}  # type: ignore[arg-type]
        inherited = super().__getstate__()
        state = inherited if isinstance(inherited, dict) else vars(self)
        return {k: None if k in _AT_HOME else v for k, v in state.items() if k in own}


class Saved(Displayable):
    """Can be written as JSON."""

    def document(self) -> dict[str, Any]:
        """What `save` writes."""
        raise NotImplementedError

    def save(self, path: str | Path) -> None:
        """Writes it as JSON, which every command reads.

        Raises:
            UsageError: when the file cannot be written.
        """
        documents.write_document(Path(path), self.document())


class Tabular(Displayable):
    """Is a table, whose rows have a value for every column."""

    columns: ClassVar[Mapping[str, type]]

    def rows(self) -> list[dict[str, Any]]:
        """The rows of the table."""
        raise NotImplementedError

    def to_pandas(self) -> DataFrame:
        """The table, for data analysis.

        Raises:
            UsageError: when pandas is not installed.
        """
        rows = self.rows()
        return data_frame({name: [row[name] for row in rows] for name in self.columns})

    def save_table(self, path: str | Path) -> None:
        """Writes the table to a file whose name ends in ``.csv`` or ``.parquet``.

        Raises:
            UsageError: on another name, when pyarrow is missing, or when it cannot be written.
        """
        from syncoll.documents.tables import table_content, table_format

        content = table_content(self.columns, self.rows(), table_format(Path(path)))
        documents.write_atomically(Path(path), content)


def as_result(kind: type[_T], value: Any, **more: Any) -> _T:
    """A frozen value as a subclass of its own type, with the fields that the subclass adds."""
    return kind(**{field.name: getattr(value, field.name) for field in fields(value)}, **more)


def data_frame(columns: Mapping[str, Any]) -> DataFrame:
    """A table of these columns for data analysis.

    Raises:
        UsageError: when pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError:
        raise UsageError("pandas is not installed; `pip install pandas`") from None
    return pd.DataFrame(dict(columns))
