"""A solver that answers searches by rules of a test, and an observer that keeps a diary."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, cast

import numpy as np

from syncoll.formula import Assignment, FormulaBuilder, Outcome, StopReason, Verdict
from syncoll.ledger import Candidate, Observer, SearchRequest
from syncoll.model import Algorithm, Instance
from syncoll.results import Frontier, Point, Solution
from syncoll.searching import search
from syncoll.solving import Solver
from syncoll.symmetry import Action
from syncoll.trust import require_valid
from tests.oracles.classics import allgather, dgx1

F = Fraction

Rule = Callable[[Instance], Outcome | None]
"""The answer to an instance; None to let the real solver decide."""

SIZE = FormulaBuilder().build().size()


def unknown(reason: StopReason = StopReason.TIME_LIMIT, message: str = "") -> Outcome:
    return Outcome(Verdict.UNKNOWN, reason=reason, message=message)


NOT_SYMMETRIC = unknown(StopReason.NOT_SYMMETRIC)


class Scripted:
    """A solver that answers by a rule, and records its questions."""

    def __init__(self, solver: Solver, rule: Rule) -> None:
        self.solver, self.rule = solver, rule
        self.asked: list[tuple[int, int, int]] = []
        self.seconds: list[float | None] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.solver, name)

    def solve(
        self,
        instance: Instance,
        *,
        seconds: float | None = None,
        symmetry: Action | None = None,
        **_: object,
    ) -> Solution:
        if symmetry is not None:
            return Solution(instance, NOT_SYMMETRIC, None, "scripted", "scripted", SIZE, SIZE)
        self.asked.append((instance.steps, instance.rounds, instance.chunks))
        self.seconds.append(seconds)
        outcome = self.rule(instance)
        if outcome is None:
            return self.solver.solve(instance, seconds=60.0)
        return Solution(instance, outcome, None, "scripted", "scripted", SIZE, SIZE)


class Planned(Scripted):
    """Answers with the sends of a plan, and otherwise with unknown."""

    def __init__(
        self, solver: Solver, plan: Callable[[Instance], list[tuple[int, ...]] | None]
    ) -> None:
        super().__init__(solver, lambda _: unknown())
        self.plan = plan

    def solve(self, instance: Instance, **how: Any) -> Solution:
        sends = self.plan(instance)
        if sends is None:
            return super().solve(instance, seconds=how.get("seconds"))
        algorithm = Algorithm((0,) * instance.steps, np.array(sends))
        algorithm = algorithm.with_rounds(instance.topology, instance.rounds)
        require_valid(instance, algorithm)
        nothing = Assignment(np.zeros(1, dtype=bool), np.zeros(0, dtype=np.int64))
        outcome = Outcome(Verdict.SAT, nothing)
        return Solution(instance, outcome, algorithm, "planned", "planned", SIZE, SIZE)


class Diary(Observer):
    def __init__(self) -> None:
        self.tried: list[Candidate] = []
        self.verdicts: dict[Candidate, list[Verdict]] = {}
        self.best: list[tuple[tuple[int, Fraction], ...]] = []
        self.bounds: dict[int | None, Fraction] = {}

    def bounded(self, steps: int | None, bandwidth: Fraction) -> None:
        self.bounds[steps] = bandwidth

    def trying(self, candidate: Candidate) -> None:
        self.tried.append(candidate)

    def settled(self, candidate: Candidate, verdict: Verdict, seconds: float) -> None:
        self.verdicts.setdefault(candidate, []).append(verdict)

    def found(self, points: tuple[Point, ...]) -> None:
        self.best.append(tuple((p.steps, p.bandwidth) for p in points))


def run(
    solver: Solver,
    rule: Rule,
    request: SearchRequest,
    diary: Diary | None = None,
    on_points: Callable[[Frontier], None] | None = None,
) -> tuple[Frontier, Scripted]:
    scripted = Scripted(solver, rule)
    return search(
        request, cast("Solver", scripted), diary or Diary(), on_points=on_points
    ), scripted


def costs(frontier: Frontier) -> list[tuple[int, Fraction]]:
    return [(p.steps, p.bandwidth) for p in frontier.points]


DGX1 = SearchRequest(dgx1(), allgather())
