"""Cut: a bound that a person can check by counting; `syncoll.bounding.cuts` finds it.

Chunks that start only inside a set X of nodes and are needed outside it must cross from X to the
rest.  Every link that does so lies in one of some link sets, the cover; in R rounds these carry at
most ``R * sum of b_L``, so that ``R >= chunks that must cross / sum of b_L over the cover``.  It
holds for any number of steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from syncoll.certificates.classes import Demand, DemandList
from syncoll.errors import VerificationError
from syncoll.model import Topology

__all__ = ["CutCertificate"]


@dataclass(frozen=True)
class CutCertificate:
    """Proves a lower bound on R.

    Args:
        nodes: X, ascending.
        cover: positions of bounds in the topology; every link from X to outside is in one.
    """

    nodes: tuple[int, ...]
    cover: tuple[int, ...]

    def check(self, topology: Topology, demands: Sequence[Demand]) -> Fraction:
        """The bound on R that the cut proves for these demands, for any number of steps.

        Raises:
            VerificationError: when a node or a bound does not exist or is named twice, or a link
                from X to outside is not covered.
        """
        for what, named, count in (
            ("node", self.nodes, topology.num_nodes),
            ("bound", self.cover, len(topology.bounds)),
        ):
            for i in named:
                if not 0 <= i < count:
                    raise VerificationError(f"a cut with {what} {i}: there is none")
            if len(set(named)) < len(named):
                raise VerificationError(f"a cut that names a {what} twice")
        inside = frozenset(self.nodes)
        covered = {link for i in self.cover for link in topology.bounds[i].links}
        for link in topology.links:
            if link[0] in inside and link[1] not in inside and link not in covered:
                raise VerificationError(
                    f"link {link} leaves the cut's nodes, but its cover lacks it"
                )
        amount = self.amount(demands)
        if amount == 0:
            return Fraction(0)
        room = sum((topology.bounds[i].chunks_per_round for i in self.cover), Fraction(0))
        if room == 0:
            raise VerificationError(
                f"{amount} chunks must leave the cut's nodes, which no link leaves"
            )
        return amount / room

    def amount(self, demands: Sequence[Demand]) -> int:
        """The number of chunks that must cross."""
        demands, inside = DemandList.of(demands), frozenset(self.nodes)
        within = np.array([inside.issuperset(nodes) for nodes in demands.sets], dtype=bool)
        crossing = within[demands.first] & ~within[demands.second]
        return int(demands.counts[crossing].sum())
