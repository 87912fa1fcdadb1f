"""The generator keeps its promises, and the two ways of brute force agree."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

from syncoll.model import Instance
from syncoll.testing.brute_force import TooLargeError, has_algorithm, least_rounds
from syncoll.testing.instances import random_instance, random_topology
from syncoll.trust import violations
from tests.oracles.classics import allgather, broadcast, bus, dgx1, line, one_way_ring, ring
from tests.oracles.enumeration import all_algorithms, compositions
from tests.oracles.strategies import instance_strategy, topology_strategy


def traits(instance: Instance) -> set[str]:
    topology = instance.topology
    links = set(topology.links)
    single = {b.links[0] for b in topology.bounds if len(b.links) == 1}
    wide = [b for b in topology.bounds if len(b.links) > 1]
    missing = instance.post & ~instance.pre
    starts = instance.pre.sum(axis=1)
    found = {
        "a one-way link": any((b, a) not in links for a, b in links),
        "a two-way link": any((b, a) in links for a, b in links),
        "no links": not links,
        "a rational bandwidth": any(b.chunks_per_round.denominator > 1 for b in topology.bounds),
        "less than a chunk a round": any(b.chunks_per_round < 1 for b in topology.bounds),
        "an egress bound": any(len({a for a, _ in b.links}) == 1 for b in wide),
        "an ingress bound": any(len({z for _, z in b.links}) == 1 for b in wide),
        "a bus": any(
            len({a for a, _ in b.links}) > 1 and len({z for _, z in b.links}) > 1 for b in wide
        ),
        "a link with a shared bound alone": bool(links - single),
        "two shared bounds on one link": any(
            sum(link in b.links for b in wide) > 1 for link in links
        ),
        "a chunk of several sources": bool((starts > 1).any()),
        "a chunk that starts nowhere": bool((starts == 0).any()),
        "a chunk in place": bool((instance.post & instance.pre).any()),
        "a chunk that nobody needs": bool((~instance.post.any(axis=1)).any()),
        "a chunk for several nodes": bool((missing.sum(axis=1) > 1).any()),
        "interchangeable chunks": any(
            len(members) > 1 and missing[members[0]].any() for members in instance.chunk_classes
        ),
        "nothing to do": not missing.any(),
        "too few steps": instance.steps < instance.least_steps,
        "more steps than the distance": instance.steps > instance.least_steps,
        "no steps": instance.steps == 0,
        "no rounds": instance.rounds == 0,
        "rounds but no steps": instance.steps == 0 < instance.rounds,
    }
    found |= {f"{n} nodes": topology.num_nodes == n for n in range(2, 6)}
    return {trait for trait, present in found.items() if present}


def test_random_instances_have_every_trait() -> None:
    seen = Counter(trait for seed in range(340) for trait in traits(random_instance(seed)))
    everything = traits_there_are()
    assert {trait for trait in everything if seen[trait] < 3} == set()
    assert sum(count >= 20 for count in seen.values()) >= 20


def traits_there_are() -> set[str]:
    names: set[str] = set()
    for seed in range(3000):
        names |= traits(random_instance(seed))
    return names


def test_the_same_seed_makes_the_same_instance() -> None:
    for seed in range(50):
        one, two = random_instance(seed), random_instance(random.Random(seed))
        assert one.topology == two.topology == random_instance(seed).topology
        assert np.array_equal(one.pre, two.pre)
        assert np.array_equal(one.post, two.post)
        assert (one.steps, one.rounds) == (two.steps, two.rounds)
    assert len({random_topology(seed) for seed in range(50)}) > 40


def test_a_given_topology_is_used() -> None:
    assert random_instance(3, topology=ring(5)).topology == ring(5)
    nodes = {random_topology(s, least_nodes=3, most_nodes=4).num_nodes for s in range(40)}
    assert nodes == {3, 4}


@given(instance_strategy(most_nodes=4, most_chunks=3, most_extra_steps=1))
@settings(deadline=None)
def test_two_ways_of_brute_force(instance: Instance) -> None:
    """Searching states and listing algorithms give one answer; the algorithms are valid."""
    try:
        algorithms = list(all_algorithms(instance, most_work=3_000))
    except TooLargeError:
        return
    assert has_algorithm(instance) == bool(algorithms)
    assert len(set(algorithms)) == len(algorithms)
    for algorithm in algorithms[:50]:
        assert violations(instance, algorithm) == []


@given(topology_strategy(most_nodes=3))
def test_strategies_keep_their_limits(topology: object) -> None:
    assert 2 <= topology.num_nodes <= 3  # type: ignore[attr-defined]


def test_more_rounds_and_steps_never_hurt() -> None:
    for seed in range(150):
        instance = random_instance(seed, most_nodes=4, most_chunks=3)
        if instance.steps and has_algorithm(instance):
            assert has_algorithm(replace(instance, rounds=instance.rounds + 1))
            assert has_algorithm(replace(instance, steps=instance.steps + 1))


@pytest.mark.parametrize(
    ("instance", "rounds"),
    [
        (allgather().instantiate(ring(4), chunks=1, steps=2, rounds=0), 2),
        (allgather().instantiate(one_way_ring(4), chunks=1, steps=3, rounds=0), 3),
        (allgather().instantiate(line(3), chunks=1, steps=2, rounds=0), 2),
        (allgather().instantiate(bus(3), chunks=1, steps=1, rounds=0), 6),
        (broadcast().instantiate(line(3), chunks=2, steps=2, rounds=0), 4),
        (broadcast().instantiate(line(3), chunks=2, steps=3, rounds=0), 3),
        (broadcast().instantiate(one_way_ring(3, Fraction(2, 3)), chunks=1, steps=2, rounds=0), 4),
        (broadcast().instantiate(one_way_ring(3, Fraction(2, 3)), chunks=4, steps=3, rounds=0), 9),
        (broadcast().instantiate(line(3), chunks=1, steps=1, rounds=0), None),
    ],
)
def test_known_least_rounds(instance: Instance, rounds: int | None) -> None:
    assert least_rounds(instance, 12) == rounds
    if rounds is not None:
        assert has_algorithm(replace(instance, rounds=rounds))
        assert not has_algorithm(replace(instance, rounds=rounds - 1))


def test_given_rounds() -> None:
    instance = broadcast().instantiate(line(3), chunks=2, steps=3, rounds=3)
    for rounds in compositions(3, 3):
        given_rounds = replace(instance, rounds_per_step=rounds)
        assert has_algorithm(given_rounds) == (rounds == (1, 1, 1))
        assert bool(list(all_algorithms(given_rounds))) == (rounds == (1, 1, 1))


def test_compositions() -> None:
    assert list(compositions(2, 2)) == [(0, 2), (1, 1), (2, 0)]
    assert list(compositions(0, 0)) == [()]
    assert list(compositions(1, 0)) == []
    assert len(list(compositions(5, 4))) == 56


def test_instances_too_large_for_brute_force_are_refused() -> None:
    instance = allgather().instantiate(dgx1(), chunks=6, steps=3, rounds=7)
    with pytest.raises(TooLargeError, match="too large to try everything"):
        has_algorithm(instance, most_work=1_000)
    with pytest.raises(TooLargeError):
        list(all_algorithms(instance, most_work=1_000))


def test_combining_instances_are_refused_where_only_data_moves() -> None:
    instance = Instance(line(2), "reduce", 1, 1, 1, np.ones((1, 2)), np.eye(2)[:1], combining=True)
    for ask in (lambda i: list(all_algorithms(i)), lambda i: least_rounds(i, 3)):
        with pytest.raises(ValueError, match="no combining instances"):
            ask(instance)
