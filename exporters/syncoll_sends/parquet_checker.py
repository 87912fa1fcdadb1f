"""Checks a Parquet table of sends, by itself: what it must solve is in its metadata."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from syncoll.errors import ModelError, VerificationError
from syncoll.model import BandwidthBound, Counting, Instance, Topology
from syncoll.plugins import CheckedExport, OptionValue
from syncoll_sends.table import SendRow, checked, require_sane, require_solves

__all__ = ["ParquetChecker"]

_NUMBERS = ("step", "rounds", "chunk", "source", "destination")
_NODES = "contributors"
_LARGEST = 999_999_999
_MOST_CELLS = 1 << 28
"""Of pre and post, chunks by nodes."""


class ParquetChecker:
    """Reads a table, whatever the order of its columns and rows."""

    def check(
        self,
        files: Mapping[str, bytes],
        options: Mapping[str, OptionValue],
        instance: Instance | None = None,
    ) -> CheckedExport:
        """Replays the sends of a table, for what its metadata say where there is no instance.

        Where these say nothing either, it checks that the rows are sends.

        Raises:
            VerificationError: when it is not such a table, or the sends do not solve the instance;
                the message names the row.
        """
        (content,) = files.values()
        try:
            table = pq.read_table(io.BytesIO(content))
            table.validate(full=True)
            str(table.schema), table.column_names  # a name that is no text shows when asked for
        except (pa.ArrowException, OSError, ValueError) as error:
            reason = str(error).partition("\n")[0]
            raise VerificationError(f"not a Parquet file: {reason}") from None
        rows = _rows(table)
        require_sane(rows)
        told = _told(table)
        if told is not None and instance is not None:
            _require_same(told, instance)
        instance = instance or told
        if instance is not None:
            require_solves(rows, instance)
        collective = "" if instance is None else instance.collective
        return replace(checked(rows, "Parquet", collective, instance), instance=told)


def _rows(table: pa.Table) -> list[SendRow]:
    wanted = (*_NUMBERS, _NODES)
    for column in table.column_names:
        if column not in wanted or table.column_names.count(column) > 1:
            raise VerificationError(
                f"the column {column[:40]!r} is unknown, or there twice; expected "
                + ", ".join(wanted)
            )
    columns = []
    for column in _NUMBERS:
        if column not in table.column_names:
            raise VerificationError(f"there is no column {column}")
        if not pa.types.is_integer(table.schema.field(column).type):
            raise VerificationError(f"column {column} has no integers")
        columns.append(table.column(column).to_pylist())
    nodes: list[list[int] | None] = [None] * table.num_rows
    if _NODES in table.column_names:
        kind = table.schema.field(_NODES).type
        lists = pa.types.is_list(kind) or pa.types.is_large_list(kind)
        if not lists or not pa.types.is_integer(kind.value_type):
            raise VerificationError(f"column {_NODES} has no lists of integers")
        nodes = table.column(_NODES).to_pylist()
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


def _told(table: pa.Table) -> Instance | None:
    """The instance in a table's metadata; None where there is none."""
    document = (table.schema.metadata or {}).get(b"syncoll")
    if document is None:
        return None
    try:
        return _instance(json.loads(document))
    except ModelError as error:
        raise VerificationError(f"its metadata: {error}") from error
    except (ArithmeticError, IndexError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise VerificationError(
            f"its metadata under the key syncoll do not describe an instance "
            f"({type(error).__name__}: {error})"
        ) from error


def _instance(document: dict[str, Any]) -> Instance:
    if document["version"] != 1:
        raise ValueError(f"version {document['version']}; expected 1")
    machine = document["topology"]
    nodes, chunks = int(machine["nodes"]), int(document["global_chunks"])
    if not 0 < nodes * max(1, chunks) <= _MOST_CELLS:
        raise ValueError(f"{chunks} chunks on {nodes} nodes")
    bounds = tuple(
        BandwidthBound(
            _links(bound["links"]),
            Fraction(bound["chunks_per_round"]),
            str(bound["label"]),
            Counting(bound.get("counts", Counting.SENDS)),
        )
        for bound in machine["bounds"]
    )
    topology = Topology(str(machine["name"]), nodes, _links(machine["links"]), bounds)
    given = document["rounds_per_step"]
    return Instance(
        topology,
        str(document["collective"]),
        int(document["chunks"]),
        int(document["steps"]),
        int(document["rounds"]),
        _places(document["starts"], chunks, nodes),
        _places(document["ends"], chunks, nodes),
        bool(document["combining"]),
        None if given is None else tuple(int(rounds) for rounds in given),
    )


def _links(pairs: list[list[int]]) -> tuple[tuple[int, int], ...]:
    return tuple((int(source), int(destination)) for source, destination in pairs)


def _places(
    by_node: list[list[int]], chunks: int, nodes: int
) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    array = np.zeros((chunks, nodes), dtype=bool)
    for node, members in enumerate(by_node):
        if any(not 0 <= chunk < chunks for chunk in members):
            raise ValueError(f"a chunk of node {node} is not within 0 to {chunks - 1}")
        array[members, node] = True
    return array


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
