"""An inverse asked of its dual: `Dual` for a search, `DualAnswers` for instances and seeds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from syncoll.deadline import NEVER, Deadline
from syncoll.errors import ModelError
from syncoll.ledger.bounds_table import BoundsTable
from syncoll.ledger.candidates import CandidateSource
from syncoll.ledger.request import SearchRequest
from syncoll.model import Algorithm, Collective, Instance, Topology
from syncoll.model.derived import dual_instance, dual_of
from syncoll.plugins import SeedLimits
from syncoll.results.backwards import backwards
from syncoll.results.family import Family, Part
from syncoll.results.frontier import Point
from syncoll.searching.answers import AnswerSource, PendingAnswer
from syncoll.searching.decompose import inverted, inverted_solution
from syncoll.searching.seed_run import SeedRun
from syncoll.searching.seeding import Seeding
from syncoll.symmetry import FreeGroup
from syncoll.trust.families import require_family

__all__ = ["Dual", "DualAnswers", "inverted_family", "inverted_point"]


class Dual:
    """What an inverse is searched as: its dual on the topology with every link reversed.

    Where that is the topology itself the dual is searched on it, so that it makes no difference
    which of the two was asked for.

    Args:
        request: for the inverse of a collective that moves data and is not irregular.

    Attributes:
        per_dual: C of the inverse divided by that of the dual, the same for each C.
        asked: the request for the dual.
        turned: for each bound of the topology that is searched its position in the reversed one.
    """

    def __init__(self, request: SearchRequest) -> None:
        dual = request.collective.dual
        assert dual is not None
        self.bounds = BoundsTable(request.topology, request.collective)
        least = CandidateSource(replace(request, max_steps=0), self.bounds).least_chunks
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


class DualAnswers(AnswerSource):
    """Decides the instances of an inverse by those of its dual, see `syncoll.model.derived`."""

    def __init__(self, answers: AnswerSource, request: SearchRequest, dual: Collective) -> None:
        super().__init__(
            answers.solver,
            pool=answers.pool,
            memory=answers.memory,
            prove=answers.prove,
            seeding=_DualSeeding(answers.seeding, request, dual),
        )
        self.losses = answers.losses  # which are reported in the end
        self._collective, self._dual = request.collective, dual

    def ask(
        self,
        instance: Instance,
        seconds: float | None,
        hint: Algorithm | None = None,
        until: Deadline = NEVER,
        groups: Sequence[FreeGroup] = (),
    ) -> PendingAnswer:
        """Asks for an instance to be decided; a hint is of no use to the dual."""
        asked = dual_instance(instance, self._collective, self._dual)
        pending = super().ask(asked, seconds, until=until, groups=groups)
        return PendingAnswer(
            lambda: inverted_solution(pending.result(), instance, self._collective), pending.cancel
        )


class _DualSeeding(Seeding):
    """What seeds construct for the dual, inverted."""

    def __init__(self, seeding: Seeding, request: SearchRequest, dual: Collective) -> None:
        super().__init__(seeding.seeds)
        self._seeding, self._request, self._dual = seeding, request, dual

    def run(self, topology: Topology, collective: Collective) -> SeedRun:
        return _DualRun(self._seeding.run(topology.reversed(), self._dual), self._request)


class _DualRun(SeedRun):
    """Seeds at work on the dual."""

    def __init__(self, run: SeedRun, request: SearchRequest) -> None:
        self._run, self._request = run, request
        self.begun_with = run.begun_with

    @property
    def waiting(self) -> tuple[str, ...]:
        return self._run.waiting

    def points(
        self,
        limits: SeedLimits,
        patience: float = 0.0,
        slowest: float = math.inf,
        *,
        aside: Deadline | None = None,
        wait: float = 0.0,
    ) -> Iterator[Point]:
        theirs = replace(limits, max_chunks=None)
        yield from self._turned(
            self._run.points(theirs, patience, slowest, aside=aside, wait=wait), limits
        )

    def arrivals(self, limits: SeedLimits, wait: float) -> Iterator[Point]:
        yield from self._turned(self._run.arrivals(replace(limits, max_chunks=None), wait), limits)

    def go_aside(self, limits: SeedLimits, until: Deadline) -> None:
        self._run.go_aside(replace(limits, max_chunks=None), until)

    @property
    def is_aside(self) -> bool:
        return self._run.is_aside

    def close(self) -> None:
        self._run.close()

    def _turned(self, points: Iterator[Point], limits: SeedLimits) -> Iterator[Point]:
        """Points turned round, those within the limits."""
        for point in points:
            try:
                turned = inverted_point(point, self._request)
            except ModelError:  # the inverse's chunks are those of another C of the dual
                continue
            if limits.max_chunks is None or turned.chunks <= limits.max_chunks:
                yield turned


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
