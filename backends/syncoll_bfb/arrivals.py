"""The arrivals at a node in each step, their links and rounds.

A chunk that starts at v arrives at u in step dist(v, u), over a link from any neighbour w with
dist(v, w) = dist(v, u) - 1.  So the arrivals at one node in one step are a transportation problem
from sources to the links into the node.  Sources that may use the same links are alike; with d
links there are at most 2^d kinds.  By Hall's theorem the fewest rounds for C chunks from each
source are the largest

    ceil(C * (sources that may only use links of W) / (chunks per round of W))

over sets W of links.  Whole chunks attain it if bandwidths are integers; otherwise the number of
chunks on each link is rounded down.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil

import numpy as np

from syncoll.arrays import Ints
from syncoll.deadline import Deadline
from syncoll_bfb.sharing import Reception, StepChunks


class SeparateStep:
    """One step of a breadth-first broadcast in which no bound spans links into different nodes.

    Args:
        receptions: at one node of each orbit.
        rates: chunks per round of each link.
        totals: chunks per round of all links into a node together, for nodes with such a bound.
    """

    def __init__(
        self,
        receptions: Sequence[Reception],
        rates: Sequence[Fraction],
        totals: Mapping[int, Fraction],
    ) -> None:
        self._arrivals = [
            NodeArrivals(one, tuple(rates[i] for i in one.links.tolist()), totals.get(one.node))
            for one in receptions
        ]
        self._load = max(one.load() for one in self._arrivals)

    def least_rounds(self, each: int) -> int:
        """A lower bound on the rounds, for `each` whole chunks of each source."""
        return ceil(self._load * each)

    def whole(self, each: int, until: Deadline) -> StepChunks:
        """The fewest rounds for `each` whole chunks of a source."""
        rounds = self.least_rounds(each)
        for one in self._arrivals:
            rounds = one.least_rounds(each, rounds)
        return StepChunks(np.zeros(0, dtype=np.int64), rounds)

    def deal(self, chunks: StepChunks, each: int) -> list[Ints]:
        """``[n, each]`` for each reception: the node that sends each chunk of each source."""
        return [one.deal(each, chunks.rounds) for one in self._arrivals]


@dataclass(frozen=True, eq=False)
class NodeArrivals:
    """The chunks that arrive at one node in one step.  `rates` gives the chunks per round of each
    link, `total` of all links together or None."""

    reception: Reception
    rates: tuple[Fraction, ...]
    total: Fraction | None

    @cached_property
    def masks(self) -> Ints:
        """``[n]``: bit j is set if the chunks of the source may come over link j."""
        usable = self.reception.usable
        masks: Ints = (usable.astype(np.int64) << np.arange(usable.shape[1])).sum(axis=1)
        return masks

    @cached_property
    def _within(self) -> Ints:
        """``[2^d]``: for each set of links, the number of sources that may use only these."""
        within = np.bincount(self.masks, minlength=1 << len(self.rates)).astype(np.int64)
        for bit in range(len(self.rates)):
            halves = within.reshape(-1, 2, 1 << bit)
            halves[:, 1] += halves[:, 0]
        return within

    def load(self) -> Fraction:
        """The rounds that one chunk of each source takes, as if chunks could be split."""
        rate: list[Fraction] = [Fraction(0)]
        for one in self.rates:
            rate += [known + one for known in rate]
        busy = np.flatnonzero(self._within).tolist()
        most = max((int(self._within[w]) / rate[w] for w in busy), default=Fraction(0))
        return most if self.total is None else max(most, len(self.reception.sources) / self.total)

    def least_rounds(self, chunks: int, rounds: int) -> int:
        """The fewest rounds, at least `rounds`, in which whole chunks arrive.

        A link of 3/2 chunks per round brings one chunk in a round, so whole chunks may need more
        rounds than split ones unless bandwidths are integers.
        """
        rates = (*self.rates, *([] if self.total is None else [self.total]))
        while any(rate.denominator > 1 for rate in rates):
            room = np.zeros(1, dtype=np.int64)
            for rate in self.rates:
                room = np.concatenate([room, room + int(rate * rounds)])
            fits = bool((self._within * chunks <= room).all())
            if self.total is not None:
                fits &= len(self.reception.sources) * chunks <= int(self.total * rounds)
            if fits:
                break
            rounds += 1
        return rounds

    def deal(self, chunks: int, rounds: int) -> Ints:
        """``[n, C]``: the node that sends each chunk, in at least the fewest rounds."""
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
        solved = flow.solve(start, end) == flow.OPTIMAL
        assert solved  # by Hall's theorem every chunk can be assigned a link
        assert flow.optimal_flow() == len(self.reception.sources) * chunks
        amounts = flow.flows(arcs)
        senders = np.empty((len(self.reception.sources), chunks), dtype=np.int64)
        for i in range(len(kinds)):
            mine = pairs[:, 0] == i
            dealt = np.repeat(self.reception.senders[pairs[mine, 1]], amounts[mine])
            senders[kind == i] = dealt.reshape(-1, chunks)
        return senders
