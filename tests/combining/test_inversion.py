from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from syncoll.errors import ModelError
from syncoll.model import Algorithm, Instance, Topology, compose, invert, refine, renumber
from syncoll.testing.instances import connected_topology, random_trees
from syncoll.trust import violations


def _spreading(rng: random.Random) -> tuple[Instance, Algorithm]:
    topology = connected_topology(rng)
    nodes = topology.num_nodes
    count = rng.randint(1, 4)
    pre = np.zeros((count, nodes), dtype=bool)
    for row in pre:
        row[rng.randrange(nodes)] = True
    post = np.array([[rng.random() < 0.7 for _ in range(nodes)] for _ in pre])
    for row in post:  # in the inverse every chunk has a contributor
        row[rng.randrange(nodes)] = True
    return random_trees(rng, topology, "random", pre, post)


@pytest.mark.parametrize("seed", range(100))
def test_inverting_twice_gives_the_algorithm_again(seed: int) -> None:
    instance, algorithm = _spreading(random.Random(seed))
    assert violations(instance, algorithm) == []
    inverse, backwards = invert(instance, algorithm, "inverse")
    assert violations(inverse, backwards) == []
    assert inverse.topology == instance.topology.reversed()
    assert (inverse.steps, inverse.rounds) == (instance.steps, instance.rounds)
    assert backwards.rounds_per_step == algorithm.rounds_per_step[::-1]
    again, forwards = invert(inverse, backwards, instance.collective)
    assert forwards == algorithm
    assert again.topology == instance.topology
    assert np.array_equal(again.pre, instance.pre)
    assert np.array_equal(again.post, instance.post)


def test_a_chunk_with_two_roots_has_no_inverse() -> None:
    topology = Topology.from_links("pair", 2, {(0, 1): 1, (1, 0): 1})
    both = Instance(topology, "both", 1, 1, 1, [[True, True]], [[True, True]])
    with pytest.raises(ModelError, match="chunk 0 has 2 roots"):
        invert(both, Algorithm((1,), []), "inverse")


@pytest.mark.parametrize("steps", [0, 2])
def test_an_inverse_without_sends(steps: int) -> None:
    topology = Topology.from_links("pair", 2, {(0, 1): 1, (1, 0): 1})
    still = Instance(topology, "still", 1, steps, 0, [[True, False]], [[True, False]])
    inverse, algorithm = invert(still, Algorithm((0,) * steps, []), "inverse")
    assert violations(inverse, algorithm) == []
    assert invert(inverse, algorithm, "still")[1] == Algorithm((0,) * steps, [])


def test_a_chunk_received_twice_has_no_inverse() -> None:
    topology = Topology.from_links("tri", 3, {(0, 1): 1, (0, 2): 1, (1, 2): 1})
    instance = Instance(topology, "b", 1, 2, 2, [[True, False, False]], [[False, True, True]])
    algorithm = Algorithm((1, 1), [[0, 0, 1, 0], [0, 0, 2, 0], [0, 1, 2, 1]])
    assert violations(instance, algorithm) == []
    with pytest.raises(ModelError, match="node 2 receives chunk 0 more than once"):
        invert(instance, algorithm, "inverse")


@pytest.mark.parametrize("seed", range(60))
def test_a_composition_is_valid_and_costs_the_sum(seed: int) -> None:
    rng = random.Random(seed)
    topology = connected_topology(rng)
    nodes = topology.num_nodes
    copies = rng.randint(1, 3), rng.randint(1, 3)
    eyes = [np.tile(np.eye(nodes, dtype=bool), (k, 1)) for k in copies]
    dual = random_trees(rng, topology.reversed(), "allgather", eyes[0], np.ones_like(eyes[0]))
    one = invert(*dual, "reducescatter")
    two = random_trees(rng, topology, "allgather", eyes[1], np.ones_like(eyes[1]))
    instance, algorithm = compose(one, two, "allreduce")
    assert violations(instance, algorithm) == []
    assert instance.combining
    assert instance.steps == one[0].steps + two[0].steps
    # In units of the whole vector, which both cut into their G chunks.
    cost = sum(Fraction(part.rounds, part.num_chunks) for part, _ in (one, two))
    assert Fraction(instance.rounds, instance.num_chunks) == cost


@pytest.mark.parametrize("seed", range(40))
def test_refinement_and_renumbering_keep_validity_and_cost(seed: int) -> None:
    rng = random.Random(seed)
    case = _spreading(rng)
    if seed % 2:
        case = invert(*case, "inverse")
    finer, algorithm = refine(*case, rng.randint(1, 3))
    assert violations(finer, algorithm) == []
    assert Fraction(finer.rounds, finer.chunks) == Fraction(case[0].rounds, case[0].chunks)
    number = np.random.default_rng(seed).permutation(finer.num_chunks)
    renamed, algorithm = renumber(finer, algorithm, number)
    assert violations(renamed, algorithm) == []
    assert np.array_equal(renamed.pre[number], finer.pre)


def test_a_second_part_must_start_where_the_first_ends() -> None:
    topology = Topology.from_links("pair", 2, {(0, 1): 1, (1, 0): 1})
    there = Instance(topology, "there", 1, 1, 1, [[True, False]], [[False, True]])
    algorithm = Algorithm((1,), [[0, 0, 1, 0]])
    with pytest.raises(ModelError, match="there does not start where there ends"):
        compose((there, algorithm), (there, algorithm), "twice")
    back = replace(there, collective="back", pre=there.post, post=there.pre)
    whole, both = compose(
        (there, algorithm), (back, Algorithm((1,), [[0, 1, 0, 0]])), "there and back"
    )
    assert violations(whole, both) == []
    assert whole.steps == 2
