"""Specification: the promise of a standard collective, slot by slot.

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
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from syncoll.errors import VerificationError
from syncoll.model import Instance
from syncoll.wording import counted
from syncoll_threadblocks.contents import Value

if TYPE_CHECKING:
    from syncoll_threadblocks.own import OwnSpecification

__all__ = ["STANDARD", "Specification", "find_root", "require_alike"]

_ENDS = {
    "allreduce": ("all", "all"),
    "allgather": ("each", "all"),
    "reducescatter": ("all", "each"),
    "alltoall": ("each", "each"),
    "broadcast": ("root", "all"),
    "reduce": ("all", "root"),
    "gather": ("each", "root"),
    "scatter": ("root", "each"),
}
"""Where chunks start, and must end: at all ranks, where they are reduced; each at one; at the
root."""

STANDARD = tuple(_ENDS)

Demands = Counter[tuple[int, int]]
"""How many chunks start, and must end, at which ranks, as bit masks."""


@dataclass(frozen=True)
class Specification:
    """A collective with its sizes.

    Args:
        collective: one of `STANDARD`.
        num_ranks: P.
        share: k, see above.
        root: None if the collective has none, or the root is unknown: then every rank's input
            counts as the root's.
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
        return "root" in _ENDS[self.collective]

    @property
    def combining(self) -> bool:
        """Whether it reduces."""
        return _ENDS[self.collective][0] == "all"

    @property
    def input_size(self) -> int:
        """Chunks of a rank's input."""
        return self.share * (self.num_ranks if _ENDS[self.collective][1] == "each" else 1)

    @property
    def output_size(self) -> int:
        """Chunks of a rank's output."""
        return self.share * (self.num_ranks if _ENDS[self.collective][0] == "each" else 1)

    def inputs_of(self, _rank: int) -> int:
        """The same of one rank; all have as many."""
        return self.input_size

    def outputs_of(self, _rank: int) -> int:
        """The same of one rank; all have as many."""
        return self.output_size

    def has_output(self, rank: int) -> bool:
        """Whether a rank has an output buffer; reduce and gather give the others none."""
        return _ENDS[self.collective][1] != "root" or self.root in (None, rank)

    def initial(self, rank: int, index: int) -> Value | None:
        """The value of a slot of the input; None without an input."""
        start = _ENDS[self.collective][0]
        if start == "root" and self.root is not None:
            return (index, 1 << rank) if rank == self.root else None
        return index + (0 if start == "all" else rank * self.input_size), 1 << rank

    def wanted(self, rank: int, index: int) -> Value | None:
        """The final value of a slot of the output; None without a promise."""
        start, end = _ENDS[self.collective]
        if not self.has_output(rank):
            return None
        own = rank * self.share if end == "each" else 0
        if start == "each":
            source, rest = divmod(index, self.share)
            return source * self.input_size + own + rest, 1 << source
        return own + index, (1 << self.num_ranks) - 1 if start == "all" else 1 << (self.root or 0)

    def demands(self) -> Demands:
        """The demands; of root 0 while the root is unknown."""
        masks = {
            "all": [(1 << self.num_ranks) - 1],
            "each": [1 << rank for rank in range(self.num_ranks)],
            "root": [1 << (self.root or 0)],
        }
        start, end = _ENDS[self.collective]
        return Counter(dict.fromkeys(product(masks[start], masks[end]), self.share))

    def cut(self, pieces: int) -> Specification:
        """The same with each chunk cut into several."""
        return replace(self, share=self.share * pieces)

    def in_place(self, rank: int) -> tuple[int, int]:
        """Where input and output start in their common buffer, in chunks."""
        if self.input_size < self.output_size:
            return rank * self.share, 0
        return 0, rank * self.share if self.input_size > self.output_size else 0

    def require_same(self, instance: Instance) -> None:
        """Passes if an instance asks for this collective.

        Chunks of an instance have no place in a buffer; hence the numbers of chunks that start, and
        must end, at the same nodes must agree.  A file may cut each chunk into several.

        Raises:
            VerificationError: if it asks for something else.
        """
        name = self.collective + (f" of root {self.root}" if self.rooted else "")
        require_alike(self, instance, name)
        asked = Counter(zip(_masks(instance.pre), _masks(instance.post), strict=True))
        given = self.demands()
        if not self.combining:
            asked, given = _without_idle(asked), _without_idle(given)
        times = sum(given.values()) // max(1, sum(asked.values()))
        if times < 1 or given != Counter({key: n * times for key, n in asked.items()}):
            raise VerificationError(
                f"the file does {name} with {counted(self.share, 'chunk')} a part, and collective "
                f"{instance.collective} asks for something else: its chunks start and end elsewhere"
            )


def require_alike(spec: Specification | OwnSpecification, instance: Instance, name: str) -> None:
    """Passes if a collective and an instance have as many ranks, and both reduce or neither."""
    nodes = instance.topology.num_nodes
    if nodes != spec.num_ranks:
        raise VerificationError(
            f"the file is for {spec.num_ranks} ranks, the instance for {nodes} nodes"
        )
    if instance.combining != spec.combining:
        does = ("does not reduce", "reduces")
        raise VerificationError(
            f"{name} {does[spec.combining]}, and collective {instance.collective} "
            f"{does[instance.combining]}"
        )


def _masks(array: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> list[int]:
    packed = np.packbits(array, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]


def _without_idle(demands: Demands) -> Demands:
    """The demands without ends that are starts too, and without chunks that then have no end."""
    found: Demands = Counter()
    for (start, end), count in demands.items():
        if end & ~start:
            found[start, end & ~start] += count
    return found


def find_root(unknown: Specification, output: Callable[[int, int], Value | None]) -> int:
    """The root of an executed program, for a rooted collective without root.

    Args:
        output: the value of each place of each rank's output at the end.

    Returns:
        Broadcast, scatter: the rank whose data arrived at most ranks.  Reduce, gather: the rank
            with the largest part of the result.  0 if nothing tells.
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
