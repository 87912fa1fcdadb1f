"""Errors of a shipped definition, raised at the call that gave it its arguments.

In ``ring(0)`` the mistake is the 0, not the shipped line ``nodes n``.  An error inside a shipped
definition is therefore raised at the argument on which the wrong expression depends, or at the
whole call without a single such argument.  Definitions of a user's own files keep their errors.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from syncoll.errors import LocatedError, Origin, SpecError
from syncoll.spec import syntax
from syncoll.spec.environment import bind_arguments
from syncoll.spec.module import Found, Module
from syncoll.spec.source import Span
from syncoll.spec.syntax import CallArgument, Definition

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class DataError(SpecError):
    """An error in a file of data, shown at its place there."""


class RequirementError(SpecError):
    """A `require` is violated; `brief` is the message without the condition."""

    def __init__(
        self, message: str, origin: Origin | None = None, expected: str = "", brief: str = ""
    ) -> None:
        super().__init__(message, origin, expected)
        self.brief = brief or message


@dataclass(frozen=True, slots=True, eq=False)
class BlamedCall:
    """A definition with arguments."""

    found: Found
    arguments: tuple[CallArgument, ...]
    span: Span

    @property
    def origin(self) -> Origin:
        """The place of errors of the result as a whole: the call, or a user's own definition."""
        definition = self.found.definition
        return (self.span if self.found.module.shipped else definition.name_span).origin


@contextmanager
def blaming(*calls: BlamedCall, late: bool = False) -> Iterator[None]:
    """Raises errors of shipped definitions at their calls, innermost first."""
    try:
        yield
    except LocatedError as error:
        told = error
        for call in calls:
            told = at_call(told, call, late=late)
        if told is error:
            raise
        raise told from None


def at_call(error: LocatedError, call: BlamedCall, *, late: bool = False) -> LocatedError:
    """An error of a shipped definition as an error of its call; any other error unchanged.  Without
    arguments the definition itself is wrong, unless P and C have values (`late`)."""
    found, span, origin = call.found, call.span, error.origin
    if isinstance(error, DataError):
        return error
    if not late and not call.arguments and not isinstance(error, RequirementError):
        return error
    if not found.module.shipped or origin is None or origin.file == span.source.label:
        return error
    place = _argument(guilty(origin), found.definition, call.arguments, span)
    return _moved(error, origin, found.definition.name, place)


def at_use(error: LocatedError, module: Module, span: Span) -> LocatedError:
    """An error inside a shipped relation as an error of the expression that uses it."""
    origin = error.origin
    if isinstance(error, DataError):
        return error
    if not module.shipped or origin is None or origin.file == span.source.label:
        return error
    return _moved(error, origin, f"`{' '.join(span.text.split())}`", span)


def guilty(origin: Origin) -> str:
    """The text of an expression that an error is about."""
    return origin.text[origin.column - 1 :][: origin.width]


def _moved(error: LocatedError, origin: Origin, owner: str, place: Span) -> LocatedError:
    if isinstance(error, RequirementError):
        return RequirementError(error.brief, place.origin, error.expected)
    message = error.message
    if message.startswith("this is "):
        message = f"`{guilty(origin)}` of {owner} is {message.removeprefix('this is ')}"
    return type(error)(message, place.origin, error.expected)


def _argument(
    guilty: str, definition: Definition, arguments: tuple[CallArgument, ...], span: Span
) -> Span:
    """The one argument that an expression of the definition depends on, else the whole call."""
    try:
        bound = bind_arguments(definition, arguments, span)
    except SpecError:
        return span
    names = _names_in(guilty, definition)
    values = [bound[p.name] for p in definition.parameters if p.name in names]
    given = [v[0].span.to(v[-1].span) if isinstance(v, tuple) else v.span for v in values if v]
    return given[0] if len(given) == 1 else span


def _names_in(text: str, definition: Definition) -> set[str]:
    """The names in a text, and in the `let`s and `for` sources that define them."""
    made_of = defaultdict[str, list[str]](list)
    for node in definition.walk():
        if isinstance(node, syntax.ValueDefinition):
            made_of[node.name].append(node.body.span.text)
        elif isinstance(node, syntax.Binder):
            made_of[node.name].append(node.source.span.text)
    found: set[str] = set()
    waiting = [text]
    while waiting:
        for name in _NAME.findall(waiting.pop()):
            if name not in found:
                found.add(name)
                waiting += made_of.get(name, ())
    return found
