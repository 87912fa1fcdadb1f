"""Dual: the search of an inverse as that of its dual."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from syncoll.ledger.bounds_table import BoundsTable
from syncoll.ledger.request import SearchRequest
from syncoll.model import Topology
from syncoll.model.derived import dual_of
from syncoll.results.family import Family, Part, backwards
from syncoll.results.frontier import Point
from syncoll.searching.decompose import inverted
from syncoll.trust.families import require_family

__all__ = ["Dual", "inverted_family", "inverted_point"]


class Dual:
    """What an inverse is searched as: its dual on the topology with every link reversed.

    Where that is the topology itself the dual is searched on it, so that it makes no difference
    which of the two was asked for.

    Args:
        request: for the inverse of a collective that moves data.

    Attributes:
        per_dual: C of the inverse divided by that of the dual, the same for each C.
        asked: the request for the dual.
        turned: for each bound of the topology that is searched its position in the reversed one.
    """

    def __init__(self, request: SearchRequest) -> None:
        dual = request.collective.dual
        assert dual is not None
        self.bounds = BoundsTable(request.topology, request.collective)
        least = self.bounds.least_chunks(request.max_chunks)
        nodes, most = request.topology.num_nodes, request.max_chunks
        self.per_dual = Fraction(least, dual_of(request.collective, dual, nodes, least))
        reversed_topology = request.topology.reversed()
        itself = reversed_topology.same_as(request.topology)
        searched = request.topology if itself else reversed_topology
        self.turned = _positions(searched, reversed_topology)
        self.asked = replace(
            request,
            topology=searched,
            collective=dual,
            max_chunks=None if most is None else int(most / self.per_dual),
        )


def _positions(one: Topology, other: Topology) -> list[int]:
    """For each bound of a topology its position in one that has the same in another order."""
    there: dict[tuple[object, object], list[int]] = {}
    for i, bound in enumerate(other.bounds):
        there.setdefault((bound.links, bound.kind), []).append(i)
    return [there[bound.links, bound.kind].pop(0) for bound in one.bounds]


def inverted_point(point: Point, request: SearchRequest) -> Point:
    """A point of the dual on the reversed topology as one of the collective asked for."""
    solved = point.instance, point.algorithm
    instance, algorithm = inverted(solved, request.collective, request.topology)
    bound = None if point.bound is None else point.bound * point.chunks / instance.chunks
    return replace(point, instance=instance, algorithm=algorithm, bound=bound)


def inverted_family(family: Family, request: SearchRequest) -> Family:
    """A family of the dual on the reversed topology as one of the collective asked for, verified.

    Raises:
        ModelError: when the inverse has other chunks.
        VerificationError: when a member, run backwards, is wrong.
    """

    def invert(part: Part) -> Part:
        solved = part.instance, part.algorithm
        return Part(*inverted(solved, request.collective, request.topology))

    turned = backwards(family, invert)
    require_family(turned)
    return turned
