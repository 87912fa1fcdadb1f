"""PackedForest: packed trees, and the cut that bounds the throughput of every other forest."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property

import numpy as np

from syncoll.model import Fabric, Forest


class ForestCollective(StrEnum):
    """The collectives that forests are packed for."""

    ALLGATHER = "allgather"
    REDUCESCATTER = "reducescatter"
    ALLREDUCE = "allreduce"
    BROADCAST = "broadcast"
    REDUCE = "reduce"

    @property
    def rooted(self) -> bool:
        """Whether it has one root, rather than all nodes."""
        return self in (ForestCollective.BROADCAST, ForestCollective.REDUCE)


@dataclass(frozen=True, eq=False)
class PackedForest:
    """One forest and the cut that bounds every other.

    Args:
        collective: never allreduce, which takes two forests.
        forest: the trees.
        bound: data over time of the best possible forest, proved by the cut.
        cut: vertices that lack a compute node.  All data that starts in it has to leave it; when
            reducing, all data that is reduced outside.
        seconds: time by stage.
        in_time: whether the packing finished; if not, better trees may exist.
    """

    collective: ForestCollective
    forest: Forest
    bound: Fraction
    cut: frozenset[int]
    seconds: Mapping[str, float]
    in_time: bool = True

    @property
    def fabric(self) -> Fabric:
        """The network."""
        return self.forest.fabric

    @property
    def algbw(self) -> Fraction:
        """Data over time, all data counted once, in the fabric's unit of bandwidth."""
        return self.forest.algbw

    @property
    def reduces(self) -> bool:
        """Whether data flows from the leaves to the roots."""
        return self.collective in (ForestCollective.REDUCESCATTER, ForestCollective.REDUCE)

    @cached_property
    def height_counts(self) -> dict[int, int]:
        """The weight of the trees of each height."""
        forest = self.forest
        counts = np.zeros(forest.height + 1, dtype=np.int64)
        np.add.at(counts, forest.heights, forest.multiplicity)
        return {height: count for height, count in enumerate(counts.tolist()) if count}

    @property
    def crossing(self) -> int:
        """The weight that has to leave the cut."""
        return sum(
            weight
            for node, weight in enumerate(self.forest.weights)
            if (node in self.cut) is not self.reduces
        )

    @property
    def leaving(self) -> list[tuple[int, int, Fraction]]:
        """The links that leave the cut: source, destination, bandwidth."""
        return [
            (link.source, link.destination, link.bandwidth)
            for link in self.fabric.links
            if link.source in self.cut and link.destination not in self.cut
        ]


@dataclass(frozen=True)
class Forests:
    """The forests of a collective, checked.

    Args:
        topology: its name.
        collective: its name.
        phases: one after the other.
        seconds: total time.
        any_roots: throughputs of an allreduce, see `syncoll.plugins.ForestPacker`.
        fixed_k: the requested number of trees for each root, if any.
        stored: whether they are from a file, whose `any_roots` is unchecked and whose `fixed_k` is
            unknown.
    """

    topology: str
    collective: str
    phases: tuple[PackedForest, ...]
    seconds: float
    any_roots: tuple[Fraction, Fraction] | None = None
    fixed_k: int | None = None
    stored: bool = False

    @property
    def unit(self) -> str:
        """The unit of throughputs."""
        return self.phases[0].fabric.measure

    @property
    def algbw(self) -> Fraction:
        """The throughput: each phase moves all data once."""
        return 1 / sum((1 / phase.algbw for phase in self.phases), Fraction(0))

    @property
    def bound(self) -> Fraction:
        """The bound that the cuts prove."""
        return 1 / sum((1 / phase.bound for phase in self.phases), Fraction(0))

    @property
    def slowest(self) -> PackedForest:
        """The phase that takes longest."""
        return min(self.phases, key=lambda phase: phase.algbw)
