"""Lockstep is the closed form of the papers, to the last digit."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from syncoll.planning import CostModel
from syncoll.simulating import (
    Semantics,
    SimulatedSeconds,
    Timing,
    physical_network,
    simulate_algorithm,
)
from tests.oracles.algorithms import connected_topology, random_algorithm

MODEL = CostModel(Fraction(7, 10**7), Fraction(23 * 10**9, 7), Fraction(1, 3 * 10**6))
LOCKSTEP = Semantics(timing=Timing.LOCKSTEP, overhead=MODEL.overhead)
SIZES = (1, 1000, 1 << 20, 10**9 + 7)


@pytest.mark.parametrize("seed", range(20))
def test_it_is_the_closed_form_exactly(seed: int) -> None:
    rng = random.Random(seed)
    stored = random_algorithm(rng, connected_topology(rng), rng.randint(1, 3))
    network = physical_network(stored.instance.topology, MODEL.alpha, MODEL.bandwidth)
    seconds = SimulatedSeconds(network, LOCKSTEP)(stored, SIZES)
    steps, cost = stored.algorithm.steps, stored.bandwidth
    assert seconds == tuple(MODEL.seconds(steps, cost, size) for size in SIZES)


@pytest.mark.parametrize("seed", range(20))
def test_all_sends_of_a_step_fit_into_it(seed: int) -> None:
    rng = random.Random(seed)
    stored = random_algorithm(rng, connected_topology(rng), rng.randint(1, 3))
    network = physical_network(stored.instance.topology, MODEL.alpha, MODEL.bandwidth)
    found = simulate_algorithm(stored, network, LOCKSTEP, 1 << 20)
    assert found.seconds == SimulatedSeconds(network, LOCKSTEP)(stored, [1 << 20])[0]
    passages, rounding = found.passages, float(found.seconds) * 1e-12
    assert (passages.end[:] <= found.arrived[passages.send] - 0.7e-6 + rounding).all()
    assert (passages.start >= found.left[passages.send] - rounding).all()
    assert np.isclose(found.arrived.max(), float(found.seconds))
