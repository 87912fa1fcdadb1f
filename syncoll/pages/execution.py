"""Pages of algorithms that ran on data."""

from __future__ import annotations

from statistics import median

from syncoll.documents import StoredAlgorithm
from syncoll.mpi import Job, Result, Run
from syncoll.pages.page import Page
from syncoll.planning import message_of
from syncoll.trust.data import Execution
from syncoll.wording import counted

__all__ = ["execution_page", "mpi_page"]


def execution_page(done: list[tuple[StoredAlgorithm, Execution]]) -> Page:
    """A row for each algorithm that ran in this process."""
    columns = ("algorithm", ">chunks C", ">steps", ">bytes sent", ">max abs error", "result")
    rows = [
        (
            one.where,
            one.chunks,
            result.steps,
            result.bytes_sent,
            f"{result.largest_error:.3g}",
            "OK" if result.ok else "WRONG",
        )
        for one, result in done
    ]
    page = Page().table(columns, rows)
    return page if rows else page.text("the file has no algorithm to run")


def mpi_page(job: Job, result: Result) -> Page:
    """A row for each algorithm and size, compared with MPI's own collective."""
    page, instance = Page(), job.work[0].instance
    combining = any(one.instance.combining for one in job.work)
    how = f", reduced with {job.operation}" if combining else ""
    page.text(
        f"{instance.collective} on {instance.topology.name}; {result.ranks} ranks on "
        f"{counted(result.hosts, 'machine')}, {counted(result.cores, 'core')}, {result.library}, "
        f"mpi4py {result.mpi4py}"
    )
    page.text(
        f"{job.dtype}{how}; median of {counted(job.repeats, 'call')}, each from a barrier until "
        "the last rank is done\n"
    )
    message = message_of(one.instance for one in job.work)
    columns = ("algorithm", ">message", "compared with", ">syncoll ms", ">MPI ms", ">ratio")
    runs = [(one.where, run) for one in result.comparisons for run in one.runs]
    rows = [
        (
            where,
            run.size * message.per_input,
            run.reference,
            _milliseconds(run.seconds),
            _milliseconds(run.reference_seconds),
            _ratio(run),
            "-" if run.largest_error is None else f"{run.largest_error:.3g}",
            "bits" if run.bound_used is None else f"{run.bound_used:.0%}",
            "OK" if run.mismatch is None else "WRONG",
        )
        for where, run in runs
    ]
    optional = ("of bound", "max abs error", "compared with")
    page.table((*columns, ">max abs error", ">of bound", "result"), rows, optional)
    if any(run.bound_used is not None for _, run in runs):
        page.text(
            f"Orders of rounding differ: results may differ by {result.ranks} eps times the sum "
            "of the magnitudes\n(of products: times the product), and the column gives how much of "
            "that was used."
        )
    else:
        page.text("All results must agree bit for bit.")
    if result.hosts == 1:
        page.text(
            f"All {result.ranks} ranks share this machine: this shows that the algorithms are "
            "right, not how fast they are on dedicated links."
        )
    return page


def _milliseconds(seconds: tuple[float, ...]) -> str:
    return f"{median(seconds) * 1e3:.3f}" if seconds else "-"


def _ratio(run: Run) -> str:
    if not run.seconds or not run.reference_seconds:
        return "-"
    return f"{median(run.seconds) / median(run.reference_seconds):.2f}"
