"""CompositionSearch: the engine of a collective that is composed of others.

Its points come from the frontiers of the parts: every choice of one point for each part, in every
way to compose it, dominated ones dropped.  A combining collective without one root per chunk has
more algorithms than compositions: fewer steps than any composition, and partial sums that never
rest at a root.  They are searched directly, with the costs of the compositions as the mark to beat.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from fractions import Fraction

from syncoll.clock import now
from syncoll.deadline import Deadline, OutOfTimeError
from syncoll.errors import LocatedError, SyncollError, UsageError
from syncoll.ledger.candidates import CandidateSource
from syncoll.ledger.events import BOUNDS, Event
from syncoll.ledger.incumbents import FEW_STEPS
from syncoll.ledger.ledger import INTERRUPTED, Ledger
from syncoll.ledger.proof_state import gaps_are_open
from syncoll.ledger.request import Strategy
from syncoll.ledger.sizes import Size
from syncoll.model import Collective
from syncoll.results.frontier import Frontier
from syncoll.searching.agenda import (
    OUT_OF_MEMORY,
    SAVE_SECONDS,
    SEEDS,
    SELDOM,
    STOPPING_SECONDS,
    Work,
)
from syncoll.searching.compositions import Compositions
from syncoll.searching.heuristics import SOON_SECONDS
from syncoll.searching.parts import Part, PartRequests, PartSearch, SearchTask, same_problem
from syncoll.searching.search import Search, bounds_until
from syncoll.searching.shares import FAR, SHORT_SECONDS

__all__ = ["CompositionSearch"]

COMPOSITIONS = "compositions"
"""The name of its row."""

_DIRECT_MULTIPLES = 12
"""The limit on C of the direct search, in multiples of the least C."""


class CompositionSearch:
    """The search of a composition: its ways to compose, and what is found directly.

    Args:
        search: of the whole.
        frontiers: searches the parts.
        save_seconds: how often what is known of the parts is composed while they are searched.
    """

    def __init__(
        self, search: Search, frontiers: PartSearch, *, save_seconds: float = SAVE_SECONDS
    ) -> None:
        self._search, self._frontiers = search, frontiers
        self._ledger, self._deadline = search.ledger, search.deadline
        self._answers, self._agenda = search.answers, search.agenda
        ledger = search.ledger
        self._parts = PartRequests(ledger.request, ledger.bounds)
        self._compositions = Compositions(
            ledger.request.collective, self._is_of_use, self._lost, ledger.keeps
        )
        self._ways = list(ledger.request.collective.ways)
        self._done: list[str] = []
        self._refusal: SyncollError | None = None
        self._found: Frontier | None = None
        self._save_seconds, self._again = save_seconds, Deadline.after(save_seconds)
        ledger.scope = self._scope([])

    def frontier(self) -> Frontier:
        """The frontier of the compositions, and of what the direct search finds beside them."""
        ledger, search = self._ledger, self._search
        with closing(search.seeds):
            self._agenda.run(self.rows())
            if self._found is None or ledger.stopped:
                return search.frontier([])
            if not self._found.open:
                return self._found
            frontier = search.frontier(self._direct_rows())
            return replace(frontier, complete=frontier.complete or not frontier.open)

    def rows(self) -> list[Work]:
        """The engines before the direct search."""
        search, ledger, seeds = self._search, self._ledger, self._search.seeds
        shares, timed = search.shares, not self._deadline.is_never
        turns, again = search.turns(), search.turns()
        look = shares.whole
        if self._is_wide:
            seconds = max(SHORT_SECONDS, self._deadline.left())
            look = min(look, max(shares.first_look, SHORT_SECONDS / seconds))
        bound = Work(BOUNDS, self._bound, lambda: timed, share=shares.first_bound)
        first = [Work(SEEDS, turns.first, share=look, quiet=True)]
        if self._is_wide:  # in the background they go on by themselves
            first.append(
                Work(
                    SEEDS,
                    turns.more,
                    lambda: timed and not (seeds.in_background or self._is_far()),
                    share=shares.whole - look,
                    quiet=True,
                )
            )
        if not search.small:
            first.append(Work(BOUNDS, search.bounds.run, lambda: timed, share=shares.bounds))
        # On a small network the first point comes sooner than a linear program.
        rows = [*first, bound] if search.small else [bound, *first]
        rows = search.background_rows(turns, lists=False) + rows
        rows.append(Work(COMPOSITIONS, self.run, lambda: bool(self._ways), turns=None))
        if search.alone or not ledger.request.collective.combining:
            rows.append(Work(SEEDS, again.first, quiet=True))
        if search.alone:
            rows.append(Work(BOUNDS, search.proofs))
        rows.append(
            Work(
                BOUNDS,
                search.bounds.run,
                lambda: seeds.in_background and search.bounds.is_ready,
                turns=None,
            )
        )
        if ledger.request.collective.combining and not search.alone:
            rows.append(Work(BOUNDS, self._claim))
        return rows

    def run(self, ledger: Ledger, until: Deadline) -> Iterator[Event]:
        """The compositions of the next way.

        Raises:
            UsageError: when there is no room for any way, and nothing else to search.
            LocatedError: when no way makes sense.
        """
        way = self._ways.pop(0)
        if self._done and (self._deadline.passed or not self._may_gain(way)):
            return
        share = self._share_again() if self._done else self._share_of_parts()
        interrupted = False
        try:
            parts, interrupted = self._searched(way, self._deadline.share(share))
        except (UsageError, LocatedError) as error:
            self._refusal = error
        else:
            self._done.append(_in_words(way))
            ledger.scope = self._scope(self._done)
            late = self._deadline.before(-SOON_SECONDS)  # for what came at the last moment
            if interrupted:
                late = late.sooner(STOPPING_SECONDS)
            yield from self._composed(parts, late)
            if interrupted:
                self._agenda.stop(INTERRUPTED)
        combining = ledger.request.collective.combining
        if not (self._done or self._ways or combining) and self._refusal is not None:
            raise self._refusal

    def _bound(self, ledger: Ledger, until: Deadline) -> Iterator[Event]:
        """The whole's bound for any number of steps, before the parts are searched.

        Most claims rest on it, and the time may be over at the end.
        """
        with bounds_until(ledger.bounds, until):
            bound = ledger.bound(None)
        yield bound

    def _claim(self, ledger: Ledger, until: Deadline) -> Iterator[Event]:
        """Proves what can be proved about the compositions: where a gap is open, others follow."""
        self._found = ledger.frontier()
        if ledger.on_points is not None:
            ledger.on_points(self._found)
        return iter(())

    def _searched(self, way: Sequence[Collective], deadline: Deadline) -> tuple[list[Part], bool]:
        """A way's parts with what is found of them, and whether a person stopped the search."""
        request, ledger = self._ledger.request, self._ledger
        parts = [Part(self._parts.request(way, collective)) for collective in way]
        interrupted = False
        for i, part in enumerate(parts):
            # Each leaves as much time to those after it that are not the same over again.
            questions = self._parts.questions(way[i:], self._frontiers.knows)
            until = deadline.share(1 / max(1, questions))
            same = [other for other in parts[i:] if same_problem(other.asked, part.asked)]

            def on_points(found: Frontier, same: Sequence[Part] = same) -> None:
                for other in same:
                    other.points = found.points
                self._compose_meanwhile(way, parts)

            asked = replace(part.asked, time_limit=until.seconds)
            frontier = self._frontiers.search(SearchTask(asked, until, on_points, proving=False))
            for other in same:
                other.points = frontier.points
            ledger.complete &= frontier.complete
            interrupted = frontier.interrupted
            if interrupted:
                break
        ledger.log.began(request.collective.name)
        return parts, interrupted

    def _compose_meanwhile(self, way: Sequence[Collective], parts: Sequence[Part]) -> None:
        """Passes on what can be composed while parts are searched, now and then."""
        ledger = self._ledger
        if ledger.on_points is None or not self._again.passed:
            return
        began, points = now(), ledger.points
        complete, ledger.complete = ledger.complete, False
        for row in self._search.background_rows(self._search.turns(), lists=False):
            if row.is_ready:
                self._agenda.turn(row)
        for point in self._composed(parts, self._deadline.sooner(SAVE_SECONDS)):
            ledger.record(point, COMPOSITIONS)
        if ledger.points is not points:
            scope, ledger.scope = ledger.scope, self._scope([_in_words(way)])
            self._agenda.report(at_once=True)
            ledger.scope = scope
        ledger.complete = complete
        spent = now() - began
        self._again = Deadline.after(max(self._save_seconds, SELDOM * spent))

    def _composed(self, parts: Sequence[Part], deadline: Deadline) -> Iterator[Event]:
        """The points that can be composed of what is known of the parts.

        Args:
            deadline: after it no more are composed.
        """
        try:
            yield from self._compositions.points(parts, deadline)
        except OutOfTimeError:
            self._ledger.complete = False
        except MemoryError as error:
            self._lost(f"{OUT_OF_MEMORY}: {error}")

    def _direct_rows(self) -> list[Work]:
        """The engines for algorithms that are no compositions, where these leave room; seeds of the
        whole go on beside them.
        """
        ledger, request = self._ledger, self._ledger.request
        if self._deadline.passed:
            ledger.complete = False
            return []
        source = ledger.source
        last = max((p.steps for p in ledger.points), default=source.least_steps + 2)
        if ledger.families:  # with more steps than those there is a member of each
            first = min(family.steps.at(family.first) for family in ledger.families)
            last = max(last, min(first, FEW_STEPS))
        ledger.log.began(f"{request.collective.name}, directly")
        direct = replace(
            request,
            strategy=Strategy.CERTIFIED,
            max_steps=last if request.max_steps is None else min(last, request.max_steps),
            max_chunks=request.max_chunks or _DIRECT_MULTIPLES * source.least_chunks,
            time_limit=self._deadline.seconds,
        )
        candidates = CandidateSource(direct, ledger.bounds)
        ledger.scope = f"{ledger.scope}, and directly {candidates.scope}"
        return self._search.rows(candidates, begun=True)

    def _is_far(self) -> bool:
        """Whether what is known is far from what is proved."""
        ledger = self._ledger
        ends = [p.bandwidth for p in ledger.points] + [f.limit for f in ledger.families]
        best = min(ends, default=None)
        return best is None or best > FAR * ledger.source.least_bandwidth

    @property
    def _is_wide(self) -> bool:
        """Whether seeds of the whole have a first look only."""
        return self._search.size > Size.MEDIUM

    def _share_of_parts(self) -> float:
        """The less, the more seeds of the whole have found: what they go on with has the rest."""
        shares = self._search.shares
        by_themselves = self._is_wide and self._search.seeds.in_background
        return shares.parts_far if by_themselves or self._is_far() else shares.parts

    def _share_again(self) -> float:
        """Little, where seeds of the whole leave other ways little to find."""
        shares = self._search.shares
        return shares.other_ways if self._is_far() else shares.other_ways_near

    def _may_gain(self, way: Sequence[Collective]) -> bool:
        """Whether another way may find something better: it has the steps of its parts at least."""
        least, ledger = sum(map(self._parts.least_steps, way)), self._ledger
        bound = ledger.source.least_bandwidth
        if any(p.steps <= least and p.bandwidth <= bound for p in ledger.points):
            return False
        return gaps_are_open(ledger.points, ledger.source)

    def _is_of_use(self, steps: int, bandwidth: Fraction) -> bool:
        """Whether a point of these costs is beaten by none that is known."""
        points = self._ledger.points
        return not any(p.steps <= steps and p.bandwidth <= bandwidth for p in points)

    def _lost(self, why: str) -> None:
        self._ledger.complete = False
        self._answers.lost(why)

    def _scope(self, ways: Sequence[str]) -> str:
        """Among what was searched, in words."""
        listed = "; ".join(ways) or "none within the limits"
        if self._search.alone:
            return (
                f"nothing, only what {self._answers.backend_name} constructs of the whole and of "
                f"the parts of compositions ({listed})"
            )
        seeds = " and what seeds construct" if self._answers.seeding.seeds else ""
        return f"compositions ({listed}){seeds}"


def _in_words(way: Sequence[Collective]) -> str:
    return " then ".join(part.name for part in way)
