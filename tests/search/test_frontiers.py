"""Known frontiers, and frontiers that brute force finds."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from syncoll.errors import UsageError
from syncoll.ledger import SearchRequest, Strategy
from syncoll.model import Collective, Topology, inverse_of
from syncoll.plugins import PluginManager
from syncoll.results import Frontier, Scope
from syncoll.searching import search
from syncoll.solving import Solver
from syncoll.spec import SpecLibrary
from syncoll.testing.brute_force import TooLargeError, least_rounds
from syncoll.testing.instances import random_instance
from syncoll.trust import require_valid
from syncoll.trust.claims import check_claims
from tests.oracles.classics import (
    allgather,
    alltoall,
    broadcast,
    bus,
    dgx1,
    gather,
    hub,
    line,
    one_way_ring,
    ring,
    scatter,
)

F = Fraction

Costs = list[tuple[int, Fraction]]


def costs(frontier: Frontier) -> Costs:
    """(S, R/C) of each point, each verified again."""
    for point in frontier.points:
        require_valid(point.instance, point.algorithm)
        assert (point.instance.steps, point.instance.rounds) == (point.steps, point.rounds)
        assert point.bound is not None
        assert point.bound <= point.bandwidth
    return [(point.steps, point.bandwidth) for point in frontier.points]


KNOWN = [
    (dgx1(), allgather(), [(2, F(3, 2)), (3, F(7, 6))]),
    (dgx1(), gather(), [(2, F(3, 2)), (3, F(7, 6))]),
    (dgx1(), alltoall(), [(2, F(1, 3))]),
    (ring(8), allgather(), [(4, F(7, 2))]),
    (ring(5), allgather(), [(2, F(2))]),
    (hub(4), allgather(), [(1, F(3))]),
    (bus(3), allgather(), [(1, F(6))]),
    (one_way_ring(4), allgather(), [(3, F(3))]),
    (line(4), scatter(), [(3, F(3))]),
]


def test_an_inverse_on_symmetric_links_is_searched_as_its_dual(solver: Solver) -> None:
    """Also where bounds have another order after links are reversed."""
    links = {(0, 1): 1, (1, 2): 2, (2, 0): 1, (1, 0): 1, (2, 1): 2, (0, 2): 1}
    both = Topology.from_links("triangle", 3, links, [([(1, 0), (2, 0)], 1), ([(0, 1), (0, 2)], 1)])
    assert both.reversed().same_as(both)
    assert both.reversed().bounds != both.bounds
    one, other = (
        search(SearchRequest(both, collective, max_chunks=4), solver)
        for collective in (broadcast(), inverse_of(broadcast(), "reduce"))
    )
    assert costs(one) == costs(other)
    assert [p.bound for p in one.points] == [p.bound for p in other.points]
    for frontier in (one, other):
        check_claims(frontier)


def name_of(case: object) -> str | None:
    return getattr(case, "name", None)


@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize(("topology", "collective", "expected"), KNOWN, ids=name_of)
def test_known_frontier(
    topology: Topology, collective: Collective, expected: Costs, strategy: Strategy, solver: Solver
) -> None:
    frontier = search(SearchRequest(topology, collective, strategy), solver)
    assert costs(frontier) == expected
    assert frontier.open == ()
    assert frontier.complete
    assert not frontier.interrupted
    assert frontier.least_bandwidth == expected[-1][1]
    assert frontier.least_steps == expected[0][0]


def test_a_pipeline_over_slow_links(solver: Solver) -> None:
    """In S steps S - 1 groups of chunks follow one another over two links of 2/3 chunks a round.

    Each step takes 3/2 rounds for each chunk of its group, so R/C = 3/2 * S / (S - 1), and no
    number of steps reaches the bound 3/2.
    """
    request = SearchRequest(one_way_ring(3, F(2, 3)), broadcast())
    frontier = search(request, solver)
    assert costs(frontier) == [(s, F(3, 2) * F(s, s - 1)) for s in (2, 3, 4, 5)]
    assert frontier.complete
    assert [(c.least_steps, c.most_steps, c.low, c.high) for c in frontier.open] == [
        (6, None, F(3, 2), F(15, 8))
    ]


def test_broadcast_on_dgx1(solver: Solver) -> None:
    frontier = search(SearchRequest(dgx1(), broadcast(), max_steps=4, max_chunks=12), solver)
    assert costs(frontier) == [(2, F(1)), (3, F(1, 2)), (4, F(1, 3))]


def test_chunks_of_an_alltoall_are_multiples_of_the_nodes(solver: Solver) -> None:
    frontier = search(SearchRequest(ring(4), alltoall()), solver)
    assert costs(frontier) == [(2, F(1, 2))]
    assert frontier.points[0].chunks % 4 == 0


@pytest.mark.parametrize("strategy", Strategy)
def test_nothing_to_move(strategy: Strategy, solver: Solver) -> None:
    """Everything is in place: no steps, no rounds."""
    table = np.eye(3, dtype=bool)
    collective = Collective.from_arrays("stay", table, table)
    frontier = search(SearchRequest(ring(3), collective, strategy), solver)
    assert costs(frontier) == [(0, F(0))]
    assert (frontier.open, frontier.complete) == ((), True)
    assert len(frontier.points[0].algorithm.sends) == 0


def true_frontier(
    topology: Topology, collective: Collective, max_chunks: int, max_steps: int
) -> Costs:
    """For each S the least R/C of any C, without points that fewer steps match."""
    found: Costs = []
    least = collective.instantiate(topology, chunks=1, steps=0, rounds=0).least_steps
    for steps in range(least, max_steps + 1):
        best = None
        for chunks in range(1, max_chunks + 1):
            instance = collective.instantiate(topology, chunks=chunks, steps=steps, rounds=0)
            rounds = least_rounds(instance, 40, most_work=20_000)
            assert rounds is not None
            best = min(Fraction(rounds, chunks), best if best is not None else F(1000))
        assert best is not None
        if not found or best < found[-1][1]:
            found.append((steps, best))
    return found


@pytest.mark.parametrize("k", [None, 9])
def test_random_frontiers(k: int | None, solver: Solver) -> None:
    compared = several = fractional = 0
    for seed in range(150):
        instance = random_instance(seed, most_nodes=4, most_chunks=3)
        collective = Collective.from_arrays(f"random {seed}", instance.pre, instance.post)
        max_steps = instance.least_steps + 2
        try:
            expected = true_frontier(instance.topology, collective, 3, max_steps)
        except TooLargeError:
            continue
        if k is not None and any(ratio * 3 > k for _, ratio in expected):
            continue
        request = SearchRequest(
            instance.topology, collective, max_chunks=3, max_steps=max_steps, k=k
        )
        frontier = search(request, solver)
        assert costs(frontier) == expected, seed
        assert frontier.complete
        for claim in frontier.open:  # nothing is left open but more steps
            assert claim.most_steps is None
            assert claim.least_steps == max_steps + 1
        compared += 1
        several += len(expected) > 1
        fractional += any(ratio.denominator > 1 for _, ratio in expected)
        if compared == 12:
            break
    assert compared == 12
    assert several >= 2
    assert fractional >= 4


def test_functions_have_the_claims_of_the_same_text(solver: Solver, tmp_path: Path) -> None:
    records = PluginManager.discover().spec_libraries.values()
    library = SpecLibrary([record.folder for record in records])
    path = tmp_path / "shift.syncoll"
    path.write_text(
        "collective shift { chunks P * C"
        "  pre { (c, n) : n == c mod P }  post { (c, n) : n == (c + 1) mod P } }"
    )
    functions = Collective.from_relations(
        "shift",
        lambda p, c: p * c,
        lambda c, n, p, _: n == c % p,
        lambda c, n, p, _: n == (c + 1) % p,
    )
    one, two = (
        search(SearchRequest(one_way_ring(3), collective, max_chunks=2), solver).evidence
        for collective in (library.collective(str(path)), functions)
    )
    assert one is not None
    assert one == two
    assert {proof.scope for proof in one.proofs} == {Scope.ALL}
    assert one.scaling


def test_irregular_collectives_are_refused() -> None:
    """A bound for C = 1 says nothing about larger C, so that there is no frontier of them."""
    collective = Collective.from_relations(
        "one more",
        lambda _, c: c + 1,
        lambda _c, n, *_: n == 0,
        lambda _c, n, *_: n > 0,
        irregular=True,
    )
    for one in (collective, inverse_of(collective, "back")):
        with pytest.raises(UsageError, match=r"is irregular: .*`syncoll solve"):
            SearchRequest(one_way_ring(3), one)


def test_the_points_are_the_tightest_form(solver: Solver) -> None:
    """A point has no idle step and no spare round, even if the candidate allowed them."""
    frontier = search(SearchRequest(dgx1(), allgather(), Strategy.PAPER, k=6), solver)
    for point in frontier.points:
        assert sum(point.algorithm.least_rounds(point.instance.topology)) == point.rounds
        lean = point.algorithm.without_useless_sends(point.instance)
        assert lean == point.algorithm
