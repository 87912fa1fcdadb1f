"""Fitted runtimes, as a table, a document and a file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from syncoll.documents import write_atomically
from syncoll.measuring import Fit
from syncoll.pages.page import PageParts, paged, table
from syncoll.simulating import Reach, Runtime, runtime_text
from syncoll.units import format_size, microseconds
from syncoll.verbs.result import Result
from syncoll.wording import counted

__all__ = ["CalibrationResult"]

_ROWS_FOR_ERROR = 8
"""With fewer rows the error is the one of the runtime from which the fit starts."""


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationResult(Result):
    """A fitted runtime, and how well it explains the measurements.

    Args:
        fit: with its samples and errors.
        logs: the names of files.
    """

    fit: Fit
    logs: tuple[str, ...]

    @property
    def runtime(self) -> Runtime:
        """The fitted runtime, with its source and its error."""
        fitted, rows = self.fit.runtime, counted(len(self.fit.samples), "row")
        many = len(self.fit.samples) >= _ROWS_FOR_ERROR
        return replace(
            fitted,
            source=f"{fitted.name} fitted to {rows} of {', '.join(self.logs)}",
            error=Fraction(f"{np.median(self.fit.held_out):.3g}") if many else fitted.error,
            basis=f"calibrated on {rows} of the machine",
        )

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
        for one in self.fit.outliers:
            row = f"{format_size(one.size)} in {microseconds(one.seconds)} us"
            yield f"{one.name}: {row} does not fit; a first row may be cold"

    def document(self) -> dict[str, Any]:
        """The content of the runtime's file, and the median errors."""
        fit = self.fit
        return {
            "schema": "syncoll/calibration/1",
            "logs": list(self.logs),
            "rows": len(fit.samples),
            "runtime": runtime_text(self.runtime),
            "error": float(np.median(fit.errors)),
            "held_out": float(np.median(fit.held_out)),
            "before": float(np.median(fit.before)),
            "by_size": fit.by_decade(),
            "outliers": [[one.size, one.seconds] for one in fit.outliers],
        }

    def save(self, path: str | Path) -> None:
        """Writes the file of the runtime."""
        write_atomically(Path(path), runtime_text(self.runtime).encode())
