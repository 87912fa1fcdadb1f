"""The sends of an algorithm as a table for analysis, as CSV; docs/tables.md has its columns.

Checking the sends needs the algorithm's instance, which a table does not have.
"""

from pathlib import Path

from syncoll.plugins import ExporterRecord

NUMBERS = ("step", "rounds", "chunk", "source", "destination")
"""The required columns; rounds may be ratios."""

NODES = "contributors"
"""The optional column."""


def _is_csv(_path: Path, head: bytes) -> bool:
    """Whether the first line has the names of the columns."""
    line = head.removeprefix(b"\xef\xbb\xbf").partition(b"\n")[0]
    names = {name.strip(b' "\r') for name in line.split(b",")}
    return names >= {name.encode() for name in NUMBERS}


RECORD = ExporterRecord(
    name="csv",
    summary="the sends as a table of comma-separated values",
    load="syncoll_sends.writer:CsvExporter",
    load_checker="syncoll_sends.checker:CsvChecker",
    recognises=_is_csv,
)
