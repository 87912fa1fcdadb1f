"""Runs on data: in this process, or over MPI."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from syncoll.documents import StoredAlgorithm
from syncoll.mpi import Job, MpiComparison, Result as MpiRun
from syncoll.pages import Page
from syncoll.pages.page import PageParts, paged, table
from syncoll.planning import message_of
from syncoll.trust.data import Execution
from syncoll.values import picked
from syncoll.verbs.result import Result
from syncoll.wording import counted


@dataclass(frozen=True, eq=False, repr=False)
class ExecutionResult(Result, Execution):
    """A run of an algorithm on data, compared with the collective's definition."""

    stored: StoredAlgorithm

    @paged
    def page(self) -> PageParts:
        """The verdict, and the number of sent bytes."""
        if self.mismatch is not None:
            yield f"WRONG: {self.mismatch.message}"
            return
        sent = f"{self.steps} steps, {self.bytes_sent} bytes sent"
        yield f"OK: {sent}, largest error {self.largest_error:.3g}"

    def document(self) -> dict[str, Any]:
        """The result of the algorithm."""
        return {
            **picked(self.stored, "where chunks"),
            **picked(self, "steps bytes_sent largest_error ok"),
            "mismatch": None if self.mismatch is None else self.mismatch.message,
        }


@paged
def execution_page(done: Sequence[ExecutionResult]) -> PageParts:
    """A row for each algorithm that ran in this process."""
    rows = [
        {
            "algorithm": one.stored.where,
            ">chunks C": one.stored.chunks,
            ">steps": one.steps,
            ">bytes sent": one.bytes_sent,
            ">max abs error": f"{one.largest_error:.3g}",
            "result": "OK" if one.ok else "WRONG",
        }
        for one in done
    ]
    yield table(rows) if rows else "the file has no algorithm to run"


@dataclass(frozen=True, repr=False)
class MpiResult(Result, MpiComparison):
    """A run of an algorithm over MPI, compared with MPI's own collective and timed with it.

    Args:
        job: the request.
        result: of all algorithms that ran together, and the processes.
        via: the library, as in the call.
    """

    job: Job
    result: MpiRun
    via: str = "mpi"

    def page(self) -> Page:
        """The times, and whether the results were right."""
        return mpi_page(self.job, replace(self.result, comparisons=(self,)), self.via)

    def document(self) -> dict[str, Any]:
        """The result of the algorithm, with a run for each size."""
        stored = next(one for one in self.job.work if one.where == self.where)
        costs = picked(stored, "chunks steps rounds")
        per_input = message_of(one.instance for one in self.job.work).per_input
        runs = [
            {
                "message_bytes": int(run.size * per_input),
                **picked(run, "largest_error bound_used mismatch"),
                "elements": run.total,
                "compared_with": run.reference,
                "seconds": _statistics(run.seconds),
                "mpi_seconds": _statistics(run.reference_seconds),
                "ok": run.mismatch is None,
            }
            for run in self.runs
        ]
        return {"where": self.where, **costs, **picked(self, "does ok"), "runs": runs}


def _statistics(times: tuple[float, ...]) -> dict[str, float] | None:
    if not times:
        return None
    return {"median": median(times), "least": min(times), "most": max(times)}


@paged
def mpi_page(job: Job, result: MpiRun, via: str = "mpi") -> PageParts:
    """A row for each algorithm and size, compared with the library's own collective."""
    instance = job.work[0].instance
    combining = any(one.instance.combining for one in job.work)
    how = f", reduced with {job.operation}" if combining else ""
    yield (
        f"{instance.collective} on {instance.topology.name}; {result.ranks} ranks on "
        f"{counted(result.hosts, 'machine')}, {counted(result.cores, 'core')}, {result.library}"
        + (f", mpi4py {result.mpi4py}" if result.mpi4py else "")
    )
    yield (
        f"{job.dtype}{how}; median of {counted(job.repeats, 'call')}, each from a barrier until "
        "the last rank is done\n"
    )
    message = message_of(one.instance for one in job.work)
    rows, used = [], False
    library = "MPI" if via == "mpi" else via
    for one in result.comparisons:
        for run in one.runs:
            times = [median(x) if x else None for x in (run.seconds, run.reference_seconds)]
            own, reference = times
            used |= run.bound_used is not None
            ratio = "-" if own is None or not reference else f"{own / reference:.2f}"
            error = run.largest_error
            rows.append(
                {
                    "algorithm": one.where,
                    ">message": run.size * message.per_input,
                    "compared with": run.reference,
                    ">syncoll ms": "-" if own is None else f"{own * 1e3:.3f}",
                    f">{library} ms": "-" if reference is None else f"{reference * 1e3:.3f}",
                    ">ratio": ratio,
                    ">max abs error": "-" if error is None else f"{error:.3g}",
                    ">of bound": "bits" if run.bound_used is None else f"{run.bound_used:.0%}",
                    "result": "OK" if run.mismatch is None else "WRONG",
                }
            )
    yield table(rows, ("of bound", "max abs error", "compared with"))
    if used:
        yield (
            f"Orders of rounding differ: results may differ by {result.ranks} eps times the sum "
            "of the magnitudes\n(of products: times the product), and the column gives how much of "
            "that was used."
        )
    else:
        yield "All results must agree bit for bit."
    if result.hosts == 1:
        yield (
            f"All {result.ranks} ranks share this machine: this shows that the algorithms are "
            "right, not how fast they are on dedicated links."
        )
