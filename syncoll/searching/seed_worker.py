"""The background process of seeds: they construct for as long as they have time.

Nothing is verified here: the search verifies every proposal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

from syncoll.plugins import Proposal
from syncoll.results.family import Family
from syncoll.results.frontier import Point
from syncoll.searching.heuristics import Heuristics
from syncoll.searching.shares import LONG_SECONDS
from syncoll.searching.worker_messages import (
    FamilyFound,
    Finished,
    Message,
    Proposed,
    Refused,
    SeedRequest,
)
from syncoll.solving.worker import failure, opened, send

__all__ = ["construct", "main"]

Send = Callable[[object], None]


def main(lifeline: int | None = None) -> None:
    """Answers one request, and ends."""
    inbox, answers = opened(lifeline)
    request = inbox.get()

    def tell(message: object) -> None:
        send(answers, message)

    try:
        if not isinstance(request, SeedRequest):
            # What could not be unpickled: a seed or a collective that cannot be imported here.
            raise TypeError(f"the worker cannot read its request: {request}")
        construct(request, tell)
    except OSError:
        return  # the parent is gone
    except BaseException as error:
        tell(failure(error))


def construct(request: SeedRequest, tell: Send, turn: float = LONG_SECONDS) -> None:
    """Gives the seeds one turn after the other, until they have ended or the time has.

    A turn ends where its work is done, and nothing is lost at its end: only the end of all time
    stops a seed that resumes in the midst of its work.

    Args:
        tell: sends a message.
        turn: seconds of the first turn of several seeds; each further one takes twice as long.
    """
    run, ends = _PassingOn(request, tell), request.limits.deadline()
    working = run.waiting
    run.ask(request.limits)
    while working and not ends.passed:
        # One alone need not be stopped for the others.
        alone = len(run.waiting) == 1 and not ends.is_never
        seconds = ends.seconds if alone else turn
        for _ in run.turn(replace(request.limits, seconds=seconds, until=ends)):
            pass
        ended = tuple(name for name in working if name not in run.waiting)
        if ended:
            tell(Finished(ended))
        working = run.waiting
        turn *= 2
    tell(Finished(working))


@dataclass(frozen=True)
class _Size:
    """The least costs of a proposal that was not looked at."""

    steps: int
    rounds: int
    chunks: int


class _PassingOn(Heuristics):
    """Seeds whose proposals are sent as they are."""

    def __init__(self, request: SeedRequest, tell: Send) -> None:
        super().__init__(
            request.seeds,
            request.topology,
            request.collective,
            lambda text: tell(Message(text)),
            lambda name, why: tell(Refused(name, why)),
            warm_starts=request.limits.known,
        )
        self._tell = tell

    def _accepted(self, name: str, proposal: Proposal, seconds: float) -> tuple[Point]:
        number = self._number(proposal.family)
        self._tell(Proposed(name, replace(proposal, family=None), seconds, number))
        return (cast("Point", _Size(0, 0, proposal.chunks)),)

    def _number(self, family: Family | None) -> int | None:
        """The number of a family, which is sent when it comes up for the first time."""
        if family is None:
            return None
        for i, known in enumerate(self._seen):
            if known is family:
                return i
        self._tell(FamilyFound(family))
        self._seen.append(family)
        return len(self._seen) - 1
