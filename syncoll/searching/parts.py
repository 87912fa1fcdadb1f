"""Part: a part of a composition, and how the points found of it become algorithms of it.

Points of an inverse are those of its dual.  Few of them are ever composed, so that each is turned
round when it is, and not before.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

from syncoll.model import Algorithm, Collective, Instance, recut
from syncoll.results.frontier import Point
from syncoll.searching.decompose import inverted
from syncoll.searching.duals import Dual
from syncoll.searching.request import SearchRequest

__all__ = ["Part", "same_problem", "underlying"]

Solved = tuple[Instance, Algorithm]


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
    return dual is not None and not dual.combining and not dual.irregular
