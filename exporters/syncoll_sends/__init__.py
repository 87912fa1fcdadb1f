"""The sends of an algorithm as a table for analysis: CSV and Parquet.

One row a send, in order of step, chunk, source and destination:

| column         | content                                                                |
|----------------|------------------------------------------------------------------------|
| `step`         | number of the step, from 0                                             |
| `rounds`       | rounds of this step; the same in all rows of a step; a ratio such as   |
|                | 7/9 where they are not whole, in Parquet then a column of texts        |
| `chunk`        | global number of the chunk, from 0                                     |
| `source`       | the node that sends                                                    |
| `destination`  | the node that receives                                                 |
| `contributors` | of combining collectives: nodes whose contributions are in the partial |
|                | sum; in CSV separated by spaces, in Parquet a list; else empty or null |

A CSV file is this table only, so any CSV reader can read it; checking the sends needs the
algorithm's instance.  A Parquet file has the instance in its metadata, under the key ``syncoll``.
"""

from pathlib import Path

from syncoll.plugins import ExporterRecord, installed_distribution

_REQUIRED = {"step", "rounds", "chunk", "source", "destination"}


def _is_csv(_path: Path, head: bytes) -> bool:
    """Whether the first line has the names of the columns."""
    line = head.removeprefix(b"\xef\xbb\xbf").partition(b"\n")[0]
    names = {name.strip(b' "\r') for name in line.split(b",")}
    return names >= {name.encode() for name in _REQUIRED}


CSV = ExporterRecord(
    name="csv",
    summary="the sends as a table of comma-separated values",
    load="syncoll_sends.csv_writer:CsvExporter",
    load_checker="syncoll_sends.csv_checker:CsvChecker",
    recognises=_is_csv,
)

PARQUET = ExporterRecord(
    name="parquet",
    summary="the sends as a Parquet table, with the instance in its metadata",
    load="syncoll_sends.parquet_writer:ParquetExporter",
    load_checker="syncoll_sends.parquet_checker:ParquetChecker",
    installed=lambda: installed_distribution("pyarrow", "pyarrow", extra="parquet"),
    recognises=lambda _path, head: head.startswith(b"PAR1"),
)
RECORDS = (CSV, PARQUET)
