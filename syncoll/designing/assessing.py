"""Proves the bounds of many candidates, one after the other or in several processes."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from dataclasses import dataclass, replace

from syncoll.deadline import Deadline, OutOfTimeError
from syncoll.designing.candidates import Candidate
from syncoll.designing.design import Assessed, Proved
from syncoll.designing.folder import DesignFolder
from syncoll.errors import LocatedError, UsageError
from syncoll.model import Collective, Topology
from syncoll.results import LowerBounds
from syncoll.searching.lower_bounds import lower_bounds

__all__ = ["Assessing", "assess"]

_SECONDS_EACH = 20.0
"""For the bounds of one collective on one candidate."""

_SECONDS_A_STEP = 5.0
"""As many more for each number of steps."""

_BROKEN = (
    "a process that proves bounds has ended before its time; fewer (jobs) need less memory. "
    'A script that asks for several must do so under `if __name__ == "__main__":`, for each of '
    "them runs it once more"
)


@dataclass
class Assessing:
    """What came of it.

    Args:
        assessed: in the order of the candidates.
        complete: whether all of them were looked at to the end.
        interrupted: whether a person ended it.
    """

    assessed: list[Assessed]
    complete: bool = True
    interrupted: bool = False

    def take(self, position: int, collective: str, found: Proved | str) -> None:
        """Puts an answer in its place; a text says why there is none."""
        one = self.assessed[position]
        if isinstance(found, str):
            self.assessed[position] = replace(one, refused={**one.refused, collective: found})
            return
        self.assessed[position] = replace(one, bounds={**one.bounds, collective: found})


def assess(
    candidates: Sequence[Candidate],
    collectives: Sequence[Collective],
    *,
    jobs: int,
    until: Deadline,
    steps: int = 0,
    told: Callable[[int, int, str], None] = lambda *_: None,
    folder: DesignFolder | None = None,
) -> Assessing:
    """The bounds of all collectives on all candidates.

    Ctrl-C and the deadline end it with those that were found.

    Args:
        jobs: processes at once; 1 for this one alone.
        steps: for how many numbers of steps, from the least on, R/C is bounded, too.
        told: is told after each how many of how many are done, and which was the last.
        folder: has what was found before, and gets each as soon as it was found.
    """
    result = Assessing([Assessed(one) for one in candidates])
    found: Proved | str | None
    waiting, done = [], 0
    total = len(candidates) * len(collectives)
    try:
        for position, candidate in enumerate(candidates):
            for collective in collectives:
                found = None if folder is None else folder.known(candidate, collective, steps)
                if found is None:
                    waiting.append((position, collective))
                else:
                    done += 1
                    result.take(position, collective.name, found)
        tasks = [(i, collective, candidates[i].topology, steps) for i, collective in waiting]
        for position, name, answer in _answers(tasks, min(jobs, len(tasks)), until):
            found = Proved.of(answer) if isinstance(answer, LowerBounds) else answer
            result.take(position, name, found)
            done += 1
            if isinstance(answer, LowerBounds):
                result.complete &= not answer.late
                if folder is not None and not isinstance(found, str):
                    folder.keep(candidates[position], found)
                if answer.interrupted:
                    raise KeyboardInterrupt
            told(done, total, f"{name} on {candidates[position].name}")
    except KeyboardInterrupt:
        result.complete, result.interrupted = False, True
    except OutOfTimeError:
        result.complete = False
    return result


_Task = tuple[int, Collective, Topology, int]


def _answers(
    tasks: Sequence[_Task], jobs: int, until: Deadline
) -> Iterator[tuple[int, str, LowerBounds | str]]:
    """The answers as they come.

    Raises:
        OutOfTimeError: when the time is over before all are there.
    """
    if jobs < 2:
        for position, collective, topology, steps in tasks:
            until.check()
            yield position, collective.name, _bounds(collective, topology, steps, until)
        return
    # Forked children would inherit locks that threads of this process hold.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin)
    try:
        futures: dict[Future[LowerBounds | str], _Task] = {
            pool.submit(_bounds, *one[1:], until): one for one in tasks
        }
        left = set(futures)
        while left:
            ready, left = wait(left, until.seconds, FIRST_COMPLETED)
            if not ready:
                until.check()
            for one in ready:
                position, collective, *_ = futures[one]
                try:
                    yield position, collective.name, one.result()
                except BrokenExecutor:
                    raise UsageError(_BROKEN) from None
    except BaseException:
        for process in list((pool._processes or {}).values()):
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _begin() -> None:
    """In a process of the pool: Ctrl-C is its parent's business."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _bounds(
    collective: Collective, topology: Topology, steps: int, until: Deadline
) -> LowerBounds | str:
    """The bounds for any number of steps and for the first few, or in words why there are none."""
    until = until.sooner(_SECONDS_EACH + steps * _SECONDS_A_STEP)
    try:
        if not steps:
            return lower_bounds(topology, collective, max_steps=0, until=until)
        return lower_bounds(topology, collective, num_steps=steps, until=until)
    except LocatedError as error:
        return error.message
