"""What arrives at a node in each step, over which links, and how many rounds that takes.

A chunk that starts at v arrives at u in step dist(v, u), over a link from any neighbour w with
dist(v, w) = dist(v, u) - 1: by then w has it.  So what one node receives in one step is a
transportation problem of its own, from sources to the links into the node.  Sources that may use
the same links are alike; with d links into a node there are at most 2^d kinds.  By Hall's theorem
the least rounds for C chunks from each source are the largest

    ceil(C * (sources that may only use links of W) / (chunks per round of W))

over sets W of links, which is attained by whole chunks where bandwidths are whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from syncoll_bfb.receptions import Reception

__all__ = ["Arrivals"]

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Arrivals:
    """What arrives at one node in one step.

    Args:
        reception: the node, the step, and what may come over which links.
        rates: chunks per round of each of these links.
        total: chunks per round of all of them together; None for no such bound.
    """

    reception: Reception
    rates: tuple[Fraction, ...]
    total: Fraction | None

    @cached_property
    def masks(self) -> IntArray:
        """``[n]``, bit j says that the chunks of a source may come over link j."""
        usable = self.reception.usable
        masks: IntArray = (usable.astype(np.int64) << np.arange(usable.shape[1])).sum(axis=1)
        return masks

    def load(self) -> Fraction:
        """The rounds that one chunk of each source takes, as if chunks could be split."""
        within = np.bincount(self.masks, minlength=1 << len(self.rates)).astype(np.int64)
        rate: list[Fraction] = [Fraction(0)]
        for bit, one in enumerate(self.rates):
            halves = within.reshape(-1, 2, 1 << bit)
            halves[:, 1] += halves[:, 0]
            rate += [known + one for known in rate]
        busy = np.flatnonzero(within).tolist()
        most = max((within[w] / rate[w] for w in busy), default=Fraction(0))
        return most if self.total is None else max(most, len(self.reception.sources) / self.total)

    def deal(self, chunks: int, rounds: int) -> IntArray | None:
        """``[n, C]``: the node that sends each chunk; None where so few rounds do not do.

        Args:
            chunks: C.
            rounds: of the step.
        """
        from ortools.graph.python import max_flow

        kinds, kind, count = np.unique(self.masks, return_inverse=True, return_counts=True)
        links = np.arange(len(self.rates))
        start, first, end = 0, 1 + len(kinds), 1 + len(kinds) + len(links)
        may = (kinds[:, None] >> links) & 1
        pairs = np.argwhere(may)
        room = np.array([int(rate * rounds) for rate in self.rates])
        flow = max_flow.SimpleMaxFlow()
        flow.add_arcs_with_capacity(
            np.full(len(kinds), start), 1 + np.arange(len(kinds)), count * chunks
        )
        arcs = flow.add_arcs_with_capacity(
            1 + pairs[:, 0], first + pairs[:, 1], count[pairs[:, 0]] * chunks
        )
        flow.add_arcs_with_capacity(first + links, np.full(len(links), end), room)
        if flow.solve(start, end) != flow.OPTIMAL:
            return None
        if flow.optimal_flow() != len(self.reception.sources) * chunks:
            return None
        if self.total is not None and flow.optimal_flow() > int(self.total * rounds):
            return None
        amounts = flow.flows(arcs)
        senders = np.empty((len(self.reception.sources), chunks), dtype=np.int64)
        for i in range(len(kinds)):
            mine = pairs[:, 0] == i
            dealt = np.repeat(self.reception.senders[pairs[mine, 1]], amounts[mine])
            senders[kind == i] = dealt.reshape(-1, chunks)
        return senders
