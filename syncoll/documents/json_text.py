"""JSON as text: read strictly and never for long, written compactly for digests."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from math import isfinite
from typing import Any

import msgspec

__all__ = ["JsonTextError", "compact_text", "parse_json", "shown", "whole_numbers"]

_WIDEST = 60
_LONG = 64
_OTHERS = (TypeError, ValueError, OverflowError, RecursionError)
"""What msgspec says of what `json` may take, or says what is wrong with."""
_NOT_ALIKE = re.compile(rb"[^\x20-\x7e]|\\|[0-9]e|0\.0000")
"""Exponents and small numbers, which the two write differently, and what they escape."""


class JsonTextError(ValueError):
    """A text that is not JSON as syncoll reads it.

    Args:
        message: what is wrong.
        line: where, counted from 1; 0 where that is not known.
        column: likewise.
    """

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


def parse_json(text: str, number: Callable[[str], Any] | None = None) -> Any:
    """The value that a JSON text stands for.

    Args:
        text: the whole text, without a byte order mark.
        number: makes a value of a number with a point or exponent, or raises `JsonTextError`; None
            for a finite float.

    Raises:
        JsonTextError: when it is not JSON, gives a key twice, holds NaN, an infinity or a number
            that is too large, or nests too deeply.
    """
    try:
        return json.loads(
            text,
            object_pairs_hook=_no_repeats,
            parse_constant=_no_constant,
            parse_float=number or _finite,
        )
    except json.JSONDecodeError as error:
        cut = " (is the file truncated?)" if error.pos >= len(text.rstrip()) else ""
        raise JsonTextError(f"not JSON: {error.msg}{cut}", error.lineno, error.colno) from None
    except RecursionError:
        raise JsonTextError("nested too deeply") from None
    except JsonTextError:
        raise
    except ValueError:  # of int(): Python's own limit on digits
        raise JsonTextError("a number of thousands of digits is too large") from None


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise JsonTextError(f"the key {shown(twice)} occurs twice in one object")
    return result


def _no_constant(text: str) -> float:
    raise JsonTextError(f"{text} is not a number in JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise JsonTextError(f"the number {text[:20]} is too large")
    return value


def shown(value: object) -> str:
    """A value as an error message quotes it: short, and on one line."""
    text = str(value) if isinstance(value, Decimal) else repr(value)
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"


def compact_text(value: object) -> str:
    """The value as JSON text without spaces, in ASCII, with the keys of objects in order.

    It is the text of `json`.  msgspec writes the same up to ten times as fast, but for some floats
    and what is not printable ASCII.
    """
    try:
        text = msgspec.json.encode(value, order="sorted")
        if not _NOT_ALIKE.search(text):
            return text.decode()
    except _OTHERS:
        pass
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def whole_numbers(value: object) -> bytes | None:
    """The text, without spaces, of a long list of whole numbers and lists of them; else None.

    There may be millions, which `json` takes ten times as long for.
    """
    if not isinstance(value, list) or len(value) < _LONG:
        return None
    try:
        text = msgspec.json.encode(value)
    except _OTHERS:
        return None
    return None if text.translate(None, b"0123456789-,[]") else text
