"""Survey: repairs every single failure of a machine in turn.

One failure of each orbit is repaired, as `syncoll repair` does it, and represents the others.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from syncoll.deadline import Deadline, OutOfTimeError, interrupted_at
from syncoll.documents.folder import FrontierFolder
from syncoll.errors import ImpossibleError, LocatedError, UsageError
from syncoll.model import Collective
from syncoll.repairing.cost_delta import Loss, Repair
from syncoll.repairing.failures import FailureKind, SingleFailure, single_failures
from syncoll.repairing.fewer_nodes import left
from syncoll.repairing.warm_start_seeds import warm_start_seeds
from syncoll.results import Frontier
from syncoll.searching.known_algorithms import Search

__all__ = ["COLUMNS", "Survey", "SurveyWork", "Surveyed", "rows", "survey"]


@dataclass(frozen=True, eq=False)
class Surveyed:
    """One failure, representing its orbit.

    Args:
        repair: None if it was not tried, or is impossible.
        refused: the reason if the collective is impossible, which is proved; else empty.
        left_out: the reason if the rest cannot be described, so that it was not tried; else empty.
    """

    failure: SingleFailure
    repair: Repair | None = None
    refused: str = ""
    left_out: str = ""

    @property
    def words(self) -> str:
        """The damage in words."""
        return self.failure.damage.words

    @property
    def any_steps(self) -> Loss | None:
        """The loss with any number of steps; None without a repair."""
        return None if self.repair is None else self.repair.losses[-1]


@dataclass(frozen=True, eq=False)
class Survey:
    """All single failures of a kind.

    Args:
        whole: the machine's frontier.
        complete: whether all possible ones were tried, and no search was ended by the overall
            limit.
    """

    kind: FailureKind
    whole: Frontier
    surveyed: tuple[Surveyed, ...]
    complete: bool = True
    interrupted: bool = False
    seconds: float = 0.0

    @property
    def failures(self) -> int:
        """Number of failures, all of each orbit counted."""
        return sum(one.failure.images for one in self.surveyed)

    @property
    def fatal(self) -> tuple[Surveyed, ...]:
        """Those that make the collective impossible."""
        return tuple(one for one in self.surveyed if one.refused)

    @property
    def left_out(self) -> tuple[Surveyed, ...]:
        """Those that were not tried, since the rest cannot be described."""
        return tuple(one for one in self.surveyed if one.left_out)

    @property
    def worst(self) -> tuple[Surveyed, ...]:
        """The repaired ones, by R/C with any number of steps, the highest first."""

        def badness(one: Surveyed) -> tuple[Any, ...]:
            loss = one.any_steps
            assert loss is not None
            return loss.now is None, loss.now or 0, loss.bound or 0

        found = [one for one in self.surveyed if one.any_steps is not None]
        return tuple(sorted(found, key=badness, reverse=True))

    @property
    def found(self) -> bool:
        """Whether an algorithm, or a proof that there is none, was found after a failure."""
        return any(
            one.refused or (one.repair is not None and one.repair.frontier.points)
            for one in self.surveyed
        )


@dataclass(frozen=True)
class SurveyWork:
    """Settings of a survey.

    Args:
        seconds: for each failure.
        until: the deadline of all.
        told: called with the numbers of finished and of all failures, and the next one.
        folder: frontiers are written to it as they come, and read from it.
    """

    search: Search
    seconds: float
    until: Deadline
    told: Callable[[int, int, str], None] = lambda *_: None
    folder: FrontierFolder | None = None


def survey(
    whole: Frontier,
    collective: Collective,
    kind: FailureKind,
    work: SurveyWork,
    find: Callable[[str], Collective],
) -> Survey:
    """Repairs one failure of each orbit.

    Ctrl-C and the deadline end it with the failures done so far.

    Args:
        whole: with at least one point.

    Raises:
        UsageError: when the machine has nothing of the kind, or a file cannot be written.
    """
    began = time.perf_counter()
    failures = single_failures(whole.topology, collective, kind)
    if not failures:
        raise UsageError(f"{whole.topology.name} has no {kind}; there is nothing to survey")
    found = [Surveyed(one) for one in failures]
    complete, interrupted = True, False
    try:
        for i, one in enumerate(failures):
            work.until.check()
            work.told(i, len(failures), one.damage.words)
            found[i] = _surveyed(whole, collective, one, work, find)
            repair = found[i].repair
            if repair is not None and repair.frontier.interrupted:
                if not repair.frontier.points:
                    found[i] = Surveyed(one)  # it had no turn of its own
                raise KeyboardInterrupt
        work.told(len(failures), len(failures), "done")
    except KeyboardInterrupt:
        complete, interrupted = False, True
    except OutOfTimeError:
        complete = False
    seconds = time.perf_counter() - began
    return Survey(kind, whole, tuple(found), complete, interrupted, seconds)


def _surveyed(
    whole: Frontier,
    collective: Collective,
    failure: SingleFailure,
    work: SurveyWork,
    find: Callable[[str], Collective],
) -> Surveyed:
    with interrupted_at(work.until):
        try:
            machine, rest = left(whole.topology, [failure.damage], collective, find)
        except ImpossibleError as error:
            return Surveyed(failure, refused=error.message)
        except (LocatedError, UsageError) as error:
            message = error.message if isinstance(error, LocatedError) else str(error)
            return Surveyed(failure, left_out=message)
        known = None if work.folder is None else work.folder.read(machine.topology, rest)
    if known is not None and known.complete and known.points:
        return Surveyed(failure, Repair(machine, whole, known))
    seeds = warm_start_seeds(machine, collective, rest, whole.points, whole.families)
    frontier = work.search(machine.topology, rest, work.until.sooner(work.seconds), seeds)
    if work.folder is not None and (frontier.points or frontier.complete):
        work.folder.write(frontier)
    return Surveyed(failure, Repair(machine, whole, frontier))


COLUMNS: dict[str, type] = {
    "broken": str,
    "alike": int,
    "steps": int,
    "whole": float,
    "exact_whole": str,
    "now": float,
    "exact_now": str,
    "bound": float,
    "exact_bound": str,
    "lost": float,
    "lost_for_good": float,
    "gap": float,
    "found_by": str,
    "refused": str,
    "left_out": str,
}
"""The columns of `rows`: steps is missing in the row for any number of steps."""


def rows(found: Survey) -> list[dict[str, Any]]:
    """A row for each failure and number of steps, the worst failure first."""
    order = [*found.fatal, *found.worst, *found.left_out]
    order += [one for one in found.surveyed if one not in order]
    listed = []
    for one in order:
        first = {
            "broken": one.words,
            "alike": one.failure.images,
            "refused": one.refused or None,
            "left_out": one.left_out or None,
        }
        lines = () if one.repair is None else one.repair.losses
        listed += [{**dict.fromkeys(COLUMNS), **first, **_cells(loss)} for loss in lines]
        if not lines:
            listed.append({**dict.fromkeys(COLUMNS), **first})
    return listed


def _cells(loss: Loss) -> dict[str, Any]:
    cells: dict[str, Any] = {"steps": loss.steps, "found_by": loss.found_by or None}
    for name in ("whole", "now", "bound", "lost", "lost_for_good", "gap"):
        value = getattr(loss, name)
        cells[name] = None if value is None else float(value)
        if f"exact_{name}" in COLUMNS:
            cells[f"exact_{name}"] = None if value is None else str(value)
    return cells
