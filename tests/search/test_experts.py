"""Dispatch and combine on tiny machines, against every set of sends."""

from __future__ import annotations

import random

import syncoll
from syncoll.model import Topology
from syncoll.plugins import PluginManager
from syncoll.searching import solve_one
from syncoll.solving import Solver
from tests.oracles.counted import has_moving_algorithm


def agree(solver: Solver, cases: int, seed: int) -> set[tuple[bool, bool]]:
    """Solves random cases, and compares; the truths that occurred, and whether for several
    steps."""
    rng = random.Random(seed)
    seen: set[tuple[bool, bool]] = set()
    while cases:
        nodes = rng.randint(2, 4)
        links = {
            (a, b): rng.choice((1, 2))
            for a in range(nodes)
            for b in range(nodes)
            if a != b and rng.random() < 0.8
        }
        topology = Topology.from_links("random", nodes, links)
        if (topology.distances >= nodes).any():
            continue
        cases -= 1
        rows = [
            [rng.randrange(nodes), *(rng.randrange(2 * nodes) for _ in range(2))]
            for _ in range(rng.randint(1, 3))
        ]
        numbers = {"chunks": 1, "steps": rng.randint(1, 2), "rounds": rng.randint(1, 3)}
        there = syncoll.collective("dispatch", rows, 2 * nodes)
        back = syncoll.collective("combine", rows, 2 * nodes)
        if not (there.tabulate(nodes, 1).post & ~there.tabulate(nodes, 1).pre).any():
            continue  # all is in place
        truth = has_moving_algorithm(there.instantiate(topology, **numbers))
        ways = (there, topology), (back, topology.reversed())
        for collective, where in ways:
            verdict = solve_one(solver, where, collective, **numbers).outcome.verdict
            assert str(verdict) == ("sat" if truth else "unsat"), (rows, links, numbers)
        seen.add((truth, numbers["steps"] > 1))
    return seen


def test_dispatch_and_combine_agree_with_brute_force() -> None:
    with Solver(PluginManager.discover(), backend="pysat", encoding="step") as solver:
        assert {truth for truth, _ in agree(solver, 10, 2)} == {True, False}
