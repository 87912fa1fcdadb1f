"""Rounds as multiples of a grain, the unit of rounds of a topology.

A topology has D grains in a round; the rounds of every step are a multiple of 1/D.  Most topologies
have one grain a round, so that rounds are whole.  Engines count in grains: `Topology.in_grains` and
`Instance.in_grains` are the problem with a grain as its round, whose rounds are whole.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

__all__ = ["Rounds", "exact", "in_rounds"]

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
