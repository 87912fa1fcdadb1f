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
        rows, error = counted(len(self.fit.samples), "row"), self.fit.runtime.error
        if len(self.fit.samples) >= _ROWS_FOR_ERROR:
            error = Fraction(f"{np.median(self.fit.held_out):.3g}")
        source = f"{self.fit.runtime.name} fitted to {rows} of {', '.join(self.logs)}"
        basis = f"calibrated on {rows} of the machine"
        return replace(self.fit.runtime, source=source, error=error, basis=basis)

    @paged
    def page(self) -> PageParts:
        """The costs of each protocol, the errors by size, and the rows that do not fit."""
        yield self.runtime.source
        costs = [
            {"protocol": one.name, ">call (us)": microseconds(one.call)}
            | {f">hop, {x}": f"{float(one.hops[x].factor):.3g}x" for x in Reach}
            | {f">share, {x}": f"{float(one.shares[x]):.3g}" for x in Reach}
            for one in self.runtime.protocols
        ]
        yield table(costs)
        yield "hop: times the latency of the links; share: of their bandwidth"
        within, without, before = (f"{one:.1%}" for one in self._medians().values())
        yield (
            f"median error: {within}; of rows that are left out of the fit {without}; before the "
            f"fit {before}"
        )
        yield ", ".join(f"{words} {one:.1%}" for words, one in self.fit.by_decade().items())
        for one in self.fit.outliers:
            row = f"{format_size(one.size)} in {microseconds(one.seconds)} us"
            yield f"{one.name}: {row} does not fit; a first row may be cold"

    def document(self) -> dict[str, Any]:
        """The content of the runtime's file, and the errors."""
        return {
            "schema": "syncoll/calibration/1",
            "logs": list(self.logs),
            "rows": len(self.fit.samples),
            "runtime": runtime_text(self.runtime),
            **self._medians(),
            "by_size": self.fit.by_decade(),
            "outliers": [[one.size, one.seconds] for one in self.fit.outliers],
        }

    def _medians(self) -> dict[str, float]:
        errors = {"error": self.fit.errors, "held_out": self.fit.held_out}
        each = {**errors, "before": self.fit.before}
        return {name: float(np.median(one)) for name, one in each.items()}

    def save(self, path: str | Path) -> None:
        """Writes the file of the runtime."""
        write_atomically(Path(path), runtime_text(self.runtime).encode())
