"""Plan: how many chunks of each stream take which edge in which step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from syncoll.scheduling.link_sets import LinkSets
from syncoll.scheduling.streams import Streams

__all__ = ["DENSE", "SendPlan"]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

DENSE = 1 << 24
"""Tables of entries times steps are made where they have at most so many cells."""


@dataclass(frozen=True, eq=False)
class SendPlan:
    """How many chunks take which entry in which step.

    Args:
        rounds: for each step the fewest that its sends need.
        entry: ``[K]``, positions in the streams' arrays.
        step: ``[K]``.
        amount: ``[K]``, above 0.
    """

    rounds: IntArray
    entry: IntArray
    step: IntArray
    amount: IntArray

    @classmethod
    def of(
        cls,
        streams: Streams,
        sets: LinkSets,
        steps: int,
        entry: IntArray,
        step: IntArray,
        amount: IntArray,
    ) -> SendPlan:
        """The plan of these sends in so many steps, each of the fewest rounds that it needs."""
        rounds = np.zeros(steps, dtype=np.int64)
        order = np.argsort(step, kind="stable")
        ends = np.cumsum(np.bincount(step, minlength=steps))[:-1]
        for i, part in enumerate(np.split(order, ends)):
            rounds[i] = sets.rounds(sets.load(streams.link[entry[part]], amount[part]))
        return cls(rounds, entry, step, amount)

    @property
    def total(self) -> int:
        """R."""
        return int(self.rounds.sum())

    def mean_steps(self, streams: Streams) -> FloatArray:
        """For each entry the mean step of its chunks."""
        entries = len(streams.link)
        weighted = np.bincount(self.entry, self.step * self.amount, minlength=entries)
        return np.asarray(weighted / streams.count)

    def merged(self, streams: Streams, sets: LinkSets) -> SendPlan:
        """The plan with neighbouring steps made one wherever no send waits for another of them.

        That never costs a round, and may save some.  Steps without sends are dropped.

        Args:
            streams: what the entries are.
            sets: B.
        """
        entries, steps = len(streams.link), len(self.rounds)
        used = np.unique(self.step)
        group = np.searchsorted(used, np.arange(steps))
        if entries * steps <= DENSE and len(used):
            sent = np.zeros((entries, steps), dtype=np.int64)
            sent[self.entry, self.step] = self.amount
            total = sent.cumsum(axis=1)
            child = np.flatnonzero(streams.parent >= 0)
            above = streams.parent[child]
            start, number = int(used[0]), 0
            held = total[above, start] - sent[above, start]
            for step in used.tolist():
                if (total[child, step] > held).any():  # a send waits for one since `start`
                    number += 1
                    held = total[above, step] - sent[above, step]
                group[step] = number
        step = group[self.step]
        return SendPlan.of(
            streams, sets, int(step.max(initial=-1)) + 1, self.entry, step, self.amount
        )
