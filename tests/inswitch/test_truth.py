"""Searches, encodings and bounds against brute force, where switches copy and add up."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from syncoll.bounding import rounds_bound
from syncoll.bounding.combining import combining_rounds_bound
from syncoll.certificates import Certificate, ChunkClasses, Demand, DemandView
from syncoll.errors import ModelError, UsageError
from syncoll.formula import StopReason, Verdict
from syncoll.model import BandwidthBound, Counting, Instance, Topology
from syncoll.plugins import PluginManager
from syncoll.proofs.refutation import to_clauses
from syncoll.solving import Solver
from syncoll.testing.brute_force import has_algorithm
from syncoll.testing.encodings import check_encoding
from tests.oracles.counted import box, has_moving_algorithm

MANAGER = PluginManager.discover()


def cases() -> Iterator[Instance]:
    """Small machines with cables that are shared, and chunks of all kinds."""
    rng = random.Random(11)
    for _ in range(60):
        nodes = rng.randint(2, 4)
        links = tuple(
            (a, b) for a in range(nodes) for b in range(nodes) if a != b and rng.random() < 0.7
        )
        bounds = []
        for node in range(nodes):
            for end in (0, 1):
                own = tuple(link for link in links if link[end] == node)
                if own:
                    counts = rng.choice([*Counting, Counting.SOURCES])
                    rate = Fraction(rng.choice((1, 1, 2, Fraction(1, 2))))
                    bounds.append(BandwidthBound(own, rate, "", counts))
        if not links:
            continue
        if rng.random() < 0.3:
            bounds.append(BandwidthBound(links, Fraction(2), "", Counting.SOURCES))
        topology = Topology("random", nodes, links, tuple(bounds))
        chunks = rng.randint(1, 2)
        pre = np.zeros((chunks, nodes), dtype=bool)
        pre[np.arange(chunks), [rng.randrange(nodes) for _ in range(chunks)]] = True
        post = np.array([[rng.random() < 0.7 for _ in range(nodes)] for _ in range(chunks)])
        steps = rng.randint(1, 2)
        with suppress(ModelError):  # some data cannot arrive
            yield Instance(topology, "random", 1, steps, rng.randint(1, 3), pre, post)


def test_the_step_encoding_and_bounds_agree_with_brute_force() -> None:
    seen = set()
    with Solver(MANAGER, backend="pysat", encoding="step") as solver:
        for instance in cases():
            truth = has_moving_algorithm(instance)
            assert has_algorithm(instance) is truth
            outcome = solver.solve(instance).outcome
            assert outcome.verdict is (Verdict.SAT if truth else Verdict.UNSAT), instance
            plain = replace(instance, topology=instance.topology.conservative)
            seen.add((truth, truth and not has_moving_algorithm(plain)))
            if not truth:
                continue
            shape = ChunkClasses.of(instance.table, 1)
            needs = shape.demands(DemandView.MOVING)
            for steps in (None, instance.steps):
                bound = rounds_bound(instance.topology, needs, steps)
                assert bound.rounds <= instance.rounds
                Certificate(shape, bound).check(instance.topology)
    assert seen == {(True, True), (True, False), (False, False)}


def test_the_kit_finds_an_encoding_that_claims_too_much() -> None:
    """Encoding path counts every send; if it claimed otherwise, the kit would detect it."""
    record = replace(MANAGER.encodings["path"], counts_copies=True)
    assert any("truth" in failure.check for failure in check_encoding(record))


def test_an_encoding_that_counts_every_send_refutes_nothing() -> None:
    topology = box(3)
    pre = np.eye(1, 3, dtype=bool)
    one, two = (Instance(topology, "broadcast", 1, 1, r, pre, ~pre) for r in (1, 2))
    with Solver(MANAGER, backend="pysat", encoding="path") as solver:
        outcome = solver.solve(one).outcome
        assert outcome.verdict is Verdict.UNKNOWN
        assert outcome.reason is StopReason.GAVE_UP
        assert "counts every send" in outcome.message
        assert solver.solve(two).outcome.verdict is Verdict.SAT
        plain = replace(one, topology=topology.conservative)
        assert solver.solve(plain).outcome.verdict is Verdict.UNSAT
    with pytest.raises(UsageError, match="counts every send"):
        to_clauses(MANAGER, one, "path", {})


@pytest.mark.parametrize(("nodes", "steps"), [(2, None), (3, None), (3, 2), (4, 1)])
def test_bounds_of_an_allreduce_do_not_exceed_known_optima(nodes: int, steps: int | None) -> None:
    """By hand: every node copies to all in 1 step, and in 2 some chunks are added up first."""
    known = {None: Fraction(1), 1: Fraction(nodes - 1), 2: Fraction(2 * nodes - 1, nodes + 1)}[
        steps
    ]
    topology = box(nodes)
    every = np.ones((1, nodes), dtype=bool)
    instance = Instance(topology, "allreduce", 1, 1, 1, every, every, combining=True)
    shape = ChunkClasses.of(instance.table, 1, combining=True)
    bound = combining_rounds_bound(topology, shape, steps)
    assert 1 <= bound.rounds <= known
    Certificate(shape, bound).check(topology)


def test_each_destination_counts_even_after_a_quick_one() -> None:
    """Each destination has a program of its own: the largest need in S steps counts."""
    links = ((0, 1), (0, 3), (1, 2))
    bounds = [BandwidthBound((link,), Fraction(1 + 8 * (link == (0, 3)))) for link in links]
    bounds.append(BandwidthBound(links[:2], Fraction(9), counts=Counting.SOURCES))
    demands = [Demand((0,), (1, 2, 3), 1)]
    topology = Topology("t", 4, links, tuple(bounds))
    found = [rounds_bound(topology, demands, steps).rounds for steps in (2, 3, 4)]
    assert found == [2, Fraction(3, 2), Fraction(4, 3)]
