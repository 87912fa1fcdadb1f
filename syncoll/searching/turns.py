"""SeedTurns: the seeds of a search, in turns with its solver.

They come first, and again where the solver finds its questions hard: then they have as much time as
it had.  What is left in the end is theirs, for as long as a gap to a bound is open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from syncoll.clock import now
from syncoll.deadline import Deadline
from syncoll.ledger.request import SearchRequest
from syncoll.results.family import Family
from syncoll.results.frontier import Point
from syncoll.searching.heuristics import Heuristics
from syncoll.searching.seeding import arrived, first_round, next_round

__all__ = ["SeedTurns"]

_TURN_SECONDS = 2.0
"""When the solver had so long without settling an S it is the seeds' turn, for as long."""

_SHARE_OF_TURN = 0.5
"""The part of the time that is left which one turn may take."""

_ROUND_SECONDS = 10.0
"""The first round of seeds after the solver; every further one takes twice as long."""

_BUSY = 3.0
"""So many times its work a round may last."""

_CLAIM_SECONDS, _SHARE_OF_CLAIMS = 1.0, 0.1
"""What remains in the end to say what is proved: so long, or so much of a short search."""

_IDLE = 0.1
"""When seeds use only this part of a round, and find nothing, they have no more to give."""


class SeedTurns:
    """The seeds of one search.

    Args:
        run: seeds at work on the request's collective.
        take: is given what they construct, and says whether something is new.
        ends: when the search is over, where their turns end earlier.

    Attributes:
        asked_seconds: what a solver was asked for since their last turn.
    """

    def __init__(
        self,
        run: Heuristics,
        request: SearchRequest,
        deadline: Deadline,
        take: Callable[[Iterator[Point]], bool],
        ends: Deadline | None = None,
    ) -> None:
        self._ends = ends
        left = deadline.left() * _SHARE_OF_CLAIMS
        self._claims = deadline.before(min(_CLAIM_SECONDS, left))
        self._run, self._request, self._deadline, self._take = run, request, deadline, take
        self.asked_seconds = 0.0

    @property
    def waiting(self) -> tuple[str, ...]:
        """The names of those that can go on."""
        return self._run.waiting

    @property
    def families(self) -> Sequence[Family]:
        """Those that were proposed."""
        return self._run.families

    def first(self, *, alone: bool, proving: bool = True) -> None:
        """Their first turn; see `first_round`."""
        turn = first_round(
            self._run,
            self._request,
            self._deadline,
            alone=alone,
            proving=proving,
            ends=self._ends,
        )
        self._take(turn)

    def next(self) -> bool:
        """Gives them as much time as the solver had, where that had some; whether it helped.

        The solver's questions are hard, so that from now on they work beside it where they can.
        """
        if not self.waiting or self.asked_seconds < _TURN_SECONDS:
            return False
        until = self._deadline.share(_SHARE_OF_TURN).sooner(_BUSY * self.asked_seconds)
        ends = self._ends or self._deadline
        turn = next_round(self._run, self._request, self.asked_seconds, until, ends=ends)
        new = self._take(turn)
        self.asked_seconds = 0.0
        return new

    @property
    def know(self) -> bool:
        """Whether they begin with known algorithms."""
        return bool(self._run.warm_starts)

    @property
    def are_aside(self) -> bool:
        """Whether some work in a process of their own."""
        return self._run.in_background

    def look(self) -> None:
        """Takes what they have proposed meanwhile."""
        self._take(arrived(self._run, self._request))

    def close(self) -> None:
        """They propose nothing more."""
        self._run.close()

    def rest(self, is_wanted: Callable[[], bool], *, patient: bool = True) -> Iterator[None]:
        """Lets them go on for as long as there is time, and something better is wanted.

        Args:
            patient: whether they go on after a round that has found nothing better.  Without a
                limit of time they end then in any case.

        Yields:
            After each round that has.

        Raises:
            OutOfTimeError: when the time is over.
        """
        turn = _ROUND_SECONDS
        while self.waiting and is_wanted():
            began = now()
            until = self._claims
            until.check()
            if self._round(turn, until.sooner(_BUSY * turn)):
                yield
            else:
                spent = now() - began
                idle = spent < _IDLE * min(turn, until.seconds or turn)
                if not patient:
                    until.check()  # what would come after them has no time either
                    return
                if self._deadline.is_never or idle:
                    return
            turn *= 2

    def _round(self, seconds: float, until: Deadline) -> bool:
        """One round of so many seconds; whether it helped, and then it is over at once."""
        ends = Deadline.after(seconds)
        while True:
            wait = max(0.0, ends.left())
            if self._take(next_round(self._run, self._request, seconds, until, wait=wait)):
                return True
            # What comes from aside and is of no use ends no round.
            if not self.are_aside or ends.passed or until.passed:
                return False
