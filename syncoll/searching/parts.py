"""The search for a part of a composition, and its points as algorithms of the part.

An inverse is searched as its dual on the topology with every link reversed (SCCL paper, section
3.5).  Few points of a part are ever composed, so each is inverted only when needed.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Protocol
from weakref import WeakKeyDictionary

from syncoll.clock import is_counted, now
from syncoll.deadline import NEVER, Deadline, Reserve
from syncoll.ledger import BoundsTable, SearchRequest
from syncoll.ledger.ledger import Accepts, OnPoints
from syncoll.model import Algorithm, Instance, Topology, recut
from syncoll.model.derived import dual_of
from syncoll.results.family import Family, Part as FamilyPart, backwards
from syncoll.results.frontier import Frontier, Point
from syncoll.searching.decompose import inverted
from syncoll.trust.families import require_family

Solved = tuple[Instance, Algorithm]

_SECONDS_A_SEND, _FEW_SENDS = 1e-6, 100_000
"""Seconds to invert an algorithm for each send, until one of this number of sends was inverted."""


@dataclass(frozen=True)
class SearchTask:
    """A frontier to be searched, of the requested collective or of a part of it.

    Args:
        proving: whether proofs for each S matter.
        bounds: of the collective, where some may be known.
    """

    request: SearchRequest
    deadline: Deadline
    on_points: OnPoints | None = None
    accepts: Accepts = lambda _: True
    proving: bool = True
    bounds: BoundsTable | None = None


class PartSearch(Protocol):
    """Searches the frontiers of parts, each once."""

    def search(self, task: SearchTask) -> Frontier:
        """The frontier of a part."""

    def knows(self, request: SearchRequest) -> bool:
        """Whether it was searched before."""


class Dual:
    """The search of an inverse as a search of its dual on the topology with every link reversed.

    If that is the topology itself, the dual is searched on it, so both collectives share one
    search.

    Args:
        request: for the inverse of a collective that moves data.

    Attributes:
        asked: the request for the dual.
    """

    def __init__(self, request: SearchRequest) -> None:
        dual, nodes = request.collective.dual, request.topology.num_nodes
        assert dual is not None
        self._request, bounds = request, BoundsTable(request.topology, request.collective)
        least, most = bounds.least_chunks(request.max_chunks), request.max_chunks
        # The ratio of C of the inverse to C of the dual is the same for each C.
        self._per_dual = Fraction(least, dual_of(request.collective, dual, nodes, least))
        self._admits = bounds.admits
        reversed_topology = request.topology.reversed()
        itself = reversed_topology.same_as(request.topology)
        searched = request.topology if itself else reversed_topology
        self._turned = _positions(searched, reversed_topology)
        aim = request.aim
        self.asked = replace(
            request,
            topology=searched,
            collective=dual,
            max_chunks=None if most is None else int(most / self._per_dual),
            aim=aim and replace(aim, cut=aim.cut * self._per_dual),  # of a node's part of the data
        )
        # A frontier is inverted as often as it is reported; its algorithms stay the same.
        self._points: dict[tuple[Instance, Algorithm], Point] = {}
        self._deadline, self._reserve = NEVER, Reserve()
        self._rate, self._waiting = _SECONDS_A_SEND, 0
        self._family = cache(self._inverted_family)

    @classmethod
    def of(cls, request: SearchRequest) -> "Dual | None":
        """None if the collective is searched without a dual."""
        dual = request.collective.dual
        # The inverse of a reduction moves data, and needs no dual.
        return None if dual is None or dual.combining else cls(request)

    def inverted(self, instance: Instance, algorithm: Algorithm) -> Solved:
        """An algorithm of the dual as one of the inverse, verified."""
        request = self._request
        return inverted((instance, algorithm), request.collective, request.topology)

    def leaving_time(self, deadline: Deadline) -> Deadline:
        """The deadline of the dual's search, before the inversions of its points."""
        self._deadline = deadline
        return deadline.keeping(self._reserve)

    def accepts(self, point: Point) -> bool:
        """Whether there is time to invert another point; a first one is always accepted."""
        if is_counted() or self._deadline.is_never:
            return True
        sends = self._waiting + point.algorithm.num_listed
        needed, left = self._rate * sends, self._deadline.left()
        if needed > left and (self._waiting or self._points):
            return False
        self._waiting, self._reserve.seconds = sends, min(needed, left)
        return True

    def frontier(self, found: Frontier) -> Frontier:
        """The dual's frontier as one of the inverse; points, bounds and open claims carry over."""
        assert found.evidence is not None  # a search always leaves some
        request, per_dual = self._request, self._per_dual
        evidence = found.evidence.renumbered(self._turned).inverse(per_dual, self._admits)
        limit, settings = evidence.max_chunks, {**found.settings, "inverse_of": found.collective}
        if settings.get("max_chunks") is not None:
            settings["max_chunks"] = limit
        scope = re.sub(rf"C <= {found.evidence.max_chunks}\b", f"C <= {limit}", found.scope)
        points = tuple(map(self._point, found.points))
        self._waiting, self._reserve.seconds = 0, 0.0
        return replace(
            found,
            topology=request.topology,
            collective=request.collective.name,
            points=points,
            scope=f"inverses of {found.collective}: {scope}",
            settings=settings,
            refuted=(),
            open=tuple(claim.scaled(1 / per_dual) for claim in found.open),
            least_bandwidth=found.least_bandwidth / per_dual,
            evidence=evidence,
            families=tuple(map(self._family, found.families)),
        )

    def _point(self, point: Point) -> Point:
        key = point.instance, point.algorithm
        if key not in self._points:
            began, sends = now(), point.algorithm.num_listed
            instance, algorithm = self.inverted(*key)
            made = self._points[key] = replace(point, instance=instance, algorithm=algorithm)
            _ = made.messages  # counted while there is time
            if sends > _FEW_SENDS:
                self._rate = (now() - began) / sends
        made, bound = self._points[key], point.bound
        return made.bounded(None if bound is None else bound * point.chunks / made.chunks)

    def _inverted_family(self, family: Family) -> Family:
        """A verified family of the inverse; an error if it has other chunks or is wrong."""

        def invert(part: FamilyPart) -> FamilyPart:
            return FamilyPart(*self.inverted(part.instance, part.algorithm))

        turned = backwards(family, invert)
        require_family(turned)
        return turned


def _positions(one: Topology, other: Topology) -> list[int]:
    """For each bound of a topology its position in one that has the same in another order."""
    there: dict[tuple[object, object], list[int]] = {}
    for i, bound in enumerate(other.bounds):
        there.setdefault((bound.links, bound.kind), []).append(i)
    return [there[bound.links, bound.kind].pop(0) for bound in one.bounds]


class Part:
    """A part of a composition.

    Attributes:
        asked: the request that is searched for it: itself, or the request for its dual.
        points: the points found for `asked`.
    """

    def __init__(self, request: SearchRequest) -> None:
        self.request, self._dual = request, Dual.of(request)
        self.asked = request if self._dual is None else self._dual.asked
        self.points: Sequence[Point] = ()
        self._solved: WeakKeyDictionary[Algorithm, dict[int, Solved]] = WeakKeyDictionary()

    def solved(self, point: Point, chunks: int) -> Solved | None:
        """One of the points as an algorithm of the part.
        Raises `ModelError` if the inverse has other chunks for its C.

        Returns:
            None if it cannot be cut into this number.
        """
        if self._dual is None and chunks == point.instance.num_chunks:
            return point.instance, point.algorithm  # not kept, since it would keep itself
        known = self._solved.setdefault(point.algorithm, {})
        if chunks not in known:
            found = _cut(point, chunks)
            if found is None:
                return None
            known[chunks] = found if self._dual is None else self._dual.inverted(*found)
        return known[chunks]


def _cut(point: Point, chunks: int) -> Solved | None:
    """A point's algorithm for this number of chunks of all nodes together."""
    if chunks == point.instance.num_chunks:
        return point.instance, point.algorithm
    own = Fraction(point.chunks * chunks, point.instance.num_chunks)
    return recut(point.instance, point.algorithm, int(own)) if own.denominator == 1 else None


def same_problem(one: SearchRequest, two: SearchRequest) -> bool:
    """Whether two requests are about the same collective on the same links."""
    return one.collective == two.collective and one.topology.same_as(two.topology)


def joint_point(solved: Solved, choice: Sequence[Point]) -> Point:
    """The point of an algorithm that was made of one point of each part."""
    return Point(
        *solved,
        "+".join(dict.fromkeys(point.encoding for point in choice)),
        "+".join(dict.fromkeys(point.backend for point in choice)),
        sum(point.seconds for point in choice),
    )
