"""The division of an algorithm into thread blocks.

Operations on the same chunk at a rank depend on one another; operations on different chunks rarely
do (in place, a slot may be one chunk's source and another one's target).  Dependent chunks are one
*stream*.  A thread block takes whole streams, so that no operation waits for another thread block
of its rank; the same streams at every rank, so that few blocks communicate.

A block that would exceed a limit of the runtime is split: its streams at all ranks, or, if it has
only one, its steps at that rank.  The parts of one stream follow one another by a semaphore.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import networkx as nx

from syncoll.runtime import LoweredAlgorithm

__all__ = ["Block", "Division", "streams_of"]

Block = tuple[int, int, int]
"""A rank, a group of streams, and a part of its steps."""


def streams_of(lowered: LoweredAlgorithm, others: Iterable[int] = ()) -> list[tuple[int, ...]]:
    """The chunks of messages and of `others`, in groups that depend on one another at a rank."""
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(others)
    for rank in lowered.ranks:
        for operation in rank.operations:
            graph.add_node(operation.chunk)
            for dependency in operation.dependencies:
                graph.add_edge(operation.chunk, rank.operations[dependency.operation].chunk)
    return sorted(tuple(sorted(chunks)) for chunks in nx.connected_components(graph))


@dataclass
class Division:
    """Groups of streams, the same at every rank, and the first steps of parts by rank and group."""

    groups: list[list[tuple[int, ...]]]
    cuts: dict[tuple[int, int], list[int]] = field(default_factory=dict)

    @staticmethod
    def of(lowered: LoweredAlgorithm, most: int, others: Sequence[int] = ()) -> Division:
        """At most `most` groups with about as many messages; `others` are chunks without."""
        streams = streams_of(lowered, others)
        weight = dict.fromkeys((chunk for stream in streams for chunk in stream), 0)
        for chunk in others:
            weight[chunk] += 1
        for message in lowered.messages:
            weight[message.chunk] += 1
        loads = [0] * max(1, min(most, len(streams)))
        groups: list[list[tuple[int, ...]]] = [[] for _ in loads]
        for stream in sorted(streams, key=lambda s: (-sum(weight[c] for c in s), s)):
            lightest = min(range(len(loads)), key=lambda i: (loads[i], i))
            groups[lightest].append(stream)
            loads[lightest] += sum(weight[chunk] for chunk in stream)
        return Division([sorted(group) for group in groups if group])

    def owner(self) -> Callable[[int, int, int], Block]:
        """The function from a rank, a chunk and a step to their block."""
        group_of = {
            chunk: number
            for number, group in enumerate(self.groups)
            for stream in group
            for chunk in stream
        }

        def owner(rank: int, chunk: int, step: int) -> Block:
            group = group_of[chunk]
            cuts = self.cuts.get((rank, group), ())
            return rank, group, sum(step >= cut for cut in cuts)

        return owner

    def split(self, block: Block, steps: Sequence[int]) -> bool:
        """Splits a block that acts in `steps`, ascending; False if it cannot be split."""
        rank, group, _ = block
        streams = self.groups[group]
        if len(streams) > 1:
            self.groups[group] = streams[0::2]
            self.groups.append(streams[1::2])
            moved = [key for key in self.cuts if key[1] == group]
            for key in moved:
                del self.cuts[key]
            return True
        if len(steps) < 2:
            return False
        cuts = self.cuts.setdefault((rank, group), [])
        cuts.append(steps[len(steps) // 2])
        cuts.sort()
        return True
