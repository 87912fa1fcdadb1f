"""Checks a CSV table of sends: reads it, and replays it if its instance is known."""

import csv
import io
from collections.abc import Mapping

from syncoll.errors import VerificationError
from syncoll.model import Instance
from syncoll.plugins import CheckedExport, OptionValue
from syncoll_sends.table import (
    MOST_DIGITS,
    NODES,
    NUMBERS,
    ROUNDS,
    SendRow,
    checked,
    require_columns,
    rounds_in,
)


class CsvChecker:
    """Reads a table with columns and rows in any order."""

    def check(
        self,
        files: Mapping[str, bytes],
        options: Mapping[str, OptionValue],
        instance: Instance | None = None,
    ) -> CheckedExport:
        """See `syncoll.plugins.ExportChecker`; without an instance the rows must be sends."""
        (content,) = files.values()
        return checked(_read(content), instance)


def _read(content: bytes) -> list[SendRow]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise VerificationError(f"byte {error.start} is not UTF-8") from None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = next(reader, [])
        require_columns(header)
        return [_row(header, row, f"line {reader.line_num}") for row in reader if row]
    except csv.Error as error:
        raise VerificationError(f"line {reader.line_num}: {error}") from None


def _row(header: list[str], values: list[str], line: str) -> SendRow:
    if len(values) != len(header):
        raise VerificationError(f"{line}: {len(values)} values in a table of {len(header)} columns")
    given = dict(zip(header, values, strict=True))
    numbers = [_number(given[column], column, line) for column in NUMBERS if column != ROUNDS]
    nodes = [_number(text, NODES, line) for text in given.get(NODES, "").split(" ") if text]
    step, chunk, source, destination = numbers
    rounds = rounds_in(given[ROUNDS], line)
    return SendRow(line, step, rounds, chunk, source, destination, tuple(nodes))


def _number(text: str, column: str, line: str) -> int:
    """A number of ASCII digits alone, which `int` does not require."""
    if not (text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS):
        raise VerificationError(
            f"{line}: {column} is {text[:40]!r}; expected a number of at most {MOST_DIGITS} digits"
        )
    return int(text)
