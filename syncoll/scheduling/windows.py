"""Windows: bounds on the rounds of steps from the times that sends must keep.

In S steps a send that has x others before it and y after it takes place in a step from x to S - 1 -
y.  The sends with at least x before and y after them need W(x, y) rounds together, W being the
largest of ceil(load / b) over the link sets.  The steps x … S - 1 - y must have these rounds.  With
at least one round for each step these are difference constraints on the sums p(t) = r_0 + … +
r_(t-1): p(S - y) - p(x) >= W(x, y). The longest path from p(0) to p(S) is a lower bound on R. All p
between the earliest and the latest solution are candidates for round budgets: solutions form a
lattice, and rounding their weighted means down keeps every constraint.

A second bound is about one stream.  Let its n chunks follow a path of h links, each with at most b
a round.  For any h - 1 steps, some cut of the path over time consists of the others.  So the
S - h + 1 steps of the fewest rounds have ceil(n / b) together.  Each of the h - 1 longer ones has
at least as many as the longest of these.

For tall trees on many links only each q-th x and y is considered.
"""

from math import isqrt

import numpy as np

from syncoll.arrays import Ints
from syncoll.scheduling.link_sets import LinkSets
from syncoll.scheduling.streams import Streams

_CELLS = 1 << 22
"""Limit on the cells of a block of link sets."""

_ALL_CELLS = 1 << 25
"""Approximate limit on the cells of all link sets."""


class Windows:
    """The demands W of streams."""

    def __init__(self, streams: Streams, sets: LinkSets) -> None:
        self.height = height = streams.height
        used = np.unique(sets.of_link[np.unique(streams.link)])
        used = used[used < sets.size]
        finest = max(16, isqrt(_ALL_CELLS // max(1, len(used))))
        self._every = every = max(1, -(-height // finest))
        side = -(-height // every)
        cells = side * side
        cell = streams.depth // every * side + streams.below // every
        self._need: Ints = np.zeros((side, side), dtype=np.int64)
        place = np.full(sets.size + 1, -1, dtype=np.int64)
        place[used] = np.arange(len(used))
        of_entry = place[sets.of_link[streams.link]]
        block = max(1, _CELLS // max(1, cells))
        for start in range(0, len(used), block):
            part = used[start : start + block]
            counts = np.zeros(len(part) * cells, dtype=np.int64)
            for column in range(of_entry.shape[1]):
                where = of_entry[:, column] - start
                inside = np.flatnonzero((where >= 0) & (where < len(part)))
                index = where[inside] * cells + cell[inside]
                added = np.bincount(index, streams.count[inside], minlength=len(counts))
                counts += added.astype(np.int64)
            loads = counts.reshape(-1, side, side)[:, ::-1, ::-1]
            loads = loads.cumsum(axis=1).cumsum(axis=2)[:, ::-1, ::-1]
            np.maximum(self._need, sets.rounds_of(part, loads).max(axis=0), out=self._need)
        before, after = np.arange(side)[:, None] * every, np.arange(side)[None, :] * every
        longest = (self._need + before + after)[self._need > 0]
        self.least_rounds = max(height, int(longest.max(initial=0)))
        """A lower bound on R for any number of steps."""
        self._paths = _paths(streams, sets)

    def bound(self, steps: int) -> int:
        """A lower bound on R for algorithms of exactly `steps` steps."""
        least = int(self.earliest(steps)[-1])
        for height, needed in self._paths:
            least = max(least, needed + (height - 1) * -(-needed // (steps - height + 1)))
        return least

    def earliest(self, steps: int) -> Ints:
        """``[S + 1]``: the least sums p(t), when work is done as late as possible."""
        return self._least(self._need, steps)

    def latest(self, steps: int, rounds: int) -> Ints:
        """``[S + 1]``: the largest sums p(t) with p(S) = R, from the reversed problem."""
        return rounds - self._least(self._need.T, steps)[::-1]

    def _least(self, need: Ints, steps: int) -> Ints:
        sums = np.arange(steps + 1, dtype=np.int64)
        every, side = self._every, len(need)
        for t in range(1, steps + 1):
            sums[t] = max(sums[t], sums[t - 1] + 1)
            after, rest = divmod(steps - t, every)
            if after < side and not rest:
                before = sums[:t:every][:side]
                sums[t] = max(sums[t], int((before + need[: len(before), after]).max()))
        return sums


def _paths(streams: Streams, sets: LinkSets) -> list[tuple[int, int]]:
    """For each height of streams the most rounds that all chunks of one take on its widest link."""
    widest = sets.alone(streams.link, streams.count)
    hardest: dict[int, int] = {}
    size = len(streams.chunks)
    height = np.zeros(size, dtype=np.int64)
    needed = np.full(size, np.iinfo(np.int64).max)
    np.maximum.at(height, streams.stream, streams.depth + 1)
    np.minimum.at(needed, streams.stream, widest)
    for tall, rounds in zip(height.tolist(), needed.tolist(), strict=True):
        hardest[tall] = max(hardest.get(tall, 0), rounds)
    return sorted(hardest.items())
