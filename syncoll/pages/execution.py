"""Pages of algorithms that ran on data."""

from __future__ import annotations

from statistics import median

from syncoll.documents import StoredAlgorithm
from syncoll.mpi import Job, Result, Run
from syncoll.pages.page import PageParts, paged, table
from syncoll.planning import message_of
from syncoll.trust.data import Execution
from syncoll.wording import counted

__all__ = ["execution_page", "mpi_page"]


@paged
def execution_page(done: list[tuple[StoredAlgorithm, Execution]]) -> PageParts:
    """A row for each algorithm that ran in this process."""
    rows = [
        {
            "algorithm": one.where,
            ">chunks C": one.chunks,
            ">steps": result.steps,
            ">bytes sent": result.bytes_sent,
            ">max abs error": f"{result.largest_error:.3g}",
            "result": "OK" if result.ok else "WRONG",
        }
        for one, result in done
    ]
    yield table(rows) if rows else "the file has no algorithm to run"


@paged
def mpi_page(job: Job, result: Result) -> PageParts:
    """A row for each algorithm and size, compared with MPI's own collective."""
    instance = job.work[0].instance
    combining = any(one.instance.combining for one in job.work)
    how = f", reduced with {job.operation}" if combining else ""
    yield (
        f"{instance.collective} on {instance.topology.name}; {result.ranks} ranks on "
        f"{counted(result.hosts, 'machine')}, {counted(result.cores, 'core')}, {result.library}, "
        f"mpi4py {result.mpi4py}"
    )
    yield (
        f"{job.dtype}{how}; median of {counted(job.repeats, 'call')}, each from a barrier until "
        "the last rank is done\n"
    )
    message = message_of(one.instance for one in job.work)
    runs = [(one.where, run) for one in result.comparisons for run in one.runs]
    rows = [
        {
            "algorithm": where,
            ">message": run.size * message.per_input,
            "compared with": run.reference,
            ">syncoll ms": _milliseconds(run.seconds),
            ">MPI ms": _milliseconds(run.reference_seconds),
            ">ratio": _ratio(run),
            ">max abs error": "-" if run.largest_error is None else f"{run.largest_error:.3g}",
            ">of bound": "bits" if run.bound_used is None else f"{run.bound_used:.0%}",
            "result": "OK" if run.mismatch is None else "WRONG",
        }
        for where, run in runs
    ]
    yield table(rows, ("of bound", "max abs error", "compared with"))
    if any(run.bound_used is not None for _, run in runs):
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


def _milliseconds(seconds: tuple[float, ...]) -> str:
    return f"{median(seconds) * 1e3:.3f}" if seconds else "-"


def _ratio(run: Run) -> str:
    if not run.seconds or not run.reference_seconds:
        return "-"
    return f"{median(run.seconds) / median(run.reference_seconds):.2f}"
