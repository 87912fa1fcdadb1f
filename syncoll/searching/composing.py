"""Composing: the frontier of a collective that is composed of others.

It comes from the frontiers of its parts: every choice of one point for each part, in every way to
compose it, dominated ones dropped.  A combining collective without one root per chunk has more
algorithms than compositions: fewer steps than any composition, and partial sums that never rest at
a root.  They are searched directly, with what the compositions cost as the mark to beat.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Protocol

from syncoll.deadline import Deadline, OutOfTimeError, interrupted_at
from syncoll.errors import LocatedError, ModelError, SyncollError, UsageError
from syncoll.model import Collective
from syncoll.model.derived import part_chunks
from syncoll.results.frontier import Frontier, Point
from syncoll.searching.answers import AnswerSource
from syncoll.searching.bounds_table import BoundsTable
from syncoll.searching.candidates import CandidateSource
from syncoll.searching.claims import gaps_are_open, with_claims
from syncoll.searching.decompose import composed
from syncoll.searching.driver import OUT_OF_MEMORY, OnPoints, merged, proofs_until, search_points
from syncoll.searching.request import Observer, SearchRequest, Strategy
from syncoll.searching.seed_run import SeedRun, within
from syncoll.searching.seeding import is_small
from syncoll.searching.turns import SeedTurns

__all__ = ["Composing", "PartSearch", "SearchTask", "same_problem", "underlying"]

_DIRECT_MULTIPLES = 12
"""The limit on C of the direct search, in multiples of the least C."""

_DIRECT_SECONDS = 25.0
"""Its default limit of time."""

_SHARE_OF_FIRST_BOUND = 0.15
"""The part of the time in which the whole's bandwidth cost is bounded."""

_SHARE_OF_PARTS = (0.4, 0.25)
"""The part of the time that is left in which the parts of the first way to compose are searched,
and those of any other."""

_SHARE_OF_SEEDS = (0.05, 0.2)
"""The part of the time in which seeds construct the whole before that, on a small machine and on
others."""

_COMPOSING_SECONDS = 0.4
"""What was found at the last moment gets so long to be composed."""


@dataclass(frozen=True)
class SearchTask:
    """A frontier to be searched, of the collective asked for or of a part of it."""

    request: SearchRequest
    deadline: Deadline
    on_points: OnPoints | None = None


class PartSearch(Protocol):
    """Searches the frontiers of parts, each once."""

    answers: AnswerSource
    observer: Observer

    def search(self, task: SearchTask) -> Frontier:
        """That of a part."""

    def knows(self, request: SearchRequest) -> bool:
        """Whether a question, or that which it turns out to be, was asked before."""


class Composing:
    """The frontier of one collective that is composed of others."""

    def __init__(self, frontiers: PartSearch, task: SearchTask) -> None:
        self.frontiers, self.request = frontiers, task.request
        self.answers, self.observer = frontiers.answers, frontiers.observer
        self.deadline, self.on_points = task.deadline, task.on_points
        self.began = time.perf_counter()
        request = task.request
        self.bounds = BoundsTable(
            request.topology, request.collective, self.answers.prove, task.deadline
        )
        self.source = CandidateSource(request, self.bounds)
        self.points: list[Point] = []
        self.complete, self.interrupted = True, False

    def frontier(self) -> Frontier:
        """That of the compositions, and of what the direct search finds beside them."""
        request, source, bounds = self.request, self.source, self.bounds
        if not self.deadline.is_never:
            # Now, for there may be no time in the end, and it is what most claims rest on.
            bounds.deadline = self.deadline.share(_SHARE_OF_FIRST_BOUND)
            self.observer.bounded(None, source.least_bandwidth)
            bounds.deadline = self.deadline
        alone = self.answers.solver is None
        seeds = self.answers.seeding.run(request.topology, request.collective)
        until = self.deadline.share(_SHARE_OF_SEEDS[not is_small(request.topology)])
        # What seeds construct for the whole need not be composed.
        self._turn(lambda: SeedTurns(seeds, request, until, self._take).first(alone=alone))
        scope = self._compose_all()
        if alone or not request.collective.combining:
            turns = SeedTurns(seeds, request, self.deadline, self._take)
            self._turn(lambda: turns.first(alone=alone))
        if alone:
            bounds.deadline = proofs_until(self.deadline)
        found = Frontier(
            request.topology,
            request.collective.name,
            tuple(self.points),
            (),
            scope,
            self.answers.settings(
                request,
                request.k,
                source.max_steps if request.max_steps is None else None,
                source.max_chunks if bounds.irregular else request.max_chunks,
            ),
            complete=self.complete and not self.interrupted,
            interrupted=self.interrupted,
            seconds=time.perf_counter() - self.began,
        )
        frontier = self._claimed(found)
        self.observer.found(frontier.points)
        if self.on_points is not None:
            self.on_points(frontier)
        more = request.collective.combining and not self.interrupted and frontier.open
        return self._direct(frontier, seeds) if more and not alone else frontier

    def _turn(self, seeds: Callable[[], object]) -> None:
        """A turn of seeds, unless the search was interrupted."""
        if self.interrupted:
            return
        try:
            seeds()
        except KeyboardInterrupt:
            self.interrupted = True
        except OutOfTimeError:
            self.complete = False

    def _gaps_are_open(self) -> bool:
        """Whether another way, or the direct search, may find something better."""
        return gaps_are_open(self.points, self.source)

    def _take(self, points: Iterable[Point]) -> bool:
        """Puts points of seeds on the frontier; whether one is new."""
        before = self.points
        for point in points:
            if self._admits(point):
                self.points = merged(self.points, point)
        return self.points is not before

    def _compose_all(self) -> str:
        """Composes what is found of the parts, in all ways; among what, in words.

        Raises:
            UsageError: when there is no room for any way, and nothing else to search.
            LocatedError: when no way makes sense.
        """
        scopes: list[str] = []
        refusal: SyncollError | None = None
        late = self.deadline.before(-_COMPOSING_SECONDS)
        for way in self.request.collective.ways:
            if self.interrupted or (scopes and not self._gaps_are_open()):
                break
            try:
                share = _SHARE_OF_PARTS[bool(scopes)]
                frontiers = self._parts(way, self.deadline.share(share))
            except (UsageError, LocatedError) as error:
                refusal = error
                continue
            self.interrupted |= any(frontier.interrupted for frontier in frontiers)
            self.complete &= all(frontier.complete for frontier in frontiers)
            if len(frontiers) < len(way):
                break
            scopes.append(" then ".join(part.name for part in way))
            try:
                self._compose(product(*(frontier.points for frontier in frontiers)), late)
            except OutOfTimeError:
                self.complete = False
            except MemoryError as error:
                self.complete = False
                self.answers.lost(f"{OUT_OF_MEMORY}: {error}")
            except KeyboardInterrupt:
                self.interrupted = True
        if not scopes and refusal is not None and not self.request.collective.combining:
            raise refusal
        return f"compositions ({'; '.join(scopes) or 'none within the limits'})"

    def _parts(self, way: Sequence[Collective], deadline: Deadline) -> list[Frontier]:
        """The frontiers of a way's parts; fewer when a person stopped the search."""
        frontiers: list[Frontier] = []
        for i, part in enumerate(way):
            # Each leaves as much time to those after it that are not the same over again.
            until = deadline.share(1 / max(1, self._questions(way[i:])))
            asked = self._part_request(way, part, until)
            frontiers.append(self.frontiers.search(SearchTask(asked, until)))
            if frontiers[-1].interrupted:
                break
        return frontiers

    def _questions(self, parts: Sequence[Collective]) -> int:
        """How many searches these parts need."""
        asked: list[SearchRequest] = []
        for part in parts:
            request = underlying(replace(self.request, collective=part))
            if not self.frontiers.knows(request) and not any(
                same_problem(request, other) for other in asked
            ):
                asked.append(request)
        return len(asked)

    def _part_request(
        self, way: Sequence[Collective], part: Collective, until: Deadline
    ) -> SearchRequest:
        """The request for one part, within what the whole leaves it."""
        request = self.request
        max_steps, max_chunks = request.max_steps, request.max_chunks
        if max_steps is not None:
            for other in (p for p in way if p is not part):
                asked = replace(request, collective=other, max_chunks=None)
                table = BoundsTable(request.topology, other)
                max_steps -= CandidateSource(asked, table).least_steps
            max_steps = max(0, max_steps)
        if max_chunks is not None and part is not way[0]:
            max_chunks = max(self._sizes(part, max_chunks), default=max_chunks)
        return replace(
            request,
            collective=part,
            max_steps=max_steps,
            max_chunks=max_chunks,
            time_limit=until.seconds,
        )

    def _sizes(self, part: Collective, most: int) -> Iterator[int]:
        """The C of a part that go with each C of the whole, up to a limit."""
        nodes, whole = self.request.topology.num_nodes, self.request.collective
        for chunks in (c for c in range(most, 0, -1) if self.bounds.admits(c)):
            found = part_chunks(part, nodes, len(whole.tabulate(nodes, chunks).pre))
            if found is not None:
                yield found
                if not self.bounds.irregular:
                    return  # it is the largest

    def _compose(self, choices: Iterable[tuple[Point, ...]], deadline: Deadline) -> None:
        """Adds the points that can be composed of a choice of parts.

        Where the collective has as many chunks for each C, the costs of a composition follow from
        those of its parts, and what is dominated is not even made.

        Args:
            deadline: after it no more are composed.

        Raises:
            OutOfTimeError: when it comes before the end.
        """
        collective = self.request.collective
        per_chunk: Fraction | None = None
        for choice in sorted(choices, key=_share_of_rounds):
            steps = sum(part.steps for part in choice)
            if per_chunk is not None:
                cost = per_chunk * _share_of_rounds(choice)
                if any(p.steps <= steps and p.bandwidth <= cost for p in self.points):
                    continue
            try:
                with interrupted_at(deadline):
                    solved = composed([(p.instance, p.algorithm) for p in choice], collective)
            except ModelError:  # refined, these parts do not tile the collective's chunks
                continue
            except UsageError as error:  # its sends would have to be listed
                self.complete = False
                self.answers.lost(str(error))
                continue
            point = Point(
                *solved,
                "+".join(dict.fromkeys(p.encoding for p in choice)),
                "+".join(dict.fromkeys(p.backend for p in choice)),
                sum(p.seconds for p in choice),
            )
            if not self.bounds.irregular:
                per_chunk = Fraction(point.instance.num_chunks, point.chunks)
            if self._admits(point):
                self.points = merged(self.points, point)

    def _admits(self, point: Point) -> bool:
        """Whether a point keeps the limits of the whole, and is among what is proved."""
        k = self.request.k
        synchronous = k is None or point.rounds <= point.steps + k
        return within(point, self.request) and synchronous and self.source.covers(point.chunks)

    def _claimed(self, frontier: Frontier) -> Frontier:
        """The same with everything that is proved about it, and what is left open."""
        least = self.source.least_steps
        found = {p.steps for p in frontier.points}
        near = (
            s
            for s in range(least, max(found, default=least) + 1)
            if not self.bounds.is_far(self.source.least_chunks, s)
        )
        steps = {*near, *found}
        if self.answers.solver is None:  # what was not searched needs no proofs in between
            steps = {least, *found}
        why = "not every algorithm was searched, see the scope"
        if frontier.interrupted:
            why = "interrupted"
        elif self.bounds.deadline.passed:
            why = "time limit"
        reason = "; ".join([why, *self.answers.losses])
        return with_claims(frontier, self.source, sorted(steps), lambda _: reason)

    def _direct(self, found: Frontier, seeds: SeedRun) -> Frontier:
        """Looks for algorithms that are no compositions, where these leave room.

        Args:
            seeds: those of the whole, which go on beside it.
        """
        request, source, deadline = self.request, self.source, self.deadline
        last = max((p.steps for p in found.points), default=source.least_steps + 2)
        if deadline.passed:
            return replace(found, complete=False)
        ends = deadline.sooner(_DIRECT_SECONDS) if deadline.is_never else deadline
        self.observer.began(f"{request.collective.name}, directly")
        report = self.on_points

        def on_points(frontier: Frontier) -> None:
            """What it proves is about fewer C than what is said of the whole."""
            better = replace(found, points=frontier.points, refuted=frontier.refuted)
            assert report is not None
            report(self._claimed(better))

        direct = search_points(
            replace(
                request,
                strategy=Strategy.CERTIFIED,
                max_steps=last if request.max_steps is None else min(last, request.max_steps),
                max_chunks=request.max_chunks or _DIRECT_MULTIPLES * source.least_chunks,
                time_limit=ends.seconds,
            ),
            self.answers,
            self.observer,
            on_points=None if report is None else on_points,
            incumbents=found.points,
            refuted=found.refuted,
            seeds=(seeds, request),
            deadline=ends,
        )
        # The direct search's own limit of time, which no user set, does not make it incomplete.
        excused = deadline.is_never and OUT_OF_MEMORY not in self.answers.losses
        frontier = self._claimed(
            replace(
                found,
                points=direct.points,
                refuted=direct.refuted,
                scope=f"{found.scope}, and directly {direct.scope}",
                interrupted=direct.interrupted,
                complete=found.complete and not direct.interrupted and (direct.complete or excused),
                seconds=time.perf_counter() - self.began,
            )
        )
        return replace(frontier, complete=frontier.complete or not frontier.open)


def _share_of_rounds(choice: Sequence[Point]) -> Fraction:
    """Rounds for each chunk of a composition: its parts are refined to equally many chunks."""
    return sum((Fraction(p.rounds, p.instance.num_chunks) for p in choice), Fraction(0))


def underlying(request: SearchRequest) -> SearchRequest:
    """The request for the dual by which an inverse is searched; others as they are."""
    dual = request.collective.dual
    if dual is None or dual.combining or dual.irregular:
        return request
    return replace(request, topology=request.topology.reversed(), collective=dual)


def same_problem(one: SearchRequest, two: SearchRequest) -> bool:
    """Whether two requests are about the same collective on the same links."""
    return one.collective == two.collective and one.topology.same_as(two.topology)
