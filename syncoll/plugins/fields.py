"""Checks what a plugin put into a record: an error names the field, not what broke later."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NamedTuple

from syncoll.errors import PluginError

__all__ = [
    "Field",
    "at_least",
    "check_fields",
    "flag",
    "folder",
    "function",
    "instance",
    "mapping",
    "number",
    "or_none",
    "text",
    "tuple_of",
    "whole",
]


class Field(NamedTuple):
    """What a field may hold.

    Args:
        holds: whether a value is right.
        words: the same for people: ``text``.
    """

    holds: Callable[[object], bool]
    words: str


text = Field(lambda value: isinstance(value, str), "text")
flag = Field(lambda value: isinstance(value, bool), "True or False")
whole = Field(
    lambda value: isinstance(value, Integral) and not isinstance(value, bool), "a whole number"
)
number = Field(
    # Neither infinite nor NaN, whose difference from itself is not 0.
    lambda value: not isinstance(value, bool) and isinstance(value, Real) and value - value == 0,
    "a number",
)
function = Field(callable, "a function")
folder = Field(lambda value: isinstance(value, Path), "a pathlib.Path")


def or_none(field: Field) -> Field:
    """The same, or None."""
    return Field(lambda value: value is None or field.holds(value), f"{field.words} or None")


def at_least(low: int, field: Field) -> Field:
    """A number that is not below another."""

    def holds(value: Any) -> bool:
        return field.holds(value) and bool(value >= low)

    return Field(holds, f"{field.words} of at least {low}")


def instance(*kinds: type) -> Field:
    """An object of one of these types."""
    names = [kind.__name__ for kind in kinds]
    return Field(lambda value: isinstance(value, kinds), " or ".join(names))


def tuple_of(kind: type, *, collection: type = tuple) -> Field:
    """A tuple, or another collection, of objects of a type."""

    def holds(value: object) -> bool:
        if not isinstance(value, Iterable) or not isinstance(value, collection):
            return False
        return all(isinstance(one, kind) for one in value)

    return Field(holds, f"a {collection.__name__} of {kind.__name__}")


def mapping(key: type, value: type) -> Field:
    """A mapping from objects of a type to objects of another."""

    def holds(given: object) -> bool:
        return isinstance(given, Mapping) and all(
            isinstance(one, key) and isinstance(two, value) for one, two in given.items()
        )

    words = key.__name__ if value is object else f"{key.__name__} to {value.__name__}"
    return Field(holds, f"a mapping from {words}")


def check_fields(record: object, fields: Mapping[str, Field]) -> None:
    """Passes a record whose fields hold what they should.

    Raises:
        PluginError: naming the record, the field, what it holds and what it should.
    """
    for name, field in fields.items():
        value = getattr(record, name)
        if not field.holds(value):
            owner = getattr(record, "name", "")
            of = f" {owner!r}" if isinstance(owner, str) and owner and name != "name" else ""
            raise PluginError(
                f"{type(record).__name__}{of}: `{name}` is {_shown(value)}; it must be "
                f"{field.words}"
            )


def _shown(value: object) -> str:
    """A value for an error: its type, and itself where that is short."""
    try:
        shown = repr(value)
    except Exception:
        shown = ""
    kind = type(value).__name__
    return f"{shown} ({kind})" if 0 < len(shown) <= 40 else f"a {kind}"
