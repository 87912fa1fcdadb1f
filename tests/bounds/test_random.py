"""A bound never exceeds the cost of an algorithm."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from math import ceil

import pytest

from syncoll.bounding import rounds_bound
from syncoll.bounding.duals import prices_of
from syncoll.bounding.network import TimeExpandedNetwork
from syncoll.bounding.rationals import Rounding
from syncoll.bounding.relaxation import Relaxation, RelaxationKind
from syncoll.certificates import demands
from syncoll.formula import Limits, Verdict
from syncoll.model import Instance
from syncoll.plugins import PluginManager
from syncoll.solving import Solver
from syncoll.testing.brute_force import TooLargeError, least_rounds
from syncoll.testing.instances import random_instance

MOST_ROUNDS = 14


def instances(count: int) -> Iterator[tuple[int, Instance]]:
    """Instances with something to do and enough steps."""
    seed = 0
    while count:
        seed += 1
        instance = random_instance(seed, most_chunks=4)
        if (instance.post & ~instance.pre).any() and instance.steps >= instance.least_steps:
            count -= 1
            yield seed, instance


def test_never_above_the_least_rounds() -> None:
    count = 80
    checked = met = fractional = several = 0
    for seed, instance in instances(count):
        try:
            truth = least_rounds(instance, MOST_ROUNDS)
        except TooLargeError:
            continue
        if truth is None:
            continue
        needs = demands(instance)
        for thorough in (False, True):
            timed = rounds_bound(instance.topology, needs, instance.steps, thorough=thorough)
            steady = rounds_bound(instance.topology, needs, thorough=thorough)
            assert timed.rounds <= truth, seed
            assert steady.rounds <= truth, seed
            assert steady.rounds > 0, seed
        checked += 1
        met += ceil(timed.rounds) == truth
        fractional += timed.rounds.denominator > 1
        several += any(len(need.sources) > 1 for need in needs)
    assert checked >= count * 8 / 9
    # The bound is useful: it is often the least cost.
    assert met >= 0.6 * checked
    assert fractional >= count / 10
    assert several >= count / 10


def test_never_above_the_least_rounds_of_any_steps() -> None:
    """The bound for any number of steps holds for each of them."""
    checked = 0
    for seed, instance in instances(15):
        steady = rounds_bound(instance.topology, demands(instance)).rounds
        for steps in range(instance.least_steps, instance.least_steps + 3):
            try:
                truth = least_rounds(replace(instance, steps=steps), MOST_ROUNDS)
            except TooLargeError:
                continue
            if truth is not None:
                assert steady <= truth, seed
                checked += 1
    assert checked >= 30


def test_the_optimum_is_proved_exactly() -> None:
    """Rounding the dual to rationals loses nothing, on any topology."""
    for seed, instance in instances(50):
        needs = demands(instance)
        for steps in (None, instance.steps):
            for kind in RelaxationKind:
                network = TimeExpandedNetwork.of(instance.topology, steps)
                solved = Relaxation(network, needs, kind).solve()
                assert solved is not None, seed
                value, certificate, _ = solved
                exact = Fraction(value).limit_denominator(5000)
                assert abs(float(exact) - value) < 1e-9 * max(1.0, value), seed
                assert certificate.check(instance.topology, needs) == exact, seed


def test_prices_on_one_grid_lose_almost_nothing() -> None:
    """They are used where a bound of other rationals would have too many digits."""
    for seed, instance in instances(50):
        needs = demands(instance)
        for kind in RelaxationKind:
            network = TimeExpandedNetwork.of(instance.topology, instance.steps)
            relaxation = Relaxation(network, needs, kind)
            optimum = relaxation.program().minimise()
            assert optimum is not None, seed
            certificate = prices_of(relaxation, optimum.row_duals, Rounding(None))
            proved = certificate.check(instance.topology, needs)
            assert (proved * 720_720_000).denominator == 1
            assert optimum.value * (1 - 1e-4) <= float(proved) <= optimum.value + 1e-9, seed


def test_copies_are_at_least_as_strong_as_together() -> None:
    stronger = 0
    for seed, instance in instances(50):
        network = TimeExpandedNetwork.of(instance.topology, instance.steps)
        proved = {}
        for kind in RelaxationKind:
            solved = Relaxation(network, demands(instance), kind).solve()
            assert solved is not None
            proved[kind] = solved.certificate.check(instance.topology, demands(instance))
        assert proved[RelaxationKind.TOGETHER] <= proved[RelaxationKind.COPIES], seed
        stronger += proved[RelaxationKind.TOGETHER] < proved[RelaxationKind.COPIES]
    assert stronger >= 2


@pytest.mark.slow
def test_larger_instances_are_unsat_below_the_bound() -> None:
    """Just below the bound a solver finds nothing, at or above it something."""
    manager = PluginManager.discover()
    checked = met = 0
    with Solver(manager, limits=Limits(seconds=30, threads=2)) as solver:
        for seed in range(40):
            instance = random_instance(seed, least_nodes=5, most_nodes=7, most_chunks=12)
            if instance.steps < instance.least_steps:
                continue
            least = ceil(rounds_bound(instance.topology, demands(instance), instance.steps).rounds)
            if least < 2:
                continue
            below = solver.solve(replace(instance, rounds=least - 1))
            assert below.verdict is Verdict.UNSAT, seed
            at = solver.solve(replace(instance, rounds=least))
            met += at.verdict is Verdict.SAT
            checked += 1
    assert checked >= 30
    assert met >= 0.6 * checked
