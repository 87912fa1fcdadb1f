"""Reads the file that describes a machine, in any encoding that its tool or shell wrote."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from syncoll.errors import ImportFormatError
from syncoll.spec.source import decode

_WIDEST = 140
_LONG_WORD = re.compile(r"(\S{80})\S+")


class TextError(ImportFormatError):
    """An error in a description of a machine; the core adds the label of the description.

    Args:
        message: words of more than 80 characters are cut.
        expected: the end of ``expected …``.
        line: counted from 1; 0 if it is in no single line.
        text: of that line.
    """

    def __init__(self, message: str, expected: str = "", line: int = 0, text: str = "") -> None:
        message = _LONG_WORD.sub(r"\1…", message)
        parts = [f"{line}: {message}" if line else message]
        if text.strip():
            shown = "".join(c if c.isprintable() else " " for c in text).rstrip()
            if len(shown) > _WIDEST:
                shown = shown[:_WIDEST] + "…"
            parts.append(f"{line} | {shown}" if line else shown)
        if expected:
            parts.append(f"expected {expected}")
        super().__init__("\n".join(parts))
        self.line = line

    def of(self, label: str) -> ImportFormatError:
        """The error with the label of the description before it."""
        return ImportFormatError(f"{label}:{'' if self.line else ' '}{self}")


def shortened(names: Sequence[str], most: int) -> str:
    """Names in a row, and the first of many: ``a, b and 3 more``."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


LARGEST_FILE = 16 << 20
"""Largest size of a file in bytes; the largest known dumps have a few hundred thousand."""


def read_description(file: str) -> str:
    """The text of a file, or of standard input for ``-``; ImportFormatError if it is missing."""
    label = "standard input" if file == "-" else file
    try:
        if file == "-":
            if sys.stdin is None:
                raise ImportFormatError("standard input is closed; name a file")
            data = sys.stdin.buffer.read(LARGEST_FILE + 1)
        else:
            path = Path(file)
            if path.exists() and not path.is_file():
                what = "a folder" if path.is_dir() else "not a regular file"
                raise ImportFormatError(
                    f"{label} is {what}; name a file with the output of the tool"
                )
            with path.open("rb") as stream:
                data = stream.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        raise ImportFormatError(f"file {label!r} does not exist") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise ImportFormatError(f"cannot read {label}: {reason}") from None
    if len(data) > LARGEST_FILE:
        raise ImportFormatError(
            f"{label}: larger than {LARGEST_FILE >> 20} MiB; no description of a machine is"
        )
    return text_of(data, label)


def text_of(data: bytes, label: str) -> str:
    """Decodes UTF-8, or UTF-16 and UTF-32 with a mark; ImportFormatError if it is not text."""
    try:
        text = decode(data)
    except UnicodeDecodeError as error:
        data = error.object  # without its mark
        line = data[: error.start].count(b"\n") + 1
        raise ImportFormatError(
            f"{label}:{line}: byte {data[error.start]:#04x} is not {error.encoding} text; "
            "expected the text that the tool printed"
        ) from None
    if not text.strip():
        raise ImportFormatError(f"{label}: it is empty; expected the text that the tool printed")
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise ImportFormatError(f"{label}:{line}: a NUL byte; expected the text of a tool")
    return text.replace("\r\n", "\n").replace("\r", "\n")
