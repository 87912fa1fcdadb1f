"""Writes the table of sends as Parquet, with their instance in its metadata."""

import io
import json
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from syncoll.documents.problem import ProblemFileRecord
from syncoll.documents.record import written
from syncoll.documents.written_problem import file_entries, problem_entries
from syncoll.plugins import Exported, ExportRequest, OptionValue
from syncoll_sends.table import NODES, NUMBERS, ROUNDS


class ParquetExporter:
    """Writes ``NAME.parquet``."""

    def export(self, request: ExportRequest, options: Mapping[str, OptionValue]) -> Exported:
        """Writes the table of an algorithm's sends; options of buffers have no effect."""
        instance, algorithm = request.instance, request.algorithm
        chunk, source, destination, step = algorithm.sends.T
        whole = all(isinstance(rounds, int) for rounds in algorithm.rounds_per_step)
        rounds = np.array(
            [r if whole else str(r) for r in algorithm.rounds_per_step], dtype=object
        )[step]
        nodes: list[list[int] | None] = [None] * len(step)
        if algorithm.contributions is not None:
            nodes = [np.flatnonzero(row).tolist() for row in algorithm.contributions]
        columns = (step, rounds, chunk, source, destination)
        kinds = {ROUNDS: pa.int64() if whole else pa.string()}
        arrays = [
            pa.array(column, kinds.get(name, pa.int64()))
            for name, column in zip(NUMBERS, columns, strict=True)
        ]
        arrays.append(pa.array(nodes, pa.list_(pa.int64())))
        table = pa.Table.from_arrays(arrays, names=[*NUMBERS, NODES])
        entries = file_entries(instance.topology, instance.collective) | problem_entries(instance)
        problem = written(ProblemFileRecord(**{**entries, "schema": "syncoll/problem"}))
        table = table.replace_schema_metadata(
            {"syncoll": json.dumps(problem, separators=(",", ":"))}
        )
        stream = io.BytesIO()
        pq.write_table(table, stream)
        return Exported({f"{request.name}.parquet": stream.getvalue()})
