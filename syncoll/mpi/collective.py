"""A synthesised algorithm, called like MPI's own collective."""

from typing import TYPE_CHECKING, Any

import numpy as np

from syncoll.errors import UsageError
from syncoll.model import Algorithm, Instance
from syncoll.mpi.buffers import Buffers, buffers_of, message
from syncoll.mpi.communicators import mpi, private
from syncoll.mpi.program import (
    BufferShares,
    RankProgram,
    Region,
    Transfer,
    program_of,
    shares_of,
    split,
)
from syncoll.plugins import ExportRequest
from syncoll.runtime import Kind, Layout, StandardCollective, kind_of, layout_of, table_of
from syncoll.trust.data import ReduceOp
from syncoll.trust.data.workload import Array
from syncoll.wording import counted

if TYPE_CHECKING:
    from mpi4py import MPI


class MpiCollective:
    """A collective over MPI, carried out by a synthesised algorithm.

    ``MpiCollective(read_file(path).algorithms[0])`` takes an algorithm of a file, a point of a
    frontier, or a file of a single algorithm; ``MpiCollective(algorithm, instance)`` takes the two
    separately.  Rank n of a communicator is node n of the topology.

    Args:
        solved: an algorithm, or an object with one and its instance.
        instance: the problem, if `solved` is an algorithm alone.

    Raises:
        VerificationError: if the algorithm does not solve the instance.
        UsageError: if `solved` has no instance, or several algorithms.
    """

    def __init__(self, solved: object, instance: Instance | None = None):
        self.instance, self.algorithm = _taken_apart(solved, instance)
        self.collective: StandardCollective = kind_of(self.instance)
        """The collective; its ``kind`` is custom if MPI has no function for it."""
        self.num_ranks: int = self.collective.num_nodes
        """P, the size of its communicators."""
        self.working: str = ""
        """The current activity of a running call, for other threads."""
        self.layout: Layout = layout_of(self.instance, in_place=False)
        """Place of each chunk in the buffers of each rank."""
        request = ExportRequest("mpi", self.instance.collective, self.instance, self.algorithm)
        self._table = table_of(request, groups=False)
        self._bound: tuple[tuple[int, np.dtype[Any]], RankProgram, Array] | None = None

    def shares(self, total: int) -> BufferShares:
        """The number of elements of each rank's buffers.

        Args:
            total: elements of the whole: the output of allgather and gather, the input of
                reducescatter, scatter and alltoall, the buffer of allreduce, broadcast and reduce,
                all chunks of a custom collective.
        """
        return shares_of(self.layout, total)

    def __call__(
        self,
        comm: "MPI.Intracomm",
        sendbuf: object,
        recvbuf: object,
        op: "ReduceOp | str | MPI.Op" = ReduceOp.SUM,
        *,
        total: int | None = None,
    ) -> None:
        """Runs it; every rank of the communicator must call it with the same `op` and `total`.

        Buffers are arrays of one of `DTYPES` with the layout of MPI's own collective: ``recvbuf``
        of allgather is the shares of ranks 0, 1, … in a row, and so on.  Lengths that do not divide
        by P are cut as by ``numpy.array_split``.  A rank without input passes None as ``sendbuf``,
        a rank without output None as ``recvbuf``.  At other ranks None or ``MPI.IN_PLACE`` has the
        meaning of MPI: for scatter it replaces ``recvbuf``, for the others ``sendbuf``.  The root
        of a broadcast may pass ``sendbuf`` too, which is copied; otherwise its ``recvbuf`` holds
        the data. A custom collective's buffers are the chunks in order of their numbers.

        Args:
            comm: of P ranks; the first call with it is a collective operation of its own.
            sendbuf: input; it is not written.
            op: the reduction of combining collectives; ignored by others.
            total: elements of the whole (see `shares`); needed for gather, scatter and custom
                collectives with shares of different lengths, otherwise derived from the buffers.

        Raises:
            UsageError: if MPI is not installed, the communicator has not P ranks, or a buffer is
                invalid or has a wrong length.  Other ranks are not notified, and would wait.
        """
        module = mpi()
        reduced = _operation(op)
        if comm.Is_inter():
            raise UsageError("comm is an intercommunicator; expected an intracommunicator")
        if comm.size != self.num_ranks:
            raise UsageError(
                f"the communicator has {counted(comm.size, 'rank')}, but the algorithm is for "
                f"{counted(self.num_ranks, 'node')}; expected one rank for each node"
            )
        rank = comm.rank
        buffers = buffers_of(sendbuf, recvbuf)
        in_place = self._is_in_place(rank, buffers)
        if total is None:
            total = self._total(rank, buffers)
        self._require_lengths(rank, total, buffers, in_place=in_place)
        program, scratch = self._bind(rank, total, buffers.dtype)
        arrays = (*self._arrays(rank, total, buffers, in_place=in_place), scratch)

        def view(region: Region) -> Array:
            return arrays[region.buffer][region.start : region.stop]

        def whole(transfer: Transfer) -> Array:
            """The memory into which a message is received."""
            if len(transfer.regions) == 1:
                return view(transfer.regions[0])
            return np.empty(sum(r.stop - r.start for r in transfer.regions), buffers.dtype)

        def packed(transfer: Transfer) -> Array:
            parts = [view(region) for region in transfer.regions]
            return parts[0] if len(parts) == 1 else np.concatenate(parts)

        def unpack(transfer: Transfer, data: Array) -> None:
            if len(transfer.regions) > 1:
                ends = np.cumsum([r.stop - r.start for r in transfer.regions])[:-1]
                for region, part in zip(transfer.regions, np.split(data, ends), strict=True):
                    np.copyto(view(region), part)

        own = private(comm)
        with np.errstate(all="ignore"):  # as MPI does; overflows are the caller's responsibility
            for step in program.steps:
                self.working = f"step {step.number}"
                arriving = [(t, whole(t)) for t in step.receives]
                pending = [own.Irecv(message(data), t.peer, t.tag) for t, data in arriving]
                pending += [own.Isend(message(packed(t)), t.peer, t.tag) for t in step.sends]
                if pending:
                    module.Request.Waitall(pending)
                for t, data in arriving:
                    unpack(t, data)
                for local in step.locals:
                    if len(local.sources) == 1:
                        np.copyto(view(local.target), view(local.sources[0]))
                    else:
                        one, other = local.sources
                        reduced.into(view(local.target), view(one), view(other))
        self.working = ""

    def _is_in_place(self, rank: int, buffers: Buffers) -> bool:
        """Whether a rank with both input and output passes one buffer for both."""
        layout = self.layout
        if not layout.input_chunks[rank] or not layout.output_chunks[rank]:
            return False
        if buffers.send is not None and buffers.receive is not None:
            return False
        kind = self.collective.kind
        if kind is Kind.CUSTOM:
            raise UsageError(
                f"rank {rank} of {self.instance.collective} passes one buffer, but in place is not "
                f"defined for it: {self.collective.reason}"
            )
        missing = "recvbuf" if kind is Kind.SCATTER else "sendbuf"
        if (buffers.receive if kind is Kind.SCATTER else buffers.send) is not None:
            kept = "sendbuf" if kind is Kind.SCATTER else "recvbuf"
            raise UsageError(
                f"rank {rank} passes no {kept}; {kind} in place passes {kept} and no {missing}"
            )
        return True

    def _total(self, rank: int, buffers: Buffers) -> int:
        """The elements of the whole, derived from a rank's buffers.

        Most ranks of gather and scatter only have their own share, which determines the total if
        all shares have one length; so the root's buffer must have such a total, too.
        """
        kind, nodes, layout = self.collective.kind, self.num_ranks, self.layout
        sent, received = buffers.sent, buffers.received
        if kind in (Kind.GATHER, Kind.SCATTER):
            share, whole = (sent, received) if kind is Kind.GATHER else (received, sent)
            if rank != self.collective.root:
                return share * nodes
            if whole % nodes == 0:
                return whole
        elif kind in (Kind.ALLGATHER, Kind.BROADCAST):
            return received
        elif kind is not Kind.CUSTOM:
            return received if buffers.send is None else sent
        else:
            for chunks, length in (
                (layout.input_chunks[rank], sent),
                (layout.output_chunks[rank], received),
            ):
                if chunks and length % chunks == 0:
                    return length // chunks * self.instance.num_chunks
        raise UsageError(
            f"the buffers of rank {rank} do not determine the lengths of chunks of "
            f"{self.instance.collective} at other ranks, as they do not divide evenly; pass "
            "total, the elements of the whole, at every rank"
        )

    def _bind(self, rank: int, total: int, dtype: np.dtype[Any]) -> tuple[RankProgram, Array]:
        """The rank's program for data of this length, and its scratch; the last one is cached."""
        key = total, dtype
        if self._bound is None or self._bound[0] != key:
            program = program_of(self._table, rank, total)
            self._bound = key, program, np.empty(program.scratch, dtype)
        return self._bound[1:]

    def _require_lengths(self, rank: int, total: int, buffers: Buffers, *, in_place: bool) -> None:
        if total < 0:
            raise UsageError(f"a total of {counted(total, 'element')}; expected at least 0")
        shares = self.shares(total)
        kind = self.collective.kind
        sent, received = int(shares.inputs[rank]), int(shares.outputs[rank])
        if in_place:
            if kind is Kind.ALLTOALL and total % self.num_ranks:
                raise UsageError(
                    f"alltoall in place of {counted(total, 'element')}; expected a multiple of "
                    f"{self.num_ranks}, as a rank must send and receive the same lengths"
                )
            sent, received = (sent, 0) if kind is Kind.SCATTER else (0, max(sent, received))
        for name, wanted, length, chunks in (
            ("sendbuf", sent, buffers.sent, self.layout.input_chunks),
            ("recvbuf", received, buffers.received, self.layout.output_chunks),
        ):
            # MPI, too, ignores a buffer that a rank does not use, as ``recvbuf`` of a reduce.
            if length != wanted and (wanted or chunks[rank]):
                raise UsageError(
                    f"{name} of rank {rank} has {length} elements; {self.collective} of {total} "
                    f"elements between {counted(self.num_ranks, 'rank')} expects {wanted}"
                )

    def _arrays(
        self, rank: int, total: int, buffers: Buffers, *, in_place: bool
    ) -> tuple[Array, Array]:
        """The arrays for the input and the output of the rank's program."""
        nothing = np.empty(0, buffers.dtype)
        send = nothing if buffers.send is None else buffers.send
        receive = nothing if buffers.receive is None else buffers.receive
        kind = self.collective.kind
        if self._table.in_place:
            if not in_place and self.layout.output_chunks[rank]:  # it works in the output
                receive[:] = send
        elif in_place and kind is Kind.SCATTER:
            receive = np.empty(split(total, self.num_ranks)[rank], buffers.dtype)
        elif in_place and kind in (Kind.ALLGATHER, Kind.GATHER):
            shares = split(total, self.num_ranks)
            start = int(shares[:rank].sum())
            send = receive[start : start + int(shares[rank])]
        elif in_place:  # of alltoall and reducescatter the result would overwrite the input
            send = receive if kind is Kind.BROADCAST else receive.copy()
        return send, receive


def _operation(op: "ReduceOp | str | MPI.Op") -> ReduceOp:
    if isinstance(op, str):
        known = [str(one) for one in ReduceOp]
        if op in known:
            return ReduceOp(op)
        raise UsageError(f"unknown operation {op!r}; expected one of {', '.join(known)}")
    module = mpi()
    for one in ReduceOp:
        if op == getattr(module, one.name):
            return one
    raise UsageError("unsupported operation; expected MPI.SUM, PROD, MAX or MIN")


def _taken_apart(solved: object, instance: Instance | None) -> tuple[Instance, Algorithm]:
    if isinstance(solved, Algorithm):
        if instance is None:
            raise UsageError(
                "an algorithm needs its instance; pass it, too: MpiCollective(algorithm, instance)"
            )
        return instance, solved
    if instance is not None:
        raise UsageError("the first argument has an instance of its own; pass no second one")
    several = getattr(solved, "algorithms", None)
    if several is not None:
        if len(several) != 1:
            raise UsageError(
                f"{counted(len(several), 'algorithm')} in one file; pass one of them, such as "
                "MpiCollective(file.algorithms[0])"
            )
        solved = several[0]
    own, algorithm = getattr(solved, "instance", None), getattr(solved, "algorithm", None)
    if not isinstance(own, Instance) or not isinstance(algorithm, Algorithm):
        raise UsageError(
            f"a {type(solved).__name__} is not an algorithm with its instance; expected one of "
            "read_file(path).algorithms, or MpiCollective(algorithm, instance)"
        )
    return own, algorithm
