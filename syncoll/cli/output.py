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
from syncoll.wording import counted

__all__ = [
    "counted",
    "flush",
    "note",
    "print_json",
    "print_table",
    "print_text",
    "width",
    "write",
    "write_bytes",
]

_LEAST_WIDTH = 20
"""Narrower terminals, and those that say they have no columns at all, are treated like this."""
_GAP = "  "
_PLAIN = str.maketrans({"…": "...", "─": "-", "—": "-", "≥": ">=", "≤": "<="})
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def width() -> int | None:
    """How many columns a table may fill; None for any number.

    That is one less than the terminal has, where the last one may wrap.  Elsewhere, in a file or a
    pipe, only the variable ``COLUMNS`` limits it.
    """
    stream = sys.stdout
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given) > 0:
        columns = int(given)
    elif stream is not None and stream.isatty():
        columns = shutil.get_terminal_size().columns
    else:
        return None
    return max(_LEAST_WIDTH, columns - 1)


def print_text(text: str = "") -> None:
    """A line, or several, on standard output; too long ones are wrapped between words."""
    available = width()
    for line in _visible(text).split("\n"):
        if available is None or len(line) <= available:
            _print_line(line)
            continue
        indent = " " * min(len(line) - len(line.lstrip()) + 2, available // 2)
        wrapped = textwrap.wrap(
            line,
            available,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for part in wrapped:
            _print_line(part)


def _print_line(line: str) -> None:
    write(sys.stdout, f"{line}\n")


def note(text: str) -> None:
    """A line on standard error."""
    with contextlib.suppress(SyncollError):  # nobody is left who could be told
        write(sys.stderr, f"{_visible(text)}\n")


def print_json(document: Mapping[str, Any]) -> None:
    """A document on standard output."""
    from syncoll.documents.json_text import to_text

    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    text = to_text(dict(document))
    if not _can_say(encoding, text):
        text = to_text(dict(document), ascii_only=True)
    write(sys.stdout, f"{text}\n")


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


def write_bytes(content: bytes) -> None:
    """A file's content on standard output, as it is; raises as `write` does."""
    stream = sys.stdout
    if stream is None:
        return
    binary = getattr(stream, "buffer", None)

    def act() -> None:
        if binary is None:  # a stream of text alone stands in
            stream.write(content.decode())
        else:
            stream.flush()
            binary.write(content)
            binary.flush()

    _guarded(stream, act)


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

    Where it is too wide, the widest columns are wrapped between words; where even that is not
    enough, each row becomes a record of its own, with a line or a few for each of its cells.
    """
    right = [column.startswith(">") for column in columns]
    cells = [[column.removeprefix(">") for column in columns], *([str(c) for c in r] for r in rows)]
    available = width()
    widths = _widths(cells, available)
    if available is not None and _total(widths) > available and rows:
        _print_records(cells[0], cells[1:], available)
        return
    ruler = "  " + _GAP.join("─" * w for w in widths)
    for number, row in enumerate(cells):
        if number == 1:
            _print_line(ruler)
        wrapped = [_wrap(cell, w) for cell, w in zip(row, widths, strict=True)]
        for i in range(max(len(lines) for lines in wrapped)):
            parts = [lines[i] if i < len(lines) else "" for lines in wrapped]
            line = _GAP.join(
                part.rjust(w) if to_right else part.ljust(w)
                for part, w, to_right in zip(parts, widths, right, strict=True)
            )
            _print_line(_visible(f"  {line}".rstrip()))
    if not rows:
        _print_line(ruler)
    print_text()


def _print_records(names: list[str], rows: list[list[str]], available: int) -> None:
    """The rows as blocks, one cell a line behind its column's name; empty cells are left out."""
    longest = max(map(len, names))
    for number, row in enumerate(rows):
        if number:
            print_text()
        last = ""
        for name, cell in zip(names, row, strict=True):
            label, last = name or last, name or last  # a column without a name continues the last
            if not cell:
                continue
            start = f"  {label.ljust(longest)}  "
            room = available - len(start)
            lines = _wrap(cell, max(room, 8), cut=True)
            _print_line(_visible(start + lines[0]))
            for line in lines[1:]:
                _print_line(_visible(" " * len(start) + line))
    print_text()


def _total(widths: list[int]) -> int:
    """The columns that a table of these takes, with the gaps and the margin."""
    return sum(widths) + len(_GAP) * len(widths)


def _widths(cells: list[list[str]], available: int | None) -> list[int]:
    """How wide each column becomes: as wide as its cells, less where the table is too wide."""
    columns = list(zip(*cells, strict=True))
    widths = [max(map(len, column)) for column in columns]
    if available is None:
        return widths
    least = [max((len(w) for c in column for w in c.split()), default=1) for column in columns]
    excess = _total(widths) - available
    while excess > 0:
        able = [i for i in range(len(widths)) if widths[i] > least[i]]
        if not able:
            break
        widest = max(able, key=lambda i: widths[i])
        widths[widest] -= 1
        excess -= 1
    return widths


def _wrap(cell: str, columns: int, *, cut: bool = False) -> list[str]:
    """The lines of a cell; with `cut`, words that are longer than a line are cut."""
    if len(cell) <= columns:
        return [cell]
    return textwrap.wrap(cell, columns, break_long_words=cut, break_on_hyphens=False)
