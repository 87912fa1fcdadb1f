"""Asking about an inverse by asking its dual, see `syncoll.model.dual`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from syncoll.deadline import NEVER, Deadline
from syncoll.errors import ModelError
from syncoll.model import Algorithm, Collective, Instance, Topology, invert
from syncoll.model.dual import dual_instance
from syncoll.plugins import SeedLimits
from syncoll.results import Solution
from syncoll.results.frontier import Point
from syncoll.searching.asking import Asking, Waiting
from syncoll.searching.derived_points import as_asked, inverted_point
from syncoll.searching.request import SearchRequest
from syncoll.searching.seeding import Seeding

__all__ = ["AskingDual", "inverted_solution"]


def inverted_solution(solution: Solution, instance: Instance, collective: Collective) -> Solution:
    """The dual's solution as one of the inverse's instance.

    Raises:
        VerificationError: when its algorithm, run backwards, does not solve the instance.
    """
    if solution.algorithm is None:
        return replace(solution, instance=instance)
    _, backwards = invert(solution.instance, solution.algorithm, collective.name)
    mirrored = replace(instance, pre=solution.instance.post, post=solution.instance.pre)
    found, algorithm = as_asked(mirrored, backwards, collective)
    return replace(solution, instance=found, algorithm=algorithm)


class AskingDual(Asking):
    """Decides the instances of an inverse through those of its dual.

    Args:
        asking: decides instances of the dual.
        request: what is searched, an inverse.
        dual: of which it is the inverse.
    """

    def __init__(self, asking: Asking, request: SearchRequest, dual: Collective) -> None:
        super().__init__(
            asking.solver,
            pool=asking.pool,
            memory=asking.memory,
            prove=asking.prove,
            seeding=_SeedingDual(asking.seeding, request, dual),
        )
        self.losses = asking.losses  # which the command tells in the end
        self._collective, self._dual = request.collective, dual

    def ask(
        self,
        instance: Instance,
        seconds: float | None,
        hint: Algorithm | None = None,
        until: Deadline = NEVER,
    ) -> Waiting:
        """Asks for an instance to be decided; a hint is of no use to the dual."""
        asked = dual_instance(instance, self._collective, self._dual)
        waiting = super().ask(asked, seconds, until=until)
        return Waiting(
            lambda: inverted_solution(waiting.result(), instance, self._collective), waiting.cancel
        )


class _SeedingDual(Seeding):
    """What seeds construct for the dual, inverted."""

    def __init__(self, seeding: Seeding, request: SearchRequest, dual: Collective) -> None:
        super().__init__(seeding.seeds)
        self._seeding, self._request, self._dual = seeding, request, dual

    def points(
        self,
        topology: Topology,
        collective: Collective,
        limits: SeedLimits,
        patience: float = 0.0,
    ) -> Iterator[Point]:
        """Verified points of the inverse, as they come; see `Seeding.points`."""
        for point in self._seeding.points(
            topology.reversed(), self._dual, replace(limits, max_chunks=None), patience
        ):
            try:
                turned = inverted_point(point, self._request)
            except ModelError:  # the inverse's chunks are those of another C of the dual
                continue
            if limits.max_chunks is None or turned.chunks <= limits.max_chunks:
                yield turned
