"""What ``syncoll run --via mpi`` does: starts the ranks, or is one, and prints the comparison."""

from __future__ import annotations

import argparse
import os
from statistics import median
from typing import TYPE_CHECKING, Any

from syncoll.cli.exits import Exit
from syncoll.errors import ExecutionError, SyncollError, UsageError
from syncoll.wording import counted

if TYPE_CHECKING:
    from syncoll.documents import StoredFile
    from syncoll.mpi import Job, Result, Run

__all__ = ["run_over_mpi"]

_SIZES = (4 << 10, 64 << 10, 1 << 20)
_UNDER_MPIEXEC = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK")


def run_over_mpi(arguments: argparse.Namespace) -> int:
    """Runs and compares every algorithm of a file; returns the exit code."""
    from syncoll.cli.output import note, print_text
    from syncoll.documents import read_file
    from syncoll.mpi import Job
    from syncoll.mpi.job import Work
    from syncoll.trust.data import ReduceOp

    if arguments.size is not None and arguments.sizes is not None:
        raise UsageError("--size and --sizes are the same request; give one of them")
    sizes = arguments.sizes or ((arguments.size,) if arguments.size else _SIZES)
    stored = read_file(arguments.file)
    nodes = stored.topology.num_nodes
    if arguments.ranks not in (None, nodes):
        raise UsageError(
            f"-n {arguments.ranks}, but {arguments.file} is for the {counted(nodes, 'node')} of "
            f"{stored.topology.name}; expected -n {nodes}, one rank for each node"
        )
    job = Job(
        tuple(Work(one.where, one.instance, one.algorithm) for one in stored.algorithms),
        tuple(sizes),
        arguments.dtype,
        ReduceOp(arguments.op),
        arguments.seed,
        arguments.repeats,
    )
    if not job.work:
        print_text(f"{arguments.file}: no algorithm in it; nothing to run")
        return Exit.OK
    try:
        result = _result(job, nodes, arguments.time_limit)
    except ExecutionError as error:
        note(f"syncoll: {arguments.file}: {error}")
        return Exit.UNDECIDED if error.timed_out else Exit.BAD_INPUT
    if result is None:  # another rank prints it
        return Exit.OK
    _report(arguments, stored, job, result)
    for one in result.comparisons:
        for run in one.runs:
            if run.mismatch is not None:
                note(
                    f"syncoll: {arguments.file}: {one.where} with {run.size} bytes: {run.mismatch}"
                )
    return Exit.OK if result.ok else Exit.BAD_INPUT


def _result(job: Job, nodes: int, seconds: float) -> Result | None:
    """Of ranks started here, or of those that mpiexec has started, of which this is one."""
    if not any(name in os.environ for name in _UNDER_MPIEXEC):
        from syncoll.mpi import launch

        return launch(job, seconds=seconds)
    from syncoll.cli.output import note
    from syncoll.mpi import measure
    from syncoll.mpi.communicators import mpi
    from syncoll.mpi.rank import Watch

    comm = mpi().COMM_WORLD
    if comm.size != nodes:
        if comm.rank:
            return None
        raise UsageError(
            f"mpiexec started {comm.size} ranks, but the algorithms are for {nodes} nodes; "
            f"expected mpiexec -n {nodes}"
        )

    def say(text: str) -> None:
        note(f"syncoll: rank {comm.rank}: not done after {seconds:g} s, the time limit: {text}")

    watch = Watch(seconds, None, say)
    try:
        result = measure(comm, job, watch.tell)
    except SyncollError as error:
        note(f"syncoll: rank {comm.rank}: {error}")
        comm.Abort(int(Exit.BAD_INPUT))  # the others wait for this one
        raise
    watch.stop()
    return result if comm.rank == 0 else None


def _report(arguments: argparse.Namespace, stored: StoredFile, job: Job, result: Result) -> None:
    from syncoll.cli.output import print_json, print_table, print_text

    combining = any(one.instance.combining for one in job.work)
    if arguments.format == "json":
        print_json(_document(arguments, stored, job, result))
        return
    how = f", reduced with {job.operation}" if combining else ""
    print_text(
        f"{stored.kind}: {stored.collective} on {stored.topology.name}; {result.ranks} ranks on "
        f"{counted(result.hosts, 'machine')}, {counted(result.cores, 'core')}, {result.library}, "
        f"mpi4py {result.mpi4py}"
    )
    print_text(
        f"{job.dtype}{how}; median of {counted(job.repeats, 'call')}, each from a barrier until "
        "the last rank is done\n"
    )
    columns = ("algorithm", ">bytes", "compared with", ">syncoll ms", ">MPI ms", ">ratio")
    rows = [
        (
            one.where,
            run.size,
            run.reference,
            _milliseconds(run.seconds),
            _milliseconds(run.reference_seconds),
            _ratio(run),
            "-" if run.largest_error is None else f"{run.largest_error:.3g}",
            "bits" if run.bound_used is None else f"{run.bound_used:.0%}",
            "OK" if run.mismatch is None else "WRONG",
        )
        for one in result.comparisons
        for run in one.runs
    ]
    print_table((*columns, ">max abs error", ">of bound", "result"), rows)
    if any(run.bound_used is not None for one in result.comparisons for run in one.runs):
        print_text(
            f"Orders of rounding differ: results may differ by {result.ranks} eps times the sum "
            "of the magnitudes\n(of products: times the product), and the column tells how much of "
            "that was used."
        )
    else:
        print_text("All results must agree bit for bit.")
    if result.hosts == 1:
        print_text(
            f"All {result.ranks} ranks share this machine: this shows that the algorithms are "
            "right, not how fast they are on dedicated links."
        )


def _milliseconds(seconds: tuple[float, ...]) -> str:
    return f"{median(seconds) * 1e3:.3f}" if seconds else "-"


def _ratio(run: Run) -> str:
    if not run.seconds or not run.reference_seconds:
        return "-"
    return f"{median(run.seconds) / median(run.reference_seconds):.2f}"


def _document(
    arguments: argparse.Namespace, stored: StoredFile, job: Job, result: Result
) -> dict[str, Any]:
    import syncoll

    def seconds(times: tuple[float, ...]) -> dict[str, float] | None:
        if not times:
            return None
        return {"median": median(times), "least": min(times), "most": max(times)}

    combining = any(one.instance.combining for one in job.work)
    return {
        "schema": "syncoll/mpi-execution/1",
        "version": syncoll.__version__,
        "file": str(arguments.file),
        "kind": stored.kind,
        "topology": stored.topology.name,
        "collective": stored.collective,
        "ranks": result.ranks,
        "machines": result.hosts,
        "cores": result.cores,
        "library": result.library,
        "mpi4py": result.mpi4py,
        "shows": "correctness" if result.hosts == 1 else "correctness and speed",
        "sizes": list(job.sizes),
        "dtype": job.dtype,
        "operation": str(job.operation) if combining else None,
        "seed": job.seed,
        "repeats": job.repeats,
        "ok": result.ok,
        "algorithms": [
            {
                "where": work.where,
                "chunks": work.instance.chunks,
                "steps": work.instance.steps,
                "rounds": work.instance.rounds,
                "does": one.does,
                "ok": one.ok,
                "runs": [
                    {
                        "size": run.size,
                        "elements": run.total,
                        "compared_with": run.reference,
                        "seconds": seconds(run.seconds),
                        "mpi_seconds": seconds(run.reference_seconds),
                        "largest_error": run.largest_error,
                        "bound_used": run.bound_used,
                        "ok": run.mismatch is None,
                        "mismatch": run.mismatch,
                    }
                    for run in one.runs
                ],
            }
            for work, one in zip(job.work, result.comparisons, strict=True)
        ],
    }
