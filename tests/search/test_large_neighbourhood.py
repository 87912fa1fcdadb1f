"""Known algorithms made shorter, a window of steps at a time."""

from __future__ import annotations

import numpy as np
import pytest

import syncoll
from syncoll.deadline import NEVER, Deadline
from syncoll.ledger import BoundsTable, SearchRequest
from syncoll.ledger.events import Log
from syncoll.ledger.ledger import Ledger
from syncoll.model import Algorithm, Collective, Instance
from syncoll.results import Point
from syncoll.searching import AnswerSource
from syncoll.searching.large_neighbourhood import LargeNeighbourhoods, Window
from syncoll.solving import Solver
from syncoll.trust import require_valid
from tests.oracles.classics import allgather, ring


def slow_ring(nodes: int, chunks: int = 1) -> tuple[Instance, Algorithm]:
    """All data go one way round, each chunk in a round of its own."""
    steps = nodes - 1
    sends = [
        (c, (c + s) % nodes, (c + s + 1) % nodes, s)
        for c in range(nodes * chunks)
        for s in range(steps)
    ]
    algorithm = Algorithm((chunks,) * steps, np.array(sends))
    instance = allgather().instantiate(
        ring(nodes), chunks=chunks, steps=steps, rounds=algorithm.rounds
    )
    require_valid(instance, algorithm)
    return instance, algorithm


@pytest.mark.parametrize("first", [0, 1, 2])
def test_a_window_is_an_instance_whose_algorithm_fits_in(first: int, solver: Solver) -> None:
    instance, algorithm = slow_ring(5)
    window = Window.of(instance, algorithm, first, first + 2)
    assert window.instance is not None
    assert (window.instance.steps, window.instance.rounds) == (2, 1)
    solution = solver.solve(window.instance)
    if solution.algorithm is None:
        assert solution.outcome.verdict == "unsat"  # the arriving data fill the links
        return
    whole = window.put(algorithm, solution.algorithm)
    shorter = allgather().instantiate(ring(5), chunks=1, steps=4, rounds=3)
    require_valid(shorter, whole)


def test_a_window_without_a_round_to_spare() -> None:
    instance, algorithm = slow_ring(4)
    idle = Algorithm((*algorithm.rounds_per_step, 0), algorithm.sends)
    assert Window.of(instance, idle, 3, 4).instance is None


def found(
    instance: Instance,
    algorithm: Algorithm,
    solver: Solver,
    *,
    max_chunks: int = 1,
    collective: Collective | None = None,
) -> list[tuple[int, int, int]]:
    """C, S and R of the points, without idle steps."""
    collective = collective or allgather()
    request = SearchRequest(instance.topology, collective, max_chunks=max_chunks)
    answers, bounds = AnswerSource(solver), BoundsTable(request.topology, request.collective)
    ledger = Ledger(request, answers.asked, bounds, Log())
    ledger.record(Point(instance, algorithm, "test", "test", 0.0))
    engine, numbers = LargeNeighbourhoods(ledger, ledger.source, answers), []
    for point in engine.run(ledger, NEVER):
        assert isinstance(point, Point)
        require_valid(point.instance, point.algorithm)
        numbers.append((point.chunks, point.steps, point.rounds))
        ledger.record(point)
    assert not list(engine.run(ledger, Deadline.after(0.0)))
    return numbers


def test_rounds_are_saved_one_by_one(solver: Solver) -> None:
    """One way round takes six rounds for one chunk; both ways could do with three."""
    numbers = found(*slow_ring(7), solver)
    assert numbers[0][2] <= 5
    assert [r for *_, r in numbers] == sorted((r for *_, r in numbers), reverse=True)
    assert numbers[-1][2] < 5


def test_chunks_are_cut_where_no_round_can_be_saved(solver: Solver) -> None:
    """On a ring of four one chunk takes two rounds, and two chunks take three."""
    numbers = found(*slow_ring(4), solver, max_chunks=2)
    # The solver may leave a step of the window idle, so S is 2 or 3.
    assert (2, 3) in [(chunks, rounds) for chunks, _, rounds in numbers]


def test_chunks_with_sizes_are_cut_with_their_own_numbers(solver: Solver) -> None:
    """Two chunks of a node follow one another where sizes are stated."""
    instance, algorithm = slow_ring(4)
    sized = syncoll.collective("allgatherv", [1, 1, 1, 1])
    instance = sized.instantiate(instance.topology, chunks=1, steps=3, rounds=3)
    assert sized.tabulate(4, 2).pre[4].argmax() == 2
    numbers = found(instance, algorithm, solver, max_chunks=2, collective=sized)
    assert (2, 3) in [(chunks, rounds) for chunks, _, rounds in numbers]
