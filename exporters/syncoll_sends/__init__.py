"""The sends of an algorithm as a table for analysis, as CSV.

One row a send, in order of step, chunk, source and destination:

| column         | content                                                                |
|----------------|------------------------------------------------------------------------|
| `step`         | number of the step, from 0                                             |
| `rounds`       | rounds of this step; the same in all rows of a step; a ratio such as   |
|                | 7/9 where they are not whole                                           |
| `chunk`        | global number of the chunk, from 0                                     |
| `source`       | the node that sends                                                    |
| `destination`  | the node that receives                                                 |
| `contributors` | of combining collectives: nodes whose contributions are in the partial |
|                | sum, separated by spaces; else empty                                   |

A file is this table only, so any CSV reader can read it; checking the sends needs the algorithm's
instance.
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
