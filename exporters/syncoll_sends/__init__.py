"""The sends of an algorithm as a table, for people and their tools: CSV and Parquet.

One row a send, in order of step, chunk, source and destination:

============ ===========================================================================
step         when, from 0 on
rounds       how many rounds that step has; the same in all rows of a step
chunk        what, by its global number from 0 on
source       the node that sends
destination  the node that receives
contributors combining collectives: whose contributions the sent partial result holds;
             in CSV numbers with spaces between, in Parquet a list; else empty, or null
============ ===========================================================================

A CSV file is this table and nothing else, so that whatever reads CSV reads it; to tell whether the
sends do something needs the algorithm's instance.  A Parquet file has that in its metadata too,
under the key ``syncoll``.
"""

from __future__ import annotations

from pathlib import Path

from syncoll.plugins import ExporterRecord, installed_distribution

_REQUIRED = {"step", "rounds", "chunk", "source", "destination"}


def _is_csv(_path: Path, head: bytes) -> bool:
    """Recognises the names of the columns in the first line."""
    line = head.removeprefix(b"\xef\xbb\xbf").partition(b"\n")[0]
    names = {name.strip(b' "\r') for name in line.split(b",")}
    return names >= {name.encode() for name in _REQUIRED}


CSV = ExporterRecord(
    name="csv",
    summary="the sends as a table of comma-separated values, for people",
    load="syncoll_sends.csv_writer:CsvExporter",
    load_checker="syncoll_sends.csv_checker:CsvChecker",
    recognises=_is_csv,
)

PARQUET = ExporterRecord(
    name="parquet",
    summary="the sends as a Parquet table, with what they solve in its metadata",
    load="syncoll_sends.parquet_writer:ParquetExporter",
    load_checker="syncoll_sends.parquet_checker:ParquetChecker",
    installed=lambda: installed_distribution("pyarrow", "pyarrow", extra="parquet"),
    recognises=lambda _path, head: head.startswith(b"PAR1"),
)
RECORDS = (CSV, PARQUET)
