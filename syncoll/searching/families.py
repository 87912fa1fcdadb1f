"""Which families belong on a frontier, and which points they leave there."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from syncoll.results.family import Family
from syncoll.results.frontier import Point
from syncoll.searching.request import SearchRequest

__all__ = ["belonging", "unbeaten"]

_LOOKED_AT = 64
"""Up to so many steps members are compared one by one; beyond it what R/C comes near to counts."""


def belonging(families: Sequence[Family], request: SearchRequest) -> tuple[Family, ...]:
    """The families of which a member is not beaten by those of the others.

    Of a search that is limited in S, R or C there are none: members beyond any limit are not what
    was asked for.
    """
    if not all(most is None for most in (request.max_steps, request.max_rounds)):
        return ()
    if request.max_chunks is not None:
        return ()
    kept: list[Family] = []
    for family in sorted(families, key=_in_the_end):
        if not kept or any(_is_new(family, steps, kept) for steps in range(1, _LOOKED_AT + 1)):
            kept.append(family)
    return tuple(kept)


def _is_new(family: Family, steps: int, others: Sequence[Family]) -> bool:
    """Whether a family has a member of so many steps, and no other one as good."""
    m = family.within(steps)
    if m is None or family.steps.at(m) != steps:
        return False
    cost = family.bandwidth(m)
    costs = (other.cost_within(steps) for other in others)
    return not any(known is not None and known <= cost for known in costs)


def _in_the_end(family: Family) -> tuple[Fraction, Fraction]:
    """What R/C comes near to, and S times what it is then above that."""
    limit, chunks = family.limit, family.chunks
    above = family.rounds_needed.base - limit * chunks.base
    return limit, above * family.interval / chunks.each


def unbeaten(points: Sequence[Point], families: Sequence[Family]) -> tuple[Point, ...]:
    """The points that no member of a family beats."""
    return tuple(
        point
        for point in points
        if not any(family.beats(point.steps, point.bandwidth) for family in families)
    )
