"""Where output goes: results to standard output, everything else to standard error.

No name or file can break it: characters outside the encoding of the stream are written in plain
ones, control characters are made visible, and a closed pipe (``syncoll show … | head``) does not
end the command.
"""

import argparse
import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from typing import Any, TextIO

from syncoll import documents
from syncoll.errors import SyncollError, UsageError
from syncoll.pages.page import Page, visible

_LEAST_WIDTH = 20
"""The width for narrower terminals, and for terminals without a number of columns."""
_PLAIN = str.maketrans({"…": "...", "─": "-", "—": "-", "≥": ">=", "≤": "<="})


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


def print_page(page: Page) -> None:
    """A page on standard output."""
    for line in page.lines(width()):
        write(sys.stdout, f"{line}\n")


def print_text(text: str = "") -> None:
    """A line, or several, on standard output; too long ones are wrapped between words."""
    print_page(Page().text(text))


def note(text: str) -> None:
    """A line on standard error."""
    with contextlib.suppress(SyncollError):  # there is no one left to read it
        write(sys.stderr, f"{visible(text)}\n")


def print_value(arguments: argparse.Namespace, value: Any, **how: Any) -> None:
    """Prints a page or a document, see `--format`; `how`: arguments of the page."""
    if arguments.format == "json":
        print_json(value.document())
    else:
        print_page(value.page(**how))


def print_json(document: Mapping[str, Any]) -> None:
    """A document on standard output."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    text = documents.to_text(dict(document))
    if not _can_say(encoding, text):
        text = documents.to_text(dict(document), ascii_only=True)
    write(sys.stdout, f"{text}\n")


def write(stream: TextIO | None, text: str) -> None:
    """Writes to a stream that may be closed, narrow of encoding, or have lost its reader.  Raises
    `UsageError` if writing fails, as on a full disk."""
    if stream is None:  # closed by the parent process
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
        _redirect(stream)
    except OSError as error:
        _redirect(stream)
        raise UsageError(f"cannot write the output: {error.strerror or error}") from error


def _redirect(stream: TextIO) -> None:
    """Discards all further output of a stream whose reader has gone."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _can_say(encoding: str, text: str) -> bool:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
