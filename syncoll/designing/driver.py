"""From families and conditions to a design: candidates first, then their bounds."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from syncoll.deadline import Deadline, interrupted_at
from syncoll.designing.assessing import assess
from syncoll.designing.candidates import Candidate, find_candidates
from syncoll.designing.design import Design, Question
from syncoll.errors import SpecError
from syncoll.results import LowerBounds
from syncoll.spec import Family, conditions_of

__all__ = ["design"]


def design(
    families: Sequence[Family],
    question: Question,
    jobs: int,
    until: Deadline,
    *,
    told: Callable[[int, int, str], None],
    keep: Callable[[Candidate, LowerBounds], None],
) -> Design:
    """Proves the bounds of all members of families.

    Raises:
        SpecError: when a family or a condition makes no sense, or no member is left.
        OutOfTimeError: when the time was over before it was known what the members are.
    """
    began = time.perf_counter()
    conditions = [part for text in question.conditions for part in conditions_of(text)]
    with interrupted_at(until):
        made = find_candidates(families, conditions, question.most, until)
    if not made.found:
        for error, _ in made.left_out.values():
            raise error
        names = ", ".join(family.reference for family in families)
        raise SpecError(
            f"no member of {names} with parameters from 1 to {question.most} is left",
            None,
            "a condition that some of them meet",
        )
    order = sorted(made.found, key=lambda one: (one.costs.nodes, one.costs.ports, one.costs.links))
    found = assess(order, question.collectives, jobs=jobs, until=until, told=told, keep=keep)
    return Design(
        question,
        tuple(found.assessed),
        made.left_out,
        found.complete,
        found.interrupted,
        time.perf_counter() - began,
    )
