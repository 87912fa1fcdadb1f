"""Readable JSON text."""

from __future__ import annotations

import json
from functools import lru_cache

import msgspec

from syncoll.documents.json_text import whole_numbers

__all__ = ["to_text"]


def to_text(value: object, indent: str = "", *, ascii_only: bool = False) -> str:
    """The value as JSON text without a final line break; it can always be encoded in UTF-8.

    Objects are indented; each list of numbers is a line.

    Args:
        value: for `json`; nested at most some hundred levels deep.
        indent: of the lines after the first.
        ascii_only: escape other characters, for streams that cannot encode them.
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


@lru_cache(1024)
def _key(value: str, ascii_only: bool) -> str:
    return _scalar(value, ascii_only)


def _scalar(value: object, ascii_only: bool) -> str:
    numbers = whole_numbers(value)
    if numbers is not None:
        return msgspec.json.format(numbers, indent=0).decode()
    if type(value) is list and set(map(type, value)) <= {int}:
        return str(value)  # short, and there may be hundreds of thousands
    text = json.dumps(value, ensure_ascii=ascii_only, allow_nan=False)
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:  # a lone surrogate, as in a file name that is not UTF-8
            return json.dumps(value, allow_nan=False)
    return text
