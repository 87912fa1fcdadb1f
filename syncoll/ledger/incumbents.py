"""Which points and families belong on a frontier: the ones that no other dominates."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from syncoll.ledger.request import SearchRequest, Strategy
from syncoll.model.node_sets import MOST_DENSE_CELLS
from syncoll.results import TOLERANCE, Family, Point

if TYPE_CHECKING:
    from syncoll.scheduling.schedule import SizeLimits

FEW_STEPS, MOST_LISTED = 12, 128
"""Members of up to 12 steps are points, and each of these S has a proof.  A search with limits
shows no families, and lists members of up to 128 steps.  Families are compared member by member up
to 128 steps; beyond them only the limit of R/C counts."""

MOST_SENDS = 1 << 20
"""The limit on the sends of the largest listed algorithms; a file of more has tens of megabytes."""


def belonging(
    families: Sequence[Family], request: SearchRequest, points: Sequence[Point]
) -> tuple[Family, ...]:
    """The families with a member that neither other families nor points match.  A search with
    limits on S, R or C has no families, because they exceed any limit."""
    if not shows_families(request):
        return ()
    kept: list[Family] = []
    for family in sorted(families, key=_in_the_end):
        if _is_matched(family, points):
            continue
        if not kept or any(_is_new(family, steps, kept) for steps in range(1, MOST_LISTED + 1)):
            kept.append(family)
    return tuple(kept)


def within(point: Point, limits: "SizeLimits") -> bool:
    """Whether a point keeps the limits on S, R and C."""
    most = limits.max_steps, limits.max_rounds, limits.max_chunks
    costs = point.steps, point.rounds, point.chunks
    return all(one is None or cost <= one for cost, one in zip(costs, most, strict=True))


def shows_families(request: SearchRequest) -> bool:
    """Whether a search may have families on its frontier, see `belonging`."""
    limits = request.max_steps, request.max_rounds, request.max_chunks, request.k
    limited = any(most is not None for most in limits) or request.strategy is Strategy.PAPER
    return not limited


def _is_matched(family: Family, points: Sequence[Point]) -> bool:
    """Whether for every member there is a point that costs no more."""
    ends = [point.steps for point in points if point.bandwidth <= family.limit]
    if not ends:
        return False
    for m in range(family.first, (family.within(min(ends)) or 0) + 1):
        steps, cost = family.steps.at(m), family.bandwidth(m)
        if not any(p.steps <= steps and p.bandwidth <= cost for p in points):
            return False
    return True


def _is_new(family: Family, steps: int, others: Sequence[Family]) -> bool:
    """Whether a family has a member of `steps` steps, and no other one as good."""
    m = family.within(steps)
    if m is None or family.steps.at(m) != steps:
        return False
    cost = family.bandwidth(m)
    costs = (other.cost_within(steps) for other in others)
    return not any(known is not None and known <= cost for known in costs)


def _in_the_end(family: Family) -> tuple[Fraction, Fraction]:
    """The limit of R/C, and the product of S and the distance from it."""
    limit, chunks = family.limit, family.chunks
    above = family.rounds_needed.base - limit * chunks.base
    return limit, above * family.interval / chunks.each


def unbeaten(points: Sequence[Point], families: Sequence[Family]) -> tuple[Point, ...]:
    """The points that no member of a family beats."""
    return tuple(
        point
        for point in points
        if not any(family.beats(point.steps, point.bandwidth, point.chunks) for family in families)
    )


def few_steps(families: Sequence[Family], request: SearchRequest) -> Iterator[Point]:
    """The members of few steps, or within the limits of the search.  A family without a member of
    few steps gives its first one.

    If members have more than `MOST_SENDS` sends together, only the first ones and the last come.
    Members that exceed the limits of an algorithm alone do not come.
    """
    limits = request.max_steps, request.max_rounds, request.max_chunks
    limited = any(most is not None for most in (*limits, request.k))
    most = FEW_STEPS
    if limited:
        most = MOST_LISTED if request.max_steps is None else min(MOST_LISTED, request.max_steps)
    for family in families:
        last = family.within(most)
        if last is None and not limited:
            last = family.first
        listed = [
            m
            for m in range(family.first, 0 if last is None else last + 1)
            if family.steps.at(m) and _keeps(family, m, limits)
        ]
        sends = 0
        for m in listed:
            own = m * family.wave.algorithm.num_sends
            sends += own
            at_an_end = m in (listed[0], listed[-1]) and own <= MOST_SENDS
            every = family.chunks.at(m) * family.wave.instance.num_chunks // family.wave.chunks
            writable = every * family.topology.num_nodes <= MOST_DENSE_CELLS
            if writable and (sends <= MOST_SENDS or at_an_end):
                yield family.member(m)


def _keeps(family: Family, m: int, limits: Sequence[int | None]) -> bool:
    """Whether a member keeps the limits on S, R and C."""
    costs = family.steps.at(m), family.rounds_needed.at(m), family.chunks.at(m)
    return all(most is None or cost <= most for cost, most in zip(costs, limits, strict=True))


def merged(points: list[Point], point: Point, tolerance: Fraction = TOLERANCE) -> list[Point]:
    """The points that no other dominates with one more; the same list if it is dominated, or if its
    R/C exceeds the least one for its S by more than `tolerance`."""
    if any(p.dominates(point) for p in points):
        return points
    every = [*(p for p in points if not point.dominates(p)), point]
    least = {s: min(p.bandwidth for p in every if p.steps <= s) for s in {p.steps for p in every}}
    kept = [p for p in every if p.bandwidth <= least[p.steps] * (1 + tolerance)]
    if point not in kept:
        return points
    return sorted(kept, key=lambda p: (p.steps, p.bandwidth))
