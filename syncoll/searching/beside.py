"""Seeds before, beside and after the solver: what they find goes onto the frontier."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from fractions import Fraction

from syncoll.clock import now
from syncoll.deadline import Deadline
from syncoll.ledger.bounds_table import in_turn
from syncoll.ledger.incumbents import few_steps
from syncoll.ledger.request import SearchRequest, Strategy
from syncoll.ledger.sizes import is_small
from syncoll.results.frontier import Point
from syncoll.searching.heuristics import Heuristics
from syncoll.searching.known_frontier import KnownFrontier
from syncoll.searching.turns import SeedTurns

__all__ = ["SeedsBeside", "proofs_until"]

_SAVE_SECONDS = 5.0
"""How often the points of seeds are passed on while they come."""

_PROOF_SECONDS = 10.0
"""What the bounds of a frontier may take for which no solver was asked."""

_NEAR = Fraction(1005, 1000)
"""Points so near to a bound have one for their own S only after others: with many steps it takes
long."""


class SeedsBeside:
    """The seeds of one search, and the frontier that they help to find.

    Args:
        run: seeds at work on the collective.
        limits: of what they construct.
        have_begun: whether they had a turn before this search.
        proving: whether it matters what is proved for each S.

    Attributes:
        turns: when they construct something.
    """

    def __init__(
        self,
        known: KnownFrontier,
        run: Heuristics,
        limits: SearchRequest,
        deadline: Deadline,
        *,
        have_begun: bool,
        proving: bool,
    ) -> None:
        self._known, self._source, self._bounds = known, known.source, known.bounds
        self._request, self._deadline = known.request, deadline
        self.turns = SeedTurns(run, limits, deadline, self._take)
        self._have_begun, self._proving = have_begun, proving

    def first(self) -> None:
        """Starts from what the seeds construct."""
        alone = self._known.answers.solver is None
        if self._have_begun and not alone and is_small(self._request.topology):
            self.turns.look()  # they have had their time, and a solver may be as fast
        else:
            self.turns.first(alone=alone, proving=self._proving)
        if alone:
            self._bounds.deadline = proofs_until(self._deadline)
        if self._known.points:
            # On a small machine a solver soon has better points, for which the bounds come then.
            soon = not self._proving or (not alone and is_small(self._request.topology))
            with self._bounds.at_once() if soon else nullcontext():
                self.bound_meanwhile()
                self._known.report()

    def go_on(self, *, patient: bool) -> None:
        """Lets seeds go on for as long as something better is wanted."""
        for _ in self.turns.rest(self._known.gaps_are_open, patient=patient):
            self.bound_meanwhile()
            # What is soon better has its bounds first; claims between points have theirs at last.
            with self._bounds.at_once() if self.turns.know else nullcontext():
                self._known.report()

    def bound_meanwhile(self) -> None:
        """Bounds the points of seeds that go on in a process of their own, S by S, and looks in
        between at what they have found."""
        bounded: set[int] = set()
        while self.turns.are_aside and not self._bounds.deadline.passed:
            waiting = [point for point in self._known.points if point.steps not in bounded]
            if not waiting:
                return
            far = [point for point in waiting if not self._is_near(point)]
            among = {point.steps for point in far or waiting}
            order = in_turn(point.steps for point in self._known.points)
            steps = next(one for one in order if one in among)
            bounded.add(steps)
            self._known.bounded(steps, self._source.least_bandwidth_of(steps))
            self.turns.look()

    def _is_near(self, point: Point) -> bool:
        """Whether a bound for its own S could show little more."""
        known = self._bounds.known(self._source.least_chunks, point.steps)
        return point.bandwidth <= known * _NEAR

    def _take(self, points: Iterator[Point]) -> bool:
        """Puts points of seeds on the frontier, until nothing can be better; whether one is new."""
        self._known.observer.seeding(self.turns.waiting)
        saved, new = now(), False
        for point in points:
            self._known.trials.known.add(point)
            if self._source.keeps(point):
                merged_it = self._known.merge(point)
                self._known.answers.begin()
                new |= merged_it
                least = self._source.least_chunks  # whose shape stands for every C, also in files
                if point.steps <= self._source.least_steps and self._bounds.is_met(least):
                    break  # nothing is better in either cost
                if merged_it and self._are_few_steps and not self._known.gaps_are_open():
                    break  # nor is anything else within the limits
            if self._known.on_points and now() >= saved + _SAVE_SECONDS:
                with self._bounds.at_once():  # what is proved comes later
                    self._known.report()
                saved = now()
        return self._take_members() or new

    def _take_members(self) -> bool:
        """Puts members of few steps of families that are new on the frontier; whether one is new.

        Of those that seeds propose it depends on the time how many come.
        """
        grown = [family for family in self.turns.families if family not in self._known.listed]
        self._known.listed += grown
        members = few_steps(grown, self._request)
        new = [self._known.merge(point) for point in members if self._source.keeps(point)]
        return any(new)

    @property
    def _are_few_steps(self) -> bool:
        """Whether bounds for all S of the search are soon computed."""
        certified = self._proving and self._request.strategy is Strategy.CERTIFIED
        limited = self._request.max_steps is not None
        return certified and limited and is_small(self._request.topology)


def proofs_until(limit: Deadline) -> Deadline:
    """Until when bounds are computed for what seeds alone constructed: not much longer than that
    took, since nothing is searched that they could end.
    """
    return limit.sooner(_PROOF_SECONDS)
