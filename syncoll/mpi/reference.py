"""The reference of a result: MPI's own collective, or the definition if MPI has none.

Copies, integers, maxima and minima must agree bit for bit.  MPI adds floats in an order of its own.
The rounding error of a sum of k numbers in any order is at most about k/2 * eps * sum |x_i| (see
`syncoll.trust.data.definition`).  So two results differ by at most k * eps * sum |x_i|, and
products by k * eps times the product.  The sum of the magnitudes comes from MPI too: the same
collective on |x_i|.

MPI has no types for float16 and bfloat16: they are moved as integers of two bytes, and their
reductions are compared with the definition.

A custom collective whose chunks each go from one rank to one is an ``MPI_Alltoallv``.  Otherwise
the ranks are divided into groups without common chunks; if each of these is a collective of MPI,
with the data in MPI's order, that collective runs on a communicator of the group, in all groups at
once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from syncoll.arrays import Bools, Ints
from syncoll.model import Instance
from syncoll.model.groups import chunks_of, groups_of
from syncoll.mpi.buffers import message
from syncoll.mpi.collective import MpiCollective
from syncoll.mpi.communicators import mpi
from syncoll.mpi.program import split
from syncoll.runtime import Buffer, Kind
from syncoll.runtime.layout import kind_of_tables
from syncoll.trust.data import ReduceOp, Workload
from syncoll.trust.data.definition import DataDemand, reduction
from syncoll.trust.data.workload import Array, rounding
from syncoll.wording import counted

if TYPE_CHECKING:
    from mpi4py import MPI

_FUNCTIONS = {
    Kind.ALLGATHER: ("MPI_Allgather", "MPI_Allgatherv"),
    Kind.REDUCESCATTER: ("MPI_Reduce_scatter_block", "MPI_Reduce_scatter"),
    Kind.ALLREDUCE: ("MPI_Allreduce",) * 2,
    Kind.ALLTOALL: ("MPI_Alltoall", "MPI_Alltoallv"),
    Kind.BROADCAST: ("MPI_Bcast",) * 2,
    Kind.REDUCE: ("MPI_Reduce",) * 2,
    Kind.GATHER: ("MPI_Gather", "MPI_Gatherv"),
    Kind.SCATTER: ("MPI_Scatter", "MPI_Scatterv"),
}
"""MPI's functions for equal shares of all ranks, and for other shares."""

_BY_SOURCE = (Kind.ALLGATHER, Kind.GATHER, Kind.ALLTOALL)
_REDUCING = (Kind.ALLREDUCE, Kind.REDUCESCATTER, Kind.REDUCE)
_BY_END = (Kind.REDUCESCATTER, Kind.SCATTER, Kind.ALLTOALL)


@dataclass(frozen=True, eq=False)
class _Group:
    """Ranks that run a collective of MPI among themselves, in the order of MPI's numbers.

    Amounts are the elements of each rank's share, for alltoall of each pair; MPI has another
    function for equal shares.
    """

    kind: Kind
    ranks: tuple[int, ...]
    root: int
    amounts: Ints
    even: bool = False

    @property
    def function(self) -> str:
        """The name of MPI's function."""
        plain, uneven = _FUNCTIONS[self.kind]
        return plain if self.even else uneven

    def arguments(self, rank: int, send: Array, receive: Array, op: MPI.Op) -> tuple[object, ...]:
        sent, received = message(send), message(receive)
        amounts, at_root = self.amounts.tolist(), rank == self.root
        to_root: object = None if not at_root else received if self.even else (received, amounts)
        if self.kind is Kind.ALLREDUCE:
            return sent, received, op
        if self.kind is Kind.REDUCE:
            return sent, received if at_root else None, op, self.root
        if self.kind is Kind.REDUCESCATTER:
            return (sent, received, op) if self.even else (sent, received, amounts, op)
        if self.kind is Kind.BROADCAST:
            return received, self.root
        if self.kind is Kind.GATHER:
            return sent, to_root, self.root
        if self.kind is Kind.SCATTER:
            whole = sent if self.even else (sent, amounts)
            return whole if at_root else None, received, self.root
        if self.even:
            return sent, received
        if self.kind is Kind.ALLGATHER:
            return sent, (received, amounts)
        return (sent, amounts[rank]), (received, self.amounts[:, rank].tolist())


class MpiReference:
    """MPI's own collective in each of some groups of ranks, on the same buffers."""

    def __init__(self, groups: tuple[_Group, ...], operation: ReduceOp) -> None:
        self._groups, self._operation = groups, operation
        self._own: MPI.Comm | None = None

    @property
    def name(self) -> str:
        """The functions, and the number of groups."""
        names = " and ".join(dict.fromkeys(group.function for group in self._groups))
        if len(self._groups) == 1:
            return names
        return f"{names} in {counted(len(self._groups), 'group')}"

    def prepare(self, comm: MPI.Intracomm, send: Array, receive: Array) -> None:
        """Copies a broadcast's data to `receive` at its root."""
        _, group = self._group_of(comm.rank)
        if group is not None and group.kind is Kind.BROADCAST and len(send):
            receive[:] = send

    def run(self, comm: MPI.Intracomm, send: Array, receive: Array) -> None:
        """Calls it, out of place; the first call splits the communicator if groups need it."""
        number, group = self._group_of(comm.rank)
        if self._own is None:
            everyone = len(self._groups) == 1 and self._groups[0].ranks == (*range(comm.size),)
            place = 0 if group is None else group.ranks.index(comm.rank)
            color = mpi().UNDEFINED if group is None else number
            self._own = comm if everyone else comm.Split(color, place)
        if group is not None:
            op = getattr(mpi(), self._operation.name)
            given = group.arguments(self._own.rank, send, receive, op)
            getattr(self._own, group.function.removeprefix("MPI_"))(*given)

    def demand(self, comm: MPI.Intracomm, send: Array, length: int) -> DataDemand:
        """The expected result at this rank, and its tolerance."""
        value = self._result(comm, send, length)
        rounds = self._operation in (ReduceOp.SUM, ReduceOp.PROD) and send.dtype.kind == "f"
        if not rounds or not any(group.kind in _REDUCING for group in self._groups):
            return DataDemand(value, None)
        scale = self._result(comm, np.abs(send), length)
        _, group = self._group_of(comm.rank)
        ranks = 0 if group is None or group.kind not in _REDUCING else len(group.ranks)
        tolerance = ranks * rounding(send.dtype)[0] * scale.astype(np.longdouble)
        return DataDemand(value, tolerance)

    def _result(self, comm: MPI.Intracomm, send: Array, length: int) -> Array:
        receive = np.empty(length, send.dtype)
        self.prepare(comm, send, receive)
        self.run(comm, send, receive)
        return receive

    def _group_of(self, rank: int) -> tuple[int, _Group | None]:
        for number, group in enumerate(self._groups):
            if rank in group.ranks:
                return number, group
        return -1, None


def split_reference(instance: Instance, lengths: Ints, operation: ReduceOp) -> MpiReference | None:
    """The reference of a custom collective with chunks of lengths ``[G]``; None if MPI has none."""
    pre, post = instance.pre, instance.post
    if not instance.combining and (pre.sum(axis=1) == 1).all() and (post.sum(axis=1) == 1).all():
        whole = _group(Kind.ALLTOALL, pre, post, lengths, np.arange(pre.shape[1]))
        return None if whole is None else MpiReference((whole,), operation)
    groups = []
    for ranks in groups_of(instance):
        own = chunks_of(instance, ranks)
        starts, ends = pre[np.ix_(own, ranks)], post[np.ix_(own, ranks)]
        combining = instance.combining and bool((starts.sum(axis=1) > 1).any())
        kind = kind_of_tables(starts, ends, combining=combining).kind
        if kind is Kind.CUSTOM:
            return None
        found = _group(kind, starts, ends, lengths[own], np.array(ranks))
        if found is None:
            return None
        groups.append(found)
    return MpiReference(tuple(groups), operation) if groups else None


def _group(kind: Kind, pre: Bools, post: Bools, lengths: Ints, ranks: Ints) -> _Group | None:
    """A group with the ranks in the order of its chunks; None if no order fits."""
    source, end = pre.argmax(axis=1), post.argmax(axis=1)
    owner = source if kind in _BY_SOURCE else end
    count = pre.shape[1]
    order = np.arange(count)
    if kind in _BY_SOURCE or kind in _BY_END:
        first = np.unique(owner, return_index=True)
        order = first[0][np.argsort(first[1])]
        order = np.concatenate([order, np.setdiff1d(np.arange(count), order)])
    place = np.argsort(order)
    source, end = place[source], place[end]
    if kind is Kind.ALLTOALL:
        # Each rank has its chunks by their ends, and expects them by their sources.
        by_source, by_end = np.argsort(source, kind="stable"), np.argsort(end, kind="stable")
        for rows in ((source, end, by_source), (end, source, by_end)):
            one, other, sorted_by = rows
            steps = np.diff(one[sorted_by] * count + other[sorted_by])
            if (steps < 0).any():
                return None
        amounts = np.zeros((count, count), dtype=np.int64)
        np.add.at(amounts, (source, end), lengths)
    else:
        owned = place[owner]
        if (kind in _BY_SOURCE or kind in _BY_END) and (np.diff(owned) < 0).any():
            return None
        amounts = np.bincount(owned, lengths, count).astype(np.int64)
    root = 0
    if kind in (Kind.BROADCAST, Kind.SCATTER):
        root = int(place[pre.argmax(axis=1)[0]])
    elif kind in (Kind.REDUCE, Kind.GATHER):
        root = int(place[post.argmax(axis=1)[0]])
    return _Group(kind, tuple(ranks[order].tolist()), root, amounts)


class DefinitionReference:
    """The collective's definition, computed at each rank from the inputs of all ranks."""

    name = "the definition"

    def __init__(self, collective: MpiCollective, total: int, workload: Workload) -> None:
        self._instance, self._layout = collective.instance, collective.layout
        self._shares = collective.shares(total)
        self._workload = workload

    def demand(self, comm: MPI.Intracomm, send: Array, length: int) -> DataDemand:
        """The expected result at this rank, and its tolerance."""
        instance, lengths = self._instance, self._shares.chunks
        wanted = self._layout.chunks_in(Buffer.OUTPUT, comm.rank)
        pieces: dict[int, list[Array]] = {chunk: [] for chunk in wanted}
        for node in np.flatnonzero(instance.pre[wanted].any(axis=0)).tolist():
            drawn = self._workload.draw(int(self._shares.inputs[node]), node)
            start = 0
            for chunk in self._layout.chunks_in(Buffer.INPUT, node):
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


Reference = MpiReference | DefinitionReference


def reference_of(collective: MpiCollective, total: int, workload: Workload) -> Reference:
    """The reference of a collective."""
    halves, instance = workload.dtype in ("float16", "bfloat16"), collective.instance
    what = collective.collective
    if what.kind is Kind.CUSTOM and not (halves and instance.combining):
        lengths = collective.shares(total).chunks
        found = split_reference(instance, lengths, workload.operation)
        if found is not None:
            return found
    if what.kind is Kind.CUSTOM or (halves and what.combining):
        return DefinitionReference(collective, total, workload)
    counts = split(total, what.num_nodes)
    amounts = np.tile(counts, (len(counts), 1)) if what.kind is Kind.ALLTOALL else counts
    even = bool((counts == counts[0]).all())
    whole = _Group(what.kind, tuple(range(len(counts))), what.root or 0, amounts, even)
    return MpiReference((whole,), workload.operation)
