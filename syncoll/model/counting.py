"""The load of a bandwidth bound, with switches that copy and add up.

Most bounds count every send.  A switch that copies, as with NVLink SHARP, takes a value once from a
node that sends it to several others.  On the cables towards it (`Counting.SOURCES`)

* the sends of one value by one node in one step count once, however many nodes they go to.

A value is a chunk, and for a combining algorithm the set of contributions that is sent of it.  A
switch that adds up delivers one sum for the sends of several nodes to one.  On the cables behind it
(`Counting.DESTINATIONS`)

* the sends of one chunk to one node in one step count once, if no contribution is in two of them.

The receiver then holds only the sum and not the parts (`Arrivals`).  The hardware does one of the
two at a time (in PTX, ``multimem.st`` and ``multimem.ld_reduce``), so

* a send that counts as a copy is not added up: it counts as a send where sums are counted.

Without that rule, all nodes could send a chunk to all others at once and each cable would carry it
once; a switch would have to form a different sum for each of them.

Both counts are at most the number of sends, so an algorithm that is valid if every send counts
stays valid.  Chunks are not mixed: each chunk that crosses a set of links counts at least once.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from syncoll.arrays import Bools, Ints
from syncoll.model.algorithm import Algorithm
from syncoll.model.topology import Counting, Topology


@dataclass(frozen=True)
class Arrivals:
    """The sends of an algorithm as they arrive, ``[K, 4]`` in order of steps, sums in place of
    their parts; the source of a sum is that of one of its parts."""

    sends: Ints
    contributions: Bools


class CountedSends:
    """The sends of an algorithm over links, each with the copy and the sum that it is part of."""

    def __init__(self, topology: Topology, algorithm: Algorithm) -> None:
        self.topology, self.steps = topology, algorithm.steps
        self.sends, self._carried = algorithm.sends, algorithm.contributions
        self.link = topology.links_of(self.sends[:, 1], self.sends[:, 2])
        for i in np.flatnonzero(self.link < 0)[:1].tolist():
            raise KeyError(tuple(self.sends[i, 1:3].tolist()))

    @cached_property
    def values(self) -> Ints:
        """``[M]``: equal numbers for the sends of one value by one node in one step."""
        keys = self.sends[:, [3, 0, 1]]
        if self._carried is not None:
            packed = np.packbits(self._carried, axis=1)
            keys = np.concatenate([keys, packed.astype(np.int64)], axis=1)
        return numbered(keys)

    @cached_property
    def copied(self) -> Bools:
        """``[M]``: whether a send counts together with another one in some bound."""
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
    def sums(self) -> Ints:
        """``[M]``: equal numbers for sends that are added up on their way."""
        alone = np.arange(len(self.sends))
        if self._carried is None or not len(alone):
            return alone  # copies of data are not added
        group = links_together(self.topology, Counting.DESTINATIONS)[self.link]
        able = np.flatnonzero((group >= 0) & ~self.copied)
        if not len(able):
            return alone
        keys = np.column_stack([group[able], self.sends[able][:, [3, 0]]])
        numbers = numbered(keys)
        order = np.argsort(numbers, kind="stable")
        starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
        times = np.add.reduceat(self._carried[able[order]].astype(np.int64), starts, axis=0)
        disjoint = np.all(times <= 1, axis=1)[numbers]
        first = np.zeros(len(starts), dtype=np.int64)
        first[numbers[order][starts]] = able[order][starts]
        alone[able[disjoint]] = first[numbers[disjoint]]
        return alone

    def loads(self) -> Ints:
        """``[B, S]``: the load of each bound in each step."""
        topology, step = self.topology, self.sends[:, 3]
        found = np.zeros((len(topology.bounds), self.steps), dtype=np.int64)
        order = np.argsort(self.link, kind="stable")
        starts = np.searchsorted(self.link[order], np.arange(len(topology.links) + 1))
        for row, bound, members in zip(found, topology.bounds, topology.bound_links, strict=True):
            within = np.concatenate([order[starts[i] : starts[i + 1]] for i in members.tolist()])
            if bound.counts is not Counting.SENDS:
                which = self.values if bound.counts is Counting.SOURCES else self.sums
                within = within[np.unique(which[within], return_index=True)[1]]
            row += np.bincount(step[within], minlength=self.steps)
        return found

    def arrivals(self) -> Arrivals:
        """The arrivals of a combining algorithm."""
        assert self._carried is not None
        order = np.argsort(self.sums, kind="stable")
        starts = np.flatnonzero(np.diff(self.sums[order], prepend=-1))
        carried = self._carried[:0]
        if len(order):
            carried = np.logical_or.reduceat(self._carried[order], starts, axis=0)
        return Arrivals(self.sends[self.sums[order][starts]], carried)


def links_together(topology: Topology, counts: Counting) -> Ints:
    """``[L]``: equal numbers for links of one node that share bounds of a kind, else -1; `counts`
    is copies for links out of a node, or sums for links into it."""
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


def bound_loads(topology: Topology, algorithm: Algorithm) -> Ints:
    """``[B, S]``: the load of each bound in each step.

    Raises:
        KeyError: if a send uses no link of the topology.
        UsageError: if switches copy, and the algorithm has too many sends to list.
    """
    if topology.counts_copies:
        return CountedSends(topology, algorithm).loads()
    loads = algorithm.link_loads(topology)
    if not topology.bounds:
        return np.zeros((0, algorithm.steps), dtype=np.int64)
    members = np.concatenate(topology.bound_links)
    first = np.cumsum([0, *map(len, topology.bound_links[:-1])])
    totals: Ints = np.add.reduceat(loads[members], first, axis=0)
    return totals


def numbered(keys: npt.NDArray[np.int64]) -> Ints:
    """``[M]``: equal numbers from 0 for equal rows."""
    return np.unique(packed(keys), return_inverse=True)[1]


def packed(keys: npt.NDArray[np.int64]) -> Ints:
    """``[M]``: a number for each row, ascending as the rows are; one number for each row sorts
    faster than rows."""
    if not len(keys):
        return np.zeros(0, dtype=np.int64)
    codes, size = np.zeros(len(keys), dtype=np.int64), 1
    for column in keys.T:
        low, width = int(column.min()), int(column.max() - column.min()) + 1
        if size * width >= 1 << 62:
            codes = np.unique(codes, return_inverse=True)[1]
            size = int(codes.max()) + 1
        codes, size = codes * width + (column - low), size * width
    return codes
