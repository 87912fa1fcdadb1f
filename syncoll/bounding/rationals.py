"""Exact prices from floating-point ones, which keep the rules under any rounding.

Prices of a vertex are rationals with small denominators, up to the tolerance of the solver.
Several roundings are tried, beginning with readable prices; the best proof counts.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import numpy as np

from syncoll.arrays import Floats
from syncoll.certificates.link_prices import Place
from syncoll.deadline import NEVER, Deadline

_Proof = TypeVar("_Proof")
_At = TypeVar("_At", bound=Hashable)

NEAR, TOLERANCE = 1e-9, 1e-7
"""Values within the first relative difference are equal: rounding prices of a vertex loses less.
The second is the tolerance of HiGHS for rows."""

WHOLE_SENDS = 0.1
"""Whole sends seldom improve the bound of a linear program by a larger share (ring(7) allreduce, S
= 4: 3/2 instead of 31/21)."""

_DENOMINATORS = (12, 840, 27720, 10**6, 10**9)
"""Largest denominators tried in turn: highly composite numbers, then the precision of floats."""

_MOST_DUALS = 200
"""Number of different duals, evenly chosen, from which denominators are derived; limits work."""

_GRIDS = (720_720, 720_720_000)
"""Divisible by every number up to 16: sums of multiples often have small denominators.  The first
is for a single long price, the second for all prices of a proof whose sum is too long."""

_LONGEST = (10**6, 10**15)
"""Of a price, and of a sum: longer denominators cannot be read; bandwidths without a small common
denominator would make bounds of hundreds of digits."""


@dataclass(frozen=True)
class Rounding:
    """A rounding of prices to fractions of a `denominator` at most.  None: prices are rounded down
    to multiples of one small unit."""

    denominator: int | None

    def __call__(self, value: float) -> Fraction:
        """A fraction of a float; 0 where it is negative."""
        exact = Fraction(max(0.0, float(value)))
        if self.denominator is None:
            return self.lower(exact)
        return exact.limit_denominator(self.denominator)

    def lower(self, price: Fraction) -> Fraction:
        """The price, or a little less if its denominator is too long."""
        if self.denominator is None:
            return Fraction(int(price * _GRIDS[1]), _GRIDS[1])
        if price.denominator <= _LONGEST[0]:
            return price
        return Fraction(int(price * _GRIDS[0]), _GRIDS[0])

    def positive(self, values: Floats) -> Iterator[tuple[int, Fraction]]:
        """Positions and fractions of the values above 0."""
        for i in np.flatnonzero(values > NEAR).tolist():
            if price := self(values[i]):
                yield i, price

    def normalised(
        self, prices: Mapping[Place, Fraction], rates: Sequence[Fraction]
    ) -> dict[Place, Fraction]:
        """Prices scaled by rates of bounds so that a round of a step costs 1 or a little less."""
        spent: dict[int, Fraction] = defaultdict(Fraction)
        for (i, step), price in prices.items():
            spent[step] += rates[i] * price
        return {at: self.lower(price / spent[at[1]]) for at, price in prices.items() if price}


def rationalise(
    prices: Floats,
    value: float,
    proof: Callable[[Rounding], _Proof | None],
    check: Callable[[_Proof], Fraction],
    until: Deadline = NEVER,
    more_than: Fraction | None = None,
) -> tuple[Fraction, _Proof] | None:
    """The best proof of several roundings, and its bound.

    Args:
        prices: in floating point, from which denominators are derived.
        value: their bound.
        proof: the exact proof by a rounding; None without one.
        check: the bound of a proof.
        until: after it the first proof counts.
        more_than: proofs of no more than this are not returned.
    """
    best: tuple[Fraction, _Proof] | None = None
    for rounding in roundings(prices):
        found = proof(rounding)
        proved = Fraction(-1) if found is None else check(found)
        too_long = rounding.denominator is not None and proved.denominator > _LONGEST[1]
        if found is not None and not too_long and (best is None or proved > best[0]):
            best = proved, found
        if best is not None and (float(best[0]) >= value * (1 - NEAR) - 1e-12 or until.passed):
            break
    return best if best is None or more_than is None or best[0] > more_than else None


def roundings(prices: Floats) -> Iterator[Rounding]:
    """The roundings, from the first that changes no price to the grid."""
    sizes = np.unique(np.round(np.abs(prices), 8))
    sizes = sizes[:: len(sizes) // _MOST_DUALS + 1]
    first = 0
    for i, denominator in enumerate(_DENOMINATORS):
        rounded = [float(Fraction(x).limit_denominator(denominator)) for x in sizes.tolist()]
        if np.abs(np.array(rounded) - sizes).max(initial=0.0) < TOLERANCE:
            first = i
            break
    yield from map(Rounding, (*_DENOMINATORS[first:], None))


def excess(sums: Mapping[_At, Fraction], room: Callable[[_At], Fraction]) -> dict[_At, Fraction]:
    """Factors for shares whose sums exceed the room for them."""
    return {at: most / total for at, total in sums.items() if total > (most := room(at))}
