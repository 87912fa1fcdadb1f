"""A solver with a memory: asked again it answers at once, with an algorithm that is verified."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from syncoll.errors import BackendError
from syncoll.formula import FormulaSize, Limits, Outcome, StopReason, Verdict
from syncoll.model import Instance
from syncoll.plugins import PluginManager
from syncoll.search import SearchRequest, search
from syncoll.solving import Solution, Solver
from syncoll.store import RememberingSolver, SolutionMemory, Store, asked_text
from syncoll.testing import classics
from syncoll.testing.instances import random_instance
from syncoll.verify import require_valid

Renumber = Callable[[int, random.Random], Any]

SIZE = FormulaSize(0, 0, 0, 0, 0, 0, 0, frozenset())


def asked(_: Instance) -> str:
    return asked_text("step", {"a": 1}, "cpsat", {})


@pytest.fixture(scope="module")
def solver() -> Iterator[Solver]:
    with Solver(PluginManager.discover(), limits=Limits(threads=2)) as solver:
        yield solver


class Counting:
    """Passes questions on to a solver, and counts them."""

    def __init__(self, solver: Solver) -> None:
        self.solver, self.count = solver, 0
        self.limits = solver.limits
        self.encoding, self.backend = solver.encoding, solver.backend

    def solve(self, instance: Instance, **limits: Any) -> Solution:
        self.count += 1
        return self.solver.solve(instance, **limits)

    def close(self) -> None:
        raise AssertionError("the solver is another's")


class GivesUp:
    """Answers unknown for a given reason."""

    def __init__(self, reason: StopReason) -> None:
        self.reason, self.count, self.limits = reason, 0, Limits(seconds=20.0)
        self.closed = False

    def solve(
        self,
        instance: Instance,
        *,
        seconds: float | None = None,
        should_stop: Callable[[], bool] | None = None,
    ) -> Solution:
        self.count += 1
        outcome = Outcome(Verdict.UNKNOWN, reason=self.reason, message="no luck")
        return Solution(instance, outcome, None, "e", "b", SIZE, SIZE, {"solve": 1.0})

    def close(self) -> None:
        self.closed = True


def test_the_second_time_the_solver_is_not_asked(
    store: Store, solver: Solver, renumbering: Renumber
) -> None:
    counting = Counting(solver)
    remembering = RememberingSolver(counting, store, asked)
    verdicts = set()
    for seed in range(25):
        rng = random.Random(seed)
        instance = random_instance(rng)
        first = remembering.solve(instance)
        assert counting.count == seed + 1
        turned = renumbering(instance.topology.num_nodes, rng).instance(instance)
        for again in (instance, turned):
            second = remembering.solve(again, seconds=1.0)
            assert second.verdict is first.verdict
            assert second.instance is again
            assert second.total_seconds == first.total_seconds
            assert (second.encoding, second.backend) == (first.encoding, first.backend)
            assert (second.size, second.lowered_size) == (first.size, first.lowered_size)
            if second.algorithm is not None:
                require_valid(again, second.algorithm)
        assert counting.count == seed + 1
        verdicts.add(first.verdict)
    assert verdicts == {Verdict.SAT, Verdict.UNSAT}
    assert remembering.memory.remembered == 50


def test_a_search_asked_again_asks_no_solver(path: Path, solver: Solver) -> None:
    request = SearchRequest(classics.ring(5), classics.allgather(), max_chunks=4)
    frontiers, counts = [], []
    for _ in range(2):
        with Store.open(path) as store:
            counting = Counting(solver)
            frontiers.append(
                search(request, cast(Solver, RememberingSolver(counting, store, asked)))
            )
            counts.append(counting.count)
    assert counts[0] > 0
    assert counts[1] == 0
    one, two = ([(p.steps, p.rounds, p.chunks) for p in f.points] for f in frontiers)
    assert one == two
    assert one


def test_unknown_after_a_time_is_remembered_for_that_time(store: Store) -> None:
    gives_up = GivesUp(StopReason.TIME_LIMIT)
    remembering = RememberingSolver(gives_up, store, asked)
    instance = random_instance(0)
    counts = []
    for seconds in (5.0, 5.0, 4.0, 6.0, None, None, 100.0, 3.0):
        solution = remembering.solve(instance, seconds=seconds)
        assert solution.verdict is Verdict.UNKNOWN
        assert solution.outcome.reason is StopReason.TIME_LIMIT
        assert solution.outcome.message == "no luck"
        counts.append(gives_up.count)
    assert counts == [1, 1, 1, 2, 3, 3, 3, 3]  # None and 100 mean the solver's own 20 seconds


@pytest.mark.parametrize(
    "reason", [StopReason.INTERRUPTED, StopReason.CRASHED, StopReason.MEMORY_LIMIT]
)
def test_what_may_go_better_next_time_is_asked_again(store: Store, reason: StopReason) -> None:
    gives_up = GivesUp(reason)
    remembering = RememberingSolver(gives_up, store, asked)
    for count in (1, 2):
        remembering.solve(random_instance(0), seconds=5.0)
        assert gives_up.count == count


def test_what_the_solver_raises_is_passed_on(store: Store) -> None:
    class Lies(GivesUp):
        def solve(self, instance: Instance, **_: Any) -> Solution:
            raise BackendError("it lied")

    with pytest.raises(BackendError, match="it lied"):
        RememberingSolver(Lies(StopReason.CRASHED), store, asked).solve(random_instance(0))
    assert store.describe().answers == 0


def test_everything_else_is_the_solvers(store: Store, solver: Solver) -> None:
    instance = random_instance(0)
    remembering = RememberingSolver(solver, store, asked)
    assert remembering.encoding is solver.encoding
    assert remembering.backend is solver.backend
    assert remembering.limits is solver.limits
    assert remembering.encoding_for(instance) is solver.encoding_for(instance)
    with pytest.raises(AttributeError):
        _ = remembering.no_such_thing
    gives_up = GivesUp(StopReason.TIME_LIMIT)
    changing = RememberingSolver(gives_up, store, asked)
    changing.solve(instance)
    changing.limits = Limits(seconds=30.0)  # type: ignore[misc]
    assert gives_up.limits.seconds == 30.0
    changing.solve(instance)
    assert gives_up.count == 2  # there is more time than before
    store.clear()
    with RememberingSolver(gives_up, store, asked):
        pass
    assert gives_up.closed
    assert store.describe().answers == 0  # the store is still open


def test_the_two_halves(store: Store, solver: Solver) -> None:
    memory = SolutionMemory(store, asked, solver.limits)
    instance = classics.broadcast().instantiate(classics.ring(4), chunks=1, steps=2, rounds=2)
    assert memory.look_up(instance) is None
    assert memory.keep(solver.solve(instance))
    found = memory.look_up(instance)
    assert found is not None
    assert found.verdict is Verdict.SAT
    assert found.outcome.assignment is not None


def test_a_store_in_trouble_leaves_the_solver_alone(path: Path, solver: Solver) -> None:
    told: list[str] = []
    store = Store.open(path, on_trouble=told.append)
    counting = Counting(solver)
    remembering = RememberingSolver(counting, store, asked)
    store.close()
    instance = random_instance(0)
    for count in (1, 2):
        assert remembering.solve(instance).verdict is not Verdict.UNKNOWN
        assert counting.count == count


def test_who_is_asked_is_told_apart() -> None:
    base = asked_text("step", {"a": 1, "b": 2}, "cpsat", {"c": True})
    assert base == asked_text("step", {"b": 2, "a": 1}, "cpsat", {"c": True})
    others = {
        asked_text("path", {"a": 1, "b": 2}, "cpsat", {"c": True}),
        asked_text("step", {"a": 1, "b": 3}, "cpsat", {"c": True}),
        asked_text("step", {"a": 1, "b": 2}, "z3", {"c": True}),
        asked_text("step", {"a": 1, "b": 2}, "cpsat", {"c": False}),
    }
    assert len(others | {base}) == 5
