"""JSON text: read strictly and in bounded time, written readably, and compactly for digests."""

import gc
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import isfinite
from typing import Any

import msgspec

_WIDEST = 60
_LONG = 64
_OTHERS = (TypeError, ValueError, OverflowError, RecursionError)
"""Errors of msgspec on values that are left to `json`."""
_NOT_ALIKE = re.compile(rb"[^\x20-\x7e]|\\|[0-9]e|0\.0000")
"""Text that msgspec and `json` may write differently: exponents, small numbers, escapes."""


class JsonTextError(ValueError):
    """A text that is not JSON as syncoll reads it, with line and column from 1, or 0 if unknown."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


def parse_json(text: str, number: Callable[[str], Any] | None = None) -> Any:
    """The value of a JSON text without a byte order mark.  Raises `JsonTextError` if it is not
    JSON, gives a key twice, holds NaN, an infinity or a number that is too large, or nests too
    deeply.

    `number` converts a number with a point or exponent, or raises `JsonTextError`; by default to a
    finite float.
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
    except ValueError:  # for int(): Python's own limit on digits
        raise JsonTextError("a number of thousands of digits is too large") from None


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        [(twice, _)] = Counter(key for key, _ in pairs).most_common(1)
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
    """A value in an error message: short, and on one line."""
    text = str(value) if isinstance(value, Decimal) else repr(value)
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"


def compact_text(value: object) -> str:
    """The value as JSON text without spaces, in ASCII, with sorted keys.

    msgspec writes the text of `json` up to ten times as fast, except some floats and characters
    other than printable ASCII.
    """
    try:
        text = msgspec.json.encode(value, order="sorted")
        if not _NOT_ALIKE.search(text):
            return text.decode()
    except _OTHERS:
        pass
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _whole_numbers(value: object) -> bytes | None:
    """The text, without spaces, of a long list of whole numbers and lists of them; else None."""
    if not isinstance(value, list) or len(value) < _LONG:
        return None
    try:
        text = msgspec.json.encode(value)
    except _OTHERS:
        return None
    return None if text.translate(None, b"0123456789-,[]") else text


@contextmanager
def collected_later() -> Iterator[None]:
    """Pauses the collection of reference cycles, which took two thirds of writing a large file, and
    half of counting the needs of an export."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def to_text(value: object, *, ascii_only: bool = False) -> str:
    """The value as JSON text without a final line break; it can always be encoded in UTF-8.

    Objects are indented; each list of numbers is a line.  Values are nested at most some hundred
    levels deep.  With `ascii_only` other characters are escaped, for streams that cannot encode
    them.
    """
    pieces: list[str] = []  # joined once: there may be hundreds of megabytes
    _add_text(pieces, value, "", ascii_only)
    return "".join(pieces)


def _add_text(pieces: list[str], value: object, indent: str, ascii_only: bool) -> None:
    deeper = indent + "  "
    if isinstance(value, dict) and value:
        opening = "{\n" + deeper
        for key, one in value.items():
            pieces += opening, _key(str(key), ascii_only), ": "
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


def _scalar(value: object, ascii_only: bool) -> str:
    numbers = _whole_numbers(value)
    if numbers is not None:
        return msgspec.json.format(numbers, indent=0).decode()
    if type(value) is list and set(map(type, value)) <= {int}:
        return str(value)  # short, and there may be hundreds of thousands
    text = json.dumps(value, ensure_ascii=ascii_only, allow_nan=False, default=exact_text)
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:  # a lone surrogate, as in a file name that is not UTF-8
            return json.dumps(value, allow_nan=False)
    return text


_key = lru_cache(1024)(_scalar)


def exact_text(value: object) -> str:
    """A rational as text; libraries write others."""
    if not isinstance(value, Fraction):
        raise TypeError(f"{type(value).__name__} does not stand in JSON")
    return str(value)
