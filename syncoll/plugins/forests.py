"""Forests: what a seed that packs spanning trees can tell beyond algorithms.

Trees and the cut that bounds them are about bandwidth alone: they say how fast a network can be at
best, before anything is cut into chunks and steps.  A seed offers them through the field `forest`
of its record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from typing import Protocol

import numpy as np

from syncoll.errors import VerificationError
from syncoll.model.fabric import Fabric
from syncoll.plugins.forest import Forest
from syncoll.plugins.forest_check import verify_forest

__all__ = ["ForestCollective", "ForestPacker", "PackedForest"]


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
    """

    collective: ForestCollective
    forest: Forest
    bound: Fraction
    cut: frozenset[int]
    seconds: Mapping[str, float]

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

    def check(self, fabric: Fabric, root: int | None = None) -> None:
        """Checks the trees edge by edge, and the bound by adding up what leaves the cut.

        Nothing that packed the forest is believed.

        Args:
            fabric: the network that was asked about.
            root: of a collective that has one.

        Raises:
            VerificationError: saying what does not hold.
        """
        forest, nodes = self.forest, fabric.num_nodes
        weights = tuple(int(root is None or v == root) for v in range(nodes))
        if forest.fabric != fabric or forest.inward is not self.reduces:
            raise VerificationError(f"the trees for {fabric.name} are those of another network")
        if forest.weights != weights:
            raise VerificationError(
                f"the trees for {self.collective} on {fabric.name} carry other shares of the data"
            )
        verify_forest(forest)
        inside = sum(v in self.cut for v in range(nodes))
        if not 0 < inside < nodes or not self.crossing:
            raise VerificationError(f"the bottleneck cut of {fabric.name} separates no data")
        room = sum((bandwidth for _, _, bandwidth in self.leaving), Fraction(0))
        bound = sum(weights) * room / self.crossing
        if bound != self.bound or self.algbw > bound:
            raise VerificationError(
                f"the bottleneck cut of {fabric.name} proves {bound}; {self.bound} is claimed, "
                f"and the trees reach {self.algbw}"
            )


class ForestPacker(Protocol):
    """Packs optimal forests."""

    def pack(
        self,
        fabric: Fabric,
        collective: ForestCollective,
        *,
        root: int = 0,
        fixed_k: int | None = None,
    ) -> tuple[PackedForest, ...]:
        """The forests of a collective's phases, which follow each other.

        Args:
            fabric: any network.
            collective: what for; allreduce has two phases.
            root: of a collective that has one.
            fixed_k: trees for each root; as many as the optimum needs when left out.

        Raises:
            ModelError: when the network has no such forest.
            UsageError: on a k below 1, or when numbers become too large.
            VerificationError: when what was packed does not hold.
        """

    def any_roots(self, fabric: Fabric) -> tuple[Fraction, Fraction] | None:
        """How fast an allreduce can be that reduces to roots and broadcasts from them at once.

        The roots may have any shares of the data, and the two halves may share the bandwidth in any
        way (ForestColl paper, appendix E).

        Args:
            fabric: in which every node reaches every other.

        Returns:
            A throughput that is attained, and one that nothing exceeds; None where the network is
            too large to tell soon.
        """
