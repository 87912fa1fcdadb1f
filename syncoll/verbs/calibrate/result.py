"""Fitted runtimes, as a table, a document and a file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from syncoll.documents import write_atomically
from syncoll.measuring import Fit
from syncoll.pages.page import PageParts, paged, table
from syncoll.simulating import Reach, runtime_text
from syncoll.units import format_size, microseconds
from syncoll.verbs.result import Result


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationResult(Result, Fit):
    """A fitted runtime, and how well it explains the measurements."""

    @paged
    def page(self) -> PageParts:
        """The costs of each protocol, the errors by size, and the rows that do not fit."""
        yield self.runtime.source
        costs = [
            {"protocol": one.name, ">call (us)": microseconds(one.call)}
            | {f">hop, {x}": f"{float(one.hops[x].factor):.3g}x" for x in Reach}
            | {f">share, {x}": f"{float(one.hops[x].share):.3g}" for x in Reach}
            for one in self.runtime.protocols
        ]
        yield table(costs)
        yield "hop: times the latency of the links; share: of their bandwidth"
        found = self.document()
        yield (
            f"median error: {found['error']:.1%}; of rows that are left out of the fit "
            f"{found['held_out']:.1%}; before the fit {found['before']:.1%}"
        )
        yield ", ".join(f"{words} {one:.1%}" for words, one in found["by_size"].items())
        for one in self.outliers:
            row = f"{format_size(one.size)} in {microseconds(one.seconds)} us"
            yield f"{one.name}: {row} does not fit; a first row may be cold"

    def document(self) -> dict[str, Any]:
        """The content of the runtime's file, and the median errors."""
        return {
            "schema": "syncoll/calibration/1",
            "logs": [*dict.fromkeys(one.name for one in self.samples)],
            "rows": len(self.samples),
            "runtime": runtime_text(self.runtime),
            "error": float(np.median(self.errors)),
            "held_out": float(np.median(self.held_out)),
            "before": float(np.median(self.before)),
            "by_size": self.by_decade(),
            "outliers": [[one.size, one.seconds] for one in self.outliers],
        }

    def save(self, path: str | Path) -> None:
        """Writes the file of the runtime."""
        write_atomically(Path(path), runtime_text(self.runtime).encode())
