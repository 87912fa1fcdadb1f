"""Checks the fields of a plugin's record, so that an error names the wrong field.

The annotation of a field defines its allowed values.
"""

from __future__ import annotations

import builtins
import dataclasses
import importlib
import sys
from collections.abc import Callable, Mapping
from functools import cache
from numbers import Integral, Rational, Real
from pathlib import Path
from typing import Any, NamedTuple, get_args

from syncoll.errors import PluginError


class Field(NamedTuple):
    """The allowed values of a field, and their description for people: ``text``."""

    holds: Callable[[Any], bool]
    words: str


whole = Field(
    lambda value: isinstance(value, Integral) and not isinstance(value, bool), "a whole number"
)
ratio = Field(
    lambda value: isinstance(value, Rational) and not isinstance(value, bool), "a rational number"
)
number = Field(
    # Neither infinite nor NaN: the difference of such a value from itself is not 0.
    lambda value: not isinstance(value, bool) and isinstance(value, Real) and value - value == 0,
    "a number",
)
_PLAIN = {
    "str": Field(lambda value: isinstance(value, str), "text"),
    "bool": Field(lambda value: isinstance(value, bool), "True or False"),
    "int": whole,
    "float": number,
    "Fraction": number,
    "Path": Field(lambda value: isinstance(value, Path), "a pathlib.Path"),
}


def or_none(field: Field) -> Field:
    """The same, or None."""
    return Field(lambda value: value is None or field.holds(value), f"{field.words} or None")


def at_least(low: int, field: Field) -> Field:
    """A number that is not below another."""
    return Field(
        lambda value: field.holds(value) and bool(value >= low), f"{field.words} of at least {low}"
    )


@cache
def _fields_of(record: type) -> dict[str, Field]:
    return {one.name: _field(str(one.type), record) for one in dataclasses.fields(record)}


def _field(annotation: str, record: type) -> Field:
    if annotation.endswith(" | None"):
        return or_none(_field(annotation.removesuffix(" | None"), record))
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    if annotation.startswith("Code["):
        code = Field(callable, "a function or the name of one, as package.module:name")
        return or_none(code) if annotation.endswith(" | None]") else code

    def class_of(name: str) -> Any:
        known = vars(sys.modules[record.__module__]).get(name) or vars(builtins).get(name)
        if known is not None:
            return known
        # Names that occur only in annotations are of the model or a result, or allow any value.
        for home in ("syncoll.model", "syncoll.results"):
            if (found := getattr(importlib.import_module(home), name, None)) is not None:
                return found
        return object

    outer, _, inner = annotation.removesuffix("]").partition("[")
    if outer in ("tuple", "frozenset"):
        some, item = class_of(outer), class_of(inner.removesuffix(", ..."))
        return Field(
            lambda value: isinstance(value, some) and all(isinstance(one, item) for one in value),
            f"a {some.__name__} of {item.__name__}",
        )
    if outer == "Mapping":
        key, held = map(class_of, inner.split(", "))
        return Field(
            lambda given: (
                isinstance(given, Mapping)
                and all(isinstance(a, key) and isinstance(b, held) for a, b in given.items())
            ),
            f"a mapping from {key.__name__}" + ("" if held is object else f" to {held.__name__}"),
        )
    classes = [class_of(name) for name in annotation.split(" | ")]
    kinds = tuple(one for kind in classes for one in get_args(kind) or (kind,))
    words = " or ".join(kind.__name__ for kind in kinds)
    return Field(lambda value: isinstance(value, kinds), words)


def check_fields(record: Any, **special: Field) -> None:
    """Passes a record whose fields hold values that their annotations, or `special`, allow; else
    raises `PluginError` with the record, the field, its value and the allowed values."""
    for name, field in {**_fields_of(record.__class__), **special}.items():
        value = getattr(record, name)
        if not field.holds(value):
            owner = getattr(record, "name", "")
            of = f" {owner!r}" if isinstance(owner, str) and owner and name != "name" else ""
            raise PluginError(
                f"{type(record).__name__}{of}: `{name}` is {_shown(value)}; it must be "
                f"{field.words}"
            )


def _shown(value: object) -> str:
    """A value for an error: its type, and the value itself if it is short."""
    try:
        shown = repr(value)
    except Exception:
        shown = ""
    kind = type(value).__name__
    return f"{shown} ({kind})" if 0 < len(shown) <= 40 else f"a {kind}"
