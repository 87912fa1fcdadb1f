"""Rounds as multiples of a grain, the unit of rounds of a topology.

A topology has D grains in a round; the rounds of every step are a multiple of 1/D.  Most topologies
have one grain a round, so that rounds are whole.  Engines count in grains: `Topology.in_grains` and
`Instance.in_grains` are the problem with a grain as its round, whose rounds are whole.
"""

from collections.abc import Iterable
from fractions import Fraction
from math import lcm
from typing import Any

_MOST_EXACT, _GRAINS_BEYOND = 64, 60
"""Most grains in a round that follow from bandwidths, and the number for others, which measured
bandwidths may be; a step then takes at most a sixtieth of a round too long."""

Rounds = Any
"""A number of rounds: an int; where it is not whole a `Fraction`, which engines never get."""


def exact(rounds: Any) -> Rounds:
    """A number of rounds as an int, or as a `Fraction` if it is not whole.

    >>> exact(Fraction(4, 2)), exact(Fraction(7, 9))
    (2, Fraction(7, 9))
    """
    if type(rounds) is int:
        return rounds
    value = Fraction(rounds) if isinstance(rounds, Fraction | float) else Fraction(int(rounds))
    return value.numerator if value.denominator == 1 else value


def in_rounds(grains: int, each: int) -> Rounds:
    """Grains as rounds, with `each` grains in a round."""
    return grains if each == 1 else exact(Fraction(grains, each))


def grains_for(rates: Iterable[Fraction]) -> int:
    """The grains with which every step lasts as long as its fullest link, if they are few.

    Args:
        rates: the bandwidths in chunks per round.

    >>> grains_for([Fraction(25, 14), Fraction(1)]), grains_for([Fraction(997, 100)])
    (25, 60)
    """
    needed = lcm(*(rate.numerator for rate in rates))
    return needed if needed <= _MOST_EXACT else _GRAINS_BEYOND
