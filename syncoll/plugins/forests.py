"""ForestPacker: what a seed that packs spanning trees can tell beyond algorithms.

A seed offers it through the field `forest` of its record.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

from syncoll.model.fabric import Fabric
from syncoll.results.forest import ForestCollective, PackedForest

__all__ = ["ForestPacker"]


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
