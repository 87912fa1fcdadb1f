"""JSON as text: read strictly and never for long, written so that people can read it."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from math import isfinite
from typing import Any

import msgspec

__all__ = ["JsonTextError", "compact_text", "parse_json", "shown", "to_text"]

_WIDEST = 60
_LONG = 64


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


def to_text(value: object, indent: str = "", *, ascii_only: bool = False) -> str:
    """The value as JSON text without a final line break; it can always be encoded in UTF-8.

    Objects are indented, lists of numbers stand on one line each.

    Args:
        value: what `json` takes; objects and lists may not be nested deeper than some hundreds.
        indent: of the lines behind the first.
        ascii_only: escape everything else, for streams that cannot say it.
    """
    pieces: list[str] = []  # joined once: there may be hundreds of megabytes
    _add_text(pieces, value, indent, ascii_only)
    return "".join(pieces)


def _add_text(pieces: list[str], value: object, indent: str, ascii_only: bool) -> None:
    """Adds the pieces of `to_text`."""
    deeper = indent + "  "
    if isinstance(value, dict) and value:
        opening = "{\n" + deeper
        for key, one in value.items():
            pieces += opening, _scalar(str(key), ascii_only), ": "
            _add_text(pieces, one, deeper, ascii_only)
            opening = ",\n" + deeper
        pieces.append("\n" + indent + "}")
    elif isinstance(value, list) and dict in set(map(type, value)):
        opening = "[\n" + deeper
        for one in value:
            pieces.append(opening)
            _add_text(pieces, one, deeper, ascii_only)
            opening = ",\n" + deeper
        pieces.append("\n" + indent + "]")
    else:
        pieces.append(_scalar(value, ascii_only))


def compact_text(value: object) -> str:
    """The value as JSON text without spaces, in ASCII, with the keys of objects in order."""
    pieces: list[str] = []
    _add_compact(pieces, value)
    return "".join(pieces)


def _add_compact(pieces: list[str], value: object) -> None:
    """Adds the pieces of `compact_text`."""
    if isinstance(value, dict):
        opening = "{"
        for key in sorted(value):
            pieces += opening, json.dumps(str(key)), ":"
            _add_compact(pieces, value[key])
            opening = ","
        pieces.append("}" if value else "{}")
    elif isinstance(value, list) and dict in set(map(type, value)):
        opening = "["
        for one in value:
            pieces.append(opening)
            _add_compact(pieces, one)
            opening = ","
        pieces.append("]")
    else:
        numbers = _whole_numbers(value)
        if numbers is None:
            pieces.append(json.dumps(value, sort_keys=True, separators=(",", ":")))
        else:
            pieces.append(numbers.decode())


def _whole_numbers(value: object) -> bytes | None:
    """The text, without spaces, of a long list of whole numbers and lists of them; else None.

    There may be millions, which `json` takes ten times as long for.
    """
    if not isinstance(value, list) or len(value) < _LONG:
        return None
    try:
        text = msgspec.json.encode(value)
    except (
        TypeError,
        ValueError,
        OverflowError,
        RecursionError,
    ):  # which json may take, or say what is wrong
        return None
    return None if text.translate(None, b"0123456789-,[]") else text


def _scalar(value: object, ascii_only: bool) -> str:
    numbers = _whole_numbers(value)
    if numbers is not None:
        return msgspec.json.format(numbers, indent=0).decode()
    text = json.dumps(value, ensure_ascii=ascii_only, allow_nan=False)
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:  # half of a surrogate pair, as in a file name that is no UTF-8
            return json.dumps(value, allow_nan=False)
    return text
