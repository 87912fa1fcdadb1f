"""Where output goes: results to standard output, everything else to standard error.

Nothing that a name or a file contains can break it: what the stream's encoding cannot say is
written in plain characters, control characters are made visible, and a reader that has gone
(``syncoll show … | head``) does not end the command.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TextIO

from syncoll.errors import SyncollError, UsageError

__all__ = ["counted", "flush", "note", "print_json", "print_table", "print_text", "width", "write"]

_WIDTH_WITHOUT_TERMINAL = 110
_LEAST_WIDTH = 60
_GAP = "  "
_PLAIN = str.maketrans({"…": "...", "─": "-", "—": "-", "≥": ">=", "≤": "<="})
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def width() -> int:
    """How many columns a table may fill: the terminal's, or enough for every table."""
    stream = sys.stdout
    if stream is None or not stream.isatty():
        return _WIDTH_WITHOUT_TERMINAL
    return max(_LEAST_WIDTH, shutil.get_terminal_size().columns - 1)


def print_text(text: str = "") -> None:
    """A line on standard output."""
    write(sys.stdout, f"{_visible(text)}\n")


def note(text: str) -> None:
    """A line on standard error."""
    with contextlib.suppress(SyncollError):  # nobody is left who could be told
        write(sys.stderr, f"{_visible(text)}\n")


def print_json(document: Mapping[str, Any]) -> None:
    """A document on standard output."""
    from syncoll.files.text import to_text

    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    text = to_text(dict(document))
    if not _can_say(encoding, text):
        text = to_text(dict(document), ascii_only=True)
    write(sys.stdout, f"{text}\n")


def counted(number: int, noun: str) -> str:
    """A number with its noun: ``1 step``, ``2 steps``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def write(stream: TextIO | None, text: str) -> None:
    """Writes to a stream that may be closed, narrow of encoding, or have lost its reader.

    Raises:
        UsageError: when the stream cannot take it, as on a full disk.
    """
    if stream is None:  # closed by whoever started us
        return
    encoding = stream.encoding or "utf-8"
    if not _can_say(encoding, text):
        text = text.translate(_PLAIN).encode(encoding, "backslashreplace").decode(encoding)
    _guarded(stream, lambda: stream.write(text))


def flush() -> None:
    """Hands everything written to standard output to the system; raises as `write` does."""
    stream = sys.stdout
    if stream is not None:
        _guarded(stream, stream.flush)


def _guarded(stream: TextIO, act: Callable[[], object]) -> None:
    try:
        act()
    except BrokenPipeError:
        _lead_away(stream)
    except OSError as error:
        _lead_away(stream)
        raise UsageError(f"cannot write the output: {error.strerror or error}") from error


def _lead_away(stream: TextIO) -> None:
    """Sends whatever else is written to a stream to nowhere; its reader has gone."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _visible(text: str) -> str:
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def _can_say(encoding: str, text: str) -> bool:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table on standard output; columns whose name starts with ``>`` are aligned to the right.

    Where it is too wide, the widest columns are wrapped between words.
    """
    right = [column.startswith(">") for column in columns]
    cells = [[column.removeprefix(">") for column in columns], *([str(c) for c in r] for r in rows)]
    widths = _widths(cells, width())
    ruler = "  " + _GAP.join("─" * w for w in widths)
    for number, row in enumerate(cells):
        if number == 1:
            print_text(ruler)
        wrapped = [_wrap(cell, w) for cell, w in zip(row, widths, strict=True)]
        for i in range(max(len(lines) for lines in wrapped)):
            parts = [lines[i] if i < len(lines) else "" for lines in wrapped]
            line = _GAP.join(
                part.rjust(w) if to_right else part.ljust(w)
                for part, w, to_right in zip(parts, widths, right, strict=True)
            )
            print_text(f"  {line}".rstrip())
    if not rows:
        print_text(ruler)
    print_text()


def _widths(cells: list[list[str]], available: int) -> list[int]:
    """How wide each column becomes: as wide as its cells, less where the table is too wide."""
    columns = list(zip(*cells, strict=True))
    widths = [max(map(len, column)) for column in columns]
    least = [max((len(w) for c in column for w in c.split()), default=1) for column in columns]
    excess = sum(widths) + len(_GAP) * len(widths) - available
    while excess > 0:
        able = [i for i in range(len(widths)) if widths[i] > least[i]]
        if not able:
            break
        widest = max(able, key=lambda i: widths[i])
        widths[widest] -= 1
        excess -= 1
    return widths


def _wrap(cell: str, columns: int) -> list[str]:
    if len(cell) <= columns:
        return [cell]
    return textwrap.wrap(cell, columns, break_long_words=False, break_on_hyphens=False)
