"""Seeds before, beside and after the solver: what they find goes onto the frontier."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from fractions import Fraction

from syncoll.clock import now
from syncoll.deadline import Deadline
from syncoll.ledger.bounds_table import in_turn
from syncoll.ledger.ledger import Ledger
from syncoll.ledger.request import SearchRequest, Strategy
from syncoll.ledger.sizes import is_small
from syncoll.results.frontier import Point
from syncoll.searching.heuristics import Heuristics
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
        begin: is called when there is a point, before a solver is asked.
        run: seeds at work on the collective.
        limits: of what they construct.
        have_begun: whether they had a turn before this search.
        proving: whether it matters what is proved for each S.

    Attributes:
        turns: when they construct something.
    """

    def __init__(
        self,
        ledger: Ledger,
        begin: Callable[[], None],
        run: Heuristics,
        limits: SearchRequest,
        deadline: Deadline,
        *,
        have_begun: bool,
        proving: bool,
    ) -> None:
        self._ledger, self._source, self._bounds = ledger, ledger.source, ledger.bounds
        self._request, self._deadline, self._begin = ledger.request, deadline, begin
        self.turns = SeedTurns(run, limits, deadline, self._take)
        self._have_begun, self._proving = have_begun, proving

    def first(self) -> None:
        """Starts from what the seeds construct."""
        alone = self._ledger.is_for_seeds
        if self._have_begun and not alone and is_small(self._request.topology):
            self.turns.look()  # they have had their time, and a solver may be as fast
        else:
            self.turns.first(alone=alone, proving=self._proving)
        if alone:
            self._bounds.deadline = proofs_until(self._deadline)
        if self._ledger.points:
            # On a small machine a solver soon has better points, for which the bounds come then.
            soon = not self._proving or (not alone and is_small(self._request.topology))
            with self._bounds.at_once() if soon else nullcontext():
                self.bound_meanwhile()
                self._ledger.report()

    def go_on(self, *, patient: bool) -> None:
        """Lets seeds go on for as long as something better is wanted."""
        for _ in self.turns.rest(self._ledger.gaps_are_open, patient=patient):
            self.bound_meanwhile()
            # What is soon better has its bounds first; claims between points have theirs at last.
            with self._bounds.at_once() if self.turns.know else nullcontext():
                self._ledger.report()

    def bound_meanwhile(self) -> None:
        """Bounds the points of seeds that go on in a process of their own, S by S, and looks in
        between at what they have found."""
        bounded: set[int] = set()
        while self.turns.are_aside and not self._bounds.deadline.passed:
            waiting = [point for point in self._ledger.points if point.steps not in bounded]
            if not waiting:
                return
            far = [point for point in waiting if not self._is_near(point)]
            among = {point.steps for point in far or waiting}
            order = in_turn(point.steps for point in self._ledger.points)
            steps = next(one for one in order if one in among)
            bounded.add(steps)
            self._ledger.prove(steps)
            self.turns.look()

    def _is_near(self, point: Point) -> bool:
        """Whether a bound for its own S could show little more."""
        known = self._bounds.known(self._source.least_chunks, point.steps)
        return point.bandwidth <= known * _NEAR

    def _take(self, points: Iterator[Point]) -> bool:
        """Puts points of seeds on the frontier, until nothing can be better; whether one is new."""
        ledger = self._ledger
        ledger.log.seeding(self.turns.waiting)
        saved, new = now(), False
        for point in points:
            for family in self.turns.families:
                ledger.record(family)
            if ledger.keeps(point):
                is_new = ledger.record(point)
                self._begin()
                new |= is_new
                least = self._source.least_chunks  # whose shape stands for every C, also in files
                if point.steps <= self._source.least_steps and self._bounds.is_met(least):
                    break  # nothing is better in either cost
                if is_new and self._are_few_steps and not ledger.gaps_are_open():
                    break  # nor is anything else within the limits
            else:
                ledger.warm_starts.add(point)
            if ledger.on_points and now() >= saved + _SAVE_SECONDS:
                with self._bounds.at_once():  # what is proved comes later
                    ledger.report()
                saved = now()
        for family in self.turns.families:
            ledger.record(family)
        return ledger.list_members() or new

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
