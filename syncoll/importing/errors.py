"""Errors that point at a line of the text that was read."""

from __future__ import annotations

import re
from collections.abc import Sequence

from syncoll.errors import ImportFormatError

__all__ = ["complaint", "shortened"]

_WIDEST = 140
_LONG_WORD = re.compile(r"(\S{80})\S+")


def complaint(
    label: str, message: str, *, line: int = 0, text: str = "", expected: str = ""
) -> ImportFormatError:
    """Makes an error in a description of a machine.

    Args:
        message: words of more than 80 characters are cut.
        line: counted from 1; 0 when it is in no single line.
        expected: the end of ``expected …``.
    """
    message = _LONG_WORD.sub(r"\1…", message)
    parts = [f"{label}:{line}: {message}" if line else f"{label}: {message}"]
    if text.strip():
        shown = "".join(c if c.isprintable() else " " for c in text).rstrip()
        if len(shown) > _WIDEST:
            shown = shown[:_WIDEST] + "…"
        parts.append(f"{line} | {shown}" if line else shown)
    if expected:
        parts.append(f"expected {expected}")
    return ImportFormatError("\n".join(parts))


def shortened(names: Sequence[str], most: int) -> str:
    """Names in a row, of many the first: ``a, b and 3 more``."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
