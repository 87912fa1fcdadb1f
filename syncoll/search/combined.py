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

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product

from syncoll.errors import ModelError, UsageError
from syncoll.model import Collective, Topology
from syncoll.model.derived import part_chunks
from syncoll.plugins import SeedLimits
from syncoll.search.asking import Asking
from syncoll.search.bounds_table import BoundsTable
from syncoll.search.candidates import CandidateSource
from syncoll.search.derived_points import (
    composed_point,
    inverted_point,
    merged,
    scaled_claim,
)
from syncoll.search.driver import proofs_until, search_points
from syncoll.search.frontier import Frontier, OpenClaim, Point
from syncoll.search.observer import Observer
from syncoll.search.proving import evidence_of, open_claims, with_bounds
from syncoll.search.request import SearchRequest, Strategy
from syncoll.solving import Solver

__all__ = ["search"]

_DIRECT_MULTIPLES = (4, 12)
"""The limits on C of the direct search, one after the other, in multiples of the least C."""

_DIRECT_POINT_SECONDS = 12.0
_DIRECT_SECONDS = 25.0
"""Default limits of the direct search, for each candidate and for all."""

_SHARE_OF_TIME = 0.5

_SEED_SECONDS = 1.0

_NOT_EVERYTHING = "not every algorithm was searched, see the scope"

Keep = Callable[[Frontier], None]


def search(
    request: SearchRequest,
    solver: Solver | Asking,
    observer: Observer | None = None,
    *,
    keep: Keep | None = None,
) -> Frontier:
    """Searches a frontier.

    Ctrl-C (`KeyboardInterrupt`) ends the search and returns what is known, marked as interrupted.

    Args:
        request: what to search, and how far.
        solver: decides the candidates; an `Asking` may do so with a store and a pool.
        observer: is told what happens.
        keep: is given the frontier so far whenever a point was found.

    Raises:
        UsageError: when the limits leave nothing to search.
        ModelError: when the collective makes no sense on the topology.
        BackendError: when a backend gives a wrong answer.
    """
    asking = solver if isinstance(solver, Asking) else Asking(solver)
    return _Run(asking, observer or Observer()).search(request, keep)


class _Run:
    """One search with the frontiers of parts that came up in it."""

    def __init__(self, asking: Asking, observer: Observer) -> None:
        self.asking, self.observer = asking, observer
        self._known: list[tuple[SearchRequest, Frontier]] = []

    def search(self, request: SearchRequest, keep: Keep | None) -> Frontier:
        """The frontier of any collective."""
        if request.collective.dual is not None:
            return self._inverse(request, request.collective.dual, keep)
        if request.collective.ways:
            return self._composed(request, keep)
        return self._moving(request, keep)

    def _moving(self, request: SearchRequest, keep: Keep | None) -> Frontier:
        """The frontier of a collective with a pre and a post; the same question is asked once.

        A topology that its reversal maps to itself lets allgather serve for its inverse too.
        """
        for known, frontier in self._known:
            if _same_question(known, request):
                return frontier
        self.observer.began(request.collective.name)
        frontier = search_points(request, self.asking, self.observer, keep=keep)
        if frontier.complete:
            self._known.append((request, frontier))
        return frontier

    def _inverse(self, request: SearchRequest, dual: Collective, keep: Keep | None) -> Frontier:
        collective, topology = request.collective, request.topology
        nodes = topology.num_nodes
        least = _least_chunks(collective, nodes, request.max_chunks)
        per_dual = Fraction(least, _dual_chunks(collective, dual, nodes, least))
        regular = all(
            per_dual == Fraction(c, _dual_chunks(collective, dual, nodes, c))
            for c in range(least, 8 * least + 1)
            if collective.admits(nodes, c)
        )
        own_bounds = BoundsTable(topology, collective, self.asking.prove, self._until(request))
        most = request.max_chunks
        asked = replace(
            request,
            topology=topology.reversed(),
            collective=dual,
            max_chunks=None if most is None else max(1, int(most / per_dual)),
        )

        def turn(frontier: Frontier) -> Frontier:
            points = tuple(inverted_point(p, request) for p in frontier.points)
            whole = replace(
                frontier,
                topology=topology,
                collective=collective.name,
                points=points,
                scope=f"inverses of {dual.name}: {frontier.scope}",
                settings={**frontier.settings, "inverse_of": dual.name},
                refuted=(),
            )
            # What is proved about the dual carries over only where C is proportional.
            if not regular or frontier.evidence is None or dual.combining:
                return self._proved(whole, CandidateSource(request, own_bounds))
            return replace(
                whole,
                open=tuple(scaled_claim(claim, 1 / per_dual) for claim in frontier.open),
                least_bandwidth=frontier.least_bandwidth / per_dual,
                evidence=frontier.evidence.inverse(per_dual, collective.scales(nodes)),
            )

        return turn(self.search(asked, None if keep is None else lambda f: keep(turn(f))))

    def _composed(self, request: SearchRequest, keep: Keep | None) -> Frontier:
        began = time.perf_counter()
        bounds = BoundsTable(
            request.topology, request.collective, self.asking.prove, self._until(request)
        )
        source = CandidateSource(request, bounds)
        points: list[Point] = []
        parts_complete, interrupted = True, False
        scopes: list[str] = []
        refusal: UsageError | None = None
        for way in request.collective.ways:
            try:
                frontiers = self._parts(request, way, bounds, began)
            except UsageError as error:  # the limits leave no room for this way
                refusal = error
                continue
            interrupted |= any(frontier.interrupted for frontier in frontiers)
            parts_complete &= all(frontier.complete for frontier in frontiers)
            if len(frontiers) < len(way):
                break
            scopes.append(" then ".join(part.name for part in way))
            choices = product(*(frontier.points for frontier in frontiers))
            points = _with_compositions(points, choices, request, bounds.scales is not None)
            if interrupted:
                break
        points = self._seeded(request, points)
        if self.asking.solver is None:
            bounds.until = proofs_until(bounds.until)
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
                    "max_chunks": request.max_chunks,
                    "time_limit": request.time_limit,
                    "point_limit": request.point_limit,
                },
                least_steps=source.least_steps,
                least_bandwidth=source.least_bandwidth,
                complete=parts_complete and not interrupted,
                interrupted=interrupted,
                seconds=time.perf_counter() - began,
            ),
            source,
        )
        self.observer.found(composed.points)
        if keep is not None:
            keep(composed)
        asked = self.asking.solver is not None
        if asked and request.collective.combining and not interrupted and composed.open:
            return self._direct(request, composed, source, keep, began)
        return composed

    def _until(self, request: SearchRequest) -> float | None:
        """When the time of the search is over."""
        return None if request.time_limit is None else time.perf_counter() + request.time_limit

    def _seeded(self, request: SearchRequest, points: list[Point]) -> list[Point]:
        """The points with what seeds construct for the whole, which need not be composed."""
        limits = SeedLimits(
            request.max_steps, request.max_rounds, request.max_chunks, _SEED_SECONDS
        )
        found = self.asking.seeding.points(request.topology, request.collective, limits)
        for point in found:
            if _within(point, request):
                points = merged(points, point)
        return points

    def _proved(self, frontier: Frontier, source: CandidateSource) -> Frontier:
        """The same with everything that is proved about it, and what is left open."""
        last = max((p.steps for p in frontier.points), default=source.least_steps)
        steps: Sequence[int] = range(source.least_steps, last + 1)
        if self.asking.solver is None:  # what nobody searched needs no proofs in between
            steps = sorted({source.least_steps, *(p.steps for p in frontier.points)})
        evidence = evidence_of(source, frontier.points, frontier.refuted, steps)
        claims = open_claims(evidence, source.least_steps, lambda _: _NOT_EVERYTHING)
        best = min((p.bandwidth for p in frontier.points), default=None)
        if best is None or best > source.least_bandwidth:
            low = source.least_bandwidth
            claims.append(OpenClaim(last + 1, None, low, best, _NOT_EVERYTHING))
        return replace(
            frontier,
            points=tuple(with_bounds(frontier.points, evidence)),
            open=tuple(claims),
            least_steps=source.least_steps,
            least_bandwidth=source.least_bandwidth,
            evidence=evidence,
        )

    def _parts(
        self,
        request: SearchRequest,
        way: Sequence[Collective],
        bounds: BoundsTable,
        began: float,
    ) -> list[Frontier]:
        """The frontiers of a way's parts; fewer when a person stopped the search."""
        frontiers: list[Frontier] = []
        for part in way:
            spent = time.perf_counter() - began
            frontiers.append(self.search(_part_request(request, way, part, bounds, spent), None))
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
    ) -> Frontier:
        """Looks for algorithms that are no compositions, where these leave room."""
        last = max((p.steps for p in composed.points), default=source.least_steps + 2)
        limit = _DIRECT_SECONDS
        if request.time_limit is not None:
            limit = request.time_limit - (time.perf_counter() - began)
            if limit <= 0:
                return replace(composed, complete=False)
        self.observer.began(f"{request.collective.name}, directly")
        ends = time.perf_counter() + limit
        direct = composed
        # From few chunks to more: what needs few is found soon, and then there is less to beat.
        multiples = [m * source.least_chunks for m in _DIRECT_MULTIPLES]
        for most in multiples if request.max_chunks is None else [request.max_chunks]:
            asked = replace(
                request,
                strategy=Strategy.CERTIFIED,
                max_steps=last if request.max_steps is None else min(last, request.max_steps),
                max_chunks=most,
                time_limit=max(0.0, ends - time.perf_counter()),
                point_limit=request.point_limit or _DIRECT_POINT_SECONDS,
            )
            direct = search_points(
                asked,
                self.asking,
                self.observer,
                keep=None
                if keep is None
                else lambda f: keep(
                    replace(composed, points=f.points, open=f.open, evidence=f.evidence)
                ),
                incumbents=direct.points,
                refuted=direct.refuted,
                seeds=False,
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
            and (direct.complete or request.time_limit is None),
            seconds=time.perf_counter() - began,
        )
        proved = self._proved(frontier, source)
        return replace(proved, complete=proved.complete or not proved.open)


def _with_compositions(
    points: list[Point],
    choices: Iterable[tuple[Point, ...]],
    request: SearchRequest,
    proportional: bool,
) -> list[Point]:
    """The points with those that can be composed of a choice of parts.

    Args:
        points: a frontier.
        choices: a point of each part.
        request: says what is within the limits.
        proportional: whether the collective has as many chunks for each C; then the costs of a
            composition follow from those of its parts, and what is dominated is not even made.
    """
    per_chunk: Fraction | None = None
    for choice in sorted(choices, key=_share_of_rounds):
        steps = sum(part.steps for part in choice)
        if per_chunk is not None:
            cost = per_chunk * _share_of_rounds(choice)
            if any(p.steps <= steps and p.bandwidth <= cost for p in points):
                continue
        try:
            point = composed_point(choice, request)
        except ModelError:  # refined, these parts do not tile the collective's chunks
            continue
        if proportional:
            per_chunk = Fraction(point.instance.num_chunks, point.chunks)
        if _within(point, request):
            points = merged(points, point)
    return points


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


def _least_chunks(collective: Collective, nodes: int, most: int | None) -> int:
    for chunks in range(1, (most or 100_000) + 1):
        if collective.admits(nodes, chunks):
            return chunks
    raise UsageError(
        f"collective {collective.name} is defined for no C up to {most} on {nodes} nodes: "
        f"{collective.requirement}"
    )


def _dual_chunks(collective: Collective, dual: Collective, nodes: int, chunks: int) -> int:
    table = collective.tabulate(nodes, chunks)
    found = part_chunks(dual, nodes, len(table.pre))
    if found is None:  # the table of an inverse is its dual's
        raise ModelError(f"collective {collective.name}: no C of {dual.name} fits C = {chunks}")
    return found


def _part_request(
    request: SearchRequest,
    way: Sequence[Collective],
    part: Collective,
    bounds: BoundsTable,
    spent: float,
) -> SearchRequest:
    """The request for one part, within what the whole leaves it."""
    topology = request.topology
    max_steps, max_chunks = request.max_steps, request.max_chunks
    if max_steps is not None:
        others = [p for p in way if p is not part]
        for other in others:
            table = BoundsTable(topology, other)
            least = _least_chunks(other, topology.num_nodes, None)
            max_steps -= table.least_steps(least)
        max_steps = max(0, max_steps)
    if max_chunks is not None and part is not way[0]:
        most = max((c for c in range(1, max_chunks + 1) if bounds.admits(c)), default=None)
        if most is not None:
            table_size = len(request.collective.tabulate(topology.num_nodes, most).pre)
            max_chunks = part_chunks(part, topology.num_nodes, table_size) or max_chunks
    time_limit = request.time_limit
    if time_limit is not None:
        # Each part leaves some of the time to the next, and to the direct search.
        time_limit = max(0.0, time_limit - spent) * _SHARE_OF_TIME
    return replace(
        request,
        collective=part,
        max_steps=max_steps,
        max_chunks=max_chunks,
        time_limit=time_limit,
    )
