"""A search with a store: the second time it answers at once, with verified algorithms."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from syncoll.bounding import rounds_bound
from syncoll.certificates import RoundsBound
from syncoll.errors import BackendError
from syncoll.formula import FormulaSize, Limits, Outcome, StopReason, Verdict
from syncoll.ledger import SearchRequest
from syncoll.model import Collective, Instance, Topology
from syncoll.plugins import PluginManager
from syncoll.results import Frontier, Solution
from syncoll.searching import AnswerSource, search
from syncoll.solving import Solver, SolverPool, SolverSettings
from syncoll.store import CachedBounds, CachedSolutions, Store
from syncoll.testing.instances import random_instance
from syncoll.trust import require_valid
from tests.oracles import classics

MANAGER = PluginManager.discover()
SIZE = FormulaSize(0, 0, 0, 0, 0, 0, 0, frozenset())


@pytest.fixture(scope="module")
def solver() -> Iterator[Solver]:
    with Solver(MANAGER, limits=Limits(threads=2)) as solver:
        yield solver


class Counting:
    """Passes questions on to a solver, and counts them; the rest is the solver's."""

    def __init__(self, solver: Solver) -> None:
        self.solver, self.count = solver, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.solver, name)

    def solve(self, instance: Instance, **limits: Any) -> Solution:
        self.count += 1
        return self.solver.solve(instance, **limits)


class GivesUp:
    """Answers unknown for a given reason."""

    backend_name, encoding = "test", SimpleNamespace(name="test")

    def __init__(self, reason: StopReason) -> None:
        self.reason, self.count, self.limits = reason, 0, Limits(seconds=20.0)

    def asked(self, _: Instance) -> str:
        return "gives up"

    def solve(self, instance: Instance, *, seconds: float | None = None, **_: Any) -> Solution:
        self.count += 1
        outcome = Outcome(Verdict.UNKNOWN, reason=self.reason, message="no luck")
        return Solution(instance, outcome, None, "e", "b", SIZE, SIZE, {"solve": 1.0})


class Proving:
    """Bounds with a memory, and how many of them had to be computed."""

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0

        def counted(*arguments: Any, **more: Any) -> RoundsBound:
            self.count += 1
            return rounds_bound(*arguments, **more)

        monkeypatch.setattr("syncoll.store.cache.rounds_bound", counted)
        self.bounds = CachedBounds(store)


def remembering(solver: object, store: Store, pool: SolverPool | None = None) -> AnswerSource:
    """A solver with a memory."""
    asked = cast("Solver", solver)
    return AnswerSource(asked, pool=pool, memory=CachedSolutions(store, asked.asked, asked.limits))


def test_the_second_time_the_solver_is_not_asked(store: Store, solver: Solver) -> None:
    counting = Counting(solver)
    asking = remembering(counting, store)
    verdicts = set()
    for seed in range(25):
        instance = random_instance(seed)
        first = asking.ask(instance, None).result()
        assert counting.count == seed + 1
        again = replace(instance, collective="another name")
        second = asking.ask(again, 1.0).result()
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
    assert isinstance(asking.memory, CachedSolutions)
    assert asking.memory.remembered == 25


SEARCHES = [
    (classics.ring(5), classics.allgather(), 4),
    (classics.line(4), classics.broadcast(), 3),
    (classics.dgx1(), classics.allgather(), 6),
    (classics.one_way_ring(4), classics.alltoall(), 8),
]


@pytest.mark.parametrize("case", SEARCHES, ids=lambda case: f"{case[0].name} {case[1].name}")
def test_a_repeated_search_runs_no_solver(
    case: tuple[Topology, Collective, int],
    path: Path,
    solver: Solver,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither a solver nor a linear program."""
    topology, collective, most = case
    requests = [SearchRequest(topology, collective, max_chunks=most)] * 2
    frontiers: list[Frontier] = []
    counts: list[tuple[int, int]] = []
    for one in requests:
        with Store.open(path) as store, monkeypatch.context() as patch:
            counting, proving = Counting(solver), Proving(store, patch)
            asking = remembering(counting, store)
            asking.prove = proving.bounds.rounds_bound
            frontiers.append(search(one, asking))
            counts.append((counting.count, proving.count))
            assert store.dropped == 0
    assert min(counts[0]) > 0
    assert counts[1:] == [(0, 0)] * (len(requests) - 1)
    costs = [[(p.steps, p.rounds, p.chunks, p.bound) for p in f.points] for f in frontiers]
    assert costs[0]
    assert costs == [costs[0]] * len(requests)
    proofs = [[p.words for p in f.evidence.proofs] for f in frontiers if f.evidence is not None]
    assert proofs == [proofs[0]] * len(requests)
    for one, frontier in zip(requests, frontiers, strict=True):
        for point in frontier.points:
            assert point.instance.topology is one.topology
            require_valid(point.instance, point.algorithm)


def test_unknown_after_a_time_is_remembered_for_that_time(store: Store) -> None:
    gives_up = GivesUp(StopReason.TIME_LIMIT)
    asking = remembering(gives_up, store)
    instance = random_instance(0)
    counts = []
    for seconds in (5.0, 5.0, 4.0, 6.0, None, None, 100.0, 3.0):
        solution = asking.ask(instance, seconds).result()
        assert solution.verdict is Verdict.UNKNOWN
        assert solution.outcome.reason is StopReason.TIME_LIMIT
        assert solution.outcome.message == "no luck"
        counts.append(gives_up.count)
    assert counts == [1, 1, 1, 2, 3, 3, 3, 3]  # None and 100 mean the solver's own 20 seconds


@pytest.mark.parametrize(
    "reason", [r for r in StopReason if r not in (StopReason.DECIDED, StopReason.TIME_LIMIT)]
)
def test_answers_that_may_improve_are_asked_again(store: Store, reason: StopReason) -> None:
    gives_up = GivesUp(reason)
    asking = remembering(gives_up, store)
    for count in (1, 2):
        assert asking.ask(random_instance(0), 5.0).result().verdict is Verdict.UNKNOWN
        assert gives_up.count == count
    assert store.describe().answers == 0


def test_errors_of_the_solver_are_passed_on(store: Store) -> None:
    class Lies(GivesUp):
        def solve(self, instance: Instance, *, seconds: float | None = None, **_: Any) -> Solution:
            raise BackendError("it lied")

    with pytest.raises(BackendError, match="it lied"):
        remembering(Lies(StopReason.CRASHED), store).ask(random_instance(0), None).result()
    assert store.describe().answers == 0


def test_the_two_halves(store: Store, solver: Solver) -> None:
    memory = CachedSolutions(store, solver.asked, solver.limits)
    instance = classics.broadcast().instantiate(classics.ring(4), chunks=1, steps=2, rounds=2)
    assert memory.look_up(instance) is None
    assert memory.keep(solver.solve(instance))
    found = memory.look_up(instance)
    assert found is not None
    assert found.verdict is Verdict.SAT
    assert found.outcome.assignment is not None


def test_a_store_in_trouble_leaves_the_search_alone(path: Path, solver: Solver) -> None:
    messages: list[str] = []
    store = Store.open(path, on_trouble=messages.append)
    counting = Counting(solver)
    asking = remembering(counting, store)
    store.close()
    instance = random_instance(0)
    for count in (1, 2):
        assert asking.ask(instance, None).result().verdict is not Verdict.UNKNOWN
        assert counting.count == count


def test_other_settings_are_other_questions(store: Store) -> None:
    """An answer counts only for the encoding, the backends and the options that it came from."""
    instance = classics.broadcast().instantiate(classics.ring(4), chunks=1, steps=2, rounds=1)
    settings = [
        SolverSettings(),
        SolverSettings(backend="cpsat"),
        SolverSettings(backend="cpsat+pysat"),
        SolverSettings(backend="pysat"),
        SolverSettings(backend="pysat", encoding="path"),
        SolverSettings(backend="pysat", backend_options=(("solver", "glucose4"),)),
    ]
    counts = []
    for _ in range(2):
        for one in settings:
            with Solver(MANAGER, one, start=False) as solver:
                counting = Counting(solver)
                assert (
                    remembering(counting, store).ask(instance, None).result().verdict
                    is Verdict.UNSAT
                )
                counts.append(counting.count)
    assert counts == [1] * len(settings) + [0] * len(settings)


def test_answers_of_a_pool_are_kept_as_they_come(store: Store) -> None:
    """An answer is kept even while the search still waits for an earlier one."""
    settings = SolverSettings(limits=Limits(threads=2))
    easy = classics.broadcast().instantiate(classics.ring(4), chunks=1, steps=2, rounds=2)
    hard = classics.broadcast().instantiate(classics.dgx1(), chunks=47, steps=7, rounds=10)
    with Solver(MANAGER, settings, start=False) as solver, SolverPool(settings, 2) as pool:
        asking = remembering(solver, store, pool)
        waits, comes = asking.ask(hard, None), asking.ask(easy, None)
        assert comes.result().verdict is Verdict.SAT
        waits.cancel()
        assert waits.result().outcome.reason is StopReason.INTERRUPTED
        assert asking.memory is not None
        assert asking.memory.look_up(hard) is None
        assert asking.memory.look_up(easy) is not None
        assert store.describe().answers == 1
        # The search does not wait for this answer.
        other = classics.broadcast().instantiate(classics.ring(4), chunks=1, steps=2, rounds=1)
        unheard = asking.ask(other, None)
        for _ in range(500):
            if store.describe().unsat:
                break
            time.sleep(0.02)
        assert store.describe().unsat == 1
        assert unheard.result().verdict is Verdict.UNSAT
        assert store.describe().answers == 2
