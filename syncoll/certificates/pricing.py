"""Prices of bounds in steps, as the certificates for collectives that combine use them.

Prices of links follow from them, and so do the automorphisms that keep them: what a chunk costs is
the same for whatever these exchange.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, gcd, lcm

from syncoll.certificates.classes import ChunkClass
from syncoll.errors import VerificationError
from syncoll.model import Topology

__all__ = ["Orbits", "Parts", "PricedSymmetry", "in_sends", "link_prices"]

Parts = Mapping[tuple[int, int], Fraction]
"""(Position of the link or of the bound, step) to a price, or a part of it; missing entries are
free."""


def link_prices(topology: Topology, steps: int, totals: Parts) -> list[list[Fraction]]:
    """``[S][L]``: what a send costs.

    Args:
        totals: (position of the bound, step) to its price.

    Raises:
        VerificationError: when a round costs more than 1, or a price is of no bound and step.
    """
    prices = [[Fraction(0)] * len(topology.links) for _ in range(steps)]
    spent = [Fraction(0)] * steps
    for (i, step), price in totals.items():
        if not 0 <= i < len(topology.bounds) or not 0 <= step < steps:
            raise VerificationError(f"a price for bound {i}, step {step}: there is none")
        if price < 0:
            raise VerificationError(f"bound {i} has the negative price {price}")
        spent[step] += topology.bounds[i].chunks_per_round * price
        for link in topology.bound_links[i].tolist():
            prices[step][link] += price
    for step, total in enumerate(spent):
        if total > 1:
            raise VerificationError(f"a round of step {step} costs {total}, more than 1")
    return prices


def in_sends(cost: Fraction, prices: list[list[Fraction]]) -> Fraction:
    """The least multiple of what all prices are multiples of that is no less than a cost."""
    different = {price for row in prices for price in row if price}
    if not different:
        return cost
    scale = lcm(*(price.denominator for price in different))
    unit = Fraction(gcd(*(int(price * scale) for price in different)), scale)
    return ceil(cost / unit) * unit


@dataclass(frozen=True)
class Orbits:
    """What some automorphisms exchange.

    Args:
        nodes: for each node the least of its orbit.
        links: for each link the position of the first of its orbit.
    """

    nodes: list[int]
    links: list[int]


class PricedSymmetry:
    """A topology with prices, and classes of chunks, which automorphisms have to keep.

    Args:
        totals: (position of the bound, step) to its price.
    """

    def __init__(
        self, topology: Topology, steps: int, totals: Parts, classes: Sequence[ChunkClass]
    ) -> None:
        self._topology, self._classes = topology, classes
        self._bounds = Counter(
            (
                frozenset(members.tolist()),
                (*bound.kind, *(totals.get((i, t), Fraction(0)) for t in range(steps))),
            )
            for i, (bound, members) in enumerate(
                zip(topology.bounds, topology.bound_links, strict=True)
            )
        )

    def orbits(self, automorphisms: Sequence[Sequence[int]]) -> Orbits:
        """What some permutations of the nodes exchange.

        Raises:
            VerificationError: when one is no automorphism that keeps the bounds with their prices,
                and the chunks.
        """
        topology = self._topology
        nodes = list(range(topology.num_nodes))
        orbit, links = list(nodes), list(range(len(topology.links)))
        for images in automorphisms:
            goes = self._link_images(images)
            for node in nodes:
                _join(orbit, node, images[node])
            for link, image in enumerate(goes):
                _join(links, link, image)
        return Orbits(orbit, links)

    def _link_images(self, images: Sequence[int]) -> list[int]:
        """For each link where it goes."""
        topology = self._topology
        if sorted(images) != list(range(topology.num_nodes)):
            raise VerificationError(f"{images} is no permutation of the nodes")
        number = topology.link_index
        goes = [number.get((images[a], images[b]), -1) for a, b in topology.links]
        if -1 in goes:
            raise VerificationError(f"{images} takes a link to what is none")
        moved = Counter(
            (frozenset(goes[i] for i in some), prices) for some, prices in self._bounds.elements()
        )
        if moved != self._bounds:
            raise VerificationError(f"{images} does not keep the bounds and their prices")
        for one in self._classes:
            for some in (one.pre, one.post):
                if {images[n] for n in some} != set(some):
                    raise VerificationError(f"{images} does not keep the chunks")
        return goes


def _join(orbit: list[int], one: int, other: int) -> None:
    """Makes two orbits one; each is named by its least member."""
    a, b = orbit[one], orbit[other]
    if a != b:
        orbit[:] = [min(a, b) if n in (a, b) else n for n in orbit]
