"""The best known R/C for each S, the open regions, and the better R/C that may exist.

Searches and `syncoll.trust.claims` share these functions.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction

from syncoll.results.family import Family
from syncoll.results.frontier import Frontier, Point
from syncoll.results.proof import Proof

__all__ = ["better_left", "known_cost", "open_regions"]


def known_cost(steps: int, points: Sequence[Point], families: Sequence[Family]) -> Fraction | None:
    """The least R/C of a point or a member in at most S steps; None without one."""
    costs = [point.bandwidth for point in points if point.steps <= steps]
    costs += [cost for one in families if (cost := one.cost_within(steps)) is not None]
    return min(costs, default=None)


def open_regions(
    frontier: Frontier, proofs: Sequence[Proof], least_steps: int, least_bandwidth: Fraction
) -> Iterator[tuple[int, int | None, Fraction, Fraction | None]]:
    """The regions that proofs, in order of steps, leave open: the first entries of `OpenClaim`."""
    families = frontier.families if frontier.counts_members else ()

    def known(steps: int) -> Fraction | None:
        return known_cost(steps, frontier.points, families)

    def is_met(steps: int, bound: Fraction) -> bool:
        best = known(steps)
        return best is not None and best <= bound

    first = least_steps
    for proof in proofs:
        # A proof holds for unsearched S before it, as far as no family meets its bound there.
        between = range(first, proof.steps)
        count = bisect_left(between, True, key=lambda s: is_met(s, proof.bound))
        if count:
            yield first, between[count - 1], proof.bound, known(first)
        if proof.low is not None and not proof.is_closed:
            yield proof.steps, proof.steps, proof.low, proof.best
        first = proof.steps + 1
    if not is_met(first, least_bandwidth):
        yield first, None, least_bandwidth, known(first)


def better_left(
    domain: Iterable[int],
    best: Fraction | None,
    max_rounds: int | None,
    least: Callable[[int, int], int | None],
    enough: Fraction | None = None,
) -> tuple[Fraction | None, int, bool]:
    """The least R/C below the best known that is not ruled out.

    Args:
        domain: each C, in ascending order.
        max_rounds: a limit on R, needed where no cost is known.
        least: the least R up to a limit that is not ruled out for a C; None if all are.
        enough: the search for lower R/C stops at this one.

    Returns:
        The least R/C of the best and all that are not ruled out, None without any; the C up to
        which nothing better is left; and whether that holds for the whole domain.
    """
    low, closed, is_closed = best, 0, True
    for chunks in domain:
        limits = [] if max_rounds is None else [max_rounds]
        if best is not None:
            limits.append(-int(-best * chunks // 1) - 1)
        rounds = least(chunks, min(limits))
        if rounds is not None:
            left = Fraction(rounds, chunks)
            low, is_closed = left if low is None else min(low, left), False
        elif is_closed:
            closed = chunks
        if not is_closed and low == enough:
            break
    return low, closed, is_closed
