"""Algorithms given by one node's chunks are the same as their lists of sends."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from syncoll.errors import UsageError
from syncoll.model import (
    Algorithm,
    OrbitAlgorithm,
    compose,
    invert,
    orbit_algorithm as module,
    refine,
    renumber,
)
from syncoll.trust import require_valid
from tests.oracles.orbits import listed, random_orbit

SEEDS = range(40)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_sends(seed: int) -> None:
    instance, algorithm = random_orbit(seed)
    every = Algorithm(algorithm.rounds_per_step, np.array(listed(algorithm)))
    assert algorithm.num_sends == len(every.sends)
    assert np.array_equal(algorithm.sends, every.sends)
    assert algorithm == every
    assert every == algorithm
    assert hash(every) == hash(algorithm)
    loads = algorithm.link_loads(instance.topology)
    assert np.array_equal(loads, every.link_loads(instance.topology))
    assert algorithm.tightened(instance.topology) == every.tightened(instance.topology)
    assert algorithm.with_rounds(instance.topology, algorithm.rounds + 3) == every.with_rounds(
        instance.topology, algorithm.rounds + 3
    )
    assert pickle.loads(pickle.dumps(algorithm)) == algorithm


@pytest.mark.parametrize("seed", SEEDS)
def test_derived_algorithms_stay_orbits(seed: int) -> None:
    """Refined, renumbered, inverted, composed: as the list of sends, and still an orbit."""
    instance, algorithm = random_orbit(seed)
    every = algorithm.expanded()
    number = np.random.default_rng(seed).permutation(instance.num_chunks)
    for ours, theirs in (
        (refine(instance, algorithm, 2), refine(instance, every, 2)),
        (renumber(instance, algorithm, number), renumber(instance, every, number)),
        (invert(instance, algorithm, "reduce"), invert(instance, every, "reduce")),
    ):
        assert isinstance(ours[1], OrbitAlgorithm)
        assert ours[1] == theirs[1]
        require_valid(*ours)
    reduce = invert(instance, algorithm, "reduce")
    turned = instance.topology.reversed()
    back = invert(*reduce, "allgather")
    assert (back[0].topology.links, back[1]) == (instance.topology.links, algorithm)
    assert turned.links == reduce[0].topology.links


def test_composed_of_two() -> None:
    """On a ring both ways: the same automorphisms carry the reduction and the gathering."""
    tried = 0
    for seed in SEEDS:
        instance, algorithm = random_orbit(seed)
        links = set(instance.topology.links)
        if {(b, a) for a, b in links} != links:
            continue
        tried += 1
        backwards = invert(instance, algorithm, "reduce")
        assert isinstance(backwards[1], OrbitAlgorithm)
        both = compose(backwards, (instance, algorithm), "allreduce")
        # Of waves the first one of the second follows the last one of the first.
        assert isinstance(both[1], OrbitAlgorithm) != algorithm.carriers.delays.any()
        require_valid(*both)
        listed_too = (backwards[0], backwards[1].expanded())
        again = compose(listed_too, (instance, algorithm), "allreduce")
        assert again[1] == both[1]
    assert tried > 5


def test_too_many_to_be_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    _, algorithm = random_orbit(1)
    monkeypatch.setattr(module, "MOST_LISTED", algorithm.num_sends - 1)
    with pytest.raises(UsageError, match=rf"has {algorithm.num_sends} sends, kept as"):
        _ = algorithm.sends
    assert f"{algorithm.num_sends} sends" in repr(algorithm)


def test_small_ones_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    _, algorithm = random_orbit(1)
    parts = algorithm.representative, algorithm.carriers
    small = OrbitAlgorithm.plain_if_small(*parts)
    assert type(small) is Algorithm
    assert small == algorithm
    monkeypatch.setattr(module, "MOST_PLAIN", 1)
    assert isinstance(OrbitAlgorithm.plain_if_small(*parts), OrbitAlgorithm)
