"""Proves the bounds of many candidates, sequentially or in parallel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from syncoll.deadline import Deadline, OutOfTimeError
from syncoll.designing.candidates import MachineCandidate
from syncoll.designing.design import Assessed, Proved, Question
from syncoll.designing.folder import DesignFolder
from syncoll.designing.workers import answers
from syncoll.errors import LocatedError
from syncoll.ledger.lower_bounds import lower_bounds
from syncoll.model import Collective, Topology
from syncoll.results import LowerBounds
from syncoll.searching.known_algorithms import Search
from syncoll.solving.executor_name import ExecutorName

__all__ = ["Assessing", "DesignWork", "assess"]

LEAST_SECONDS = 2.0
"""Seconds of work to find a few machines and their quick bounds, whatever the time limit."""

_SECONDS_EACH = 20.0
"""Time limit for the bounds of one collective on one candidate."""

_SECONDS_A_STEP = 5.0
"""Additional time for each number of steps."""


@dataclass(frozen=True)
class DesignWork:
    """Settings of a design.

    Args:
        where: the executor that proves bounds.
        told: called with the numbers of finished and of all things, and the last one.
        folder: stores and supplies results.
        tell: called with messages for the user.
    """

    where: ExecutorName
    until: Deadline
    search: Search
    told: Callable[[int, int, str], None] = lambda *_: None
    folder: DesignFolder | None = None
    tell: Callable[[str], None] = lambda _: None


@dataclass
class Assessing:
    """The result of an assessment.

    Args:
        assessed: in the order of the candidates.
        complete: whether all bounds were finished.
    """

    assessed: list[Assessed]
    complete: bool = True
    interrupted: bool = False

    def take(self, position: int, collective: str, found: Proved | str) -> None:
        """Stores an answer; a text says why there is none."""
        one = self.assessed[position]
        if isinstance(found, str):
            self.assessed[position] = replace(one, refused={**one.refused, collective: found})
            return
        self.assessed[position] = replace(one, bounds={**one.bounds, collective: found})


def assess(
    candidates: Sequence[MachineCandidate], question: Question, work: DesignWork
) -> Assessing:
    """Proves the bounds of all collectives on all candidates.

    Ctrl-C and the deadline end it with the bounds found so far.  At the deadline, quick bounds of a
    few more candidates are added.
    """
    result = Assessing([Assessed(one) for one in candidates])
    found: Proved | str | None
    folder, steps, until = work.folder, question.steps, work.until
    waiting, done = [], 0
    total = len(candidates) * len(question.collectives)
    try:
        for i, candidate in enumerate(candidates):
            for collective in question.collectives:
                found = None if folder is None else folder.known(candidate, collective, steps)
                if found is None:
                    waiting.append(_Task(i, collective, candidate.topology, steps, until))
                else:
                    done += 1
                    result.take(i, collective.name, found)
        for task, answer in answers(_bounds, waiting, work.where, until.granting(LEAST_SECONDS)):
            candidate, name = candidates[task.position], task.collective.name
            found = Proved.of(answer) if isinstance(answer, LowerBounds) else answer
            result.take(task.position, name, found)
            done += 1
            if isinstance(answer, LowerBounds):
                result.complete &= not answer.late
                if folder is not None and not isinstance(found, str):
                    folder.keep(candidate, found)
                if answer.interrupted:
                    raise KeyboardInterrupt
            work.told(done, total, f"{name} on {candidate.name}")
    except KeyboardInterrupt:
        result.complete, result.interrupted = False, True
    except OutOfTimeError:
        result.complete = False
    return result


@dataclass(frozen=True, eq=False)
class _Task:
    """One collective on one candidate, for a worker."""

    position: int
    collective: Collective
    topology: Topology
    steps: int
    until: Deadline


def _bounds(task: _Task) -> LowerBounds | str:
    """The bounds for any number of steps and for the first few, or why there are none."""
    until = task.until.sooner(_SECONDS_EACH + task.steps * _SECONDS_A_STEP)
    try:
        if not task.steps:
            return lower_bounds(task.topology, task.collective, max_steps=0, until=until)
        return lower_bounds(task.topology, task.collective, num_steps=task.steps, until=until)
    except LocatedError as error:
        return error.message
