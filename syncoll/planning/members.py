"""Members of families for sizes: the fastest m, as an algorithm to plan with.

A family has a member for every m, and the fastest m grows with the size without end.  A plan has
those that are the fastest at some sizes: from 1 KiB to 1 GiB in steps of a factor of 4, and those
that were asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from syncoll.documents import StoredAlgorithm
from syncoll.planning.plan import CostModel
from syncoll.results import Family, Frontier

__all__ = ["MOST_MEMBER_SENDS", "PLANNED_SIZES", "fastest_member", "members_for", "stored_member"]

PLANNED_SIZES = tuple(1 << bits for bits in range(10, 31, 2))
"""Sizes of one node's data that every plan has the fastest members for."""

MOST_MEMBER_SENDS = 1 << 16
"""Larger members are not planned with: runtimes cannot take them."""


def stored_member(family: Family, number: int, m: int) -> StoredAlgorithm:
    """A member as an algorithm of a file.

    Args:
        number: of the family in the frontier.
    """
    member = family.member(m)
    where = f"families[{number}].member({m})"
    return StoredAlgorithm(member.instance, member.algorithm, where)


def fastest_member(family: Family, step: Fraction, size: Fraction) -> int:
    """The m for which ``S * step + R/C * size`` is the least.

    R/C is a constant and a multiple of 1/C, so the time is convex in m, and the first m after which
    it grows is the least.

    Args:
        step: the time of a step; above 0.
        size: the factor of R/C.
    """

    def grows(m: int) -> bool:
        gain = family.bandwidth(m) - family.bandwidth(m + 1)
        return family.interval * step >= gain * size

    low, width = family.first, 1
    while not grows(low + width - 1):
        low, width = low + width, 2 * width
    high = low + width - 1  # the least m that grows is from low to high
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if grows(middle) else (middle + 1, high)
    return low


def members_for(
    frontier: Frontier, model: CostModel, sizes: Sequence[int]
) -> list[StoredAlgorithm]:
    """The members of each family that are its fastest at sizes of one node's data.

    Equal costs are listed once, and not if a point has them.
    """
    found = []
    for number, family in enumerate(frontier.families):
        sends = family.wave.algorithm.num_sends
        most = max(family.first, MOST_MEMBER_SENDS // max(1, sends))
        chosen = set()
        for size in sizes:
            m = most
            if model.alpha:
                m = min(m, fastest_member(family, model.alpha, Fraction(size) / model.bandwidth))
            chosen.add(m)
        costs = {(point.steps, point.bandwidth) for point in frontier.points}
        found += [
            stored_member(family, number, m)
            for m in sorted(chosen)
            if (family.steps.at(m), family.bandwidth(m)) not in costs
        ]
    return found
