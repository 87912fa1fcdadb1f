"""Searching combining and composed collectives through the collectives that they are made of.

* An inverse is searched as its dual on the topology with every link reversed (SCCL paper, section
  3.5), and every point found is inverted; bounds and open claims carry over.
* A composed collective's frontier comes from the frontiers of its parts: every choice of one point
  for each part, in every way to compose it, dominated ones dropped.
* A combining collective without one root per chunk has more algorithms than compositions: fewer
  steps than any composition, and partial sums that never rest at a root.  They are searched
  directly, with what the compositions cost as the mark to beat.

Every algorithm that comes out is verified again as an algorithm of the collective that was asked
for.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product

from syncoll.deadline import Deadline, OutOfTimeError, interrupted_at
from syncoll.errors import LocatedError, ModelError, SyncollError, UsageError
from syncoll.model import Collective, Topology
from syncoll.model.derived import part_chunks
from syncoll.model.dual import dual_of
from syncoll.results.frontier import Frontier, OpenClaim, Point
from syncoll.searching.asking import Asking
from syncoll.searching.asking_dual import AskingDual
from syncoll.searching.bounds_table import BoundsTable
from syncoll.searching.candidates import CandidateSource
from syncoll.searching.derived_points import composed_point, inverted_point, merged, scaled_claim
from syncoll.searching.driver import (
    NO_BOUND,
    ONLY_CUTS,
    OUT_OF_MEMORY,
    patience_of,
    proofs_until,
    search_points,
    seed_limits,
)
from syncoll.searching.observer import Observer
from syncoll.searching.proving import evidence_of, open_claims, with_bounds
from syncoll.searching.request import SearchRequest, Strategy
from syncoll.solving import Solver

__all__ = ["search"]

_DIRECT_MULTIPLES = (4, 12)
"""The limits on C of the direct search, one after the other, in multiples of the least C."""

_DIRECT_POINT_SECONDS = 12.0
_DIRECT_SECONDS = 25.0
"""Default limits of the direct search, for each candidate and for all."""

_SHARE_OF_TIME = 0.5

_SHARE_OF_FIRST_BOUND = 0.15
"""The part of the time in which the whole's bandwidth cost is bounded."""

_SHARE_OF_PARTS = 0.8
"""The part of the time in which parts are searched; the rest is for the whole."""

_COMPOSING_SECONDS = 0.4
"""What was found at the last moment gets so long to be composed."""

TIME_LIMIT = "time limit"
_NOT_EVERYTHING = "not every algorithm was searched, see the scope"

Keep = Callable[[Frontier], None]


def search(
    request: SearchRequest,
    solver: Solver | Asking,
    observer: Observer | None = None,
    *,
    keep: Keep | None = None,
    deadline: Deadline | None = None,
) -> Frontier:
    """Searches a frontier.

    Ctrl-C (`KeyboardInterrupt`) ends the search and returns what is known, marked as interrupted.

    Args:
        request: what to search, and how far.
        solver: decides the candidates; an `Asking` may do so with a store and a pool.
        observer: is told what happens.
        keep: is given the frontier so far whenever a point was found.
        deadline: when it must be over; None for the request's time limit from now on.

    Raises:
        UsageError: when the limits leave nothing to search.
        ModelError: when the collective makes no sense on the topology.
        BackendError: when a backend gives a wrong answer.
        OutOfTimeError: when the time was over before anything is known.
    """
    if deadline is None:
        deadline = Deadline.after(request.time_limit)
    asking = solver if isinstance(solver, Asking) else Asking(solver)
    return _Run(asking, observer or Observer()).search(request, keep, deadline)


class _Run:
    """One search with the frontiers of parts that came up in it."""

    def __init__(self, asking: Asking, observer: Observer) -> None:
        self.asking, self.observer = asking, observer
        self._known: list[tuple[SearchRequest, Frontier]] = []

    def search(self, request: SearchRequest, keep: Keep | None, deadline: Deadline) -> Frontier:
        """The frontier of any collective."""
        if request.collective.dual is not None:
            return self._inverse(request, request.collective.dual, keep, deadline)
        if request.collective.ways:
            return self._composed(request, keep, deadline)
        return self._moving(request, keep, deadline)

    def _moving(self, request: SearchRequest, keep: Keep | None, deadline: Deadline) -> Frontier:
        """The frontier of a collective with a pre and a post; the same question is asked once.

        A topology that its reversal maps to itself lets allgather serve for its inverse too.
        """
        for known, frontier in self._known:
            if _same_question(known, request):
                return frontier
        self.observer.began(request.collective.name)
        frontier = search_points(request, self.asking, self.observer, keep=keep, deadline=deadline)
        if frontier.complete:
            self._known.append((request, frontier))
        return frontier

    def _inverse(
        self, request: SearchRequest, dual: Collective, keep: Keep | None, deadline: Deadline
    ) -> Frontier:
        if dual.combining:  # what its inverse asks for is moved, and needs no detour
            return self._moving(request, keep, deadline)
        if dual.irregular:
            return self._one_by_one(request, dual, keep, deadline)
        return self._turned(request, dual, keep, deadline)

    def _one_by_one(
        self, request: SearchRequest, dual: Collective, keep: Keep | None, deadline: Deadline
    ) -> Frontier:
        """The frontier of an inverse whose C need not be in proportion to the dual's.

        The search is that of any collective, with C and bounds of the inverse; only the single
        questions are asked of the dual.
        """
        self.observer.began(request.collective.name)
        asking = AskingDual(self.asking, request, dual)
        frontier = search_points(request, asking, self.observer, keep=keep, deadline=deadline)
        return replace(frontier, settings={**frontier.settings, "inverse_of": dual.name})

    def _turned(
        self,
        request: SearchRequest,
        dual: Collective,
        keep: Keep | None,
        deadline: Deadline,
    ) -> Frontier:
        """The frontier of an inverse as that of the dual, whose C is in proportion."""
        collective, topology = request.collective, request.topology
        bounds = BoundsTable(topology, collective)
        least = CandidateSource(replace(request, max_steps=0), bounds).least_chunks
        per_dual = Fraction(least, dual_of(collective, dual, topology.num_nodes, least))
        most = request.max_chunks
        asked = replace(
            request,
            topology=topology.reversed(),
            collective=dual,
            max_chunks=None if most is None else int(most / per_dual),
        )

        def turn(frontier: Frontier) -> Frontier:
            assert frontier.evidence is not None  # a search always leaves some
            evidence = frontier.evidence.inverse(per_dual, bounds.admits)
            limit, settings = evidence.max_chunks, {**frontier.settings, "inverse_of": dual.name}
            if settings.get("max_chunks") is not None:
                settings["max_chunks"] = limit
            return replace(
                frontier,
                topology=topology,
                collective=collective.name,
                points=tuple(inverted_point(p, request) for p in frontier.points),
                scope=f"inverses of {dual.name}: "
                + re.sub(
                    rf"C <= {frontier.evidence.max_chunks}\b", f"C <= {limit}", frontier.scope
                ),
                settings=settings,
                refuted=(),
                open=tuple(scaled_claim(claim, 1 / per_dual) for claim in frontier.open),
                least_bandwidth=frontier.least_bandwidth / per_dual,
                evidence=evidence,
            )

        found = self.search(asked, None if keep is None else lambda f: keep(turn(f)), deadline)
        return turn(found)

    def _composed(self, request: SearchRequest, keep: Keep | None, deadline: Deadline) -> Frontier:
        began = time.perf_counter()
        bounds = BoundsTable(request.topology, request.collective, self.asking.prove, deadline)
        source = CandidateSource(request, bounds)
        points: list[Point] = []
        parts_complete, interrupted = True, False
        scopes: list[str] = []
        refusal: SyncollError | None = None
        if not deadline.is_never:
            # Now, for there may be no time in the end, and it is what most claims rest on.
            bounds.deadline = deadline.share(_SHARE_OF_FIRST_BOUND)
            self.observer.bounded(None, source.least_bandwidth)
            bounds.deadline = deadline
        parts_until = deadline.share(_SHARE_OF_PARTS)
        late = deadline.before(-_COMPOSING_SECONDS)
        for way in request.collective.ways:
            try:
                frontiers = self._parts(request, way, bounds, parts_until)
            except (UsageError, LocatedError) as error:  # no room for this way, or no sense in it
                refusal = error
                continue
            interrupted |= any(frontier.interrupted for frontier in frontiers)
            parts_complete &= all(frontier.complete for frontier in frontiers)
            if len(frontiers) < len(way):
                break
            scopes.append(" then ".join(part.name for part in way))
            choices = product(*(frontier.points for frontier in frontiers))
            try:
                for better in _with_compositions(points, choices, request, source, late):
                    points = better
            except OutOfTimeError:
                parts_complete = False
            except MemoryError as error:
                parts_complete = False
                self.asking.lost(f"{OUT_OF_MEMORY}: {error}")
            except KeyboardInterrupt:
                interrupted = True
            if interrupted:
                break
        try:
            for point in () if interrupted else self._seeded(request, source, deadline):
                points = merged(points, point)
        except KeyboardInterrupt:
            interrupted = True
        if self.asking.solver is None:
            bounds.deadline = proofs_until(deadline)
        if not scopes and refusal is not None and not request.collective.combining:
            raise refusal
        composed = self._proved(
            Frontier(
                topology=request.topology,
                collective=request.collective.name,
                points=tuple(points),
                open=(),
                scope=f"compositions ({'; '.join(scopes) or 'none within the limits'})",
                settings={
                    "strategy": str(request.strategy),
                    "encoding": self.asking.encoding_name,
                    "backend": self.asking.backend_name,
                    "k": request.k,
                    "max_steps": source.max_steps if request.max_steps is None else None,
                    "max_rounds": request.max_rounds,
                    "max_chunks": source.max_chunks if bounds.irregular else request.max_chunks,
                    "time_limit": request.time_limit,
                    "point_limit": request.point_limit,
                },
                least_steps=source.least_steps,
                least_bandwidth=source.least_bandwidth,
                complete=parts_complete and not interrupted,
                interrupted=interrupted,
                seconds=time.perf_counter() - began,
                left_out=source.left_out,
            ),
            source,
        )
        self.observer.found(composed.points)
        if keep is not None:
            keep(composed)
        asked = self.asking.solver is not None
        if asked and request.collective.combining and not interrupted and composed.open:
            return self._direct(request, composed, source, keep, began, deadline)
        return composed

    def _excused(self, deadline: Deadline) -> bool:
        """Whether only the direct search's own limit of time, which no user set, can have ended it.

        Want of memory is no such reason.
        """
        return deadline.is_never and OUT_OF_MEMORY not in self.asking.losses

    def _seeded(
        self,
        request: SearchRequest,
        source: CandidateSource,
        deadline: Deadline,
    ) -> Iterator[Point]:
        """What seeds construct for the whole, which need not be composed."""
        alone = self.asking.solver is None
        limits = seed_limits(request, deadline, request.max_steps, alone=alone)
        found = self.asking.seeding.points(
            request.topology, request.collective, limits, patience_of(deadline)
        )
        for point in found:
            if _within(point, request) and source.covers(point.chunks):
                yield point

    def _proved(self, frontier: Frontier, source: CandidateSource) -> Frontier:
        """The same with everything that is proved about it, and what is left open."""
        last = max((p.steps for p in frontier.points), default=source.least_steps)
        steps: Sequence[int] = range(source.least_steps, last + 1)
        if self.asking.solver is None:  # what nobody searched needs no proofs in between
            steps = sorted({source.least_steps, *(p.steps for p in frontier.points)})
        evidence = evidence_of(source, frontier.points, frontier.refuted, steps)
        skipped = source.bounds.skipped
        reason = self._why_open(frontier, source)
        claims = open_claims(
            evidence,
            source.least_steps,
            lambda steps: f"{reason}; {NO_BOUND}" if steps in skipped else reason,
        )
        best = min((p.bandwidth for p in frontier.points), default=None)
        if best is None or best > source.least_bandwidth:
            low = source.least_bandwidth
            why = f"{reason}; {ONLY_CUTS}" if None in skipped else reason
            claims.append(OpenClaim(last + 1, None, low, best, why))
        return replace(
            frontier,
            points=tuple(with_bounds(frontier.points, evidence)),
            open=tuple(claims),
            least_steps=source.least_steps,
            least_bandwidth=source.least_bandwidth,
            evidence=evidence,
        )

    def _why_open(self, frontier: Frontier, source: CandidateSource) -> str:
        """Why a composition's frontier leaves something open, in words."""
        why = TIME_LIMIT if source.bounds.deadline.passed else _NOT_EVERYTHING
        return "; ".join(["interrupted" if frontier.interrupted else why, *self.asking.losses])

    def _parts(
        self,
        request: SearchRequest,
        way: Sequence[Collective],
        bounds: BoundsTable,
        deadline: Deadline,
    ) -> list[Frontier]:
        """The frontiers of a way's parts; fewer when a person stopped the search."""
        frontiers: list[Frontier] = []
        for part in way:
            # Each part leaves some of the time to the next.
            until = deadline.share(_SHARE_OF_TIME)
            asked = _part_request(request, way, part, bounds, until)
            frontiers.append(self.search(asked, None, until))
            if frontiers[-1].interrupted:
                break
        return frontiers

    def _direct(
        self,
        request: SearchRequest,
        composed: Frontier,
        source: CandidateSource,
        keep: Keep | None,
        began: float,
        deadline: Deadline,
    ) -> Frontier:
        """Looks for algorithms that are no compositions, where these leave room."""
        last = max((p.steps for p in composed.points), default=source.least_steps + 2)
        if deadline.passed:
            return replace(composed, complete=False)
        ends = deadline.sooner(_DIRECT_SECONDS) if deadline.is_never else deadline
        self.observer.began(f"{request.collective.name}, directly")

        def keep_proved(frontier: Frontier) -> None:
            """What it proves is about fewer C than what is said of the whole."""
            found = replace(composed, points=frontier.points, refuted=frontier.refuted)
            if keep is not None:
                keep(self._proved(found, source))

        direct = composed
        # From few chunks to more: what needs few is found soon, and then there is less to beat.
        multiples = [m * source.least_chunks for m in _DIRECT_MULTIPLES]
        for most in multiples if request.max_chunks is None else [request.max_chunks]:
            asked = replace(
                request,
                strategy=Strategy.CERTIFIED,
                max_steps=last if request.max_steps is None else min(last, request.max_steps),
                max_chunks=most,
                time_limit=ends.seconds,
                point_limit=request.point_limit or _DIRECT_POINT_SECONDS,
            )
            direct = search_points(
                asked,
                self.asking,
                self.observer,
                keep=keep_proved,
                incumbents=direct.points,
                refuted=direct.refuted,
                seeds=False,
                deadline=ends,
            )
            if not direct.complete:
                break
        frontier = replace(
            composed,
            points=direct.points,
            refuted=direct.refuted,
            scope=f"{composed.scope}, and directly {direct.scope}",
            interrupted=direct.interrupted,
            complete=composed.complete
            and not direct.interrupted
            and (direct.complete or self._excused(deadline)),
            seconds=time.perf_counter() - began,
        )
        proved = self._proved(frontier, source)
        return replace(proved, complete=proved.complete or not proved.open)


def _with_compositions(
    points: list[Point],
    choices: Iterable[tuple[Point, ...]],
    request: SearchRequest,
    source: CandidateSource,
    deadline: Deadline,
) -> Iterator[list[Point]]:
    """The points with those that can be composed of a choice of parts, whenever there is one more.

    Args:
        points: a frontier.
        choices: a point of each part.
        request: says what is within the limits.
        source: knows for which C what is proved holds.  Where the collective has as many chunks
            for each C, the costs of a composition follow from those of its parts, and what is
            dominated is not even made.
        deadline: after it no more are composed.

    Raises:
        OutOfTimeError: when it comes before the end.
    """
    proportional = not source.bounds.irregular
    per_chunk: Fraction | None = None
    for choice in sorted(choices, key=_share_of_rounds):
        steps = sum(part.steps for part in choice)
        if per_chunk is not None:
            cost = per_chunk * _share_of_rounds(choice)
            if any(p.steps <= steps and p.bandwidth <= cost for p in points):
                continue
        try:
            with interrupted_at(deadline):
                point = composed_point(choice, request)
        except ModelError:  # refined, these parts do not tile the collective's chunks
            continue
        if proportional:
            per_chunk = Fraction(point.instance.num_chunks, point.chunks)
        if _within(point, request) and source.covers(point.chunks):
            points = merged(points, point)
            yield points


def _share_of_rounds(choice: Sequence[Point]) -> Fraction:
    """Rounds for each chunk of a composition: its parts are refined to equally many chunks."""
    return sum((Fraction(p.rounds, p.instance.num_chunks) for p in choice), Fraction(0))


def _within(point: Point, request: SearchRequest) -> bool:
    """Whether a composed point keeps the limits of the whole."""
    return (
        (request.max_steps is None or point.steps <= request.max_steps)
        and (request.max_rounds is None or point.rounds <= request.max_rounds)
        and (request.max_chunks is None or point.chunks <= request.max_chunks)
        and (request.k is None or point.rounds <= point.steps + request.k)
    )


def _same_question(one: SearchRequest, two: SearchRequest) -> bool:
    """Whether two requests differ in nothing but the name of the topology."""

    def relation(topology: Topology) -> object:
        bounds = sorted((b.links, b.chunks_per_round) for b in topology.bounds)
        return topology.num_nodes, topology.links, bounds

    limits = ("collective", "strategy", "k", "max_steps", "max_rounds", "max_chunks")
    return all(getattr(one, name) == getattr(two, name) for name in limits) and relation(
        one.topology
    ) == relation(two.topology)


def _part_request(
    request: SearchRequest,
    way: Sequence[Collective],
    part: Collective,
    bounds: BoundsTable,
    deadline: Deadline,
) -> SearchRequest:
    """The request for one part, within what the whole leaves it."""
    topology = request.topology
    max_steps, max_chunks = request.max_steps, request.max_chunks
    if max_steps is not None:
        for other in (p for p in way if p is not part):
            table = BoundsTable(topology, other)
            asked = replace(request, collective=other, max_chunks=None)
            max_steps -= CandidateSource(asked, table).least_steps
        max_steps = max(0, max_steps)
    if max_chunks is not None and part is not way[0]:
        max_chunks = max(_sizes(request, part, bounds), default=max_chunks)
    return replace(
        request,
        collective=part,
        max_steps=max_steps,
        max_chunks=max_chunks,
        time_limit=deadline.seconds,
    )


def _sizes(request: SearchRequest, part: Collective, bounds: BoundsTable) -> Iterator[int]:
    """The C of a part that go with each C of the whole, up to the limit of the request."""
    nodes = request.topology.num_nodes
    admitted = (c for c in range(request.max_chunks or 0, 0, -1) if bounds.admits(c))
    for chunks in admitted:
        found = part_chunks(part, nodes, len(request.collective.tabulate(nodes, chunks).pre))
        if found is not None:
            yield found
            if not bounds.irregular:
                return  # it is the largest
