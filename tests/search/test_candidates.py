"""The candidates of a search: the order of a strategy, and the limits of a request."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import count
from typing import Any

import pytest

from syncoll.errors import ModelError, UsageError
from syncoll.formula import Verdict
from syncoll.ledger import BoundsTable, Candidate, CandidateSource, SearchRequest, Strategy
from syncoll.model import Collective, Instance, Topology
from syncoll.solving import Solver
from syncoll.testing.brute_force import TooLargeError, has_algorithm
from tests.oracles.classics import (
    allgather,
    alltoall,
    broadcast,
    bus,
    dgx1,
    line,
    one_way_ring,
    ring,
)

from .scripted import DGX1, Diary, costs, run

F = Fraction


def algorithm_1(
    topology: Topology,
    collective: Collective,
    k: int,
    b_l: Fraction,
    max_steps: int,
    solver: Solver,
) -> Iterator[tuple[Candidate, bool]]:
    """Algorithm 1 of the SCCL paper, line by line, with brute force for its solver where it can be.

    It only continues with candidates that are cheaper than every reported point.
    """

    def instance(steps: int, rounds: int, chunks: int) -> Instance:
        return collective.instantiate(topology, chunks=chunks, steps=steps, rounds=rounds)

    a_l = instance(0, 0, collective_unit(topology, collective)).least_steps
    reported = F(10**6)
    for steps in range(a_l, max_steps + 1):
        pairs = [
            (F(rounds, chunks), chunks, rounds)
            for rounds in range(steps, steps + k + 1)
            for chunks in range(1, math.floor(rounds / b_l) + 1)
            if F(rounds, chunks) >= b_l and collective.admits(topology.num_nodes, chunks)
        ]
        for ratio, chunks, rounds in sorted(pairs):
            if ratio >= reported:
                break
            try:
                satisfiable = has_algorithm(instance(steps, rounds, chunks), most_work=20_000)
            except TooLargeError:
                solution = solver.solve(instance(steps, rounds, chunks))
                satisfiable = solution.verdict is Verdict.SAT
            yield Candidate(steps, rounds, chunks), satisfiable
            if satisfiable:
                reported = ratio
                if ratio == b_l:
                    return
                break


def collective_unit(topology: Topology, collective: Collective) -> int:
    return next(c for c in count(1) if collective.admits(topology.num_nodes, c))


@pytest.mark.parametrize(
    ("topology", "collective", "k", "b_l", "max_steps"),
    [
        (ring(4), allgather(), 1, F(3, 2), 4),
        (line(3), allgather(), 0, F(2), 4),
        (line(3), allgather(), 3, F(2), 4),
        (one_way_ring(3, F(2, 3)), broadcast(), 2, F(3, 2), 5),
        (one_way_ring(3, F(2, 3)), broadcast(), 4, F(3, 2), 5),
        (one_way_ring(4), broadcast(), 0, F(1), 6),
        (one_way_ring(4), broadcast(), 2, F(1), 5),
        (bus(3), broadcast(), 3, F(2), 3),
        (ring(4), alltoall(), 2, F(1, 2), 4),
        (ring(3, F(3, 2)), allgather(), 2, F(2, 3), 3),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_paper_strategy_is_algorithm_1(
    topology: Topology,
    collective: Collective,
    k: int,
    b_l: Fraction,
    max_steps: int,
    solver: Solver,
) -> None:
    expected = list(algorithm_1(topology, collective, k, b_l, max_steps, solver))
    diary = Diary()
    request = SearchRequest(topology, collective, Strategy.PAPER, k=k, max_steps=max_steps)
    frontier, _ = run(solver, lambda _: None, request, diary)
    assert diary.tried == [candidate for candidate, _ in expected]
    verdicts = [diary.verdicts[candidate] for candidate in diary.tried]
    assert verdicts == [[Verdict.SAT if yes else Verdict.UNSAT] for _, yes in expected]
    # An algorithm may turn out to use fewer steps than it was allowed, which happens where a chunk
    # takes more than a round: then its point replaces dominated ones.
    reported = [(c.steps, c.bandwidth) for c, yes in expected if yes]
    found = costs(frontier)
    assert all(any(s <= steps and b <= cost for s, b in found) for steps, cost in reported)
    assert {cost for _, cost in found} <= {cost for _, cost in reported}
    if min(bound.chunks_per_round for bound in topology.bounds) >= 1:
        assert found == reported
    assert frontier.least_bandwidth == b_l
    assert f"k = {k}" in frontier.scope
    reached = any(candidate.bandwidth == b_l for candidate, yes in expected if yes)
    assert (frontier.open == ()) == reached


class TestLimits:
    def source(self, *arguments: Any, **limits: Any) -> CandidateSource:
        request = SearchRequest(*arguments, **limits)
        return CandidateSource(request, BoundsTable(request.topology, request.collective))

    @pytest.mark.parametrize(
        ("topology", "collective", "k"),
        [
            # The least R with R/C = b_l for an integer C, and R >= S at S = a_l.
            (dgx1(), allgather(), 5),  # (6, 2, 7)
            (dgx1(), alltoall(), 1),  # (8, 2, 8/3) does not exist: (24, 2, 8) has k = 6
            (ring(8), allgather(), 3),  # (2, 4, 7)
            (line(2), broadcast(), 0),
        ],
        ids=lambda value: getattr(value, "name", None),
    )
    def test_the_default_k_admits_a_bandwidth_optimal_point(
        self, topology: Topology, collective: Collective, k: int
    ) -> None:
        source = self.source(topology, collective, Strategy.PAPER)
        assert source.k is not None
        steps, b_l = source.least_steps, source.bounds.bandwidth()

        def admits(most_k: int) -> bool:
            return any(
                F(rounds, b_l.numerator) * b_l.denominator == int(rounds / b_l)
                and collective.admits(topology.num_nodes, int(rounds / b_l))
                for rounds in range(steps, steps + most_k + 1)
                if (rounds / b_l).denominator == 1
            )

        assert admits(source.k)
        assert source.k == 0 or not admits(source.k - 1)
        if collective.name != "alltoall":
            assert source.k == k
        candidates = list(source.candidates(steps, None))
        assert candidates[0].bandwidth == b_l

    def test_the_certified_strategy_has_no_k(self) -> None:
        assert self.source(dgx1(), allgather()).k is None
        assert "k =" not in self.source(dgx1(), allgather()).scope

    @pytest.mark.parametrize("strategy", Strategy)
    def test_limits_on_candidates(self, strategy: Strategy) -> None:
        source = self.source(
            dgx1(), allgather(), strategy, k=3, max_rounds=5, max_chunks=3, max_steps=4
        )
        for steps in (2, 3, 4):
            found = list(source.candidates(steps, None))
            assert found
            for candidate in found:
                assert candidate.steps == steps
                assert steps <= candidate.rounds <= min(5, steps + 3)
                assert candidate.chunks <= 3
            assert len(set(found)) == len(found)
            ratios = [candidate.bandwidth for candidate in found]
            assert ratios == sorted(ratios)
        assert "R <= 5" in source.scope
        assert "C <= 3" in source.scope
        assert "k = 3" in source.scope

    def test_all_candidates_within_the_limits_are_listed(self) -> None:
        source = self.source(dgx1(), allgather(), k=3, max_rounds=5, max_chunks=3)
        found = {(c.rounds, c.chunks) for c in source.candidates(3, None)}
        assert found == {(r, c) for r in range(3, 6) for c in range(1, 4) if F(r, c) >= F(7, 6)}

    def test_only_cheaper_candidates(self) -> None:
        source = self.source(dgx1(), allgather())
        assert [c.bandwidth for c in source.candidates(3, F(6, 5))][:1] == [F(7, 6)]
        assert all(c.bandwidth < F(6, 5) for c in source.candidates(3, F(6, 5)))
        assert list(source.candidates(3, F(7, 6))) == []

    def test_only_chunks_that_the_collective_admits(self) -> None:
        source = self.source(ring(4), alltoall(), max_rounds=8)
        assert source.least_chunks == 4
        chunks = {c.chunks for c in source.candidates(2, None)}
        assert chunks
        assert all(c % 4 == 0 for c in chunks)

    @pytest.mark.parametrize("strategy", Strategy)
    def test_max_steps(self, strategy: Strategy, solver: Solver) -> None:
        request = SearchRequest(dgx1(), allgather(), strategy, max_steps=2)
        frontier, scripted = run(solver, lambda _: None, request)
        assert {steps for steps, _, _ in scripted.asked} == {2}
        assert costs(frontier) == [(2, F(3, 2))]
        assert [(c.least_steps, c.most_steps, c.low, c.high) for c in frontier.open] == [
            (3, None, F(7, 6), F(3, 2))
        ]
        assert "--max-steps" in frontier.open[0].reason

    def test_max_steps_below_the_distance_bound(self, solver: Solver) -> None:
        frontier, scripted = run(solver, lambda _: None, replace(DGX1, max_steps=1))
        assert scripted.asked == []
        assert [(c.least_steps, c.most_steps) for c in frontier.open] == [(2, None)]

    def test_max_rounds(self, solver: Solver) -> None:
        frontier, scripted = run(solver, lambda _: None, replace(DGX1, max_rounds=3))
        assert max(rounds for _, rounds, _ in scripted.asked) <= 3
        assert costs(frontier) == [(2, F(3, 2))]

    def test_max_chunks(self, solver: Solver) -> None:
        frontier, scripted = run(solver, lambda _: None, replace(DGX1, max_chunks=1))
        assert {chunks for _, _, chunks in scripted.asked} == {1}
        assert costs(frontier) == [(2, F(2))]

    def test_no_chunks_within_the_limit(self) -> None:
        with pytest.raises(UsageError, match="defined for no C up to 3 on 4 nodes: a multiple"):
            self.source(ring(4), alltoall(), max_chunks=3)

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("k", -1),
            ("max_steps", -1),
            ("max_rounds", -1),
            ("max_chunks", 0),
            ("time_limit", -0.5),
            ("point_limit", -1),
        ],
    )
    def test_invalid_limits(self, name: str, value: float) -> None:
        limits: dict[str, Any] = {name: value}
        with pytest.raises(UsageError, match=f"{name} is {value}; it must be at least"):
            SearchRequest(dgx1(), allgather(), **limits)

    def test_a_collective_that_is_impossible_on_the_machine(self) -> None:
        with pytest.raises(ModelError, match=r"starts nowhere|is empty"):
            self.source(ring(4), broadcast(9))
