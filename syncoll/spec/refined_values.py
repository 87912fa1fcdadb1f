"""What expressions can be worth in `Refinement`, besides numbers and Booleans."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from syncoll.spec import syntax
from syncoll.spec.forms import Form, Forms, Truth, Unproved
from syncoll.spec.values import Relation, Scope

__all__ = [
    "NO",
    "OPEN",
    "YES",
    "Couple",
    "Interval",
    "Items",
    "ListLike",
    "Many",
    "Open",
    "Pairs",
    "as_number",
    "as_truth",
    "lifted",
]

YES = Truth(True, True)
NO = Truth(True, False)


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """A list whose elements are known one by one."""

    items: tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Many:
    """A list of unknown but equal length whose elements all are like this one."""

    element: Any


@dataclass(frozen=True, slots=True, eq=False)
class Interval:
    """``range(start, stop)``."""

    start: Form
    stop: Form


@dataclass(frozen=True, slots=True, eq=False)
class Couple:
    """``(a, b)``."""

    first: Form
    second: Form


@dataclass(frozen=True, slots=True, eq=False)
class Pairs(Relation):
    """Pairs written out or generated, and what they see."""

    syntax: syntax.SetOf
    scope: Scope


class Open:
    """A name whose value is not known, or not yet."""


OPEN = Open()
ListLike = Items | Many | Interval


def lifted(value: Any) -> Any:
    """A value of the evaluator as one of the analysis; those of the analysis as they are."""
    if isinstance(value, bool):
        return YES if value else NO
    if isinstance(value, (int, Fraction)):
        return Forms.constant(value)
    if isinstance(value, range):
        return Interval(Forms.constant(value.start), Forms.constant(value.stop))
    if isinstance(value, tuple):
        return Items(tuple(map(lifted, value)))
    return value


def as_number(value: Any) -> Form:
    """The value itself, which must be a number; `Unproved` if it is none."""
    if not isinstance(value, Form):
        raise Unproved
    return value


def as_truth(value: Any) -> Truth:
    """The value itself, which must be a Boolean; `Unproved` if it is none."""
    if not isinstance(value, Truth):
        raise Unproved
    return value
