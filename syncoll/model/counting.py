"""What a bandwidth bound counts, where switches copy and add up.

A bound that counts sends has room for so many.  A switch that copies, as those with NVLink SHARP
do, takes a value once from whoever sends it to several nodes: on the cables towards it, which
`Counting.SOURCES` describes,

* the sends of one value by one node in one step count once, however many nodes they go to.

A value is a chunk, and for a combining algorithm the set of contributions that is sent of it.  A
switch that adds up delivers one sum for what several nodes send to one: on the cables behind it,
which `Counting.DESTINATIONS` describes,

* the sends of one chunk to one node in one step count once, if no contribution is in two of them.

That node then holds their sum alone and not the parts (`Arrivals`).  What the hardware does is one
of the two at a time (in PTX, ``multimem.st`` and ``multimem.ld_reduce``): the switch sends copies
of what one node sent, or adds up what several nodes have for one.  So

* a send that counts as a copy is not added up: it counts as a send where sums are counted.

Without that rule, all nodes could send a chunk to all others at once and each cable would carry it
once; a switch would have to form a different sum for each of them.

Both counts are at most the number of sends, so that what is valid where every send counts stays
valid.  Chunks are not mixed: of the chunks that cross a set of links, each counts at least once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from syncoll.arrays import BoolArray, IntArray
from syncoll.model.algorithm import Algorithm
from syncoll.model.topology import Counting, Topology

__all__ = ["Arrivals", "CountedSends", "bound_loads", "links_together"]


@dataclass(frozen=True)
class Arrivals:
    """What the sends of an algorithm bring, where switches may have added some of them up.

    Args:
        sends: ``[K, 4]``, chunk, source, destination, step, in order of steps; the source is that
            of one of the sends that were added up.
        contributions: ``[K, P]``.
    """

    sends: IntArray
    contributions: BoolArray


class CountedSends:
    """The sends of an algorithm, each with the copy and the sum that it is part of.

    Args:
        topology: with bounds that count other than every send.
        algorithm: its sends are links of the topology.
    """

    def __init__(self, topology: Topology, algorithm: Algorithm) -> None:
        self.topology, self.steps = topology, algorithm.steps
        self.sends, self._carried = algorithm.sends, algorithm.contributions
        nodes = topology.num_nodes
        number = np.full(nodes * nodes, -1, dtype=np.int64)
        for i, (a, b) in enumerate(topology.links):
            number[a * nodes + b] = i
        self.link = number[self.sends[:, 1] * nodes + self.sends[:, 2]]
        if (self.link < 0).any():
            raise KeyError(tuple(self.sends[self.link < 0][0, 1:3].tolist()))

    @cached_property
    def values(self) -> IntArray:
        """``[M]``: equal numbers for what one node sends of one value in one step."""
        keys = self.sends[:, [3, 0, 1]]
        if self._carried is not None:
            packed = np.packbits(self._carried, axis=1)
            keys = np.concatenate([keys, packed.astype(np.int64)], axis=1)
        return _numbered(keys)

    @cached_property
    def copied(self) -> BoolArray:
        """``[M]``: which sends count together with another one in some bound."""
        found = np.zeros(len(self.sends), dtype=bool)
        for bound, members in zip(self.topology.bounds, self.topology.bound_links, strict=True):
            if bound.counts is not Counting.SOURCES:
                continue
            within = np.flatnonzero(np.isin(self.link, members))
            _, place, times = np.unique(
                self.values[within], return_inverse=True, return_counts=True
            )
            found[within] |= times[place] > 1
        return found

    @cached_property
    def sums(self) -> IntArray:
        """``[M]``: equal numbers for sends that are added up on their way."""
        alone = np.arange(len(self.sends))
        if self._carried is None or not len(alone):
            return alone  # copies of data are not added
        group = links_together(self.topology, Counting.DESTINATIONS)[self.link]
        able = np.flatnonzero((group >= 0) & ~self.copied)
        if not len(able):
            return alone
        keys = np.column_stack([group[able], self.sends[able][:, [3, 0]]])
        numbers = _numbered(keys)
        order = np.argsort(numbers, kind="stable")
        starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
        times = np.add.reduceat(self._carried[able[order]].astype(np.int64), starts, axis=0)
        disjoint = np.all(times <= 1, axis=1)[numbers]
        first = np.zeros(len(starts), dtype=np.int64)
        first[numbers[order][starts]] = able[order][starts]
        alone[able[disjoint]] = first[numbers[disjoint]]
        return alone

    def loads(self) -> IntArray:
        """``[B, S]``: what each bound counts in each step."""
        topology, step = self.topology, self.sends[:, 3]
        found = np.zeros((len(topology.bounds), self.steps), dtype=np.int64)
        order = np.argsort(self.link, kind="stable")
        starts = np.searchsorted(self.link[order], np.arange(len(topology.links) + 1))
        for row, bound, members in zip(found, topology.bounds, topology.bound_links, strict=True):
            runs = [order[starts[i] : starts[i + 1]] for i in members.tolist()]
            within = np.concatenate(runs)
            if bound.counts is not Counting.SENDS:
                which = self.values if bound.counts is Counting.SOURCES else self.sums
                _, first = np.unique(which[within], return_index=True)
                within = within[first]
            row += np.bincount(step[within], minlength=self.steps)
        return found

    def arrivals(self) -> Arrivals:
        """What comes of the sends of a combining algorithm, sums in the place of their parts."""
        assert self._carried is not None
        order = np.argsort(self.sums, kind="stable")
        starts = np.flatnonzero(np.diff(self.sums[order], prepend=-1))
        carried = self._carried[:0]
        if len(order):
            carried = np.logical_or.reduceat(self._carried[order], starts, axis=0)
        return Arrivals(self.sends[self.sums[order][starts]], carried)


def links_together(topology: Topology, counts: Counting) -> IntArray:
    """``[L]``: equal numbers for links of one node that share bounds of a kind; else -1.

    Args:
        counts: bounds that count copies, for links out of a node, or sums, for links into it.
    """
    group = np.full(len(topology.links), -1, dtype=np.int64)
    end = int(counts is Counting.DESTINATIONS)
    ends = np.array([link[end] for link in topology.links], dtype=np.int64)
    for bound, members in zip(topology.bounds, topology.bound_links, strict=True):
        if bound.counts is not counts:
            continue
        for node in np.unique(ends[members]).tolist():
            own = members[ends[members] == node]
            known = np.unique(group[own])
            joined = known[known >= 0]
            name = min([*joined.tolist(), int(own[0])])
            group[np.isin(group, joined)] = group[own] = name
    return group


def bound_loads(topology: Topology, algorithm: Algorithm) -> IntArray:
    """``[B, S]``: what each bound counts in each step.

    Raises:
        KeyError: when a send is over what is no link.
        UsageError: when switches copy, and the algorithm has too many sends to list them.
    """
    if topology.counts_copies:
        return CountedSends(topology, algorithm).loads()
    loads = algorithm.link_loads(topology)
    if not topology.bounds:
        return np.zeros((0, algorithm.steps), dtype=np.int64)
    members = np.concatenate(topology.bound_links)
    first = np.cumsum([0, *map(len, topology.bound_links[:-1])])
    totals: IntArray = np.add.reduceat(loads[members], first, axis=0)
    return totals


def _numbered(keys: npt.NDArray[np.int64]) -> IntArray:
    """Equal numbers from 0 for equal rows."""
    if not len(keys):
        return np.zeros(0, dtype=np.int64)
    codes, size = np.zeros(len(keys), dtype=np.int64), 1
    for column in keys.T:  # one number for each row sorts faster than rows
        low, width = int(column.min()), int(column.max() - column.min()) + 1
        if size * width >= 1 << 62:
            codes = np.unique(codes, return_inverse=True)[1]
            size = int(codes.max()) + 1
        codes, size = codes * width + (column - low), size * width
    return np.unique(codes, return_inverse=True)[1]
