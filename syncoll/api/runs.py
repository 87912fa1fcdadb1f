"""Runs on data in the hands of a user: in this process, or over MPI."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from syncoll.api import arguments
from syncoll.api.base import Displayable, as_result, session_for, verb
from syncoll.api.frontier import Source, algorithms_of
from syncoll.errors import UsageError
from syncoll.mpi import Job, MpiComparison, Result, run_job
from syncoll.pages import Page
from syncoll.pages.execution import mpi_page
from syncoll.planning import message_of
from syncoll.session.settings import require_whole
from syncoll.trust.data import Execution, ReduceOp, Workload, dtype_of, execute
from syncoll.wording import argument, counted

__all__ = ["ExecutionResult", "MpiResult", "run"]

SHORT_TYPES = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64"}

_SIZE = 1 << 20
_MPI_SIZES = (4 << 10, 64 << 10, 1 << 20)
_MPI_SECONDS = 120.0


@dataclass(frozen=True, eq=False, repr=False)
class ExecutionResult(Displayable, Execution):
    """What an algorithm did to data, compared with the collective's definition."""

    def page(self) -> Page:
        """Whether it was right, and what it sent."""
        if self.mismatch is not None:
            return Page().text(f"WRONG: {self.mismatch.message}")
        return Page().text(
            f"OK: {self.steps} steps, {self.bytes_sent} bytes sent, largest error "
            f"{self.largest_error:.3g}"
        )


@dataclass(frozen=True, repr=False)
class MpiResult(Displayable, MpiComparison):
    """What an algorithm did over MPI, compared with MPI's own collective and timed beside it.

    Args:
        job: what was asked for.
        result: of all algorithms that ran together, and on what they ran.
    """

    job: Job
    result: Result

    def page(self) -> Page:
        """The times, and whether the results were right."""
        return mpi_page(self.job, replace(self.result, comparisons=(self,)))


@verb
def run(
    source: Source,
    size: int | str | None = None,
    *,
    dtype: str = "float32",
    op: str = "sum",
    seed: int = 0,
    via: str = "memory",
    ranks: int | None = None,
    sizes: int | str | Sequence[int | str] | None = None,
    repeats: int | None = None,
    time_limit: float | str | None = None,
) -> list[ExecutionResult] | list[MpiResult]:
    """Runs every point of a frontier on random data and compares with the definition.

    Over MPI each node is a process, which is started here, and what is compared with and timed
    beside it is MPI's own collective, where it has one.

    Args:
        source: a frontier, an algorithm, or a file of one.
        size: bytes of the message as nccl-tests counts them (of an allgather or gather the output,
            else the largest input of a node), as a number or a text such as ``1MiB`` (the default;
            over MPI 4 KiB, 64 KiB and 1 MiB).  Inputs are whole elements.
        dtype: such as ``float32``, ``bfloat16`` or ``int8``.
        op: ``sum``, ``prod``, ``max`` or ``min``, for what is reduced.
        seed: of the data.
        via: ``memory`` for all nodes in this process, or ``mpi``.
        ranks: over MPI the number of processes, which must be that of the nodes.
        sizes: over MPI several sizes in place of one, or a range such as ``4KiB..1MiB``, in steps
            of a factor of 4.
        repeats: over MPI how often each is timed; None for 10.
        time_limit: over MPI seconds for all of it, or a text such as ``2min`` (the default).

    Returns:
        A result for each; in a program that mpiexec has started all of them at its first rank, and
        none at the others.

    Raises:
        UsageError: on a size or a type that makes no sense, or when MPI is not installed.
        ExecutionError: when a process failed or the time was up.
    """
    if via not in ("memory", "mpi"):
        raise UsageError(f"{argument('via')}: {via!r}; expected memory or mpi")
    operation = arguments.choice_of("op", op, ReduceOp)
    require_whole("seed", seed)
    kind, algorithms = SHORT_TYPES.get(dtype, dtype), algorithms_of(source, "run")
    only_mpi = {"ranks": ranks, "sizes": sizes, "repeats": repeats, "time_limit": time_limit}
    for name, value in only_mpi.items():
        if value is not None and via == "memory":
            raise UsageError(
                f"{argument(name)} is for {argument('via', 'mpi')}; add that, or leave "
                f"{argument(name)} out"
            )
    message = message_of(one.instance for one in algorithms)

    def inputs(size: int) -> int:
        Workload(size, kind)  # passes sizes of whole elements of a type that exists
        return message.input_bytes(size, dtype_of(kind).itemsize)

    if via == "memory":
        exact = arguments.bytes_of(_SIZE if size is None else size)
        workload = Workload(inputs(exact), kind, operation, seed)
        return [
            as_result(ExecutionResult, execute(one.instance, one.algorithm, workload))
            for one in algorithms
        ]
    if size is not None and sizes is not None:
        raise UsageError(
            f"{argument('size')} and {argument('sizes')} are the same request; give one of them"
        )
    one = _MPI_SIZES if size is None else (size,)
    wanted = tuple(
        arguments.sizes_of("size", one) if sizes is None else arguments.sizes_of("sizes", sizes)
    )
    lengths = tuple(map(inputs, wanted))
    job = Job(tuple(algorithms), lengths, kind, operation, seed, repeats or Job.repeats)
    if not job.work:
        return []
    topology = job.work[0].instance.topology
    if ranks not in (None, topology.num_nodes):
        raise UsageError(
            f"{argument('ranks', ranks)}, but the algorithms are for the "
            f"{counted(topology.num_nodes, 'node')} of {topology.name}; expected "
            f"{argument('ranks', topology.num_nodes)}, one rank for each node"
        )
    seconds = arguments.seconds_of(time_limit)
    result = run_job(job, _MPI_SECONDS if seconds is None else seconds, session_for().tell)
    comparisons = () if result is None else result.comparisons
    return [as_result(MpiResult, one, job=job, result=result) for one in comparisons]
