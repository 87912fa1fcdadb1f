"""Points of a sum whose terms have nothing in common: those of its terms, laid over each other.

An allreduce beside an alltoall is neither moved nor composed, so that few seeds have an idea of it,
and a solver's formulas are large.  But each of its terms has a frontier of its own, and what serves
each of them in S steps does so for all in as many, for the sum of what they cost at the most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import lcm

from syncoll.deadline import Deadline, OutOfTimeError, interrupted_at
from syncoll.errors import LocatedError, ModelError, UsageError
from syncoll.ledger.request import SearchRequest
from syncoll.model import Algorithm, Collective, Instance, recut
from syncoll.model.derivation import refine, same_chunks
from syncoll.model.overlaying import overlay
from syncoll.results.frontier import Frontier, Point
from syncoll.searching.composing import PartSearch, SearchTask
from syncoll.trust import require_valid

__all__ = ["SHARES_OF_TERMS", "Overlays"]

SHARES_OF_TERMS = (0.15, 0.5)
"""The part of the time that is left in which the terms are searched: soon, so that there is
something, and then as long as it is worth."""

_TERM_SECONDS = 20.0
"""What each of them has in all of it without a limit of time."""

_MOST_SENDS = 1 << 20
"""Terms whose C have no small multiple in common are cut alike where more sends would be listed."""

Solved = tuple[Instance, Algorithm]


class Overlays:
    """What is found of the terms of a sum, and of that the points of the whole.

    Args:
        frontiers: searches the terms.
        task: of the whole.
        share: the part of its time for the terms.

    Attributes:
        interrupted: whether a person stopped the search of a term.
    """

    def __init__(self, frontiers: PartSearch, task: SearchTask, share: float) -> None:
        self._frontiers, self._task, self._share = frontiers, task, share
        self.interrupted = False

    def points(self) -> list[Point]:
        """Verified points of the whole, within its limits or not; none where a term has none."""
        request, deadline = self._task.request, self._task.deadline
        terms = request.collective.terms
        until = deadline.share(self._share)
        found: list[Sequence[Point]] = []
        for i, term in enumerate(terms):
            own = until.share(1 / (len(terms) - i))
            if deadline.is_never:
                own = own.sooner(_TERM_SECONDS * self._share)
            frontier = self._searched(term, own)
            if frontier is not None:
                found.append(frontier.points)
            if self.interrupted:
                break
        if len(found) < len(terms):
            return []
        points: list[Point] = []
        try:
            for choice in _choices(found):
                with interrupted_at(deadline):
                    point = _laid(choice, request)
                if point is not None:
                    points.append(point)
        except OutOfTimeError:
            pass
        except KeyboardInterrupt:
            self.interrupted = True
        return points

    def _searched(self, term: Collective, until: Deadline) -> Frontier | None:
        """The frontier of one term; None where its limits leave nothing, or no time is left."""
        asked = replace(
            self._task.request,
            collective=term,
            max_rounds=None,
            aim=None,
            is_part=True,
            time_limit=until.seconds,
        )
        try:
            frontier = self._frontiers.search(SearchTask(asked, until, proving=False))
        except (UsageError, LocatedError, OutOfTimeError):
            return None
        self.interrupted |= frontier.interrupted
        return frontier


def _choices(found: Sequence[Sequence[Point]]) -> Iterator[tuple[Point, ...]]:
    """For each S the cheapest point of each term with at most so many steps, where all have one."""
    last: tuple[Point, ...] = ()
    for steps in sorted({point.steps for points in found for point in points}):
        within = [[point for point in points if point.steps <= steps] for points in found]
        if all(within):
            choice = tuple(min(points, key=lambda point: point.bandwidth) for points in within)
            if choice != last:
                yield choice
            last = choice


def _laid(choice: Sequence[Point], request: SearchRequest) -> Point | None:
    """One point of each term as one of the whole; None where they cannot be cut alike."""
    whole, topology = request.collective, request.topology
    try:
        parts = _cut_alike(choice, whole, topology.num_nodes)
        if parts is None:
            return None
        instance, algorithm = overlay(parts, whole.name)
        table = whole.tabulate(topology.num_nodes, instance.chunks)
    except ModelError:  # the collective has no such C
        return None
    found = same_chunks((instance, algorithm), table)
    if found is None:
        return None
    require_valid(*found)
    return Point(
        *found,
        "+".join(dict.fromkeys(point.encoding for point in choice)),
        "+".join(dict.fromkeys(point.backend for point in choice)),
        sum(point.seconds for point in choice),
    )


def _cut_alike(choice: Sequence[Point], whole: Collective, nodes: int) -> list[Solved] | None:
    """One algorithm of each term, all with the same C, and their chunks in the order of the whole;
    None where that takes too many sends."""
    common = lcm(*(point.chunks for point in choice))
    sends = sum(Fraction(point.algorithm.num_sends, point.chunks) for point in choice)
    if common * sends > _MOST_SENDS:
        # What is moved can be cut otherwise; what is added up has the C that it has.
        fixed = [point.chunks for point in choice if point.instance.combining]
        common = lcm(*fixed, whole.least_chunks(nodes) or 1)
        while 2 * common * sends <= _MOST_SENDS:
            common *= 2
    if common * sends > _MOST_SENDS or not whole.admits(nodes, common):
        return None
    parts = []
    for term, point in zip(whole.terms, choice, strict=True):
        times, left_over = divmod(common, point.chunks)
        solved = point.instance, point.algorithm
        cut = recut(*solved, common) if left_over else refine(*solved, times)
        part = None if cut is None else same_chunks(cut, term.tabulate(nodes, common))
        if part is None:
            return None
        parts.append(part)
    return parts
