"""Frontiers and single points of combining collectives, and their files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from syncoll.documents import frontier_document, load_text, read_file, to_text, write_document
from syncoll.errors import FileFormatError, ModelError, SyncollError, UsageError
from syncoll.formula import Verdict
from syncoll.ledger import SearchRequest, Strategy
from syncoll.model import Collective, Instance, Topology, inverse_of, sequence_of
from syncoll.plugins import PluginManager
from syncoll.results import Solution
from syncoll.searching import OUT_OF_MEMORY, AnswerSource, search, solve_one
from syncoll.solving import Solver
from syncoll.spec import SpecLibrary
from syncoll.trust import violations
from tests.oracles import naive_combining as naive
from tests.search.test_claims import seeding

MANAGER = PluginManager.discover()
SPECS = SpecLibrary([record.folder for record in MANAGER.spec_libraries.values()])


@pytest.fixture(scope="module")
def solver() -> Iterator[Solver]:
    with Solver(MANAGER) as solver:
        yield solver


def _request(topology: str, collective: str, **limits: object) -> SearchRequest:
    request = SearchRequest(SPECS.topology(topology), SPECS.collective(collective))
    return replace(request, **limits)  # type: ignore[arg-type]


def _one_way(bandwidth: dict[tuple[int, int], Fraction]) -> Topology:
    return Topology.from_links("one-way", 3, bandwidth)


@pytest.mark.slow
def test_allreduce_on_a_cube(solver: Solver, tmp_path: Path) -> None:
    answers = AnswerSource(solver, seeding=seeding())
    frontier = search(_request("hypercube(3)", "allreduce"), answers)
    costs = [(p.steps, p.bandwidth) for p in frontier.best]
    assert costs[0] == (3, 1)
    assert costs[-1] == (5, Fraction(7, 12))
    assert costs[-1][1] == frontier.least_bandwidth
    for point in frontier.points:
        assert violations(point.instance, point.algorithm) == []
        assert point.bound is not None
        assert point.bound <= point.bandwidth
    for claim in frontier.open:  # an open claim lies between a proved bound and a point
        assert claim.high is None or claim.low < claim.high
    write_document(tmp_path / "f.json", frontier_document(frontier))
    again = read_file(tmp_path / "f.json")
    assert [a.algorithm for a in again.algorithms] == [p.algorithm for p in frontier.points]


@pytest.mark.parametrize(
    ("collective", "costs"),
    [
        ("reducescatter", {(2, Fraction(3, 16)), (3, Fraction(7, 48))}),
        ("reduce", {(2, Fraction(1)), (3, Fraction(1, 2)), (4, Fraction(1, 3))}),
    ],
)
def test_duals_on_a_dgx1(collective: str, costs: set[tuple[int, Fraction]], solver: Solver) -> None:
    frontier = search(_request("dgx1", collective, max_steps=4), solver)
    assert {(p.steps, p.bandwidth) for p in frontier.points} == costs
    for point in frontier.points:
        assert point.bandwidth == point.bound
        assert point.instance.combining
        assert point.instance.topology == SPECS.topology("dgx1")
        assert violations(point.instance, point.algorithm) == []


@pytest.mark.parametrize("strategy", Strategy)
def test_inversion_on_one_way_links(strategy: Strategy, solver: Solver) -> None:
    """Round a one-way ring with one slow link; the dual runs on the reversed ring."""
    topology = _one_way({(0, 1): Fraction(1), (1, 2): Fraction(1, 2), (2, 0): Fraction(1)})
    request = SearchRequest(topology, SPECS.collective("reduce(root=2)"), strategy, max_steps=3)
    frontier = search(request, solver)
    assert frontier.points
    for point in frontier.points:
        assert naive.is_valid(point.instance, point.algorithm)
        assert {(a, b) for _, a, b, _ in point.algorithm.sends.tolist()} <= set(topology.links)
    # All data pass from 1 to 2: at half a chunk a round that takes 2 rounds for each chunk.
    assert min(p.bandwidth for p in frontier.points) >= 2


@pytest.mark.parametrize(
    ("topology", "costs"),
    [
        ("line(3)", {2: Fraction(2), 3: Fraction(3, 2), 4: Fraction(4, 3)}),
        ("star(4)", {2: Fraction(2), 3: Fraction(3, 2), 4: Fraction(4, 3)}),
        ("ring(4)", {2: Fraction(1), 3: Fraction(3, 4)}),
    ],
)
def test_allreduce_at_the_diameter(
    topology: str, costs: dict[int, Fraction], solver: Solver
) -> None:
    frontier = search(_request(topology, "allreduce", max_steps=4), solver)
    assert {p.steps: p.bandwidth for p in frontier.points} == costs
    assert all(naive.is_valid(p.instance, p.algorithm) for p in frontier.points)


def test_limits_that_leave_no_composition(solver: Solver) -> None:
    frontier = search(_request("ring(4)", "allreduce", max_chunks=2, max_steps=2), solver)
    assert [(p.steps, p.bandwidth) for p in frontier.points] == [(2, 1)]
    with pytest.raises(UsageError, match="reducescatter"):
        search(_request("ring(4)", "reducescatter", max_chunks=3), solver)


def test_time_that_runs_out_leaves_open_claims(solver: Solver) -> None:
    frontier = search(_request("dgx1", "allreduce", time_limit=0.2), solver)
    assert not frontier.complete
    assert frontier.open


@pytest.mark.parametrize(
    ("collective", "chunks", "steps", "rounds", "verdict"),
    [
        ("allreduce", 16, 4, 6, Verdict.SAT),
        ("allreduce", 48, 6, 14, Verdict.SAT),
        ("allreduce", 8, 4, 4, Verdict.SAT),
        ("allreduce", 1, 2, 1, Verdict.UNSAT),
        ("allreduce", 1, 2, 2, Verdict.SAT),
        ("reducescatter", 48, 3, 7, Verdict.SAT),
        ("reducescatter", 8, 2, 1, Verdict.UNSAT),
        ("reduce(root=5)", 6, 3, 5, Verdict.SAT),
        ("scatter", 48, 3, 7, Verdict.SAT),
    ],
)
def test_single_points(
    collective: str, chunks: int, steps: int, rounds: int, verdict: Verdict, solver: Solver
) -> None:
    solution = solve_one(
        solver,
        SPECS.topology("dgx1"),
        SPECS.collective(collective),
        chunks=chunks,
        steps=steps,
        rounds=rounds,
        seconds=60,
    )
    assert solution.verdict is verdict
    assert (solution.instance.chunks, solution.instance.steps) == (chunks, steps)
    if solution.algorithm is not None:
        assert violations(solution.instance, solution.algorithm) == []
        assert solution.algorithm.rounds == rounds


def test_a_question_too_large_to_encode_is_unknown_not_unsat(solver: Solver) -> None:
    dgx1, allreduce = SPECS.topology("dgx1"), SPECS.collective("allreduce")
    solution = solve_one(solver, dgx1, allreduce, chunks=48, steps=3, rounds=30, seconds=30)
    assert solution.verdict is Verdict.UNKNOWN
    assert "products of variables" in solution.outcome.message


def test_a_file_that_lies_about_contributions_is_refused(solver: Solver) -> None:
    frontier = search(_request("ring(4)", "allreduce", max_steps=2), solver)
    document = json.loads(to_text(frontier_document(frontier)))
    assert load_text(json.dumps(document), "f").algorithms
    sends = document["points"][0]["algorithm"]["contributions"]
    refused = 0
    for i, carried in enumerate(sends):
        for change in ([], [*carried, *(n for n in range(4) if n not in carried)][:4], [9]):
            if sorted(change) == sorted(carried):
                continue
            sends[i] = change
            with pytest.raises(SyncollError):
                load_text(json.dumps(document), "f")
            refused += 1
        sends[i] = carried
    assert refused > 20
    sends.pop()
    with pytest.raises(FileFormatError, match="contributions to 15 sends, but there are 16"):
        load_text(json.dumps(document), "f")
    document["points"][0]["combining"] = False
    with pytest.raises(SyncollError):
        load_text(json.dumps(document), "f")


def test_several_roots_cannot_be_inverted(solver: Solver) -> None:
    both = Collective.from_arrays("both", [[True, True, False]], [[True, True, True]])
    with pytest.raises(ModelError, match="2 roots"):
        search(SearchRequest(SPECS.topology("line(3)"), inverse_of(both, "bad")), solver)


def test_composed_points_keep_the_limits(solver: Solver) -> None:
    frontier = search(_request("ring(4)", "allreduce", max_rounds=2, max_chunks=4), solver)
    assert frontier.points
    for point in frontier.points:
        assert point.rounds <= 2
        assert point.chunks <= 4
    frontier = search(_request("ring(4)", "allreduce", k=0, max_chunks=8), solver)
    assert all(p.rounds <= p.steps for p in frontier.points)


@pytest.mark.parametrize("collective", ["allgather", "allreduce", "reducescatter"])
def test_zero_steps_are_too_few(collective: str, solver: Solver) -> None:
    ring, what = SPECS.topology("ring(4)"), SPECS.collective(collective)
    solution = solve_one(solver, ring, what, chunks=4, steps=0, rounds=3)
    assert solution.verdict is Verdict.UNSAT


def test_an_interrupt_in_a_part_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    # On a one-way ring the reversed topology is another one, so both parts are searched.
    topology = _one_way({(0, 1): Fraction(1), (1, 2): Fraction(1), (2, 0): Fraction(2)})
    with Solver(MANAGER) as solver:
        asked = []
        ask = solver.solve

        def interrupt(instance: Instance, **options: object) -> Solution:
            asked.append(instance.collective)
            if instance.topology.name == "one-way":
                raise KeyboardInterrupt
            return ask(instance, **options)  # type: ignore[arg-type]

        monkeypatch.setattr(solver, "solve", interrupt)
        frontier = search(SearchRequest(topology, SPECS.collective("allreduce")), solver)
    assert frontier.interrupted
    assert not frontier.complete
    assert set(asked) == {"allgather"}


def test_a_search_without_memory_is_not_complete(
    monkeypatch: pytest.MonkeyPatch, solver: Solver
) -> None:
    def exhausted(*_: object, **__: object) -> Solution:
        raise MemoryError("this command has 9.0 GiB")

    request = _request("line(3)", "allreduce", max_steps=3, max_chunks=2)
    assert search(request, solver).complete
    monkeypatch.setattr(solver, "solve", exhausted)
    frontier = search(request, solver)
    assert frontier.open
    assert not frontier.complete
    assert any(OUT_OF_MEMORY in claim.reason for claim in frontier.open)


def test_a_chunk_without_destinations(solver: Solver) -> None:
    post = [[True, False, False], [False, False, False], [False, False, False]]
    pick = Collective.from_arrays("pick", [[i == j for j in range(3)] for i in range(3)], post)
    what = sequence_of([[SPECS.collective("reducescatter"), pick]], "y")
    frontier = search(SearchRequest(SPECS.topology("ring(3)"), what, max_steps=2), solver)
    assert frontier.points
    assert all(naive.is_valid(p.instance, p.algorithm) for p in frontier.points)
