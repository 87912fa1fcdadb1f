"""The problem of the seed: chunks of each group of nodes, and the boxes of the nodes."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import gcd, lcm

import numpy as np

from syncoll.arrays import Bools
from syncoll.model import Algorithm, Collective, Counting, RelationTable, Topology
from syncoll.model.derivation import renumbered
from syncoll.results import Part
from syncoll.scheduling import MOST_SENDS
from syncoll_inswitch.boxes import Boxes, boxes_of, neighbours
from syncoll_inswitch.waves import MOST_CHUNKS, Moves, algorithm_of, at_once, parts_of

Group = tuple[Boxes, int]
"""The boxes of the nodes that contribute to a kind of chunks, and its chunks for C = 1."""

_MOST_SENDS = MOST_SENDS >> 5
"""Most sends of a wave with several chunks in place of one; limits memory."""


def kinds_of(table: RelationTable) -> Iterator[tuple[tuple[Bools, Bools], int]]:
    """Pre, post and number of the chunks of each kind."""
    for start, end, count in zip(*(column.tolist() for column in table.kinds), strict=True):
        yield (table.starts.sets[start], table.ends.sets[end]), count


def groups_of(topology: Topology, table: RelationTable) -> list[Group] | None:
    """The boxes and the number of each kind of chunk; None if a kind has no boxes."""
    near, groups = neighbours(topology), []
    for (starts, _), count in kinds_of(table):
        boxes = boxes_of(topology, np.flatnonzero(starts).tolist(), near)
        if boxes is None:
            return None
        groups.append((boxes, count))
    return groups


def least_chunks(groups: list[Group]) -> int:
    """The least C that gives every rail of every group its chunks, in all parts."""
    whole = ((boxes.chunks * parts_of(boxes), count) for boxes, count in groups)
    return lcm(*(chunks // gcd(chunks, count) for chunks, count in whole))


@dataclass(frozen=True, eq=False)
class Problem:
    """An allreduce, possibly in groups, on a machine of boxes.  `groups` has the boxes of each kind
    of chunk, and its number for C = 1."""

    topology: Topology
    collective: Collective
    groups: tuple[Group, ...]

    @property
    def does_all(self) -> bool:
        """Whether switches both copy and reduce."""
        counted = {bound.counts for bound in self.topology.bounds}
        return counted >= {Counting.SOURCES, Counting.DESTINATIONS}

    @cached_property
    def least(self) -> int:
        """The least C that gives every rail of every group its chunks."""
        return least_chunks(list(self.groups))

    def times(self) -> list[int]:
        """Multiples of the chunks to try, including one that leaves no step a part of a round."""
        found = {1}
        for boxes, _ in self.groups:
            found.add((boxes.wide / boxes.chunks).numerator)
            if len(boxes.nodes) > 1:
                found |= {(boxes.wide / boxes.narrow).numerator, parts_of(boxes)}
        each = sum(2 * count * sum(map(len, boxes.nodes)) for boxes, count in self.groups)
        most = min(MOST_CHUNKS // self.least, _MOST_SENDS // (each * self.least))
        return sorted(times for times in found if times <= max(1, most))

    def part(self, moves: list[Moves], chunks: int) -> Part:
        """The moves of all groups at the same time, for one C."""
        counts = [count * chunks for _, count in self.groups]
        pre = np.zeros((sum(counts), self.topology.num_nodes), dtype=bool)
        first = 0
        for (boxes, _), count in zip(self.groups, counts, strict=True):
            pre[first : first + count, [node for box in boxes.nodes for node in box]] = True
            first += count
        algorithm = algorithm_of(at_once(moves, counts), pre)
        rounds = tuple(max(1, least) for least in algorithm.least_rounds(self.topology))
        return self.placed(
            RelationTable(pre, pre), replace(algorithm, rounds_per_step=rounds), chunks
        )

    def placed(self, table: RelationTable, algorithm: Algorithm, chunks: int) -> Part:
        """An algorithm with the collective's chunk numbers."""
        instance = self.collective.instantiate(
            self.topology, chunks=chunks, steps=algorithm.steps, rounds=algorithm.rounds
        )
        number = table.matching(instance.table)
        assert number is not None
        return Part(instance, renumbered(algorithm, number))
