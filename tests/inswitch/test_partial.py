"""Encoding `partial` against trying everything where switches copy and add up, on all backends."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest

from syncoll.errors import VerificationError
from syncoll.formula import Limits, StopReason, Verdict
from syncoll.model import Algorithm, BandwidthBound, Counting, Instance, Topology
from syncoll.plugins import PluginManager
from syncoll.solving import Solver
from syncoll.testing.brute_force import TooLargeError, has_algorithm
from syncoll.testing.instances import connected_topology
from syncoll.trust import require_valid
from syncoll.trust.replay import as_counted
from tests.oracles.counted import box

MANAGER = PluginManager.discover()
BACKENDS = [name for name, b in MANAGER.backends.items() if b.installed().ok and b.licensed().ok]


def machine(rng: random.Random) -> Topology:
    """A box, or links with shared cables of all kinds."""
    if rng.random() < 0.5:
        return box(rng.randint(2, 4), multicast=rng.random() < 0.7, reduce=rng.random() < 0.8)
    topology = connected_topology(rng, most_nodes=3)
    bounds = [replace(bound, counts=rng.choice([*Counting])) for bound in topology.bounds]
    for node in range(topology.num_nodes):
        for end, counts in ((0, Counting.SOURCES), (1, Counting.DESTINATIONS)):
            own = tuple(link for link in topology.links if link[end] == node)
            if own and rng.random() < 0.7:
                bounds.append(BandwidthBound(own, Fraction(rng.choice((1, 2))), counts=counts))
    return replace(topology, bounds=tuple(bounds), fabric=None)


def sums(rng: random.Random) -> Iterator[tuple[Instance, bool, bool]]:
    """Small instances, whether there is an algorithm, and one if every send counts."""
    while True:
        topology = machine(rng)
        nodes = topology.num_nodes
        chunks = rng.randint(1, 2) if nodes == 2 else 1
        pre = np.array([[rng.random() < 0.85 for _ in range(nodes)] for _ in range(chunks)])
        post = np.array([[rng.random() < 0.6 for _ in range(nodes)] for _ in range(chunks)])
        pre[:, 0] = post[:, -1] = True
        steps, rounds = rng.randint(1, 3 if nodes == 2 else 2), rng.randint(1, 3)
        instance = Instance(topology, "sum", 1, steps, rounds, pre, post, combining=True)
        plain = replace(instance, topology=topology.conservative)
        try:
            yield instance, has_algorithm(instance, most_work=3_000), has_algorithm(plain)
        except TooLargeError:
            continue


@pytest.fixture(scope="module")
def cases() -> list[tuple[Instance, bool, bool]]:
    found = list(islice(sums(random.Random(5)), 45))
    # All where counting matters, and some of the others.
    some = [case for i, case in enumerate(found) if case[1] != case[2] or i % 3 == 0]
    seen = {(truth, plain) for _, truth, plain in some}
    assert seen == {(True, False), (False, False), (True, True)}
    assert {one.topology.num_nodes for one, _, _ in some} == {2, 3, 4}
    return some


@pytest.mark.parametrize("backend", BACKENDS)
def test_it_agrees_with_brute_force(backend: str, cases: list[tuple[Instance, bool, bool]]) -> None:
    with Solver(MANAGER, backend=backend, limits=Limits(seconds=60, threads=1)) as solver:
        for instance, truth, _ in cases:
            solution = solver.solve(instance)
            if solution.outcome.reason is StopReason.LICENCE:
                continue
            assert solution.verdict is (Verdict.SAT if truth else Verdict.UNSAT), instance


def test_an_allreduce_in_a_box() -> None:
    """As the bounds say: R/C is 5/4 at least in two steps of three nodes."""
    with Solver(MANAGER, backend="pysat") as solver:
        for nodes, chunks, steps, rounds, verdict in (
            (3, 1, 1, 1, Verdict.UNSAT),
            (3, 4, 2, 5, Verdict.SAT),
            (3, 3, 2, 3, Verdict.UNSAT),
            (8, 1, 2, 1, Verdict.UNSAT),
        ):
            every = np.ones((chunks, nodes), dtype=bool)
            topology = box(nodes)
            instance = Instance(topology, "x", chunks, steps, rounds, every, every, combining=True)
            assert solver.solve(instance).verdict is verdict


def test_separate_sends_have_rounds_of_their_own() -> None:
    """Node 0 passes on the contributions of 1 and 2 separately, so they are not added up."""
    links = ((0, 1), (0, 2), (1, 0), (2, 0))
    one = Fraction(1)
    into = BandwidthBound(((1, 0), (2, 0)), one, "into 0", Counting.DESTINATIONS)
    topology = Topology("t", 3, links, (*(BandwidthBound((k,), one) for k in links[:2]), into))
    every = np.ones((1, 3), dtype=bool)
    instance = Instance(topology, "allreduce", 1, 2, 4, every, every, combining=True)
    sends = [(0, 1, 0, 0), (0, 2, 0, 0), (0, 0, 1, 1), (0, 0, 2, 1)]
    carried = [[0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 0]]
    algorithm = Algorithm((3, 1), sends, np.array(carried, dtype=bool))
    require_valid(instance, algorithm)
    with pytest.raises(VerificationError):
        require_valid(instance, algorithm.with_rounds(topology, 4))
    least = algorithm.tightened(as_counted(instance, algorithm))
    assert least.rounds_per_step == (2, 1)
    require_valid(replace(instance, rounds=3), least)
    whole = Algorithm((3, 1), sends, np.array([*carried[:2], [1] * 3, [1] * 3], dtype=bool))
    assert as_counted(instance, whole) is topology
