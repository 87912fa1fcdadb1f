"""Symmetric algorithms in a search: when they are looked for, and the effect of the answers."""

from __future__ import annotations

import pickle
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

import syncoll
from syncoll.errors import UnlabelledError, UsageError
from syncoll.formula import FormulaBuilder, Outcome, StopReason, Verdict
from syncoll.ledger import Candidate, Observer, SearchRequest, Strategy
from syncoll.model import Algorithm, Instance
from syncoll.results import Frontier, Solution
from syncoll.searching import AnswerSource, search
from syncoll.searching.point import solve_symmetrically
from syncoll.solving import Solver, SolverPool, SolverSettings
from syncoll.store import CachedSolutions, Store
from syncoll.symmetry import Action, FreeGroup, free_symmetry
from syncoll.trust import require_valid
from tests.oracles.classics import allgather, alltoall, broadcast, ring

SIZE = FormulaBuilder().build().size()

HARD = SearchRequest(ring(6), alltoall(), max_steps=4, max_chunks=12)
"""Small, but a solver that decides nothing makes it hard."""

LARGE = SearchRequest(ring(12), alltoall(), max_steps=6, max_chunks=12)


class Halfway:
    """A solver that only decides questions about symmetric algorithms."""

    def __init__(self, solver: Solver) -> None:
        self.solver = solver
        self.asked: list[tuple[int, int, int, int]] = []
        """S, R, C and the order of the group."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.solver, name)

    def solve(
        self,
        instance: Instance,
        *,
        hint: Algorithm | None = None,
        symmetry: Action | None = None,
        **_: object,
    ) -> Solution:
        order = 1 if symmetry is None else symmetry.group.order
        self.asked.append((instance.steps, instance.rounds, instance.chunks, order))
        if symmetry is not None:
            return self.solver.solve(instance, seconds=60.0, hint=hint, symmetry=symmetry)
        outcome = Outcome(Verdict.UNKNOWN, reason=StopReason.TIME_LIMIT)
        return Solution(instance, outcome, None, "halfway", "halfway", SIZE, SIZE)


class Verdicts(Observer):
    def __init__(self) -> None:
        self.seen: list[Verdict] = []

    def settled(self, candidate: Candidate, verdict: Verdict, seconds: float) -> None:
        self.seen.append(verdict)


def searched(
    request: SearchRequest, solver: Solver, observer: Observer | None = None
) -> tuple[Frontier, Halfway]:
    halfway = Halfway(solver)
    return search(request, cast("Solver", halfway), observer), halfway


def groups_of(instance: Instance) -> tuple[FreeGroup, ...]:
    table = instance.table
    return tuple(free_symmetry(instance.topology, table, thorough=True).chain())


def test_symmetry_finds_points_that_no_solver_decides(solver: Solver) -> None:
    verdicts = Verdicts()
    frontier, asked = searched(HARD, solver, verdicts)
    assert [(p.steps, p.bandwidth) for p in frontier.points] == [(3, Fraction(3, 4))]
    assert frontier.refuted == ()
    assert Verdict.UNSAT not in verdicts.seen
    assert asked.asked[0][3] == 1, "on a small machine the whole is asked first"
    assert any(order > 1 for *_, order in asked.asked)


def test_a_large_machine_is_asked_for_symmetric_algorithms_first(solver: Solver) -> None:
    frontier, asked = searched(LARGE, solver)
    assert asked.asked[0][3] == 12
    assert frontier.points
    for point in frontier.points:
        require_valid(point.instance, point.algorithm)


@pytest.mark.parametrize(
    "request_",
    [
        replace(HARD, symmetric=False),
        replace(HARD, strategy=Strategy.PAPER, k=2),
        SearchRequest(ring(4), broadcast(), max_chunks=2),  # a root stays where it is
    ],
)
def test_some_requests_only_ask_whole_questions(request_: SearchRequest, solver: Solver) -> None:
    frontier, asked = searched(request_, solver)
    assert {order for *_, order in asked.asked} == {1}
    assert frontier.points == ()
    assert frontier.settings["symmetric"] is request_.symmetric


def test_limits_hold_for_symmetric_algorithms(solver: Solver) -> None:
    frontier, asked = searched(replace(HARD, max_rounds=5, max_steps=3), solver)
    assert [(p.steps, p.bandwidth) for p in frontier.points] == [(3, Fraction(5, 6))]
    assert all(s <= 3 and r <= 5 and c <= 12 for s, r, c, _ in asked.asked)


def test_an_encoding_without_labels(solver: Solver) -> None:
    class Unlabelled(Halfway):
        def solve(self, instance: Instance, **how: Any) -> Solution:
            if how.get("symmetry") is not None:
                raise UnlabelledError("who knows what they are about")
            return super().solve(instance, **how)

    halfway = Unlabelled(solver)
    frontier = search(HARD, cast("Solver", halfway))
    assert frontier.points == ()
    assert len(halfway.asked) > 1


def test_the_store_keeps_no_refutation_of_symmetric_algorithms(
    solver: Solver, tmp_path: Path
) -> None:
    """Ring(4) has an alltoall of two rounds that no rotation by one node keeps."""
    instance = alltoall().instantiate(ring(4), chunks=4, steps=2, rounds=2)
    groups = groups_of(instance)[:1]
    with Store.open(tmp_path / "store") as store:
        source = AnswerSource(solver, memory=CachedSolutions(store, solver.asked, solver.limits))
        restricted = source.ask(instance, 60.0, groups=groups).result()
        assert restricted.outcome.reason is StopReason.NOT_SYMMETRIC
        assert source.ask(instance, 60.0).result().verdict is Verdict.SAT
        assert source.ask(instance, 60.0, groups=groups).result().verdict is Verdict.SAT


def test_undecided_whole_questions_are_asked_again_for_groups(
    solver: Solver, tmp_path: Path
) -> None:
    instance = alltoall().instantiate(ring(4), chunks=4, steps=2, rounds=3)
    halfway = cast("Solver", Halfway(solver))
    with Store.open(tmp_path / "store") as store:
        source = AnswerSource(halfway, memory=CachedSolutions(store, solver.asked, solver.limits))
        assert source.ask(instance, 60.0).result().verdict is Verdict.UNKNOWN
        found = source.ask(instance, 60.0, groups=groups_of(instance)).result()
        assert found.verdict is Verdict.SAT
        assert source.ask(instance, 60.0).result().verdict is Verdict.SAT


def test_groups_travel_to_other_processes(solver: Solver) -> None:
    instance = alltoall().instantiate(ring(4), chunks=4, steps=2, rounds=3)
    how = partial(solve_symmetrically, groups=groups_of(instance))
    found = pickle.loads(pickle.dumps(how))(solver, instance, 60.0)
    assert found.restriction is not None
    settings = SolverSettings(backend="cpsat")
    with SolverPool(settings, 2) as pool:
        asked = AnswerSource(solver, pool=pool).ask(instance, 60.0, groups=groups_of(instance))
        assert asked.result().restriction is not None


def test_from_python() -> None:
    found = syncoll.pareto("ring(4)", "allgather", symmetric=False, store="none", progress="none")
    assert found.settings["symmetric"] is False
    with pytest.raises(UsageError, match="symmetric"):
        syncoll.search(found_request(), symmetric=False)
    with pytest.raises(UsageError, match="True or False"):
        syncoll.pareto("ring(4)", "allgather", symmetric=1)  # type: ignore[arg-type]


def found_request() -> SearchRequest:
    return SearchRequest(ring(4), allgather())
