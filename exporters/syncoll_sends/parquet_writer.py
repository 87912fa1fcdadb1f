"""Writes the table of sends as Parquet, with their instance in its metadata."""

from __future__ import annotations

import io
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from syncoll.plugins import Exported, ExportRequest, OptionValue
from syncoll_sends.table import NODES, NUMBERS, metadata_of

__all__ = ["ParquetExporter"]


class ParquetExporter:
    """Writes ``NAME.parquet``."""

    def export(self, request: ExportRequest, options: Mapping[str, OptionValue]) -> Exported:
        """Writes the table of an algorithm's sends; options of buffers have no effect."""
        algorithm = request.algorithm
        chunk, source, destination, step = algorithm.sends.T
        rounds = np.array(algorithm.rounds_per_step, dtype=np.int64)[step]
        nodes: list[list[int] | None] = [None] * len(step)
        if algorithm.contributions is not None:
            nodes = [np.flatnonzero(row).tolist() for row in algorithm.contributions]
        columns = (step, rounds, chunk, source, destination)
        arrays = [pa.array(column, pa.int64()) for column in columns]
        arrays.append(pa.array(nodes, pa.list_(pa.int64())))
        table = pa.Table.from_arrays(arrays, names=[*NUMBERS, NODES])
        table = table.replace_schema_metadata({"syncoll": metadata_of(request.instance)})
        stream = io.BytesIO()
        pq.write_table(table, stream)
        return Exported({f"{request.name}.parquet": stream.getvalue()})
