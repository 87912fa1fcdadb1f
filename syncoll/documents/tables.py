"""Tables for other programs: CSV, and Parquet if pyarrow is installed."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from syncoll.errors import UsageError


def table_format(path: Path) -> str:
    """``csv`` or ``parquet``, by the name of a file.  Raises `UsageError` for another name, or if
    pyarrow is missing."""
    suffix = path.suffix.lower()
    if suffix not in (".csv", ".parquet"):
        raise UsageError(f"cannot write {path}: expected a name that ends in .csv or .parquet")
    if suffix == ".parquet":
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError:
            raise UsageError(
                f"cannot write {path}: pyarrow is not installed; `pip install 'syncoll[parquet]'`"
            ) from None
    return suffix[1:]


def table_content(
    columns: Mapping[str, type], rows: Sequence[Mapping[str, Any]], style: str
) -> bytes:
    """The content of a file in a format of `table_format`, with the types of its columns.  Rows
    have an entry, or None, for each column."""
    if style == "csv":
        text = io.StringIO()
        writer = csv.DictWriter(text, list(columns), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue().encode()
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {str: pa.string(), int: pa.int64(), float: pa.float64()}
    parts = {name for row in rows for name, value in row.items() if isinstance(value, float)}
    layout = pa.schema(
        [(name, kinds[float if name in parts else kind]) for name, kind in columns.items()]
    )
    stream = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows), layout), stream)
    return stream.getvalue()
