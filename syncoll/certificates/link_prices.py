"""Prices of links in steps, derived from prices of bounds; in whole units, exact.

The cost of a round in a step is the sum, over bounds, of price times chunks per round.  The cost of
a send over a link is the sum of the prices of all bounds with that link.  Automorphisms that keep
the prices of bounds keep the prices of links, and the payments of chunks.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, gcd, lcm
from typing import Any

import numpy as np
import numpy.typing as npt

from syncoll.arrays import Floats
from syncoll.certificates.chunk_classes import ChunkClass
from syncoll.errors import VerificationError
from syncoll.model import Topology

Place = tuple[int, int]
"""Position of the link or of the bound, and step."""

Prices = Mapping[Place, Fraction]
"""Prices, or parts of prices; missing entries are free."""

Table = npt.NDArray[Any]
"""Whole numbers of units."""

_MOST_BITS = 256
"""With more bits, a common denominator is slower than fractions, and takes memory."""

LARGEST = 1 << 62
"""Sums below this are exact in machine words; larger ones are Python's integers."""


def in_units(values: Iterable[Fraction]) -> tuple[int, list[Any]]:
    """The number of units in 1, and values in units: whole numbers, or, where the common
    denominator is too long, fractions with 1 for the unit."""
    listed = list(values)
    one = lcm(*{value.denominator for value in listed})
    if one.bit_length() > _MOST_BITS:
        return 1, list(listed)
    return one, [value.numerator * (one // value.denominator) for value in listed]


def in_words(table: Table, most: Any) -> Table:
    """The table, as Python's numbers if sums up to this size do not fit machine words."""
    return table if table.dtype == np.int64 and most < LARGEST else table.astype(object)


def _kind(most: Any) -> type:
    """The type for whole numbers up to this one; a fraction does not fit machine words."""
    return np.int64 if isinstance(most, int) and most < LARGEST else object


def total(amounts: Iterable[Any]) -> int | Fraction:
    """The exact sum of machine words, whole numbers or fractions."""
    return sum(one if isinstance(one, Fraction) else int(one) for one in amounts)


@dataclass(frozen=True, eq=False)
class LinkPrices:
    """The costs of sends.

    Args:
        steps: S; None where prices are the same in all steps.
        units: the number of units in 1.
        wholes: ``[S, L]``, or ``[1, L]`` without steps: prices of links, in units.
        bounds: the prices of bounds, from which they are derived.
        rooms: the cost of a round in each step.
    """

    topology: Topology
    steps: int | None
    units: int
    wholes: Table
    bounds: Prices
    rooms: list[Fraction]

    @classmethod
    def of(cls, topology: Topology, steps: int | None, prices: Prices) -> "LinkPrices":
        """The prices of links, from prices of bounds.
        Raises `VerificationError` if a price has no bound or step, or is negative.
        """
        rooms = [Fraction(0)] * (1 if steps is None else steps)
        for (i, step), price in prices.items():
            if not 0 <= i < len(topology.bounds) or not 0 <= step < len(rooms):
                raise VerificationError(f"a price for bound {i}, step {step}, which does not exist")
            if price < 0:
                raise VerificationError(f"bound {i} has the negative price {price}")
            rooms[step] += topology.bounds[i].chunks_per_round * price
        units, amounts = in_units(prices.values())
        wholes: Table = np.zeros((len(rooms), len(topology.links)), dtype=_kind(sum(amounts)))
        for (i, step), amount in zip(prices, amounts, strict=True):
            wholes[step, topology.bound_links[i]] += amount
        return cls(topology, steps, units, wholes, prices, rooms)

    def floats(self) -> Floats:
        """``[S, L]``, the costs of sends in floating point."""
        return np.array(self.wholes / self.units, dtype=np.float64)

    def by_place(self) -> dict[Place, Fraction]:
        """The prices above 0."""
        steps, links = np.nonzero(self.wholes)
        values = self.wholes[steps, links].tolist()
        known = {value: Fraction(value) / self.units for value in {*values}}
        places = zip(links.tolist(), steps.tolist(), strict=True)
        return {at: known[value] for at, value in zip(places, values, strict=True)}

    def finer(self, parts: Iterable[Fraction]) -> tuple[int, Table]:
        """Units in which these parts are whole, too, and the prices in them."""
        units = lcm(self.units, *{part.denominator for part in parts})
        times = units // self.units
        most = max(1, *self.wholes.ravel().tolist(), 0) * times
        return units, in_words(self.wholes, most) * times

    def price(self, link: int, step: int) -> Fraction:
        """The cost of a send."""
        return Fraction(self.wholes[step : step + 1, link].tolist()[0]) / self.units

    def require_parts(self, parts: Prices) -> None:
        """Raises `VerificationError` unless parts of prices are at least 0, and of links and steps
        that exist."""
        steps, links = self.wholes.shape
        for (link, step), part in parts.items():
            if not 0 <= link < links or not 0 <= step < steps or part < 0:
                raise VerificationError(f"a share of {part} of link {link}, step {step}")

    def parts(self, parts: Prices) -> "LinkPrices":
        """Parts of these prices of links as prices.  Raises `VerificationError` when one is below
        0, or of a link or step that does not exist."""
        self.require_parts(parts)
        units, amounts = in_units(parts.values())
        wholes: Table = np.zeros(self.wholes.shape, dtype=_kind(sum(amounts)))
        for (link, step), amount in zip(parts, amounts, strict=True):
            wholes[step, link] = amount
        return replace(self, units=units, wholes=wholes)

    @cached_property
    def _common_unit(self) -> Fraction:
        """The largest common divisor of all prices; 0 without prices."""
        different = [Fraction(price) / self.units for price in {*self.wholes.ravel().tolist()}]
        scale = lcm(*(price.denominator for price in different))
        return Fraction(gcd(*(int(price * scale) for price in different)), scale)

    def whole_sends(self, cost: Fraction) -> Fraction:
        """The least multiple of the common divisor of all prices that is no less than a cost."""
        unit = self._common_unit
        return ceil(cost / unit) * unit if unit else cost

    def orbits(
        self, classes: Sequence[ChunkClass], automorphisms: Sequence[Sequence[int]]
    ) -> tuple[list[int], list[int]]:
        """The least node of each node's orbit, and the position of the first link of each link's
        orbit.  The permutations of the nodes keep the prices of bounds, and the chunks.
        Raises `VerificationError` if one is no automorphism that keeps the bounds with their
        prices, and the chunks.

        Args:
            automorphisms: for each permutation the image of each node.
        """
        topology = self.topology
        nodes, links = list(range(topology.num_nodes)), list(range(len(topology.links)))
        if not automorphisms:  # as in most cases of completions
            return nodes, links
        priced: dict[int, list[tuple[int, Fraction]]] = {}
        for (i, step), price in sorted(self.bounds.items()):
            if price:
                priced.setdefault(i, []).append((step, price))
        bounds = Counter(
            (frozenset(members.tolist()), (*bound.kind, *priced.get(i, ())))
            for i, (bound, members) in enumerate(
                zip(topology.bounds, topology.bound_links, strict=True)
            )
        )
        for images in automorphisms:
            if sorted(images) != list(range(topology.num_nodes)):
                raise VerificationError(f"{images} is no permutation of the nodes")
            goes = [topology.link_index.get((images[a], images[b]), -1) for a, b in topology.links]
            if -1 in goes:
                raise VerificationError(f"{images} maps a link to a pair of nodes without one")
            moved = Counter(
                (frozenset(goes[i] for i in some), kind) for some, kind in bounds.elements()
            )
            if moved != bounds:
                raise VerificationError(f"{images} does not keep the bounds and their prices")
            for one in classes:
                for some in (one.pre, one.post):
                    if {images[n] for n in some} != set(some):
                        raise VerificationError(f"{images} does not keep the chunks")
            for orbit, image in ((nodes, images), (links, goes)):
                for place, other in enumerate(image):
                    _join(orbit, place, other)
        return nodes, links


def _join(orbit: list[int], one: int, other: int) -> None:
    """Makes two orbits one; each is named by its least member."""
    a, b = orbit[one], orbit[other]
    if a != b:
        orbit[:] = [min(a, b) if n in (a, b) else n for n in orbit]
