"""Part: a part of a composition, what is asked for it, and how its points become algorithms of it.

Points of an inverse are those of its dual.  Few of them are ever composed, so that each is turned
round when it is, and not before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

from syncoll.deadline import Deadline
from syncoll.ledger.bounds_table import BoundsTable
from syncoll.ledger.ledger import OnPoints
from syncoll.ledger.request import SearchRequest
from syncoll.model import Algorithm, Collective, Instance, recut
from syncoll.model.chunk_lookup import part_chunks
from syncoll.results.frontier import Frontier, Point
from syncoll.searching.decompose import inverted
from syncoll.searching.duals import Dual

__all__ = ["Part", "PartRequests", "PartSearch", "SearchTask", "same_problem", "underlying"]

Solved = tuple[Instance, Algorithm]


@dataclass(frozen=True)
class SearchTask:
    """A frontier to be searched, of the collective asked for or of a part of it.

    Args:
        proving: whether it matters what is proved for each S.
        bounds: of the collective, where some may be known.
    """

    request: SearchRequest
    deadline: Deadline
    on_points: OnPoints | None = None
    proving: bool = True
    bounds: BoundsTable | None = None


class PartSearch(Protocol):
    """Searches the frontiers of parts, each once."""

    def search(self, task: SearchTask) -> Frontier:
        """That of a part."""

    def knows(self, request: SearchRequest) -> bool:
        """Whether a question, or that which it turns out to be, was asked before."""


class Part:
    """A part of a composition.

    Args:
        request: for its frontier.

    Attributes:
        asked: what is searched for it: the request, or that for its dual.
        points: what was found of that.
    """

    def __init__(self, request: SearchRequest) -> None:
        self.request = request
        self._dual = Dual(request) if _is_turned(request.collective) else None
        self.asked = request if self._dual is None else self._dual.asked
        self._points: tuple[Point, ...] = ()
        self._solved: dict[tuple[int, int], Solved] = {}

    @property
    def points(self) -> tuple[Point, ...]:
        """Those of what is asked for it: of its dual, where that is searched for it."""
        return self._points

    @points.setter
    def points(self, points: Iterable[Point]) -> None:
        self._points = tuple(points)
        known = {id(point.algorithm) for point in self._points}
        self._solved = {key: value for key, value in self._solved.items() if key[0] in known}

    def solved(self, point: Point, chunks: int) -> Solved | None:
        """One of the points as an algorithm of the part.

        Args:
            chunks: in how many it cuts what all nodes have together.

        Returns:
            None where it cannot be cut so.

        Raises:
            ModelError: when the inverse has other chunks for its C.
        """
        key = id(point.algorithm), chunks
        if key not in self._solved:
            found = _cut(point, chunks)
            if found is None:
                return None
            if self._dual is not None:
                found = inverted(found, self.request.collective, self.request.topology)
            self._solved[key] = found
        return self._solved[key]


class PartRequests:
    """The requests for the parts of a composition.

    Args:
        whole: the request for the composition.
        bounds: of the composition.
    """

    def __init__(self, whole: SearchRequest, bounds: BoundsTable) -> None:
        self._whole, self._bounds = whole, bounds

    def request(self, way: Sequence[Collective], part: Collective) -> SearchRequest:
        """The request for one part, within what the whole leaves it."""
        request = self._whole
        max_steps, max_chunks = request.max_steps, request.max_chunks
        if max_steps is not None:
            others = sum(self.least_steps(other) for other in way if other is not part)
            max_steps = max(0, max_steps - others)
        if max_chunks is not None and part is not way[0]:
            max_chunks = self._largest_size(part, max_chunks)
        # How fast the whole is, each part does not tell by itself.
        return replace(
            request,
            collective=part,
            max_steps=max_steps,
            max_chunks=max_chunks,
            aim=None,
            is_part=True,
        )

    def least_steps(self, part: Collective) -> int:
        """The fewest steps that a part can have."""
        return BoundsTable(self._whole.topology, part).least_steps

    def questions(self, parts: Sequence[Collective], knows: Callable[[SearchRequest], bool]) -> int:
        """How many searches these parts need.

        Args:
            knows: whether one was made before.
        """
        asked: list[SearchRequest] = []
        for part in parts:
            request = underlying(replace(self._whole, collective=part, aim=None))
            if not knows(request) and not any(same_problem(request, other) for other in asked):
                asked.append(request)
        return len(asked)

    def _largest_size(self, part: Collective, most: int) -> int:
        """The largest C of a part that goes with a C of the whole up to a limit; else the limit."""
        nodes, whole = self._whole.topology.num_nodes, self._whole.collective
        for chunks in (c for c in range(most, 0, -1) if self._bounds.admits(c)):
            found = part_chunks(part, nodes, len(whole.tabulate(nodes, chunks).pre))
            if found is not None:
                return found
        return most


def _cut(point: Point, chunks: int) -> Solved | None:
    """A point's algorithm for so many chunks of all nodes together."""
    if chunks == point.instance.num_chunks:
        return point.instance, point.algorithm
    own = Fraction(point.chunks * chunks, point.instance.num_chunks)
    return recut(point.instance, point.algorithm, int(own)) if own.denominator == 1 else None


def underlying(request: SearchRequest) -> SearchRequest:
    """The request for the dual by which an inverse is searched; others as they are."""
    dual = request.collective.dual
    if dual is None or not _is_turned(request.collective):
        return request
    aim, topology = request.aim, request.topology
    if aim is not None:
        ours, theirs = (x.least_chunks(topology.num_nodes) for x in (request.collective, dual))
        aim = None if not ours or not theirs or ours % theirs else aim.for_dual(ours // theirs)
    return replace(request, topology=topology.reversed(), collective=dual, aim=aim)


def same_problem(one: SearchRequest, two: SearchRequest) -> bool:
    """Whether two requests are about the same collective on the same links."""
    return one.collective == two.collective and one.topology.same_as(two.topology)


def _is_turned(collective: Collective) -> bool:
    """Whether a collective is searched as its dual, whose points are turned round."""
    dual = collective.dual
    return dual is not None and not dual.combining
