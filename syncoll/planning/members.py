"""The fastest members of families for given sizes, as algorithms for a plan.

A family has a member for every m, and the fastest m grows with the size without limit.  A plan has
the members that are fastest at certain sizes: from 1 KiB to 1 GiB in steps of a factor of 4, and
the requested sizes.
"""

from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from syncoll.documents import StoredAlgorithm, stored_member
from syncoll.planning.plan import CostModel, message_of
from syncoll.results import Family, Frontier

MOST_MEMBER_SENDS = 1 << 16
"""Most sends of a planned member: runtimes cannot load larger ones."""


def fastest_member(family: Family, step: Fraction, size: Fraction) -> int:
    """The m for which ``S * step + R/C * size`` is the least, with a size of one node's data.  R/C
    is a constant plus a multiple of 1/C, so the time is convex in m, and the first m after which it
    grows is the optimum."""

    def grows(m: int) -> bool:
        gain = family.bandwidth(m) - family.bandwidth(m + 1)
        return family.interval * step >= gain * size

    return family.first + bisect_left(range(family.first, 1 << 62), True, key=grows)


def members_for(
    frontier: Frontier, models: Sequence[CostModel], sizes: Sequence[int]
) -> list[StoredAlgorithm]:
    """The members of families that are the fastest for some messages by one of the models; equal
    costs come once."""
    instances = [one.instance for one in (*frontier.points, *(f.wave for f in frontier.families))]
    message, found = message_of(instances[:1]), []
    for number, family in enumerate(frontier.families):
        sends = family.wave.algorithm.num_sends
        most = max(family.first, MOST_MEMBER_SENDS // max(1, sends))
        chosen = set()
        for model, size in product(models, sizes):
            m = most
            if model.alpha:
                seconds = message.node_bytes(size) / model.bandwidth
                m = min(m, fastest_member(family, model.alpha, seconds))
            chosen.add(m)
        costs = {(point.steps, point.bandwidth) for point in frontier.points}
        found += [
            stored_member(family, number, m)
            for m in sorted(chosen)
            if (family.steps.at(m), family.bandwidth(m)) not in costs
        ]
    return found
