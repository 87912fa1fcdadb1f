"""JSON as other tools write it: parsed strictly, with exact numbers, and never for long."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

from syncoll.documents import json_text
from syncoll.documents.json_text import JsonTextError, shown
from syncoll.importing.errors import complaint

__all__ = ["exact_number", "parse_json", "shown"]

_MOST_DIGITS = 30
_NUMBER = re.compile(r"[0-9]{1,30}(\.[0-9]{1,30})?([eE][-+]?[0-9]{1,2})?|[0-9]{1,15}/[0-9]{1,15}")


def parse_json(text: str, label: str) -> Any:
    """The value of a JSON text; numbers with a point become `Decimal`.

    Raises:
        ImportFormatError: if it is not JSON, gives a key twice, holds NaN, an infinity or a number
            of too many digits, or nests too deeply.
    """
    try:
        return json_text.parse_json(text.removeprefix("\ufeff"), _decimal)
    except JsonTextError as error:
        if not error.line:
            raise complaint(label, str(error)) from None
        start = max(0, error.column - 61)
        raise complaint(
            label,
            f"{error} at column {error.column}",
            line=error.line,
            text=text.split("\n")[error.line - 1][start : start + 120],
            expected="one JSON value and nothing behind it",
        ) from None


def _decimal(digits: str) -> Decimal:
    if len(digits) > 2 * _MOST_DIGITS:
        raise JsonTextError(f"a number of {len(digits)} digits is too large")
    return Decimal(digits)


def exact_number(value: object) -> Fraction | None:
    """A number from JSON or from text, exactly; None when it is not one, or out of range.

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
