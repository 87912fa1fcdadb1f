"""Specification: what a standard collective promises, slot by slot.

Rank r's input and output are cut into chunks; k, the *share*, counts the chunks of one rank's part.

================  ================  ================  ==========================================
collective        input of rank r   output of rank r  slot j of rank r's output ends as
================  ================  ================  ==========================================
allreduce         k                 k                 the sum of all ranks' i[j]
allgather         k                 P k               i[j mod k] of rank j div k
reducescatter     P k               k                 the sum of all ranks' i[r k + j]
alltoall          P k               P k               i[r k + j mod k] of rank j div k
broadcast         k, at the root    k                 the root's i[j]
reduce            k                 k, at the root    the sum of all ranks' i[j]
gather            k                 P k, at the root  i[j mod k] of rank j div k
scatter           P k, at the root  k                 the root's i[r k + j]
================  ================  ================  ==========================================

In place the smaller of the two buffers is rank r's part of the larger one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from syncoll.errors import VerificationError
from syncoll.model import Instance
from syncoll.wording import counted
from syncoll_threadblocks.contents import Value

__all__ = ["STANDARD", "Specification", "find_root"]

STANDARD = (
    "allreduce",
    "allgather",
    "reducescatter",
    "alltoall",
    "broadcast",
    "reduce",
    "gather",
    "scatter",
)
_ROOTED = ("broadcast", "reduce", "gather", "scatter")
_COMBINING = ("allreduce", "reducescatter", "reduce")


@dataclass(frozen=True)
class Specification:
    """A collective with its sizes.

    Args:
        collective: one of `STANDARD`.
        num_ranks: P.
        share: k, see above.
        root: of a rooted collective; None for the others, and while the root is not known: then
            every rank's input counts as the root's.
    """

    collective: str
    num_ranks: int
    share: int
    root: int | None = None

    def __post_init__(self) -> None:
        assert self.collective in STANDARD
        assert self.share >= 1

    @property
    def rooted(self) -> bool:
        """Whether one rank is special."""
        return self.collective in _ROOTED

    @property
    def combining(self) -> bool:
        """Whether it reduces."""
        return self.collective in _COMBINING

    @property
    def input_size(self) -> int:
        """Chunks of a rank's input."""
        large = self.collective in ("reducescatter", "alltoall", "scatter")
        return self.share * (self.num_ranks if large else 1)

    @property
    def output_size(self) -> int:
        """Chunks of a rank's output."""
        large = self.collective in ("allgather", "alltoall", "gather")
        return self.share * (self.num_ranks if large else 1)

    def inputs_of(self, _rank: int) -> int:
        """The same of one rank; all have as many."""
        return self.input_size

    def outputs_of(self, _rank: int) -> int:
        """The same of one rank; all have as many."""
        return self.output_size

    def has_output(self, rank: int) -> bool:
        """Whether a rank has an output buffer; reduce and gather give the others none."""
        return self.collective not in ("reduce", "gather") or rank == (
            rank if self.root is None else self.root
        )

    def initial(self, rank: int, index: int) -> Value | None:
        """What a slot of the input holds; None where there is no input."""
        share, mine = self.share, 1 << rank
        if self.combining:
            return index, mine
        if self.collective in ("allgather", "gather"):
            return rank * share + index, mine
        if self.collective == "alltoall" or self.root is None:
            return rank * self.input_size + index, mine
        return (index, mine) if rank == self.root else None

    def wanted(self, rank: int, index: int) -> Value | None:
        """What a slot of the output must hold in the end; None where nothing is promised."""
        if not self.has_output(rank):
            return None
        share, everyone = self.share, (1 << self.num_ranks) - 1
        if self.collective in ("allreduce", "reduce"):
            return index, everyone
        if self.collective == "reducescatter":
            return rank * share + index, everyone
        source, rest = divmod(index, share)
        if self.collective in ("allgather", "gather"):
            return index, 1 << source
        if self.collective == "alltoall":
            return source * self.input_size + rank * share + rest, 1 << source
        root = 0 if self.root is None else self.root
        return (rank * share if self.collective == "scatter" else 0) + index, 1 << root

    def cut(self, pieces: int) -> Specification:
        """The same with each chunk cut into several."""
        return replace(self, share=self.share * pieces)

    def in_place(self, rank: int) -> tuple[int, int]:
        """Where input and output start in their common buffer, in chunks."""
        if self.input_size < self.output_size:
            return rank * self.share, 0
        return 0, rank * self.share if self.input_size > self.output_size else 0

    def _demands(self) -> Counter[tuple[int, int]]:
        """How many chunks start, and end, at which ranks, as bit masks."""
        ranks, share = range(self.num_ranks), self.share
        everyone, root = (1 << self.num_ranks) - 1, 1 << (self.root or 0)
        found: Counter[tuple[int, int]] = Counter()
        if self.collective == "allreduce":
            found[everyone, everyone] += share
        elif self.collective == "broadcast":
            found[root, everyone] += share
        elif self.collective == "reduce":
            found[everyone, root] += share
        elif self.collective == "alltoall":
            found.update({(1 << a, 1 << b): share for a in ranks for b in ranks})
        for r in ranks:
            one = 1 << r
            if self.collective == "allgather":
                found[one, everyone] += share
            elif self.collective == "gather":
                found[one, root] += share
            elif self.collective == "reducescatter":
                found[everyone, one] += share
            elif self.collective == "scatter":
                found[root, one] += share
        return found

    def require_same(self, instance: Instance) -> None:
        """Passes when an instance asks for this collective.

        Chunks of an instance have no place in a buffer; hence what must agree is how many chunks
        start, and must end, at the same nodes.  A file may cut each chunk into several.

        Raises:
            VerificationError: when it asks for something else.
        """
        name = self.collective + (f" of root {self.root}" if self.rooted else "")
        nodes = instance.topology.num_nodes
        if nodes != self.num_ranks:
            raise VerificationError(
                f"the file is for {self.num_ranks} ranks, the instance for {nodes} nodes"
            )
        if instance.combining != self.combining:
            what = ("does not reduce", "reduces")
            raise VerificationError(
                f"{name} {what[self.combining]}, and collective {instance.collective} "
                f"{what[instance.combining]}"
            )
        asked = Counter(zip(_masks(instance.pre), _masks(instance.post), strict=True))
        given = self._demands()
        if not self.combining:
            asked, given = _without_idle(asked), _without_idle(given)
        times = sum(given.values()) // max(1, sum(asked.values()))
        if times < 1 or given != Counter({key: n * times for key, n in asked.items()}):
            raise VerificationError(
                f"the file does {name} with {counted(self.share, 'chunk')} a part, and collective "
                f"{instance.collective} asks for something else: its chunks start and end elsewhere"
            )


def _masks(array: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> list[int]:
    packed = np.packbits(array, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]


def _without_idle(demands: Counter[tuple[int, int]]) -> Counter[tuple[int, int]]:
    """What somebody has is there: only the other ends count, and chunks that have some."""
    found: Counter[tuple[int, int]] = Counter()
    for (start, end), count in demands.items():
        if end & ~start:
            found[start, end & ~start] += count
    return found


def find_root(unknown: Specification, output: Callable[[int, int], Value | None]) -> int:
    """The root that a program was written for.

    Args:
        unknown: a rooted collective without root, whose program was executed.
        output: what each rank's output holds at the end.

    Returns:
        Broadcast, scatter: the rank whose data arrived at most ranks.  Reduce, gather: the rank
        with the largest part of the result.  0 where nothing says.
    """
    ranks = range(unknown.num_ranks)
    votes: Counter[int] = Counter()
    for rank in ranks:
        if unknown.collective in ("reduce", "gather"):
            votes[rank] = sum(
                output(rank, j) == unknown.wanted(rank, j) for j in range(unknown.output_size)
            )
        elif (value := output(rank, 0)) is not None:
            votes[value[0] // unknown.input_size] += 1
    return max(ranks, key=lambda rank: (votes[rank], -rank))
