"""What a result is compared with: MPI's own collective, or the definition where MPI has none.

Copies, integers, maxima and minima must agree bit for bit.  MPI adds floats in an order of its own.
In whatever order k numbers are added, rounding makes an error of at most about
k/2 * eps * sum |x_i| (see `syncoll.trust.data.definition`), so that two results differ by no more
than k * eps * sum |x_i|; products by k * eps times the product.  The sum of the magnitudes comes
from MPI too: the same collective on |x_i|.

MPI has no types for float16 and bfloat16: it moves them as integers of two bytes, and cannot reduce
them, so that their reductions are compared with the definition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from syncoll.mpi.buffers import message
from syncoll.mpi.collective import MpiCollective
from syncoll.mpi.communicators import mpi
from syncoll.mpi.shares import split
from syncoll.mpi.split_reference import SplitReference, split_reference
from syncoll.runtime import Kind
from syncoll.trust.data import ReduceOp, Workload
from syncoll.trust.data.definition import DataDemand, reduction
from syncoll.trust.data.workload import Array, rounding

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["DefinitionReference", "MpiReference", "Reference", "reference_of"]


class MpiReference:
    """MPI's own collective on the same buffers, of so many elements in total."""

    def __init__(self, collective: MpiCollective, total: int, operation: ReduceOp) -> None:
        self._what = collective.collective
        self._counts: list[int] = split(total, collective.num_ranks).tolist()
        self._even = len(set(self._counts)) == 1
        self._operation = operation

    @property
    def name(self) -> str:
        """The function."""
        plain, uneven = {
            Kind.ALLGATHER: ("MPI_Allgather", "MPI_Allgatherv"),
            Kind.REDUCESCATTER: ("MPI_Reduce_scatter_block", "MPI_Reduce_scatter"),
            Kind.ALLREDUCE: ("MPI_Allreduce",) * 2,
            Kind.ALLTOALL: ("MPI_Alltoall", "MPI_Alltoallv"),
            Kind.BROADCAST: ("MPI_Bcast",) * 2,
            Kind.REDUCE: ("MPI_Reduce",) * 2,
            Kind.GATHER: ("MPI_Gather", "MPI_Gatherv"),
            Kind.SCATTER: ("MPI_Scatter", "MPI_Scatterv"),
        }[self._what.kind]
        return plain if self._even else uneven

    def run(self, comm: MPI.Intracomm, send: Array, receive: Array) -> None:
        """Calls it; out of place, but of a broadcast, whose root has its data in `receive`."""
        send, receive = message(send), message(receive)
        counts, root = self._counts, self._what.root or 0
        at_root = comm.rank == root
        op = getattr(mpi(), self._operation.name)
        own, whole = (receive if at_root else None), (send if at_root else None)
        arguments: dict[Kind, tuple[object, ...]] = {
            Kind.ALLREDUCE: (send, receive, op),
            Kind.REDUCE: (send, own, op, root),
            Kind.REDUCESCATTER: (send, receive, op),
            Kind.BROADCAST: (receive, root),
            Kind.ALLGATHER: (send, receive),
            Kind.ALLTOALL: (send, receive),
            Kind.GATHER: (send, own, root),
            Kind.SCATTER: (whole, receive, root),
        }
        if not self._even:
            arguments |= {
                Kind.REDUCESCATTER: (send, receive, counts, op),
                Kind.ALLGATHER: (send, (receive, counts)),
                Kind.ALLTOALL: ((send, counts), (receive, [counts[comm.rank]] * comm.size)),
                Kind.GATHER: (send, own if own is None else (own, counts), root),
                Kind.SCATTER: (whole if whole is None else (whole, counts), receive, root),
            }
        getattr(comm, self.name.removeprefix("MPI_"))(*arguments[self._what.kind])

    def demand(self, comm: MPI.Intracomm, send: Array, length: int) -> DataDemand:
        """What must come out at this rank, and by how much it may differ."""
        value = self._result(comm, send, length)
        rounds = self._operation in (ReduceOp.SUM, ReduceOp.PROD) and send.dtype.kind == "f"
        if not self._what.combining or not rounds:
            return DataDemand(value, None)
        scale = self._result(comm, np.abs(send), length).astype(np.longdouble)
        return DataDemand(value, comm.size * rounding(send.dtype)[0] * scale)

    def _result(self, comm: MPI.Intracomm, send: Array, length: int) -> Array:
        receive = np.empty(length, send.dtype)
        if self._what.kind is Kind.BROADCAST and len(send):
            receive[:] = send
        self.run(comm, send, receive)
        return receive


class DefinitionReference:
    """The collective's definition, computed at each rank from the inputs of all."""

    name = "the definition"

    def __init__(self, collective: MpiCollective, total: int, workload: Workload) -> None:
        self._instance, self._layout = collective.instance, collective.layout
        self._shares = collective.shares(total)
        self._workload = workload

    def demand(self, comm: MPI.Intracomm, send: Array, length: int) -> DataDemand:
        """What must come out at this rank, and by how much it may differ."""
        instance, lengths = self._instance, self._shares.chunks
        wanted = _in_order(self._layout.outputs[:, comm.rank])
        pieces: dict[int, list[Array]] = {chunk: [] for chunk in wanted}
        for node in np.flatnonzero(instance.pre[wanted].any(axis=0)).tolist():
            drawn = self._workload.draw(int(self._shares.inputs[node]), node)
            start = 0
            for chunk in _in_order(self._layout.inputs[:, node]):
                if chunk in pieces and (instance.combining or not pieces[chunk]):
                    pieces[chunk].append(drawn[start : start + int(lengths[chunk])])
                start += int(lengths[chunk])
        demands = [
            reduction(pieces[chunk], self._workload.operation)
            if instance.combining
            else DataDemand(pieces[chunk][0], None)
            for chunk in wanted
        ]
        if not demands:
            return DataDemand(np.empty(length, send.dtype), None)
        value = np.concatenate([one.value for one in demands])
        tolerances = [one.tolerance for one in demands if one.tolerance is not None]
        return DataDemand(value, np.concatenate(tolerances) if tolerances else None)


def _in_order(places: Array) -> list[int]:
    """The chunks that lie in a rank's buffer, as they lie there."""
    chunks: list[int] = np.argsort(places, kind="stable")[np.count_nonzero(places < 0) :].tolist()
    return chunks


Reference = MpiReference | SplitReference | DefinitionReference


def reference_of(collective: MpiCollective, total: int, workload: Workload) -> Reference:
    """What a collective is compared with."""
    halves, instance = workload.dtype in ("float16", "bfloat16"), collective.instance
    if collective.collective.kind is Kind.CUSTOM and not (halves and instance.combining):
        lengths = collective.shares(total).chunks
        found = split_reference(instance, lengths, workload.operation)
        if found is not None:
            return found
    if collective.collective.kind is Kind.CUSTOM or (halves and collective.collective.combining):
        return DefinitionReference(collective, total, workload)
    return MpiReference(collective, total, workload.operation)
