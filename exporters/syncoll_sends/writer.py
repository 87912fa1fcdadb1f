"""Writes the table of sends as CSV: UTF-8, commas, one header line, no quotes."""

import csv
import io

import numpy as np

from syncoll.plugins import Exported, ExportRequest, Options
from syncoll_sends import NODES, NUMBERS


class CsvExporter:
    """Writes ``NAME.csv``."""

    def export(self, request: ExportRequest, options: Options) -> Exported:
        """Writes the table of an algorithm's sends; options of buffers have no effect."""
        algorithm = request.algorithm
        stream = io.StringIO(newline="")
        table = csv.writer(stream, lineterminator="\n")
        table.writerow((*NUMBERS, NODES))
        carried = algorithm.contributions
        for i, (chunk, source, destination, step) in enumerate(algorithm.sends.tolist()):
            nodes = [] if carried is None else np.flatnonzero(carried[i]).tolist()
            rounds = algorithm.rounds_per_step[step]
            row = (step, rounds, chunk, source, destination, " ".join(map(str, nodes)))
            table.writerow(row)
        notes = ("a CSV table has no instance; keep the file that it was written from",)
        return Exported({f"{request.name}.csv": stream.getvalue().encode()}, notes)
