"""JSON as strangers write it: parsed strictly, with exact numbers, and never for long."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any, NoReturn

from syncoll.errors import ImportFormatError
from syncoll.importing.complaints import complaint

__all__ = ["exact_number", "parse_json", "shown"]

_MOST_DIGITS = 30
_WIDEST = 60
_NUMBER = re.compile(r"[0-9]{1,30}(\.[0-9]{1,30})?([eE][-+]?[0-9]{1,2})?|[0-9]{1,15}/[0-9]{1,15}")


def parse_json(text: str, label: str) -> Any:
    """The value that a JSON text stands for; numbers with a point become `Decimal`.

    Args:
        text: the whole file.
        label: what the user calls it.

    Raises:
        ImportFormatError: when it is no JSON, gives a key twice, holds NaN, an infinity or a number
            of more than 30 digits, or nests too deeply.
    """

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(items)
        if len(result) < len(items):
            names = [name for name, _ in items]
            twice = next(name for i, name in enumerate(names) if name in names[:i])
            raise complaint(label, f"the key {shown(twice)} occurs twice in one object")
        return result

    def whole(digits: str) -> int:
        if len(digits.lstrip("-")) > _MOST_DIGITS:
            raise complaint(label, f"a number of {len(digits)} digits")
        return int(digits)

    def decimal(digits: str) -> Decimal:
        if len(digits) > 2 * _MOST_DIGITS:
            raise complaint(label, f"a number of {len(digits)} digits")
        return Decimal(digits)

    def constant(name: str) -> NoReturn:
        raise complaint(label, f"{name} is no number of JSON")

    try:
        return json.loads(
            text.removeprefix("\ufeff"),
            object_pairs_hook=pairs,
            parse_int=whole,
            parse_float=decimal,
            parse_constant=constant,
        )
    except json.JSONDecodeError as error:
        raise _syntax(text, label, error) from None
    except RecursionError:
        raise complaint(label, "it nests too deeply to be a topology") from None


def _syntax(text: str, label: str, error: json.JSONDecodeError) -> ImportFormatError:
    lines = text.split("\n")
    line = lines[error.lineno - 1] if error.lineno <= len(lines) else ""
    start = max(0, error.colno - 61)
    return complaint(
        label,
        f"no JSON: {error.msg[:1].lower()}{error.msg[1:]} at column {error.colno}",
        line=error.lineno,
        text=line[start : start + 120],
        expected="one JSON value and nothing behind it",
    )


def exact_number(value: object) -> Fraction | None:
    """A number from JSON or from text, exactly; None when it is none, or beyond all measure.

    Args:
        value: an int, a `Decimal`, a finite float (taken as it is written), or a text such as
            ``25``, ``1.5``, ``3/2``, ``1e3``; below 10^30, and above 10^-30 or 0.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return Fraction(value) if abs(value) < 10**_MOST_DIGITS else None
    if isinstance(value, float):
        value = Decimal(repr(value))
    if isinstance(value, Decimal):
        if not value.is_finite() or abs(value.adjusted()) > _MOST_DIGITS:
            return None
        return Fraction(value)
    if not isinstance(value, str) or _NUMBER.fullmatch(value.strip()) is None:
        return None
    try:
        number = Fraction(value.strip())
    except ZeroDivisionError:
        return None
    return number if number < 10**_MOST_DIGITS else None


def shown(value: object) -> str:
    """A value as an error message quotes it: short, and on one line."""
    text = str(value) if isinstance(value, Decimal) else repr(value)
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"
