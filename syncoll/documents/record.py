"""Records: one declaration of a file's layout, for reading, writing and its JSON Schema.

A record is a class with a type for each entry; its docstring has their descriptions in the schema.
`read_record` converts parsed JSON to a record, or names the wrong entry, its value and the expected
one; `written` converts a record to JSON.
"""

import re
from fractions import Fraction
from typing import Annotated, Any, Self, SupportsFloat, TypeVar

import msgspec
from msgspec import Meta, Struct

from syncoll.documents.json_text import exact_text
from syncoll.errors import FileFormatError
from syncoll.model.grains import Rounds, exact

Json = dict[str, Any]
T = TypeVar("T")

Count = Annotated[int, Meta(ge=0, le=1_000_000_000)]
PositiveCount = Annotated[int, Meta(ge=1, le=1_000_000_000)]
Node = Annotated[int, Meta(ge=0, le=65_535)]
Nodes = Annotated[int, Meta(ge=1, le=65_536)]
Seconds = Annotated[float, Meta(ge=0)]


def ratio_pattern(digits: int) -> str:
    """A regular expression for an exact rational with at most this number of digits."""
    return f"^[0-9]{{1,{digits}}}(/[0-9]{{1,{digits}}})?$"


Exact = Annotated[Fraction, Meta(extra_json_schema={"pattern": ratio_pattern(300)})]
"""A rational of any size, in files that are never read."""

_RATIO = re.compile(ratio_pattern(30))

_ROUNDS = "^-?[0-9]{1,30}/[0-9]{1,30}$"
RoundsText = Annotated[str, Meta(pattern=_ROUNDS.replace("-?", ""))]
SignedRoundsText = Annotated[str, Meta(pattern=_ROUNDS)]
RoundsEntry = Count | RoundsText
"""Rounds; a ratio such as 23/9 only on a machine with several grains in a round."""


class Record(Struct, frozen=True):
    """A record that may have further entries, of later versions."""

    @classmethod
    def of(cls, value: object, **entries: Any) -> Self:
        """A record of a value's attributes, except the given entries."""
        rest = (name for name in cls.__struct_fields__ if name not in entries)
        return cls(**entries, **{name: getattr(value, name) for name in rest})


class ClosedRecord(Record, frozen=True, forbid_unknown_fields=True):
    """A record without further entries."""


def written(record: Record | Json) -> Json:
    """A record, or entries, as JSON: the identity of the file comes first, long tables last."""
    document: Json = _ordered(msgspec.to_builtins(record, enc_hook=exact_text))
    return document


_FIRST = ("schema", "version", "topology", "collective", "nodes")
_LAST = ("algorithm", "chunk_classes", "interconnect", "between", "evidence")
_RANKS = {name: i - len(_FIRST) for i, name in enumerate((*_FIRST, "", *_LAST))}


def _ordered(value: Any) -> Any:
    """The value with lists for tuples; its lists contain only numbers."""
    if isinstance(value, tuple):
        return [one if type(one) is int else _ordered(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {key: _ordered(value[key]) for key in sorted(value, key=lambda k: _RANKS.get(k, 0))}


def rounded(value: SupportsFloat | None) -> float | None:
    """The nearest float; None for None."""
    return None if value is None else float(value)


def rounds_of(entry: int | str, grains: int) -> Rounds:
    """The rounds of an entry on a machine with some grains in a round.  Raises `FileFormatError` if
    they are no multiple of a grain."""
    if type(entry) is int:
        return entry
    try:
        rounds = exact(Fraction(entry))
    except ZeroDivisionError:
        rounds = None
    if rounds is None or rounds * grains % 1:
        multiple = f"multiples of 1/{grains}" if grains > 1 else "whole"
        raise FileFormatError(f"{entry} rounds, but rounds on this machine are {multiple}")
    return rounds


def read_record(value: Any, kind: Any, name: str) -> Any:
    """The record, of a class or a union, of a JSON value in a file.  Raises `FileFormatError` if an
    entry is missing or wrong, with the file and the place."""
    try:
        return msgspec.convert(value, kind, dec_hook=_decoded)
    except msgspec.ValidationError as error:
        from syncoll.documents.record_schema import explained  # only needed for errors

        raise FileFormatError(f"{name}: {explained(str(error), value, kind)}") from None


def _decoded(kind: type, value: Any) -> Any:
    if not isinstance(value, str) or _RATIO.fullmatch(value) is None:
        raise ValueError("Expected an exact rational as text, such as 7/6 or 2")
    try:
        return Fraction(value)
    except ZeroDivisionError:
        raise ValueError("Expected a denominator other than 0") from None
