"""MPI's own collectives for what they do in groups of ranks, or with different amounts of data.

A custom collective whose chunks each go from one rank to one is an ``MPI_Alltoallv``.  Of others
the ranks fall apart into groups between which no chunk has anything in common; where each of these
is a collective that MPI has, and the data lies in the order in which MPI wants it, that collective
runs on a communicator of the group, in all groups at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from syncoll.arrays import BoolArray, IntArray
from syncoll.model import Instance
from syncoll.mpi.buffers import message
from syncoll.mpi.communicators import mpi
from syncoll.runtime import Kind
from syncoll.runtime.layout import kind_of_tables
from syncoll.trust.data import ReduceOp
from syncoll.trust.data.definition import DataDemand
from syncoll.trust.data.workload import Array, rounding
from syncoll.wording import counted

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["SplitReference", "split_reference"]


_FUNCTIONS = {
    Kind.ALLGATHER: "MPI_Allgatherv",
    Kind.REDUCESCATTER: "MPI_Reduce_scatter",
    Kind.ALLREDUCE: "MPI_Allreduce",
    Kind.ALLTOALL: "MPI_Alltoallv",
    Kind.BROADCAST: "MPI_Bcast",
    Kind.REDUCE: "MPI_Reduce",
    Kind.GATHER: "MPI_Gatherv",
    Kind.SCATTER: "MPI_Scatterv",
}
_BY_SOURCE = (Kind.ALLGATHER, Kind.GATHER, Kind.ALLTOALL)
_BY_END = (Kind.REDUCESCATTER, Kind.SCATTER, Kind.ALLTOALL)


@dataclass(frozen=True, eq=False)
class _Group:
    """Ranks that do a collective of MPI's among themselves.

    Args:
        ranks: in the order in which MPI numbers them.
        root: its place among them.
        amounts: elements, ``[n]`` of each rank's share, of alltoall ``[n, n]`` from each to each.
    """

    kind: Kind
    ranks: tuple[int, ...]
    root: int
    amounts: IntArray


class SplitReference:
    """MPI's own collective in each of some groups of ranks, on the same buffers."""

    def __init__(self, groups: tuple[_Group, ...], operation: ReduceOp) -> None:
        self._groups, self._operation = groups, operation
        self._own: MPI.Comm | None = None

    @property
    def name(self) -> str:
        """The functions, and in how many groups."""
        names = " and ".join(dict.fromkeys(_FUNCTIONS[group.kind] for group in self._groups))
        if len(self._groups) == 1:
            return names
        return f"{names} in {counted(len(self._groups), 'group')}"

    def run(self, comm: MPI.Intracomm, send: Array, receive: Array) -> None:
        """Calls it; the first call splits the communicator."""
        number, group = self._group_of(comm.rank)
        if self._own is None:
            place = 0 if group is None else group.ranks.index(comm.rank)
            color = mpi().UNDEFINED if group is None else number
            self._own = comm.Split(color, place)
        if group is None:
            return
        if group.kind is Kind.BROADCAST and len(send):
            receive[:] = send
        own, root = self._own, group.root
        assert own is not None
        send, receive = message(send), message(receive)
        at_root = own.rank == root
        op = getattr(mpi(), self._operation.name)
        amounts = group.amounts.tolist()
        if group.kind is Kind.ALLTOALL:
            theirs = group.amounts[:, own.rank].tolist()
            own.Alltoallv((send, amounts[own.rank]), (receive, theirs))
        elif group.kind is Kind.ALLGATHER:
            own.Allgatherv(send, (receive, amounts))
        elif group.kind is Kind.GATHER:
            own.Gatherv(send, (receive, amounts) if at_root else None, root)
        elif group.kind is Kind.SCATTER:
            own.Scatterv((send, amounts) if at_root else None, receive, root)
        elif group.kind is Kind.REDUCESCATTER:
            own.Reduce_scatter(send, receive, amounts, op)
        elif group.kind is Kind.REDUCE:
            own.Reduce(send, receive if at_root else None, op, root)
        elif group.kind is Kind.ALLREDUCE:
            own.Allreduce(send, receive, op)
        else:
            own.Bcast(receive, root)

    def demand(self, comm: MPI.Intracomm, send: Array, length: int) -> DataDemand:
        """What must come out at this rank, and by how much it may differ."""
        value = np.empty(length, send.dtype)
        self.run(comm, send, value)
        rounds = self._operation in (ReduceOp.SUM, ReduceOp.PROD) and send.dtype.kind == "f"
        if not rounds or not any(_reduces(group.kind) for group in self._groups):
            return DataDemand(value, None)
        scale = np.empty(length, send.dtype)
        self.run(comm, np.abs(send), scale)
        _, group = self._group_of(comm.rank)
        ranks = 0 if group is None or not _reduces(group.kind) else len(group.ranks)
        tolerance = ranks * rounding(send.dtype)[0] * scale.astype(np.longdouble)
        return DataDemand(value, tolerance)

    def _group_of(self, rank: int) -> tuple[int, _Group | None]:
        for number, group in enumerate(self._groups):
            if rank in group.ranks:
                return number, group
        return -1, None


def split_reference(
    instance: Instance, lengths: IntArray, operation: ReduceOp
) -> SplitReference | None:
    """The reference of a custom collective; None where MPI has none for it.

    Args:
        lengths: ``[G]``, elements of each chunk.
    """
    pre, post = instance.pre, instance.post
    if not instance.combining and (pre.sum(axis=1) == 1).all() and (post.sum(axis=1) == 1).all():
        whole = _group(Kind.ALLTOALL, pre, post, lengths, np.arange(pre.shape[1]))
        return None if whole is None else SplitReference((whole,), operation)
    groups = []
    for ranks in _components(pre | post):
        own = np.flatnonzero((pre | post)[:, ranks].any(axis=1))
        starts, ends = pre[np.ix_(own, ranks)], post[np.ix_(own, ranks)]
        combining = instance.combining and bool((starts.sum(axis=1) > 1).any())
        kind = kind_of_tables(starts, ends, combining=combining).kind
        if kind is Kind.CUSTOM:
            return None
        found = _group(kind, starts, ends, lengths[own], ranks)
        if found is None:
            return None
        groups.append(found)
    return SplitReference(tuple(groups), operation) if groups else None


def _reduces(kind: Kind) -> bool:
    return kind in (Kind.ALLREDUCE, Kind.REDUCESCATTER, Kind.REDUCE)


def _components(together: BoolArray) -> list[IntArray]:
    """The sets of ranks that chunks have in common, those of several ranks or of a chunk."""
    label = np.arange(together.shape[1])
    for row in np.unique(together, axis=0):
        members = label[row]
        if len(members):
            label[np.isin(label, members)] = members.min()
    used = together.any(axis=0)
    return [np.flatnonzero((label == one) & used) for one in np.unique(label[used])]


def _group(
    kind: Kind, pre: BoolArray, post: BoolArray, lengths: IntArray, ranks: IntArray
) -> _Group | None:
    """A group with the ranks in the order of its chunks; None where these lie in another order."""
    source, end = pre.argmax(axis=1), post.argmax(axis=1)
    owner = source if kind in _BY_SOURCE else end
    count = pre.shape[1]
    order = np.arange(count)
    if kind in _BY_SOURCE or kind in _BY_END:
        first = np.unique(owner, return_index=True)
        order = first[0][np.argsort(first[1])]
        order = np.concatenate([order, np.setdiff1d(np.arange(count), order)])
    place = np.empty(count, dtype=np.int64)
    place[order] = np.arange(count)
    source, end = place[source], place[end]
    if kind is Kind.ALLTOALL:
        # Each rank has its chunks by their ends, and wants them by their sources.
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
