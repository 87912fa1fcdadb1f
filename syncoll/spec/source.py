"""Spec text and places in it, which every later stage uses to locate errors."""

import codecs
import re
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NoReturn

from syncoll.errors import Origin, SpecError
from syncoll.spec.limits import MAX_FILE_BYTES
from syncoll.wording import where_typed

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_GLANCE = 4096
"""Bytes in which an encoding without a mark is searched for."""

_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True, eq=False)
class Source:
    """A text whose lines end with a line feed, and its label: the file as the user named it.  A
    typed text is in no file, and its label is the result of `where_typed`."""

    label: str
    text: str = field(repr=False)
    is_typed: bool = False

    @classmethod
    def typed(cls, text: str) -> "Source":
        """A text that is in no file."""
        return cls(where_typed(), text, is_typed=True)

    @cached_property
    def line_starts(self) -> list[int]:
        """The position at which each line begins."""
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    def line(self, number: int) -> str:
        """A line without its line break, counted from 1."""
        start = self.line_starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : len(self.text) if end < 0 else end]

    def span(self, start: int, end: int) -> "Span":
        """The place between two positions."""
        return Span(self, start, end)


@dataclass(frozen=True, slots=True, eq=False)
class Span:
    """A piece of a source: the characters from `start` up to but not including `end`."""

    source: Source
    start: int
    end: int

    def __reduce__(self) -> "tuple[type[Span], tuple[Source, int, int]]":
        return Span, (self.source, self.start, self.end)  # twice as fast as the pickling of slots

    @property
    def line(self) -> int:
        """The line where it begins, counted from 1."""
        return bisect_right(self.source.line_starts, self.start)

    @property
    def text(self) -> str:
        """The characters themselves."""
        return self.source.text[self.start : self.end]

    @property
    def origin(self) -> Origin:
        """The place as errors hold it; a piece of several lines is shown by its first line."""
        number = self.line
        line = _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", self.source.line(number))
        column = self.start - self.source.line_starts[number - 1] + 1
        width = max(1, min(self.end - self.start, len(line) - column + 1))
        return Origin(self.source.label, number, column, line, width)

    def to(self, other: "Span") -> "Span":
        """From the start of this piece to the end of another."""
        return Span(self.source, self.start, other.end)

    def error(self, message: str, expected: str = "") -> SpecError:
        """An error at this place."""
        return SpecError(message, self.origin, expected)


def read_source(path: Path, label: str, blame: Span | None = None) -> Source:
    """Reads a spec file; raises SpecError if it is missing, unreadable, too large, or not text."""
    origin = blame.origin if blame else Origin(label, 1, 1, "")
    if path.is_dir():
        raise SpecError(f"{label} is a folder", origin, "a .syncoll file")
    try:
        if path.exists() and not path.is_file():
            raise SpecError(f"{label} is not a regular file", origin, "a .syncoll file")
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        raise SpecError(
            f"file {label} does not exist", origin, "an existing .syncoll file"
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SpecError(f"cannot read {label}: {reason}", origin, "a readable file") from None
    if len(data) > MAX_FILE_BYTES:
        raise SpecError(
            f"{label} is larger than {MAX_FILE_BYTES >> 20} MiB",
            origin,
            "a smaller file; generate long lists of links with `for`",
        )
    text = _decode(data, label, origin)
    source = Source(label, text.replace("\r\n", "\n").replace("\r", "\n"))
    nul = source.text.find("\0")
    if nul >= 0:
        raise source.span(nul, nul + 1).error(f"{label} contains a NUL byte", "plain text")
    return source


def decode(data: bytes) -> str:
    """Text in UTF-8, or as its byte order mark says; raises UnicodeDecodeError."""
    return data.decode(_encoding(data))


def _encoding(data: bytes) -> str:
    return next((encoding for mark, encoding in _MARKS if data.startswith(mark)), "utf-8")


def _decode(data: bytes, label: str, origin: Origin) -> str:
    """The text, or an error that names its apparent encoding."""
    encoding = _encoding(data)
    if encoding == "utf-8":
        start = data[:_GLANCE]
        pairs = len(start) // 2
        even, odd = (start[i : 2 * pairs : 2].count(0) for i in (0, 1))
        # Every second byte is zero, as in UTF-16 of plain letters.
        for name, zeros, others in (("little", odd, even), ("big", even, odd)):
            if pairs > 1 and zeros > 0.9 * pairs and not others:
                raise SpecError(
                    f"{label} looks like UTF-16 ({name} endian) text without a byte order mark",
                    origin,
                    "a file in UTF-8, or in UTF-16 with a byte order mark",
                )
        if start.count(0) > len(start) // 20:
            raise SpecError(f"{label} is not a text file", origin, "a file in UTF-8")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        if encoding in ("utf-8", "utf-8-sig"):
            _refuse_bytes(label, error)
        name = encoding.upper()
        raise SpecError(
            f"{label} begins with the mark of {name}, but is not such text from byte "
            f"{error.start} on",
            origin,
            f"a file in {name} or UTF-8",
        ) from None


def _refuse_bytes(label: str, error: UnicodeDecodeError) -> NoReturn:
    """Raises an error at the first byte that is not UTF-8."""
    data = error.object  # without its mark
    before = data[: error.start].decode().replace("\r\n", "\n").replace("\r", "\n")
    rest = data[error.start : error.start + 80].decode("latin-1")
    source = Source(label, before + rest.replace("\r", "\n"))
    byte = data[error.start]
    what, expected = f"byte {byte:#04x} is not UTF-8 text", "a file in UTF-8"
    if byte >= 0xA0:  # a letter in every one-byte encoding of western Europe
        what += f"; in Latin-1 it is `{chr(byte)}`"
        expected += "; save it as UTF-8 in your editor"
    raise source.span(len(before), len(before) + 1).error(what, expected) from None
