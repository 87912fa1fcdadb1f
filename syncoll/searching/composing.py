"""Composing: the frontier of a collective that is composed of others.

It comes from the frontiers of its parts: every choice of one point for each part, in every way to
compose it, dominated ones dropped.  A combining collective without one root per chunk has more
algorithms than compositions: fewer steps than any composition, and partial sums that never rest at
a root.  They are searched directly, with what the compositions cost as the mark to beat.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Protocol

from syncoll.clock import limit_in_words, now
from syncoll.deadline import Deadline, OutOfTimeError
from syncoll.errors import LocatedError, SyncollError, UsageError
from syncoll.ledger.bounds_table import BoundsTable, in_turn
from syncoll.ledger.candidates import CandidateSource
from syncoll.ledger.incumbents import FEW_STEPS, belonging, merged, unbeaten, within
from syncoll.ledger.ledger import OnPoints
from syncoll.ledger.proof_state import gaps_are_open, with_claims
from syncoll.ledger.request import Observer, SearchRequest, Strategy
from syncoll.ledger.sizes import is_small
from syncoll.model import Collective
from syncoll.results.family import Family
from syncoll.results.frontier import Frontier, Point
from syncoll.results.proof import Refuted
from syncoll.searching.answers import AnswerSource
from syncoll.searching.beside import proofs_until
from syncoll.searching.compositions import Compositions
from syncoll.searching.driver import OUT_OF_MEMORY, search_points
from syncoll.searching.parts import Part, PartRequests, same_problem
from syncoll.searching.seeding import arrived, next_round
from syncoll.searching.turns import SeedTurns

__all__ = ["Composing", "Known", "PartSearch", "SearchTask", "share_of_first_look"]

_DIRECT_MULTIPLES = 12
"""The limit on C of the direct search, in multiples of the least C."""

_SHARE_OF_FIRST_BOUND = 0.15
"""The part of the time in which the whole's bandwidth cost is bounded."""

_SHARE_OF_PARTS, _SHARE_FAR, _SHARES_AGAIN = (0.4, 0.25), 0.8, (0.25, 0.1)
"""The part of the time that is left in which the parts of the first way to compose are searched, on
a small machine and on others; on these, where seeds of the whole are far from what is proved, or
need no time of this process on a wide machine; and the part for those of any other way, and where
seeds of the whole are near on a machine that is not small."""

_FAR = 2
"""So many times the bound."""

_SHARE_OF_SEEDS = (0.35, 0.4)
"""The part of the time in which seeds construct the whole before that, on a small machine and on
others."""

_SHARE_OF_FIRST_LOOK, _SECONDS_OF_FIRST_LOOK, _WIDE = 0.12, 2.0, 6_000
"""For machines with more links times nodes than `_WIDE`: the part after which seeds go on only if
their points are near the bound, and the seconds of a quick seed on a busy machine."""

_SHARE_OF_BOUNDS = 0.12
"""On a large machine, the part of the time in which their points are bounded before the parts: in
the end there is seldom time for that."""

_COMPOSING_SECONDS, _STOPPING_SECONDS = 0.4, 3.0
"""What was found at the last moment gets so long to be composed, and when a person stopped the
search, as what is proved of it does then."""

_SAVE_SECONDS, _TIMES_COMPOSING = 5.0, 10.0
"""While parts are searched what is known of them is composed so often, and the next time so many
times as long later as it took."""


@dataclass(frozen=True)
class SearchTask:
    """A frontier to be searched, of the collective asked for or of a part of it.

    Args:
        proving: whether it matters what is proved for each S.
    """

    request: SearchRequest
    deadline: Deadline
    on_points: OnPoints | None = None
    proving: bool = True


@dataclass(frozen=True)
class Known:
    """What a search found and proved, for one that begins again with more time.

    Args:
        refuted: what a solver ruled out.
    """

    bounds: BoundsTable
    points: list[Point]
    families: tuple[Family, ...]
    refuted: Sequence[Refuted]


class PartSearch(Protocol):
    """Searches the frontiers of parts, each once."""

    answers: AnswerSource
    observer: Observer

    def search(self, task: SearchTask) -> Frontier:
        """That of a part."""

    def knows(self, request: SearchRequest) -> bool:
        """Whether a question, or that which it turns out to be, was asked before."""


class Composing:
    """The frontier of one collective that is composed of others.

    Args:
        known: what was found and proved in less time.
        late: what is said of what there was no time for.
    """

    def __init__(
        self,
        frontiers: PartSearch,
        task: SearchTask,
        known: Known | None = None,
        late: str = "",
    ) -> None:
        self.frontiers, self.request = frontiers, task.request
        self.answers, self.observer = frontiers.answers, frontiers.observer
        self.deadline, self.on_points = task.deadline, task.on_points
        self.began = time.perf_counter()
        request = task.request
        if known is None:
            bounds = BoundsTable(request.topology, request.collective, self.answers.prove)
            known = Known(bounds, [], (), ())
        self.bounds, self.points = known.bounds, known.points
        self._grown, self._refuted = known.families, known.refuted
        self.bounds.again(task.deadline)
        self.source = CandidateSource(request, self.bounds)
        self.parts = PartRequests(request, self.bounds)
        self.compositions = Compositions(
            request.collective, self._is_of_use, self._lost, self._admits
        )
        self.seeds = self.answers.seeding.run(request.topology, request.collective)
        self._again = Deadline.after(_SAVE_SECONDS)
        self.complete, self.interrupted, self._late = True, False, late or limit_in_words()
        self._scopes: list[str] = []
        self._in_parts = False  # then what is observed is about these

    @property
    def known(self) -> Known:
        """What was found and proved so far."""
        return Known(self.bounds, self.points, self.families, self._refuted)

    def frontier(self) -> Frontier:
        """That of the compositions, and of what the direct search finds beside them.

        Ctrl-C ends it with what is known, as in parts; a second one does not wait for that.
        """
        try:
            return self._frontier()
        except KeyboardInterrupt:
            self._interrupt()
            return self._so_far(self._scope(self._scopes))

    def _frontier(self) -> Frontier:
        request = self.request
        self.observer.began(request.collective.name)
        alone, small = self.answers.solver is None, is_small(request.topology)
        if not small:
            self._turn(self._bound_first)
        # What seeds construct for the whole need not be composed.
        self._construct(alone=alone)
        if small:  # where the first point comes sooner than a linear program
            self._turn(self._bound_first)
        self._in_parts = True
        self._compose_all()
        self._in_parts = False
        self.observer.began(request.collective.name)
        self._look_aside()
        if alone or not request.collective.combining:
            turns = SeedTurns(self.seeds, request, self.deadline, self._take)
            self._turn(lambda: turns.first(alone=alone))
        if alone:
            self._bound_until(proofs_until(self.deadline))
        self._bound_meanwhile()
        frontier = self._so_far(self._scope(self._scopes))
        self.points = list(frontier.points)
        self.observer.found(frontier.points)
        if self.on_points is not None:
            self.on_points(frontier)
        more = request.collective.combining and not self.interrupted and frontier.open
        return self._direct(frontier) if more and not alone else frontier

    def close(self) -> None:
        """Seeds of the whole propose nothing more."""
        self.seeds.close()

    def _bound_first(self) -> None:
        """Bounds R/C before the parts are searched.

        Most claims rest on this bound, and the time may be over at the end.
        """
        if not (self.deadline.is_never or self.interrupted):
            self.bounds.deadline = self.deadline.share(_SHARE_OF_FIRST_BOUND)
            self.observer.bounded(None, self.source.least_bandwidth)
            self._bound_until(self.deadline)

    def _interrupt(self) -> None:
        """A person does not wait for what takes long to prove."""
        self.interrupted = True
        self._bound_until(self.bounds.deadline)

    def _bound_until(self, deadline: Deadline) -> None:
        """Bounds are begun until then, or for a moment where a person stopped the search."""
        stopping = _STOPPING_SECONDS if self.interrupted else None
        self.bounds.deadline = deadline.sooner(stopping)

    def _bound_meanwhile(self) -> None:
        """While seeds of the whole work in a process of their own: bounds what is known, S by S,
        and looks in between at what they have found.
        """
        bounded: set[int] = set()
        while self.seeds.in_background and not (self.interrupted or self.bounds.deadline.passed):
            found = in_turn(point.steps for point in self.points)
            steps = next((one for one in found if one not in bounded), None)
            if steps is None:
                return
            bounded.add(steps)
            self._turn(partial(self._bounded, steps))
            self._look_aside()

    def _bounded(self, steps: int) -> None:
        self.observer.bounded(steps, self.source.least_bandwidth_of(steps))

    def _look_aside(self) -> None:
        """Takes what seeds of the whole have proposed meanwhile, in a process of their own."""
        self._turn(lambda: self._take(arrived(self.seeds, self.request)))

    def _construct(self, *, alone: bool) -> None:
        """The first turn of the seeds of the whole: as long as it is worth while."""
        large = not is_small(self.request.topology)
        until = self.deadline.share(_SHARE_OF_SEEDS[large])
        first = share_of_first_look(self.deadline.left()) if self._is_wide else 1.0
        look = self.deadline.share(min(_SHARE_OF_SEEDS[large], first))
        turns = SeedTurns(self.seeds, self.request, look, self._take, self.deadline)
        self._turn(lambda: turns.first(alone=alone))
        go_on = self._is_wide and not self.seeds.in_background  # there they do by themselves
        if go_on and not (self.deadline.is_never or self._is_far()):
            turn = next_round(self.seeds, self.request, until.left(), until)
            self._turn(lambda: self._take(turn))
        if large and not (self.deadline.is_never or self.interrupted):
            self.bounds.deadline = self.deadline.share(_SHARE_OF_BOUNDS)
            for point in self.points:
                if not self.bounds.deadline.passed:
                    self._turn(partial(self._bounded, point.steps))
            self._bound_until(self.deadline)

    def _is_far(self) -> bool:
        """Whether what is known is far from what is proved."""
        ends = [p.bandwidth for p in self.points] + [f.limit for f in self.families]
        best = min(ends, default=None)
        return best is None or best > _FAR * self.source.least_bandwidth

    def _so_far(self, scope: str) -> Frontier:
        """What is known, with everything that is proved about it."""
        request, source = self.request, self.source
        found = Frontier(
            request.topology,
            request.collective.name,
            unbeaten(self.points, self.families),
            (),
            scope,
            request.settings(
                self.answers.asked,
                k=request.k,
                max_steps=source.max_steps,
                max_chunks=request.max_chunks,
            ),
            complete=self.complete and not self.interrupted,
            interrupted=self.interrupted,
            seconds=time.perf_counter() - self.began,
            refuted=tuple(self._refuted),
            families=self.families,
        )
        return self._claimed(found)

    @property
    def families(self) -> tuple[Family, ...]:
        """Those of seeds of the whole that belong on the frontier."""
        return belonging((*self._grown, *self.seeds.families), self.request, self.points)

    def _turn(self, seeds: Callable[[], object]) -> None:
        """A turn of seeds, unless the search was interrupted."""
        if self.interrupted:
            return
        try:
            seeds()
        except KeyboardInterrupt:
            self._interrupt()
        except OutOfTimeError:
            self.complete = False

    def _share_of_parts(self) -> float:
        """The less, the more seeds of the whole have found: what they go on with has the rest."""
        large = not is_small(self.request.topology)
        alone = self._is_wide and self.seeds.in_background
        return _SHARE_FAR if large and (alone or self._is_far()) else _SHARE_OF_PARTS[large]

    def _share_again(self) -> float:
        """Little, where seeds of the whole leave other ways little to find."""
        return _SHARES_AGAIN[not (is_small(self.request.topology) or self._is_far())]

    @property
    def _is_wide(self) -> bool:
        """Whether the machine is so large that seeds of the whole have a first look only."""
        topology = self.request.topology
        return len(topology.links) * topology.num_nodes > _WIDE

    def _may_gain(self, way: Sequence[Collective]) -> bool:
        """Whether another way may find something better: it has the steps of its parts at least."""
        least = sum(map(self.parts.least_steps, way))
        bound = self.source.least_bandwidth
        if any(p.steps <= least and p.bandwidth <= bound for p in self.points):
            return False
        return gaps_are_open(self.points, self.source)

    def _scope(self, ways: Sequence[str]) -> str:
        """Among what was searched, in words."""
        listed = "; ".join(ways) or "none within the limits"
        if self.answers.solver is None:
            return (
                f"nothing, only what {self.answers.backend_name} constructs of the whole and of "
                f"the parts of compositions ({listed})"
            )
        seeds = " and what seeds construct" if self.answers.seeding.seeds else ""
        return f"compositions ({listed}){seeds}"

    def _take(self, points: Iterable[Point]) -> bool:
        """Puts points of seeds on the frontier; whether one is new."""
        before = self.points
        for point in points:
            if self._admits(point):
                known, self.points = self.points, merged(self.points, point)
                if self.points is not known and not self._in_parts:
                    self.observer.found(tuple(self.points))
                self.answers.begin()
        return self.points is not before

    def _compose_all(self) -> None:
        """Composes what is found of the parts, in all ways.

        Raises:
            UsageError: when there is no room for any way, and nothing else to search.
            LocatedError: when no way makes sense.
        """
        scopes = self._scopes
        refusal: SyncollError | None = None
        for way in self.request.collective.ways:
            if self.interrupted or (scopes and self.deadline.passed):
                break
            try:
                if scopes and not self._may_gain(way):
                    continue
                share = self._share_again() if scopes else self._share_of_parts()
                parts = self._searched(way, self.deadline.share(share))
            except (UsageError, LocatedError) as error:
                refusal = error
                continue
            scopes.append(" then ".join(part.name for part in way))
            late = self.deadline.before(-_COMPOSING_SECONDS)
            try:
                self._compose(parts, late.sooner(_STOPPING_SECONDS) if self.interrupted else late)
            except KeyboardInterrupt:
                self._interrupt()
        if not scopes and refusal is not None and not self.request.collective.combining:
            raise refusal

    def _searched(self, way: Sequence[Collective], deadline: Deadline) -> list[Part]:
        """A way's parts with what is found of them, as far as a person does not stop the search."""
        parts = [Part(self.parts.request(way, collective)) for collective in way]
        for i, part in enumerate(parts):
            # Each leaves as much time to those after it that are not the same over again.
            questions = self.parts.questions(way[i:], self.frontiers.knows)
            until = deadline.share(1 / max(1, questions))
            same = [other for other in parts[i:] if same_problem(other.asked, part.asked)]

            def on_points(found: Frontier, same: Sequence[Part] = same) -> None:
                for other in same:
                    other.points = found.points
                self._compose_meanwhile(way, parts)
                if self.interrupted:  # meanwhile; it is the search of the part that ends
                    raise KeyboardInterrupt

            asked = replace(part.asked, time_limit=until.seconds)
            frontier = self.frontiers.search(SearchTask(asked, until, on_points, proving=False))
            for other in same:
                other.points = frontier.points
            self.complete &= frontier.complete
            if frontier.interrupted:
                self._interrupt()
            if self.interrupted:
                break
        return parts

    def _compose_meanwhile(self, way: Sequence[Collective], parts: Sequence[Part]) -> None:
        """Passes on what can be composed while parts are searched, now and then."""
        if self.on_points is None or not self._again.passed:
            return
        began = now()
        before, complete = self.points, self.complete
        self._look_aside()
        self._compose(parts, self.deadline.sooner(_SAVE_SECONDS))
        self.complete = False
        if self.points is not before:
            with self.bounds.at_once():
                self.on_points(
                    self._so_far(self._scope([" then ".join(part.name for part in way)]))
                )
        self.complete = complete
        spent = now() - began
        self._again = Deadline.after(max(_SAVE_SECONDS, _TIMES_COMPOSING * spent))

    def _compose(self, parts: Sequence[Part], deadline: Deadline) -> None:
        """Adds the points that can be composed of what is known of the parts.

        Args:
            deadline: after it no more are composed.
        """
        try:
            for point in self.compositions.points(parts, deadline):
                self.points = merged(self.points, point)
        except OutOfTimeError:
            self.complete = False
        except MemoryError as error:
            self._lost(f"{OUT_OF_MEMORY}: {error}")

    def _is_of_use(self, steps: int, bandwidth: Fraction) -> bool:
        """Whether a point of these costs is beaten by none that is known."""
        return not any(p.steps <= steps and p.bandwidth <= bandwidth for p in self.points)

    def _lost(self, why: str) -> None:
        self.complete = False
        self.answers.lost(why)

    def _admits(self, point: Point) -> bool:
        """Whether a point keeps the limits of the whole."""
        k = self.request.k
        synchronous = k is None or point.rounds <= point.steps + k
        return within(point, self.request) and synchronous

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
            why = self._late
        self._bound_in_turn(steps)
        reason = "; ".join([why, *self.answers.losses])
        return with_claims(frontier, self.source, sorted(steps), lambda _: reason)

    def _bound_in_turn(self, steps: Iterable[int]) -> None:
        """Bounds these S as far as there is time, those first of which most follows."""
        if not self.bounds.deadline.is_never:
            for s in in_turn(steps):
                if not self.bounds.deadline.passed:
                    self.source.least_bandwidth_of(s)

    def _with(self, frontier: Frontier, points: Sequence[Point]) -> Frontier:
        """The same with other points, and the families that belong beside them."""
        families = belonging((*self._grown, *self.seeds.families), self.request, points)
        return replace(frontier, points=unbeaten(points, families), families=families)

    def _direct(self, found: Frontier) -> Frontier:
        """Looks for algorithms that are no compositions, where these leave room; seeds of the
        whole go on beside it.
        """
        request, source, deadline = self.request, self.source, self.deadline
        last = max((p.steps for p in found.points), default=source.least_steps + 2)
        if found.families:  # with more steps than those there is a member of each
            first = min(family.steps.at(family.first) for family in found.families)
            last = max(last, min(first, FEW_STEPS))
        if deadline.passed:
            return replace(found, complete=False)
        self.observer.began(f"{request.collective.name}, directly")
        report = self.on_points

        def on_points(frontier: Frontier) -> None:
            """What it proves is about fewer C than what is said of the whole."""
            better = replace(self._with(found, frontier.points), refuted=frontier.refuted)
            assert report is not None
            report(self._claimed(better))

        direct = search_points(
            replace(
                request,
                strategy=Strategy.CERTIFIED,
                max_steps=last if request.max_steps is None else min(last, request.max_steps),
                max_chunks=request.max_chunks or _DIRECT_MULTIPLES * source.least_chunks,
                time_limit=deadline.seconds,
            ),
            self.answers,
            self.observer,
            on_points=None if report is None else on_points,
            incumbents=found.points,
            refuted=found.refuted,
            seeds=(self.seeds, request),
            bounds=self.bounds,
            deadline=deadline,
        )
        self.points, self._refuted = list(direct.points), direct.refuted
        frontier = self._claimed(
            replace(
                self._with(found, direct.points),
                refuted=direct.refuted,
                scope=f"{found.scope}, and directly {direct.scope}",
                interrupted=direct.interrupted,
                complete=found.complete and direct.complete,
                seconds=time.perf_counter() - self.began,
            )
        )
        return replace(frontier, complete=frontier.complete or not frontier.open)


def share_of_first_look(seconds: float) -> float:
    """The part of a time limit of `seconds` in which seeds begin on a wide machine."""
    return max(_SHARE_OF_FIRST_LOOK, _SECONDS_OF_FIRST_LOOK / max(_SECONDS_OF_FIRST_LOOK, seconds))
