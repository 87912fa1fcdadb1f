"""What a search of a frontier knows: points and families, what is proved of them, what is open."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from fractions import Fraction

from syncoll.clock import limit_in_words
from syncoll.ledger.bounds_table import BoundsTable
from syncoll.ledger.candidates import CandidateSource
from syncoll.ledger.incumbents import FEW_STEPS, MOST_LISTED, belonging, merged, unbeaten
from syncoll.ledger.proof_state import gaps_are_open, with_claims
from syncoll.ledger.request import Observer, SearchRequest
from syncoll.results.family import Family
from syncoll.results.frontier import Frontier, Point
from syncoll.searching.answers import AnswerSource
from syncoll.searching.passes import StepState
from syncoll.searching.trials import Trials, joined
from syncoll.wording import counted

__all__ = ["INTERRUPTED", "KnownFrontier", "OnPoints"]

INTERRUPTED = "interrupted"
"""Why a search ended before its time, in an open claim."""

OnPoints = Callable[[Frontier], None]


class KnownFrontier:
    """The frontier as far as it is known.

    Args:
        on_points: is given it whenever it is reported.
        trials: what was asked, which begins with the points that are known.
        points: these, ascending in S.
        proposed: gives the families that seeds have proposed.

    Attributes:
        steps: the S that were looked at, in order.
        current: the one that is being looked at.
        listed: the families whose members of few steps are among the points.
        stopped: why the search ended before its time, in words; empty when it did not.
    """

    def __init__(
        self,
        request: SearchRequest,
        answers: AnswerSource,
        observer: Observer,
        on_points: OnPoints | None,
        source: CandidateSource,
        trials: Trials,
        points: Sequence[Point],
        proposed: Callable[[], Sequence[Family]],
    ) -> None:
        self.request, self.answers, self.observer = request, answers, observer
        self.on_points, self.source, self.trials = on_points, source, trials
        self.points, self.proposed = list(points), proposed
        self.began = time.perf_counter()
        self.steps: list[StepState] = []
        self.current: StepState | None = None
        self.listed: list[Family] = []
        self.stopped = ""
        self._told: dict[int | None, Fraction] = {}
        for point in self.points:
            self.bounds.found(point.steps, point.bandwidth)

    @property
    def bounds(self) -> BoundsTable:
        """Of the collective."""
        return self.source.bounds

    @property
    def families(self) -> tuple[Family, ...]:
        """Those that belong on the frontier."""
        return belonging(self.proposed(), self.request, self.points)

    def best(self, steps: int) -> Fraction | None:
        """The least R/C found with at most so many steps."""
        return min((p.bandwidth for p in self.points if p.steps <= steps), default=None)

    def merge(self, point: Point) -> bool:
        """Whether the point belongs on the frontier, where it then is."""
        self.bounds.found(point.steps, point.bandwidth)
        if not unbeaten([point], self.families):
            return False
        before, self.points = self.points, merged(self.points, point)
        if self.points is not before:
            self.observer.found(tuple(self.points))
        return self.points is not before

    def gaps_are_open(self) -> bool:
        """Whether a point of any S may be better than what is known."""
        families = self.families
        return gaps_are_open(unbeaten(self.points, families), self.source, families)

    def may_serve(self, steps: int) -> bool:
        """Whether the best that so many steps may cost would be of use for the sizes asked for."""
        aim = self.request.aim
        if aim is None:
            return True
        return aim.is_of_use(steps, self.source.least_bandwidth_of(steps), self.points)

    def report(self) -> None:
        """Shows and saves what is known so far."""
        frontier = self.frontier()
        for point in frontier.points:
            if point.bound is not None and point.bound > self.source.least_bandwidth:
                self.bounded(point.steps, point.bound)
        if self.on_points is not None:
            self.on_points(frontier)

    def bounded(self, steps: int | None, bandwidth: Fraction) -> None:
        """Tells of a bound, once."""
        if self._told.get(steps, Fraction(-1)) < bandwidth:
            self._told[steps] = bandwidth
            self.observer.bounded(steps, bandwidth)

    def frontier(self) -> Frontier:
        """Everything known so far."""
        source, request = self.source, self.request
        families = self.families
        points = unbeaten(self.points, families)
        searched = {step.steps for step in self.steps} | {p.steps for p in points}
        if families:
            searched.update(range(source.least_steps, FEW_STEPS + 1))
        scope = source.scope
        if self.answers.solver is None:
            scope = f"nothing, only what {self.answers.backend_name} constructs"
        found = Frontier(
            request.topology,
            request.collective.name,
            points,
            (),
            scope,
            self.answers.settings(
                request,
                source.k,
                source.max_steps,
                source.max_chunks if source.limits_chunks else None,
            ),
            complete=not self.stopped,
            interrupted=self.stopped == INTERRUPTED,
            seconds=time.perf_counter() - self.began,
            refuted=tuple(self.trials.refuted),
            families=families,
        )
        return with_claims(found, source, sorted(searched), self._why_open)

    def _why_open(self, steps: int | None) -> str:
        """Why something better may exist for this S, or beyond all that were searched."""
        step = next((one for one in self.steps if one.steps == steps), None)
        # A frontier that is passed on while the search goes on reads as if its time were over.
        limit = limit_in_words()
        stopped = self.stopped or limit
        if step is None:
            limited = steps is None and self.request.max_steps is not None
            if not limited and (self.current is not None or self.stopped):
                return stopped
            if self.answers.solver is None:
                return "no solver was asked"
            most = self.request.max_steps or 0
            if limited and self.listed and most > MOST_LISTED:
                return f"members of pipelines are listed up to {MOST_LISTED} steps"
            if limited:
                return f"the search goes to {counted(self.source.max_steps, 'step')} (--max-steps)"
            return "solvers were asked about fewer steps; --max-steps has them asked about more"
        whys = joined(part for why in step.undecided.values() for part in why.split("; "))
        if step is self.current:
            return "; ".join([stopped, *(w for w in whys if not w.startswith(limit))])
        if not whys and not self.may_serve(step.steps):
            return "of no use for the sizes asked for"
        return "; ".join(whys) or "too many candidates were not decided at once"
