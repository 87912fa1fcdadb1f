"""The background process of seeds: they construct until their deadline.

Nothing is verified here: the search verifies every proposal.
"""

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from syncoll.plugins import Proposal
from syncoll.results.family import Family
from syncoll.searching.heuristics import Heuristics
from syncoll.searching.seed_process import Failure, Finished, Proposed, Refused, SeedRequest
from syncoll.searching.shares import LONG_SECONDS
from syncoll.solving.worker import failure, opened, send

Send = Callable[[object], None]


def main(lifeline: int | None = None) -> None:
    """Answers one request, and ends."""
    inbox, answers = opened(lifeline)
    request = inbox.get()

    def tell(message: object) -> None:
        send(answers, message)

    try:
        if not isinstance(request, SeedRequest):
            # a seed or a collective that cannot be imported here
            raise TypeError(f"the worker cannot read its request: {request}")
        construct(request, tell)
    except OSError:
        return  # the parent is gone
    except BaseException as error:
        tell(failure(error))


def construct(request: SeedRequest, tell: Send, turn: float = LONG_SECONDS) -> None:
    """Gives the seeds one turn after the other, until all have ended or the deadline has passed.

    A turn ends when its work is done, and nothing is lost at its end: only the deadline interrupts
    a seed that resumes.

    Args:
        turn: seconds of the first turn of several seeds; each further one takes twice as long.
    """
    run, ends = _PassingOn(request, tell), request.limits.deadline()
    working = run.waiting
    run.ask(request.limits)
    while working and not ends.passed:
        # A single seed need not be stopped for others.
        alone = len(run.waiting) == 1 and not ends.is_never
        seconds = ends.seconds if alone else turn
        for _ in run.turn(replace(request.limits, seconds=seconds, until=ends)):
            pass
        if ended := tuple(name for name in working if name not in run.waiting):
            tell(Finished(ended))
        working = run.waiting
        turn *= 2
    tell(Finished(working))


class _PassingOn(Heuristics):
    """Seeds whose proposals are sent unverified."""

    def __init__(self, request: SeedRequest, tell: Send) -> None:
        super().__init__(
            request.seeds,
            request.topology,
            request.collective,
            lambda text: tell(Failure(text)),
            lambda name, why: tell(Refused(name, why)),
            warm_starts=request.limits.known,
        )
        self._tell = tell

    def _accepted(self, name: str, proposal: Proposal, seconds: float) -> tuple[Any]:
        family: Family | int | None = proposal.family
        known = [i for i, one in enumerate(self._seen) if one is family]
        if isinstance(family, Family) and not known:
            self._seen.append(family)
        elif known:
            family = known[0]
        self._tell(Proposed(name, replace(proposal, family=None), seconds, family))
        # Its costs are unknown here: it is not looked at.
        return (SimpleNamespace(steps=0, rounds=0, chunks=proposal.chunks),)
