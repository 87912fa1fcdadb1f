"""Matrices of whole numbers, from files of comma-separated values, and layouts in JSON.

A line is a row, and its numbers stand between commas; blank lines and lines that begin with ``#``
do not count.  Anything except a whole number from 0 is an error at its place, since a matrix that
is read wrongly would be another demand.
"""

import re
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from syncoll.errors import Origin
from syncoll.spec.blame import DataError
from syncoll.spec.layouts import parsed_layout
from syncoll.spec.limits import MAX_DATA_BYTES, MAX_DATA_ROWS, MAX_NUMBER
from syncoll.spec.source import Source, Span, decode
from syncoll.spec.values import Matrix
from syncoll.wording import counted

_NUMBER = re.compile(r"[0-9]+")
_COMMENT = re.compile(r"^[^\S\n]*#.*$", re.MULTILINE)
_DIGITS = re.compile(r"[0-9,\s]*")
_EXPECTED = "a whole number from 0"
_WANTED = "a CSV file of whole numbers", "a layout in JSON"


def read_matrix(path: str, span: Span) -> Matrix:
    """The rows of a file, whose path is relative to the spec file or, if it is typed, to the
    working directory.  Raises `SpecError` if it cannot be read, and `DataError` at its place in the
    file if it does not consist of rows of equally many whole numbers."""
    source = span.source
    if not path or "\0" in path:
        raise span.error("a matrix without a file", "the path of a CSV file")
    place = Path(path) if source.is_typed else Path(source.label).parent / path
    wanted = _WANTED[place.suffix.lower() == ".json"]
    try:
        found = place.stat()
    except FileNotFoundError:
        raise span.error(f"file {place} does not exist", wanted) from None
    except (OSError, ValueError) as error:
        raise span.error(f"cannot read {place}: {error}", wanted) from None
    if not place.is_file():
        raise span.error(f"{place} is not a regular file", wanted)
    if found.st_size > MAX_DATA_BYTES:
        raise span.error(
            f"{place} is larger than {MAX_DATA_BYTES >> 20} MiB", "a matrix of fewer numbers"
        )
    try:
        return _read(place, found.st_mtime_ns, found.st_size)
    except OSError as error:
        raise span.error(f"cannot read {place}: {error}", wanted) from None


@lru_cache(maxsize=8)
def _read(place: Path, _changed: int, _size: int) -> Matrix:
    """A file in its present state, cached because collectives need it for each P."""
    try:
        text = decode(place.read_bytes())
    except UnicodeDecodeError as error:
        raise DataError(
            f"{place} is not text: byte {error.start} is not in its encoding",
            Origin(str(place), 1, 1, ""),
            "a CSV file in UTF-8",
        ) from None
    source = Source(str(place), text.replace("\r\n", "\n").replace("\r", "\n"))
    if place.suffix.lower() == ".json":
        return parsed_layout(source.text, str(place), partial(_wrong_layout, source))
    rows = _plain(source.text)
    for number, start in enumerate(() if rows else source.line_starts, start=1):
        line = source.line(number)
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        row = _row(source, start, line)
        if rows and len(row) != len(rows[0]):
            raise _wrong(
                source.span(start, start + len(line)),
                f"a row of {counted(len(row), 'number')}",
                f"{len(rows[0])}, as in the first row",
            )
        rows.append(row)
        if len(rows) > MAX_DATA_ROWS:
            raise _wrong(source.span(start, start + 1), f"more than {MAX_DATA_ROWS} rows", "fewer")
    if not rows:
        raise _wrong(source.span(0, 0), f"{place} holds no numbers", "rows of whole numbers")
    return Matrix.of(rows, f'"{place}"')


def _plain(text: str) -> list[tuple[int, ...]]:
    """The rows of a text without a mistake; none for another text, whose mistake has a place."""
    text = _COMMENT.sub("", text)
    if not text.strip() or not _DIGITS.fullmatch(text):
        return []
    try:
        found = np.loadtxt(text.splitlines(), np.int64, delimiter=",", ndmin=2)
    except ValueError:
        return []
    known = len(found) <= MAX_DATA_ROWS and found.max() < MAX_NUMBER
    return list(map(tuple, found.tolist())) if known else []


def _row(source: Source, start: int, line: str) -> tuple[int, ...]:
    found = []
    for cell in line.split(","):
        text = cell.strip()
        begin = start + len(cell) - len(cell.lstrip()) if text else start
        if not _NUMBER.fullmatch(text):
            raise _wrong(
                source.span(begin, begin + max(1, len(text))), _what(text), _expected(text)
            )
        if len(text) > 40 or int(text) >= MAX_NUMBER:
            span = source.span(begin, begin + len(text))
            raise _wrong(span, "this number is too large", f"a number below {MAX_NUMBER}")
        found.append(int(text))
        start += len(cell) + 1
    return tuple(found)


def _expected(text: str) -> str:
    """The expected text, with a hint at a likely mistake."""
    if re.fullmatch(r"[0-9]+(\s*[;\s]\s*[0-9]+)+;?", text):
        return f"{_EXPECTED}; numbers stand between commas"
    if re.search(r"[^\W\d]", text) and not re.match(r"[-0-9.]", text):
        return f"{_EXPECTED}; a line that begins with `#`, such as a heading, does not count"
    return _EXPECTED


def _what(text: str) -> str:
    if not text:
        return "a cell without a number"
    if re.fullmatch(r"-[0-9.]+", text):
        return f"`{text}` is negative"
    if re.fullmatch(r"[0-9]*\.[0-9]*|[0-9.]+[eE][+-]?[0-9]+", text):
        return f"`{text}` is not a whole number"
    return f"`{text[:40]}` is not a number"


def _wrong(span: Span, message: str, expected: str) -> DataError:
    return DataError(message, span.origin, expected)


def _wrong_layout(source: Source, message: str, expected: str, where: str | int) -> DataError:
    """An error at a key of a layout, or at a position."""
    text, at = source.text, where
    if isinstance(at, str):  # a mesh has a shape too
        at = text.find(f'"{where}"')
        at = at if at < text.find('"mesh"') else text.rfind(f'"{where}"')
    return _wrong(source.span(max(at, 0), max(at, 0) + 1), message, expected)
