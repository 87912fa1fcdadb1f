"""The division of an algorithm into thread blocks, see docs/mscclpp.md ("How a plan is made").

A thread block takes all streams that depend on one another; in place, a slot may be one stream's
source and another one's target.  Streams of equal slices share its operations.  A block that would
exceed a limit of the runtime is split: its streams at all ranks, or its steps at that rank.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import networkx as nx
import numpy as np

from syncoll.arrays import Ints
from syncoll.runtime import LoweredAlgorithm, Streams
from syncoll.runtime.places import Cut
from syncoll_mscclpp.limits import MOST_BUFFERS, MOST_CHANNELS

Block = tuple[int, int, int]
"""A rank, a group of streams, and a part of its steps."""


def dependent(lowered: LoweredAlgorithm, others: Iterable[int] = ()) -> list[tuple[int, ...]]:
    """The streams of messages and of `others`, in sets that depend on one another at a rank."""
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

    most: int
    groups: list[list[tuple[int, ...]]]
    load: Mapping[tuple[int, ...], int] = field(default_factory=dict)
    cuts: dict[tuple[int, int], list[int]] = field(default_factory=dict)

    @staticmethod
    def before(streams: Streams, most: int) -> "Division":
        """A division of streams that are not lowered, as if none depends on another."""
        sends = streams.request.algorithm.sends[:, 0]
        load = np.bincount(sends, minlength=len(streams.sizes))[:, None]
        return Division(most, _dealt([(stream,) for stream in range(len(load))], load, most))

    @staticmethod
    def of(
        lowered: LoweredAlgorithm,
        cut: Cut,
        most: int,
        others: Sequence[int] = (),
        *,
        evenly: bool = False,
    ) -> "Division":
        """At most `most` groups that move about as much, or, `evenly`, have about as many
        operations at each rank; `others` are streams without messages."""
        sets = dependent(lowered, others)
        load = np.zeros((len(cut.weights), len(lowered.ranks) if evenly else 1), dtype=np.int64)
        if evenly:
            for rank in lowered.ranks:
                for one in rank.operations:
                    load[one.chunk, rank.rank] += 1
        else:
            for message in lowered.messages:
                load[message.chunk] += cut.weights[message.chunk]
        for chunk in others:
            load[chunk] += 1 if evenly else cut.weights[chunk]
        # Only operations on equal slices can be one, so each kind of slice has groups of its own.
        kinds: defaultdict[object, list[tuple[int, ...]]] = defaultdict(list)
        for together in sets:
            found = {cut.slices[stream] for stream in together}
            kinds[found.pop() if len(found) == 1 else None].append(together)
        if len(kinds) > most:
            kinds = defaultdict(list, {None: sets})
        groups: list[list[tuple[int, ...]]] = []
        for kind in kinds.values():
            groups += _dealt(kind, load, max(1, most // len(kinds)))
        return Division(most, groups, {one: int(load[list(one)].sum()) for one in sets})

    def least_operations(self, streams: Streams) -> Ints:
        """A lower bound of the operations of each rank.

        For each step of each group these are puts, and a signal after threads meet; and sums.  One
        operation adds up the receptions of a stream in a step, and puts the sum; and one awaits the
        messages of several steps.
        """
        one = streams.request
        sends, nodes = one.algorithm.sends, one.instance.topology.num_nodes
        group_of = np.zeros(len(streams.sizes), dtype=np.int64)
        for number, group in enumerate(self.groups):
            for together in group:
                group_of[list(together)] = number
        carried, steps = one.algorithm.contributions, one.algorithm.steps
        busy = (group_of[sends[:, 0]] * steps + sends[:, 3]) * nodes + sends[:, 1]
        found, count = np.unique(busy, return_counts=True)
        puts = 0 if carried is not None else 1 + (count - 1) // MOST_CHANNELS
        least = np.zeros(nodes, dtype=np.int64)
        np.add.at(least, found % nodes, 2 + puts)
        if carried is not None:
            partial = sends[carried.sum(axis=1) < one.instance.pre[sends[:, 0]].sum(axis=1)]
            into = (partial[:, 0] * steps + partial[:, 3]) * nodes + partial[:, 2]
            found, count = np.unique(into, return_counts=True)
            np.add.at(least, found % nodes, -(-count // (MOST_BUFFERS - 1)))
        return least

    def owner(self) -> Callable[[int, int, int], Block]:
        """The function from a rank, a stream and a step to their block."""
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
        extra = Counter(one for (one, _), cuts in self.cuts.items() for _ in cuts)
        if len(streams) > 1 and len(self.groups) + max(extra.values(), default=0) < self.most:
            self.groups[group] = streams[0::2]
            self.groups.append(streams[1::2])
            moved = [key for key in self.cuts if key[1] == group]
            for key in moved:
                del self.cuts[key]
            return True
        if len(steps) < 2 or len(self.groups) + extra[rank] >= self.most:
            return False
        cuts = self.cuts.setdefault((rank, group), [])
        cuts.append(steps[len(steps) // 2])
        cuts.sort()
        return True

    def move(self, group: int, other: int) -> bool:
        """Moves the lightest streams of a group to another one; False if there is only one."""
        if group == other or len(self.groups[group]) < 2:
            return False
        lightest = min(self.groups[group], key=lambda one: (self.load[one], one))
        self.groups[group].remove(lightest)
        self.groups[other] = sorted([*self.groups[other], lightest])
        for key in [key for key in self.cuts if key[1] in (group, other)]:
            del self.cuts[key]
        return True


def _dealt(sets: Sequence[tuple[int, ...]], load: Ints, most: int) -> list[list[tuple[int, ...]]]:
    """Sets of streams in at most `most` groups, the heaviest first to the group that they leave
    lightest; `load` has a column for each kind of load, and the largest sum counts."""
    groups: list[list[tuple[int, ...]]] = [[] for _ in range(max(1, min(most, len(sets))))]
    loads = np.zeros((len(groups), load.shape[1]), dtype=np.int64)
    each = [(load[list(one)].sum(axis=0), one) for one in sets]
    for mine, one in sorted(each, key=lambda pair: (-int(pair[0].sum()), pair[1])):
        after = loads + mine
        most_used = after.max(axis=1) * (1 + int(load.sum())) + after.sum(axis=1)
        lightest = int(np.argmin(most_used))
        groups[lightest].append(one)
        loads[lightest] = after[lightest]
    return [sorted(group) for group in groups if group]
