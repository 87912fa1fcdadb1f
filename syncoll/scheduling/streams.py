"""Streams and plans: chunks that go down a tree together, as arrays over the edges of all trees.

A collective's chunks fall into classes with the same pre and post; a tree's chunks of one class are
a stream.  The chunks of a stream are interchangeable, so a plan only says how many of them take an
edge in a step; they go first in, first out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from syncoll.arrays import Floats, Ints
from syncoll.model import RelationTable
from syncoll.scheduling.link_sets import LinkSets


def positions_of(numbers: Ints, least: int = 0) -> list[Ints]:
    """For each number from 0 to the largest, and to `least` - 1, the positions that have it."""
    order = np.argsort(numbers, kind="stable")
    return np.split(order, np.cumsum(np.bincount(numbers, minlength=least))[:-1])


@dataclass(frozen=True)
class StreamClass:
    """Chunks with the same pre and post.

    Args:
        starts: the nodes that have them.
        needed: the nodes that need and do not have them; not empty.
        chunks: their numbers, ascending.
    """

    starts: Ints
    needed: Ints
    chunks: Ints

    @classmethod
    def of(cls, table: RelationTable) -> "list[StreamClass]":
        """The classes of a table whose chunks have to move."""
        missing = table.post & ~table.pre
        moving = np.flatnonzero(missing.any(axis=1))
        if not len(moving):
            return []
        packed = np.packbits(np.concatenate([table.pre[moving], missing[moving]], axis=1), axis=1)
        rows = np.ascontiguousarray(packed).view(f"V{packed.shape[1]}").ravel()
        _, first, which = np.unique(rows, return_index=True, return_inverse=True)
        return [
            cls(
                np.flatnonzero(table.pre[moving[i]]),
                np.flatnonzero(missing[moving[i]]),
                moving[own],
            )
            for i, own in zip(first, positions_of(which), strict=True)
        ]


@dataclass(frozen=True, eq=False)
class Streams:
    """All streams of one C.

    An entry is one edge of one stream's tree, or several from one node that are taken together and
    that a switch copies.

    Args:
        link: ``[E]``, the position of the entry's link in the topology, or a number of `copies`.
        parent: ``[E]``, the entry that brings the chunks to the start of this one; -1 at a root.
        stream: ``[E]``, ascending.
        chunks: for each stream its chunks.
        tree: for each stream the number of its tree.
        copies: numbers above the links' numbers, each with the links that are taken together.
    """

    link: Ints
    parent: Ints
    stream: Ints
    chunks: tuple[Ints, ...]
    tree: tuple[int, ...]
    copies: Mapping[int, tuple[int, ...]] = field(default_factory=dict)

    @cached_property
    def count(self) -> Ints:
        """``[E]``, number of chunks that take the entry."""
        return np.array([len(c) for c in self.chunks], dtype=np.int64)[self.stream]

    @cached_property
    def depth(self) -> Ints:
        """``[E]``, number of sends before this one: its first possible step."""
        depth = (self.parent >= 0).astype(np.int64)
        above = self.parent.copy()
        active = np.flatnonzero(above >= 0)
        while len(active):  # `depth` sends are between an entry and the ancestor `above`
            ancestor = above[active]
            depth[active] += depth[ancestor]
            above[active] = above[ancestor]
            active = active[above[active] >= 0]
        return depth

    @cached_property
    def below(self) -> Ints:
        """``[E]``, number of sends that must follow this one."""
        below = np.zeros(len(self.parent), dtype=np.int64)
        for level in reversed(positions_of(self.depth)):  # from the deepest level up
            inner = level[self.parent[level] >= 0]
            np.maximum.at(below, self.parent[inner], below[inner] + 1)
        return below

    @property
    def height(self) -> int:
        """The fewest steps in which all chunks can arrive."""
        return int(self.depth.max(initial=-1)) + 1

    @property
    def num_sends(self) -> int:
        """M."""
        return int((self.count * self.width[self.link]).sum())

    @cached_property
    def width(self) -> Ints:
        """For each number of a link, or of copies, the number of links."""
        last = max(int(self.link.max(initial=-1)), *self.copies, 0)
        width = np.ones(last + 1, dtype=np.int64)
        for number, links in self.copies.items():
            width[number] = len(links)
        return width


DENSE = 1 << 24
"""Largest number of cells of a table of entries times steps."""


@dataclass(frozen=True, eq=False)
class SendPlan:
    """The number of chunks that take each entry in each step.

    Args:
        rounds: for each step the fewest for its sends.
        entry: ``[K]``, positions in the streams' arrays.
        step: ``[K]``.
        amount: ``[K]``, above 0.
    """

    rounds: Ints
    entry: Ints
    step: Ints
    amount: Ints

    @classmethod
    def of(
        cls, streams: Streams, sets: LinkSets, steps: int, entry: Ints, step: Ints, amount: Ints
    ) -> "SendPlan":
        """The plan of some sends, each step with the fewest rounds."""
        rounds = np.zeros(steps, dtype=np.int64)
        for i, part in enumerate(positions_of(step, steps)):
            rounds[i] = sets.rounds(sets.load(streams.link[entry[part]], amount[part]))
        return cls(rounds, entry, step, amount)

    @property
    def total(self) -> int:
        """R."""
        return int(self.rounds.sum())

    def mean_steps(self, streams: Streams) -> Floats:
        """For each entry the mean step of its chunks."""
        entries = len(streams.link)
        weighted = np.bincount(self.entry, self.step * self.amount, minlength=entries)
        return np.asarray(weighted / streams.count)

    def merged(self, streams: Streams, sets: LinkSets) -> "SendPlan":
        """The plan with neighbouring steps merged if no send waits for another of them.  That never
        costs a round, and may save some.  Steps without sends are dropped."""
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
