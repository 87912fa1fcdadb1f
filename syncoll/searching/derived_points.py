"""Points made out of other points: inverted, composed, merged.

Every algorithm made here is renumbered to the chunk numbers of the collective that was asked for,
and verified as an algorithm of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from syncoll.errors import ModelError
from syncoll.model import Algorithm, Collective, Instance, compose, invert, renumber
from syncoll.model.rows import matching
from syncoll.results.frontier import OpenClaim, Point
from syncoll.searching.request import SearchRequest
from syncoll.trust import require_valid

__all__ = ["as_asked", "composed_point", "inverted_point", "merged", "scaled_claim"]


def inverted_point(point: Point, request: SearchRequest) -> Point:
    """A point of the dual on the reversed topology as one of the collective asked for."""
    name = request.collective.name
    instance, algorithm = invert(point.instance, point.algorithm, name)
    instance = replace(instance, topology=request.topology)
    instance, algorithm = as_asked(instance, algorithm, request.collective)
    bound = point.bound
    if bound is not None:
        bound = bound * point.chunks / instance.chunks
    return replace(point, instance=instance, algorithm=algorithm, bound=bound)


def composed_point(choice: Sequence[Point], request: SearchRequest) -> Point:
    """The algorithms one after the other as a point, its bound not yet known."""
    name = request.collective.name
    whole = choice[0].instance, choice[0].algorithm
    for point in choice[1:]:
        whole = compose(whole, (point.instance, point.algorithm), name)
    instance, algorithm = as_asked(*whole, request.collective)
    return Point(
        instance,
        algorithm,
        "+".join(dict.fromkeys(p.encoding for p in choice)),
        "+".join(dict.fromkeys(p.backend for p in choice)),
        sum(p.seconds for p in choice),
    )


def as_asked(
    instance: Instance, algorithm: Algorithm, collective: Collective
) -> tuple[Instance, Algorithm]:
    """The same with the chunk numbers that the collective itself gives, verified."""
    table = collective.tabulate(instance.topology.num_nodes, instance.chunks)
    number = matching(
        np.concatenate([instance.pre, instance.post], axis=1),
        np.concatenate([table.pre, table.post], axis=1),
    )
    if number is None:
        raise ModelError(
            f"collective {collective.name} with C = {instance.chunks} is not what its parts "
            "amount to",
            collective.origin,
        )
    instance, algorithm = renumber(instance, algorithm, number)
    instance = replace(instance, origin=collective.origin)
    require_valid(instance, algorithm)
    return instance, algorithm


def merged(points: list[Point], point: Point) -> list[Point]:
    """The points with one more, without what is dominated."""
    if any(p.dominates(point) for p in points):
        return points
    kept = [p for p in points if not point.dominates(p)]
    return sorted([*kept, point], key=lambda p: p.steps)


def scaled_claim(claim: OpenClaim, factor: Fraction) -> OpenClaim:
    """The same claim where bandwidth costs are larger by the factor."""
    high = None if claim.high is None else claim.high * factor
    return replace(claim, low=claim.low * factor, high=high)
