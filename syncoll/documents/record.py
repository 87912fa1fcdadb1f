"""Records: the layout of a file said once, from which reading, writing and its JSON Schema follow.

A record is a class with a type for each entry; its docstring is what the schema says about them.
`read_record` makes one of parsed JSON, or says which entry is wrong, what stands there and what was
expected; `written` makes JSON of it again.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated, Any, Self, TypeVar

import msgspec
from msgspec import Meta, Struct

from syncoll.errors import FileFormatError

__all__ = [
    "ClosedRecord",
    "Count",
    "Exact",
    "Json",
    "Node",
    "Nodes",
    "PositiveCount",
    "Record",
    "Seconds",
    "ratio_pattern",
    "read_record",
    "written",
]

Json = dict[str, Any]
T = TypeVar("T")

Count = Annotated[int, Meta(ge=0, le=1_000_000_000)]
PositiveCount = Annotated[int, Meta(ge=1, le=1_000_000_000)]
Node = Annotated[int, Meta(ge=0, le=65_535)]
Nodes = Annotated[int, Meta(ge=1, le=65_536)]
Seconds = Annotated[float, Meta(ge=0)]


def ratio_pattern(digits: int) -> str:
    """A regular expression for an exact rational of so many digits."""
    return f"^[0-9]{{1,{digits}}}(/[0-9]{{1,{digits}}})?$"


Exact = Annotated[Fraction, Meta(extra_json_schema={"pattern": ratio_pattern(300)})]
"""A rational of any size, in what is written and never read."""

_RATIO = re.compile(ratio_pattern(30))


class Record(Struct, frozen=True):
    """What may have further entries, of later versions."""

    @classmethod
    def of(cls, value: object, **entries: Any) -> Self:
        """A record of a value whose attributes have the names of its entries.

        Args:
            value: as a frozen dataclass.
            entries: those that are not attributes of it, or lie otherwise in files.
        """
        rest = (name for name in cls.__struct_fields__ if name not in entries)
        return cls(**entries, **{name: getattr(value, name) for name in rest})


class ClosedRecord(Record, frozen=True, forbid_unknown_fields=True):
    """What may not."""


def written(record: Record | Json) -> Json:
    """A record, or entries, as JSON: what says which file it is comes first, long tables last."""
    document: Json = _ordered(msgspec.to_builtins(record, enc_hook=_encoded))
    return document


_FIRST = ("schema", "version", "topology", "collective", "nodes")
_LAST = ("algorithm", "chunk_classes", "interconnect", "between", "evidence")
_RANKS = {name: i - len(_FIRST) for i, name in enumerate((*_FIRST, "", *_LAST))}


def _ordered(value: Any) -> Any:
    """The same with lists for tuples; what is a list already has nothing but numbers in it."""
    if isinstance(value, tuple):
        return [one if type(one) is int else _ordered(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {key: _ordered(value[key]) for key in sorted(value, key=lambda k: _RANKS.get(k, 0))}


def _encoded(value: Any) -> str:
    if not isinstance(value, Fraction):
        raise TypeError(f"{type(value).__name__} does not stand in records")
    return str(value)


def read_record(value: Any, kind: Any, name: str) -> Any:
    """The record that a JSON value stands for.

    Args:
        value: as `json` reads it.
        kind: the class of the record, or a union of such.
        name: of the file, for errors.

    Raises:
        FileFormatError: when an entry is missing or is not what it may be, with its place.
    """
    try:
        return msgspec.convert(value, kind, dec_hook=_decoded)
    except msgspec.ValidationError as error:
        from syncoll.documents.record_schema import explained  # which good files do not need

        raise FileFormatError(f"{name}: {explained(str(error), value, kind)}") from None


def _decoded(kind: type, value: Any) -> Any:
    if not isinstance(value, str) or _RATIO.fullmatch(value) is None:
        raise ValueError("Expected an exact rational as text, such as 7/6 or 2")
    try:
        return Fraction(value)
    except ZeroDivisionError:
        raise ValueError("Expected a denominator other than 0") from None
