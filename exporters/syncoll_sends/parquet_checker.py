"""Checks a Parquet table of sends against the instance in its metadata."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq

from syncoll.errors import VerificationError
from syncoll.model import Instance
from syncoll.plugins import CheckedExport, OptionValue
from syncoll_sends.table import NODES, NUMBERS, SendRow, checked, instance_of, require_columns

__all__ = ["ParquetChecker"]

_LARGEST = 999_999_999


class ParquetChecker:
    """Reads a table, whatever the order of its columns and rows."""

    def check(
        self,
        files: Mapping[str, bytes],
        options: Mapping[str, OptionValue],
        instance: Instance | None = None,
    ) -> CheckedExport:
        """See `syncoll.plugins.ExportChecker`; without an instance, the metadata is used."""
        (content,) = files.values()
        try:
            table = pq.read_table(io.BytesIO(content))
            table.validate(full=True)
            str(table.schema), table.column_names  # a name that is no text shows when asked for
        except (pa.ArrowException, OSError, ValueError) as error:
            reason = str(error).partition("\n")[0]
            raise VerificationError(f"not a Parquet file: {reason}") from None
        rows = _rows(table)
        document = (table.schema.metadata or {}).get(b"syncoll")
        told = None if document is None else instance_of(document)
        if told is not None and instance is not None:
            _require_same(told, instance)
        return replace(checked(rows, "Parquet", instance or told), instance=told)


def _rows(table: pa.Table) -> list[SendRow]:
    require_columns(table.column_names)
    columns = []
    for column in NUMBERS:
        if not pa.types.is_integer(table.schema.field(column).type):
            raise VerificationError(f"column {column} has no integers")
        columns.append(table.column(column).to_pylist())
    nodes: list[list[int] | None] = [None] * table.num_rows
    if NODES in table.column_names:
        kind = table.schema.field(NODES).type
        lists = pa.types.is_list(kind) or pa.types.is_large_list(kind)
        if not lists or not pa.types.is_integer(kind.value_type):
            raise VerificationError(f"column {NODES} has no lists of integers")
        nodes = table.column(NODES).to_pylist()
    rows = []
    for i, (values, these) in enumerate(zip(zip(*columns, strict=True), nodes, strict=True)):
        line = f"row {i}"
        for value in (*values, *(these or ())):
            if value is None or not 0 <= value <= _LARGEST:
                raise VerificationError(
                    f"{line}: it has {value}; expected numbers from 0 to {_LARGEST}"
                )
        step, rounds, chunk, source, destination = values
        rows.append(SendRow(line, step, rounds, chunk, source, destination, tuple(these or ())))
    return rows


def _require_same(told: Instance, wanted: Instance) -> None:
    """Passes when the file is about the instance that is asked for."""
    for what, one, other in (
        ("machine", told.topology, wanted.topology),
        ("steps", told.steps, wanted.steps),
        ("rounds", told.rounds, wanted.rounds),
        ("rounds of each step", told.rounds_per_step, wanted.rounds_per_step),
        ("combining", told.combining, wanted.combining),
        ("starts", told.pre.tolist(), wanted.pre.tolist()),
        ("ends", told.post.tolist(), wanted.post.tolist()),
    ):
        if one != other:
            raise VerificationError(
                f"by its metadata the file solves something else: its {what} differ"
            )
