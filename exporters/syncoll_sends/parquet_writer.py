"""Writes the table of sends as Parquet, with the instance that they solve in its metadata."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from syncoll.model import Counting, Instance
from syncoll.plugins import Exported, ExportRequest, OptionValue

__all__ = ["ParquetExporter"]

_VERSION = 1


class ParquetExporter:
    """Writes ``NAME.parquet``."""

    def export(self, request: ExportRequest, options: Mapping[str, OptionValue]) -> Exported:
        """The table of an algorithm's sends.

        Args:
            request: the algorithm; where data lie in buffers plays no part.
            options: none.
        """
        algorithm = request.algorithm
        chunk, source, destination, step = algorithm.sends.T
        rounds = np.array(algorithm.rounds_per_step, dtype=np.int64)[step]
        nodes: list[list[int] | None] = [None] * len(step)
        if algorithm.contributions is not None:
            nodes = [np.flatnonzero(row).tolist() for row in algorithm.contributions]
        columns = {"step": step, "rounds": rounds, "chunk": chunk, "source": source}
        arrays = [pa.array(column, pa.int64()) for column in (*columns.values(), destination)]
        arrays.append(pa.array(nodes, pa.list_(pa.int64())))
        table = pa.Table.from_arrays(arrays, names=[*columns, "destination", "contributors"])
        document = json.dumps(_document(request.instance), separators=(",", ":"))
        table = table.replace_schema_metadata({"syncoll": document})
        stream = io.BytesIO()
        pq.write_table(table, stream)
        return Exported({f"{request.name}.parquet": stream.getvalue()})


def _document(instance: Instance) -> dict[str, object]:
    """What is to be solved: the machine, and which chunks start and must end where."""
    topology = instance.topology
    return {
        "version": _VERSION,
        "collective": instance.collective,
        "combining": instance.combining,
        "chunks": instance.chunks,
        "global_chunks": instance.num_chunks,
        "steps": instance.steps,
        "rounds": instance.rounds,
        "rounds_per_step": instance.rounds_per_step,
        "starts": [np.flatnonzero(column).tolist() for column in instance.pre.T],
        "ends": [np.flatnonzero(column).tolist() for column in instance.post.T],
        "topology": {
            "name": topology.name,
            "nodes": topology.num_nodes,
            "links": topology.links,
            "bounds": [
                {
                    "links": bound.links,
                    "chunks_per_round": str(bound.chunks_per_round),
                    "label": bound.label,
                    **({} if bound.counts is Counting.SENDS else {"counts": bound.counts.value}),
                }
                for bound in topology.bounds
            ],
        },
    }
