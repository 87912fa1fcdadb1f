"""Jobs and their results: the same for all ranks, and passed between processes."""

from __future__ import annotations

from dataclasses import dataclass

from syncoll.documents import StoredAlgorithm
from syncoll.trust.data import ReduceOp, Workload

__all__ = ["Job", "MpiComparison", "Result", "Run"]


@dataclass(frozen=True)
class Job:
    """The work of every rank.

    Args:
        work: the algorithms, all for the same number of nodes.
        sizes: L, bytes of the largest input of a rank, one run for each.
        operation: the reduction of combining collectives.
        repeats: number of timed calls of each.

    Raises:
        UsageError: when a size does not fit the type.
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
        total: elements of the whole; see `syncoll.mpi.Collective.shares`.
        reference: the reference, such as ``MPI_Allgather``, or the definition.
        seconds: of each timed call, from a barrier until the last rank had its result.
        reference_seconds: the same of MPI's own collective; empty if MPI has none.
        largest_error: the largest difference of any element of any rank from the reference; None if
            it is not finite.
        bound_used: the largest difference as a share of the rounding bound; None if the results
            must agree bit for bit.
        mismatch: the first wrong element, in words; None if there is none.
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
    """The comparison of one algorithm; `does` is its collective: ``broadcast (root 0)``."""

    where: str
    does: str
    runs: tuple[Run, ...]

    @property
    def ok(self) -> bool:
        """Whether all results are right."""
        return all(run.mismatch is None for run in self.runs)


@dataclass(frozen=True)
class Result:
    """The result for P ranks, with the number of hosts and the cores of the first one."""

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
