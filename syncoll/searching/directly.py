"""Deciding one instance by the solver alone, with given rounds tried first where that pays.

Rounds that are given make the encoding of a combining instance several times smaller.  No algorithm
with these rounds says nothing about others, so only an algorithm counts; otherwise the rounds are
left to the solver.
"""

from __future__ import annotations

from dataclasses import replace

from syncoll.deadline import NEVER, Deadline
from syncoll.formula import Verdict
from syncoll.model import Algorithm, Instance
from syncoll.results import Solution
from syncoll.solving import Solver

__all__ = ["solve_directly"]

_SHARE_OF_EVEN = 0.6
"""The part of a time limit that is spent on given rounds."""


def solve_directly(
    solver: Solver,
    instance: Instance,
    seconds: float | None,
    hint: Algorithm | None = None,
    until: Deadline = NEVER,
) -> Solution:
    """Decides an instance.

    Args:
        solver: decides.
        instance: combining or not.
        seconds: time limit; None for the solver's own.
        hint: an algorithm for the same chunks, near which there may be one.
        until: when all of it must be over, building the formula too.
    """
    if not instance.combining or instance.rounds_per_step is not None or instance.steps == 0:
        return solver.solve(instance, seconds=seconds, hint=hint, until=until)
    own = Deadline.after(seconds)
    even = replace(instance, rounds_per_step=_evenly(instance.rounds, instance.steps))
    given = None if seconds is None else seconds * _SHARE_OF_EVEN
    solution = solver.solve(even, seconds=given, until=until.share(_SHARE_OF_EVEN))
    if solution.verdict is Verdict.SAT:
        return replace(solution, instance=instance)
    return solver.solve(instance, seconds=own.seconds, until=until)


def _evenly(rounds: int, steps: int) -> tuple[int, ...]:
    """Rounds spread evenly, the odd ones in the middle, where most partial results are about."""
    each, odd = divmod(rounds, max(1, steps))
    first = (steps - odd) // 2
    return tuple(each + (first <= step < first + odd) for step in range(steps))
