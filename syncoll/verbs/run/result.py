"""Runs on data: in this process, or over MPI."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import median
from typing import Any

from syncoll.documents import StoredAlgorithm
from syncoll.mpi import Job, MpiComparison, Result as MpiRun
from syncoll.mpi.measuring import Run
from syncoll.pages import Page
from syncoll.pages.execution import mpi_page
from syncoll.planning import message_of
from syncoll.trust.data import Execution
from syncoll.verbs.result import Result, picked

__all__ = ["ExecutionResult", "MpiResult"]


@dataclass(frozen=True, eq=False, repr=False)
class ExecutionResult(Result, Execution):
    """A run of an algorithm on data, compared with the collective's definition."""

    stored: StoredAlgorithm

    def page(self) -> Page:
        """The verdict, and the number of sent bytes."""
        if self.mismatch is not None:
            return Page().text(f"WRONG: {self.mismatch.message}")
        return Page().text(
            f"OK: {self.steps} steps, {self.bytes_sent} bytes sent, largest error "
            f"{self.largest_error:.3g}"
        )

    def document(self) -> dict[str, Any]:
        """The result of the algorithm."""
        return {
            **picked(self.stored, "where chunks"),
            **picked(self, "steps bytes_sent largest_error ok"),
            "mismatch": None if self.mismatch is None else self.mismatch.message,
        }


@dataclass(frozen=True, repr=False)
class MpiResult(Result, MpiComparison):
    """A run of an algorithm over MPI, compared with MPI's own collective and timed with it.

    Args:
        job: the request.
        result: of all algorithms that ran together, and the processes.
    """

    job: Job
    result: MpiRun

    def page(self) -> Page:
        """The times, and whether the results were right."""
        return mpi_page(self.job, replace(self.result, comparisons=(self,)))

    def document(self) -> dict[str, Any]:
        """The result of the algorithm, with a run for each size."""
        stored = next(one for one in self.job.work if one.where == self.where)
        costs = picked(stored, "chunks steps rounds")
        per_input = message_of(one.instance for one in self.job.work).per_input
        runs = [_run_document(run, per_input) for run in self.runs]
        return {"where": self.where, **costs, **picked(self, "does ok"), "runs": runs}


def _run_document(run: Run, per_input: Fraction) -> dict[str, Any]:
    def seconds(times: tuple[float, ...]) -> dict[str, float] | None:
        if not times:
            return None
        return {"median": median(times), "least": min(times), "most": max(times)}

    return {
        "message_bytes": int(run.size * per_input),
        **picked(run, "largest_error bound_used mismatch"),
        "elements": run.total,
        "compared_with": run.reference,
        "seconds": seconds(run.seconds),
        "mpi_seconds": seconds(run.reference_seconds),
        "ok": run.mismatch is None,
    }
