"""Points of a sum whose terms have nothing in common: overlaid points of its terms.

The sum of an allreduce and an alltoall is neither moved nor composed: few seeds apply to it, and a
solver's formulas are large.  But each term has a frontier of its own.  One algorithm of S steps for
each term gives one of S steps for the sum, for at most the sum of their costs.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from math import lcm

from syncoll.deadline import Deadline, OutOfTimeError, interrupted_at
from syncoll.errors import LocatedError, ModelError, UsageError
from syncoll.ledger.events import Event
from syncoll.ledger.incumbents import MOST_SENDS
from syncoll.ledger.ledger import INTERRUPTED, Ledger
from syncoll.ledger.request import SearchRequest
from syncoll.model import Algorithm, Collective, Instance, overlay, recut, refine, same_chunks
from syncoll.model.messages import contiguous
from syncoll.results.frontier import Frontier, Point
from syncoll.searching.agenda import Work
from syncoll.searching.parts import PartSearch, SearchTask, joint_point
from syncoll.searching.search import Search
from syncoll.searching.shares import LONG_SECONDS
from syncoll.trust import require_valid

Solved = tuple[Instance, Algorithm]


class SumSearch:
    """The engine of a sum: the overlaid frontiers of its terms.
    `frontiers` makes a search of the terms, which searches terms that had less time anew."""

    def __init__(self, search: Search, frontiers: Callable[[], PartSearch]) -> None:
        self._search, self._frontiers = search, frontiers

    def rows(self) -> list[Work]:
        """Two turns: a short one for first points, and a long one."""
        return [Work("sums", self.run, share=share) for share in self._search.shares.terms]

    def run(self, ledger: Ledger, until: Deadline) -> Iterator[Event]:
        """Verified points of the whole; none if a term has no points."""
        request, frontiers = ledger.request, self._frontiers()
        terms, interrupted = request.collective.terms, False
        if until.is_never:
            until = until.sooner(LONG_SECONDS * len(terms))
        found: list[Sequence[Point]] = []
        for i, term in enumerate(terms):
            frontier = _searched(frontiers, request, term, until.share(1 / (len(terms) - i)))
            if frontier is not None:
                found.append(frontier.points)
                interrupted |= frontier.interrupted
            if interrupted:
                break
        ledger.log.began(request.collective.name)
        if len(found) == len(terms):
            with suppress(OutOfTimeError):
                for choice in choices(found):
                    with interrupted_at(self._search.deadline):
                        point = _laid(choice, request)
                    if point is not None:
                        yield point
        if interrupted:
            self._search.agenda.stop(INTERRUPTED)


def _searched(
    frontiers: PartSearch, request: SearchRequest, term: Collective, until: Deadline
) -> Frontier | None:
    """The frontier of one term; None if its limits leave nothing, or no time is left."""
    asked = replace(
        request, collective=term, max_rounds=None, aim=None, is_part=True, time_limit=until.seconds
    )
    try:
        return frontiers.search(SearchTask(asked, until, proving=False))
    except (UsageError, LocatedError, OutOfTimeError):
        return None


def choices(found: Sequence[Sequence[Point]]) -> Iterator[tuple[Point, ...]]:
    """For each S the cheapest point of each term with at most S steps, where all have one."""
    last: tuple[Point, ...] = ()
    for steps in sorted({point.steps for points in found for point in points}):
        within = [[point for point in points if point.steps <= steps] for points in found]
        if all(within):
            choice = tuple(min(points, key=lambda point: point.bandwidth) for points in within)
            if choice != last:
                yield choice
            last = choice


def _laid(choice: Sequence[Point], request: SearchRequest) -> Point | None:
    """One point of each term as one of the whole; None if they cannot be cut alike."""
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
    solved = found[0], contiguous(*found)
    require_valid(*solved)
    return joint_point(solved, choice)


def _cut_alike(choice: Sequence[Point], whole: Collective, nodes: int) -> list[Solved] | None:
    """One algorithm of each term, all with the same C, and their chunks in the order of the whole;
    None if that takes too many sends."""
    common = lcm(*(point.chunks for point in choice))
    sends = sum(Fraction(point.algorithm.num_sends, point.chunks) for point in choice)
    if common * sends > MOST_SENDS:
        # Terms that move data can be cut otherwise; combining ones keep their C.
        fixed = [point.chunks for point in choice if point.instance.combining]
        common = lcm(*fixed, whole.least_chunks(nodes) or 1)
        while 2 * common * sends <= MOST_SENDS:
            common *= 2
    if common * sends > MOST_SENDS or not whole.admits(nodes, common):
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
