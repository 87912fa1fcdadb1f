"""The partial encoding: against brute force, on every backend, and where others fail."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest

from syncoll.formula import Limits, StopReason, Verdict
from syncoll.model import Instance, Topology
from syncoll.plugins import PluginManager
from syncoll.solving import Solver
from syncoll.testing.brute_force import has_algorithm
from syncoll.testing.instances import connected_topology
from syncoll.trust import violations
from tests.oracles import naive_combining as naive

MANAGER = PluginManager.discover()
BACKENDS = [name for name, b in MANAGER.backends.items() if b.installed().ok and b.licensed().ok]


@pytest.fixture(params=BACKENDS)
def solver(request: pytest.FixtureRequest) -> Iterator[Solver]:
    with Solver(MANAGER, backend=request.param, limits=Limits(seconds=60, threads=2)) as solver:
        yield solver


def _case(rng: random.Random) -> Instance:
    topology = connected_topology(rng, most_nodes=3)
    nodes = topology.num_nodes
    count = rng.randint(1, 2) if nodes == 2 else 1
    pre = np.array([[rng.random() < 0.85 for _ in range(nodes)] for _ in range(count)])
    pre[:, 0] = True
    post = np.array([[rng.random() < 0.6 for _ in range(nodes)] for _ in range(count)])
    post[:, rng.randrange(nodes)] = True
    steps = rng.randint(1, 3 if nodes == 2 else 2)
    return Instance(topology, "random", 1, steps, rng.randint(1, 3), pre, post, combining=True)


def test_it_agrees_with_brute_force(solver: Solver) -> None:
    rng = random.Random(7)
    verdicts = []
    for _ in range(60):
        instance = _case(rng)
        solution = solver.solve(instance)
        if solution.outcome.reason is StopReason.LICENCE:
            continue
        truth = has_algorithm(instance)
        assert solution.verdict is (Verdict.SAT if truth else Verdict.UNSAT), instance
        verdicts.append(truth)
        if solution.algorithm is not None:
            assert naive.is_valid(instance, solution.algorithm)
    assert 0.2 < sum(verdicts) / len(verdicts) < 0.9


def _both(links: list[tuple[int, int]]) -> dict[tuple[int, int], int]:
    return {pair: 1 for a, b in links for pair in ((a, b), (b, a))}


@pytest.mark.parametrize(
    "topology",
    [
        Topology.from_links("line(3)", 3, _both([(0, 1), (1, 2)])),
        Topology.from_links("star(4)", 4, _both([(0, 1), (0, 2), (0, 3)])),
        Topology.from_links("ring(5)", 5, _both([(i, (i + 1) % 5) for i in range(5)])),
    ],
    ids=lambda t: t.name,
)
def test_results_may_come_back_to_contributors(solver: Solver, topology: Topology) -> None:
    nodes = topology.num_nodes
    pre = np.ones((1, nodes), dtype=bool)
    instance = Instance(topology, "allreduce", 1, 2, 2, pre, pre, combining=True)
    solution = solver.solve(instance)
    if solution.outcome.reason is StopReason.LICENCE:
        return
    assert solution.verdict is Verdict.SAT
    assert violations(instance, solution.algorithm) == []
    assert naive.is_valid(instance, solution.algorithm)
