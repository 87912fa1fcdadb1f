"""Runs algorithms and MPI's own collectives: compares their results and measures their times.

For each size every rank draws its input, and the two results are compared.  Then both are called in
turn, each after a barrier, and the slowest rank counts.  The result of the last timed call is
compared again, to find side effects of one call on the next.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
import psutil

from syncoll.documents import StoredAlgorithm
from syncoll.errors import UsageError
from syncoll.mpi.collective import MpiCollective
from syncoll.mpi.communicators import mpi
from syncoll.mpi.program import BufferShares, chunk_at
from syncoll.mpi.reference import MpiReference, reference_of
from syncoll.processes import available_cores
from syncoll.runtime import Kind
from syncoll.trust.data import ReduceOp, Workload
from syncoll.trust.data.definition import DataDemand
from syncoll.trust.data.workload import Array, exactly, widen
from syncoll.wording import counted

if TYPE_CHECKING:
    from mpi4py import MPI


@dataclass(frozen=True)
class Job:
    """The work of every rank.

    Args:
        work: the algorithms, all for the same number of nodes.
        sizes: L, bytes of the largest input of a rank, one run for each.
        operation: the reduction of combining collectives.
        repeats: number of timed calls of each.

    Raises:
        UsageError: if a size does not fit the type.
    """

    work: tuple[StoredAlgorithm, ...]
    sizes: tuple[int, ...]
    dtype: str = "float32"
    operation: ReduceOp = ReduceOp.SUM
    seed: int = 0
    repeats: int = 10

    def __post_init__(self) -> None:
        for size in self.sizes:
            self.workload(size)

    def workload(self, size: int) -> Workload:
        """The data of one size."""
        return Workload(size, self.dtype, self.operation, self.seed)


@dataclass(frozen=True)
class Run:
    """One algorithm with data of one size, on all ranks.

    Args:
        size: bytes of the largest input of a rank.
        total: elements of the whole; see `syncoll.mpi.MpiCollective.shares`.
        reference: the reference, such as ``MPI_Allgather``, or the definition.
        seconds: time of each timed call, from a barrier until the last rank has its result.
        reference_seconds: times of MPI's own collective; empty if MPI has none.
        largest_error: the largest difference of any element of any rank from the reference; None if
            it is not finite.
        bound_used: the largest difference as a share of the rounding bound; None if the results
            must agree bit for bit.
        mismatch: describes the first wrong element; None if all are right.
    """

    size: int
    total: int
    reference: str
    seconds: tuple[float, ...]
    reference_seconds: tuple[float, ...]
    largest_error: float | None
    bound_used: float | None
    mismatch: str | None


@dataclass(frozen=True)
class MpiComparison:
    """The comparison of one algorithm; `does` names its collective: ``broadcast (root 0)``."""

    where: str
    does: str
    runs: tuple[Run, ...]

    @property
    def ok(self) -> bool:
        """Whether all results are right."""
        return all(run.mismatch is None for run in self.runs)


@dataclass(frozen=True)
class Result:
    """The result for P ranks, with the number of hosts and the cores of the first one; `mpi4py` is
    empty for other libraries than MPI."""

    ranks: int
    hosts: int
    cores: int
    library: str
    mpi4py: str
    comparisons: tuple[MpiComparison, ...]

    @property
    def ok(self) -> bool:
        """Whether all results are right."""
        return all(one.ok for one in self.comparisons)


_COPIES = 8
"""An upper estimate of the arrays of the size of input or output in a comparison."""


def measure(
    comm: MPI.Intracomm, job: Job, tell: Callable[[str, MpiCollective], None] | None = None
) -> Result:
    """Runs a job on the P ranks of a communicator; all ranks call this and get the result.  Raises
    UsageError if the number of ranks differs; `tell` is called before each part."""
    comparisons = []
    for work in job.work:
        collective = MpiCollective(work.algorithm, work.instance)
        runs = []
        for size in job.sizes:
            if tell is not None:
                tell(f"{work.where} with {counted(size, 'byte')}", collective)
            runs.append(_run(comm, collective, job.workload(size), job.repeats))
        comparisons.append(MpiComparison(work.where, str(collective.collective), tuple(runs)))
    hosts = set(comm.allgather(mpi().Get_processor_name()))
    return Result(
        comm.size,
        len(hosts),
        comm.bcast(available_cores()),
        _library(),
        version("mpi4py"),
        tuple(comparisons),
    )


def whole(collective: MpiCollective, elements: int) -> int:
    """The elements of the whole, from the elements of the largest input of a rank."""
    kind, ranks = collective.collective.kind, collective.num_ranks
    if kind in (Kind.ALLGATHER, Kind.GATHER):
        return elements * ranks
    if kind is Kind.CUSTOM:
        instance = collective.instance
        return -(-elements * instance.num_chunks // int(instance.pre.sum(axis=0).max()))
    return elements


def require_memory(job: Job) -> None:
    """Raises UsageError unless the data of all ranks fits in this machine's memory."""
    free = psutil.virtual_memory().available
    for work in job.work:
        collective = MpiCollective(work.algorithm, work.instance)
        for size in job.sizes:
            workload = job.workload(size)
            shares = collective.shares(whole(collective, workload.elements))
            width = workload.size // workload.elements
            need = int((shares.inputs + shares.outputs).sum()) * width * _COPIES
            if need > free:
                raise UsageError(
                    f"{collective.num_ranks} ranks with {size} bytes each need about "
                    f"{need >> 20} MiB to run and compare {work.where}, but {free >> 20} MiB of "
                    "memory are free; use a smaller size"
                )


def _run(comm: MPI.Intracomm, collective: MpiCollective, workload: Workload, repeats: int) -> Run:
    total = whole(collective, workload.elements)
    shares = collective.shares(total)
    send = workload.draw(int(shares.inputs[comm.rank]), comm.rank)
    send.setflags(write=False)
    receive = np.empty(int(shares.outputs[comm.rank]), send.dtype)
    reference = reference_of(collective, total, workload)
    demand = reference.demand(comm, send, len(receive))

    def call() -> None:
        collective(comm, send, receive, workload.operation, total=total)

    def compared() -> str | None:
        return describe(demand, receive, comm.rank, collective, shares, reference.name)

    _soil(receive)
    call()
    mismatch = compared()
    error, share = demand.error(receive), used(demand, receive)
    seconds, reference_seconds = list[float](), list[float]()
    theirs = receive.copy()
    run_theirs = None
    if isinstance(reference, MpiReference):
        reference.prepare(comm, send, theirs)
        run_theirs = partial(reference.run, comm, send, theirs)
    _soil(receive)
    for _ in range(repeats):
        seconds.append(_timed(comm, call))
        if run_theirs is not None:
            reference_seconds.append(_timed(comm, run_theirs))
    if repeats:
        mismatch = mismatch or compared()
    times, found = comm.allgather((seconds, reference_seconds)), (error, share, mismatch)
    return run_of(workload, total, reference.name, times, comm.allgather(found))


def run_of(
    workload: Workload,
    total: int,
    name: str,
    times: Sequence[Sequence[Sequence[float]]],
    found: Iterable[tuple[float, float | None, str | None]],
) -> Run:
    """The run of an algorithm and of a reference with a name.

    Args:
        times: of each process, for its calls of both; the slowest process counts.
        found: of each rank the error, its share of the bound, and the mismatch.
    """
    errors, shares, problems = zip(*found, strict=True)
    most = max(math.inf if math.isnan(error) else error for error in errors)
    ours, theirs = (tuple(map(max, zip(*each, strict=True))) for each in zip(*times, strict=True))
    return Run(
        workload.size,
        total,
        name,
        ours,
        theirs,
        most if math.isfinite(most) else None,
        max((share for share in shares if share is not None), default=None),
        next((words for words in problems if words is not None), None),
    )


def describe(
    demand: DataDemand,
    found: Array,
    rank: int,
    collective: MpiCollective,
    shares: BufferShares,
    name: str,
) -> str | None:
    """The first wrong element of a rank's output, in words; `name` is the reference's."""
    wrong = demand.wrong(found)
    if not wrong.any():
        return None
    i = int(wrong.argmax())
    chunk = chunk_at(collective.layout, rank, shares, i)
    return (
        f"element {i} of rank {rank}'s output, in chunk {chunk}, is {widen(found)[i]}, but "
        f"{name} has {widen(demand.value)[i]}"
    )


def _timed(comm: MPI.Intracomm, act: Callable[[], None]) -> float:
    comm.Barrier()
    start = perf_counter()
    act()
    return perf_counter() - start


def _soil(array: Array) -> None:
    """Fills an array with a pattern that is no result, to find missing writes."""
    array.view(np.uint8)[:] = 0x5A


def used(demand: DataDemand, result: Array) -> float | None:
    """The largest error as a share of the tolerance; None without a tolerance."""
    if demand.tolerance is None:
        return None
    difference = np.abs(exactly(result) - demand.value)
    with np.errstate(all="ignore"):
        share = np.where(difference == 0, 0, difference / demand.tolerance)
    largest = float(share.max(initial=0))
    return largest if math.isfinite(largest) else None


def _library() -> str:
    """The MPI library's name and version."""
    text: str = mpi().Get_library_version()
    line = text.strip("\0 \n").splitlines()[0].partition(",")[0]
    return " ".join(line.replace("Version:", " ").split())
