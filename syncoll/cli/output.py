"""Where output goes: results to standard output, everything else to standard error."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["console", "note", "print_json", "print_text", "table"]

_WIDTH_WITHOUT_TERMINAL = 110


def console() -> Console:
    """A console on standard output; wide enough for tables when that is no terminal."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else _WIDTH_WITHOUT_TERMINAL
    return Console(width=width, highlight=False, markup=False, emoji=False)


def print_text(text: str = "") -> None:
    """A line on standard output, as it is."""
    sys.stdout.write(f"{text}\n")


def note(text: str) -> None:
    """A line on standard error."""
    sys.stderr.write(f"{text}\n")


def print_json(document: Mapping[str, Any]) -> None:
    """A document on standard output."""
    from syncoll.files.text import to_text

    print_text(to_text(dict(document)))


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Table:
    """A table; columns whose name starts with ``>`` are aligned to the right."""
    from rich import box
    from rich.table import Table

    result = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD)
    for column in columns:
        result.add_column(column.lstrip(">"), justify="right" if column.startswith(">") else "left")
    for row in rows:
        result.add_row(*(str(cell) for cell in row))
    return result
