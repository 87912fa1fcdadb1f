"""Proves bounds for many candidates, sequentially or in parallel, and stores them in a folder."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from syncoll.deadline import Deadline, OutOfTimeError
from syncoll.designing.candidates import MachineCandidate
from syncoll.designing.design import Assessed, Proved, Question
from syncoll.designing.workers import answers
from syncoll.documents.folder import FrontierFolder
from syncoll.errors import LocatedError
from syncoll.ledger.lower_bounds import lower_bounds
from syncoll.model import Collective, Topology
from syncoll.progress import report
from syncoll.results import LowerBounds
from syncoll.searching.known_algorithms import Search


class DesignFolder(FrontierFolder):
    """Stores the frontiers and bounds of a design."""

    def require_part_of(self, question: Question) -> None:
        """Checks that the folder belongs to a part of a design.  Raises `UsageError` if it does
        not: its machines and collectives would be missing in the table, but not in the folder."""
        there = self.table()
        if there is None:
            return
        asked = question.index()
        same = all(there.get(name) == asked[name] for name in ("schema", "where", "one_more_link"))
        before = [(there.get(name), asked[name]) for name in ("topologies", "collectives")]
        grew = all(isinstance(old, list) and all(x in now for x in old) for old, now in before)
        if not (same and grew):
            words = ", ".join([*question.families, *question.conditions])
            self.refuse(f"a part of the design of {words}")
        if not isinstance(most := there.get("most"), int) or most > question.most:
            self.refuse(f"a design with parameters up to {question.most}")

    def known(
        self, candidate: MachineCandidate, collective: Collective, steps: int = 0
    ) -> Proved | None:
        """An earlier result, checked; None without one, or if it has bounds for fewer than `steps`
        S."""
        frontier = self.read(candidate.topology, collective)
        if frontier is None or not (frontier.complete or frontier.points):
            return None
        found = Proved.read(frontier, steps)
        return found if frontier.points or found.covers(steps) else None

    def keep(self, candidate: MachineCandidate, proved: Proved) -> None:
        """Writes a result with its frontier, if any, or raises `UsageError`.  Points of a search
        that proved less than the known bounds get a file of their own."""
        found = proved.frontier
        if found is None:
            return
        proves = found.least_steps >= proved.steps and found.least_bandwidth >= proved.bandwidth
        file = self.file(candidate.name, found.collective)
        self.write(found, file if proves else file.with_stem(f"{file.stem}-found"))


LEAST_SECONDS = 2.0
"""Least seconds of work to find a few machines and their quick bounds."""

_SECONDS_EACH = 20.0
"""Time limit for the bounds of one collective on one candidate."""

_SECONDS_A_STEP = 5.0
"""Additional time for each number of steps."""


@dataclass(frozen=True)
class DesignWork:
    """Settings of a design: the processes that prove bounds, the folder that stores and supplies
    results, and a function for messages to the user."""

    jobs: int
    until: Deadline
    search: Search
    folder: DesignFolder | None = None
    tell: Callable[[str], None] = lambda _: None


@dataclass
class Assessing:
    """The result of an assessment: candidates with their bounds, in order, all finished if
    complete."""

    assessed: list[Assessed]
    complete: bool = True
    interrupted: bool = False

    def take(self, position: int, collective: str, found: Proved | str) -> None:
        """Stores an answer, or the reason why bounds are missing."""
        one = self.assessed[position]
        if isinstance(found, str):
            self.assessed[position] = replace(one, refused={**one.refused, collective: found})
            return
        self.assessed[position] = replace(one, bounds={**one.bounds, collective: found})


def assess(
    candidates: Sequence[MachineCandidate], question: Question, work: DesignWork
) -> Assessing:
    """Proves the bounds of all collectives on all candidates.  Ctrl-C and the deadline end it with
    the bounds found so far; at the deadline, quick bounds of a few more candidates are added."""
    result = Assessing([Assessed(one) for one in candidates])
    found: Proved | str | None
    folder, steps, until = work.folder, question.steps, work.until
    waiting, done = list[_Task](), 0
    total = len(candidates) * len(question.collectives)
    try:
        for i, candidate in enumerate(candidates):
            for collective in question.collectives:
                found = None if folder is None else folder.known(candidate, collective, steps)
                if found is None:
                    waiting.append((i, collective, candidate.topology, steps, until))
                else:
                    done += 1
                    result.take(i, collective.name, found)
        for task, answer in answers(_bounds, waiting, work.jobs, until.granting(LEAST_SECONDS)):
            candidate, name = candidates[task[0]], task[1].name
            found = Proved.of(answer) if isinstance(answer, LowerBounds) else answer
            result.take(task[0], name, found)
            done += 1
            if isinstance(answer, LowerBounds):
                result.complete &= not answer.late
                if folder is not None and not isinstance(found, str):
                    folder.keep(candidate, found)
                if answer.interrupted:
                    raise KeyboardInterrupt
            report(done, total, f"{name} on {candidate.name}")
    except KeyboardInterrupt:
        result.complete, result.interrupted = False, True
    except OutOfTimeError:
        result.complete = False
    return result


_Task = tuple[int, Collective, Topology, int, Deadline]
"""The position of a candidate, and the question and its limits for a worker."""


def _bounds(task: _Task) -> LowerBounds | str:
    """The bounds for any number of steps and for the first few S, or the reason why they are
    missing."""
    _, collective, topology, steps, until = task
    until = until.sooner(_SECONDS_EACH + steps * _SECONDS_A_STEP)
    try:
        if not steps:
            return lower_bounds(topology, collective, max_steps=0, until=until)
        return lower_bounds(topology, collective, num_steps=steps, until=until)
    except LocatedError as error:
        return error.message
