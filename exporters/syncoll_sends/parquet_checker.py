"""Checks a Parquet table of sends against the instance in its metadata."""

import io
import json
from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq

from syncoll.documents.problem import ProblemFileRecord, instance_of, topology_of
from syncoll.documents.record import read_record
from syncoll.errors import FileFormatError, ModelError, VerificationError
from syncoll.model import Instance
from syncoll.plugins import CheckedExport, OptionValue
from syncoll_sends.table import (
    NODES,
    NUMBERS,
    ROUNDS,
    SendRow,
    checked,
    require_columns,
    rounds_in,
)

_LARGEST = 999_999_999


class ParquetChecker:
    """Reads a table with columns and rows in any order."""

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
            str(table.schema), table.column_names  # names that are not text raise here
        except (pa.ArrowException, OSError, ValueError) as error:
            reason = str(error).partition("\n")[0]
            raise VerificationError(f"not a Parquet file: {reason}") from None
        rows = _rows(table)
        document = (table.schema.metadata or {}).get(b"syncoll")
        stated = None if document is None else _instance(document)
        if stated is not None and instance is not None:
            _require_same(stated, instance)
        return replace(checked(rows, "Parquet", instance or stated), instance=stated)


def _rows(table: pa.Table) -> list[SendRow]:
    require_columns(table.column_names)
    columns = []
    for column in NUMBERS:
        kind, values = table.schema.field(column).type, table.column(column).to_pylist()
        if column == ROUNDS and (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            values = [rounds_in(text or "", f"row {i}") for i, text in enumerate(values)]
        elif not pa.types.is_integer(kind):
            raise VerificationError(f"column {column} has no integers")
        columns.append(values)
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


def _instance(document: bytes) -> Instance:
    """The instance that metadata describe; VerificationError if they describe none."""
    try:
        stated = read_record(json.loads(document), ProblemFileRecord, "the problem")
        return instance_of(stated, topology_of(stated), stated.collective)
    except (FileFormatError, ModelError, RecursionError, ValueError) as error:
        raise VerificationError(
            f"its metadata under the key syncoll do not describe an instance: {error}"
        ) from error


def _require_same(stated: Instance, wanted: Instance) -> None:
    """Raises VerificationError if the file solves another instance than `wanted`."""
    for what, one, other in (
        ("machine", stated.topology, wanted.topology),
        ("steps", stated.steps, wanted.steps),
        ("rounds", stated.rounds, wanted.rounds),
        ("combining", stated.combining, wanted.combining),
        ("starts", stated.pre.tolist(), wanted.pre.tolist()),
        ("ends", stated.post.tolist(), wanted.post.tolist()),
    ):
        if one != other:
            raise VerificationError(f"the instance in the file's metadata differs in its {what}")
