"""PackedForest: trees that a seed has packed, and the cut that bounds every other forest.

Trees and the cut are about bandwidth alone: they say how fast a network can be at best, before
anything is cut into chunks and steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property

import numpy as np

from syncoll.model.fabric import Fabric
from syncoll.model.forest import Forest

__all__ = ["ForestCollective", "Forests", "PackedForest"]


class ForestCollective(StrEnum):
    """What forests are packed for."""

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
        collective: what it is for; never allreduce, which takes two forests.
        forest: the trees.
        bound: data over time for the best conceivable forest, as the cut proves it.
        cut: vertices that do not include all compute nodes.  Everything that starts in it has to
            leave it; when reducing, everything that is to be reduced outside.
        seconds: for each stage how long it took.
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
        """For each height how many trees have it, counted with their weights."""
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
        """The links by which something can leave the cut: source, destination, bandwidth."""
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
        collective: what for.
        phases: one after the other.
        seconds: all in all.
        any_roots: of an allreduce, see `syncoll.plugins.ForestPacker`.
        fixed_k: the trees for each root, where they were asked for.
        stored: whether they are from a file.  Then `any_roots` is its word, and whether a number of
            trees was asked for is not known.
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
        """Of throughputs."""
        return self.phases[0].fabric.measure

    @property
    def algbw(self) -> Fraction:
        """Each phase moves all data once."""
        return 1 / sum((1 / phase.algbw for phase in self.phases), Fraction(0))

    @property
    def bound(self) -> Fraction:
        """What the cuts leave room for."""
        return 1 / sum((1 / phase.bound for phase in self.phases), Fraction(0))

    @property
    def slowest(self) -> PackedForest:
        """The phase that takes longest."""
        return min(self.phases, key=lambda phase: phase.algbw)
