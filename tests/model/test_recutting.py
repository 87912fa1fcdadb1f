"""An algorithm with another number of chunks solves the same, at about the same cost."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from syncoll.model import Algorithm, Instance, OrbitAlgorithm, Topology, recut, refine, renumber
from syncoll.testing.instances import connected_topology, random_trees
from syncoll.trust import require_valid
from tests.oracles.orbits import random_orbit


def _allgather(rng: random.Random, copies: int) -> tuple[Instance, Algorithm]:
    topology = connected_topology(rng)
    own = np.tile(np.eye(topology.num_nodes, dtype=bool), (copies, 1))
    return random_trees(rng, topology, "allgather", own, np.ones_like(own))


@pytest.mark.parametrize("seed", range(40))
def test_every_way_gets_its_share_of_chunks(seed: int) -> None:
    rng = random.Random(seed)
    before, after = rng.randint(1, 6), rng.randint(1, 20)
    instance, algorithm = _allgather(rng, before)
    found = recut(instance, algorithm, after)
    assert found is not None
    require_valid(*found)
    new, cut = found
    nodes = instance.topology.num_nodes
    assert new.chunks == after
    assert np.array_equal(new.pre, np.tile(np.eye(nodes, dtype=bool), (after, 1)))
    ways = [_ways(one, nodes) for one in (algorithm, cut)]
    assert ways[1].keys() <= ways[0].keys()
    for way, times in ways[0].items():
        assert abs(ways[1].get(way, 0) - Fraction(times * after, before)) < 1


def _ways(algorithm: Algorithm, nodes: int) -> dict[tuple[object, ...], int]:
    """Number of chunks of a node that take each way."""
    own: dict[int, list[tuple[int, ...]]] = {}
    for chunk, *rest in algorithm.sends.tolist():
        own.setdefault(chunk, []).append(tuple(rest))
    found: dict[tuple[object, ...], int] = {}
    for chunk, way in own.items():
        key = (chunk % nodes, *way)
        found[key] = found.get(key, 0) + 1
    return found


@pytest.mark.parametrize("seed", range(20))
def test_as_many_chunks_again_and_multiples_cost_no_more(seed: int) -> None:
    rng = random.Random(seed)
    instance, algorithm = _allgather(rng, rng.randint(1, 4))
    times = rng.randint(1, 3)
    found = recut(instance, algorithm, instance.chunks * times)
    assert found is not None
    require_valid(*found)
    finer, whole = refine(instance, algorithm, times)
    assert found[1].rounds <= whole.rounds
    assert found[1].num_sends == whole.num_sends
    assert np.array_equal(found[0].pre, finer.pre)


def _shifted(copies: int) -> tuple[Instance, OrbitAlgorithm]:
    """A random orbit whose carriers take the i-th chunk of a node to the i-th of another."""
    seed = 0
    while True:
        instance, algorithm = random_orbit(seed)
        if instance.chunks == copies:
            break
        seed += 1
    nodes, root = instance.topology.num_nodes, instance.pre.argmax(axis=1)
    own = np.unique(algorithm.representative.sends[:, 0])
    number = np.empty(instance.num_chunks, dtype=np.int64)
    for i, images in enumerate(algorithm.carriers.images(own).T):
        number[images] = root[images] + nodes * i
    renamed, moved = renumber(instance, algorithm, number)
    assert isinstance(moved, OrbitAlgorithm)
    return renamed, moved


@pytest.mark.parametrize("copies", [1, 2, 3])
def test_an_orbit_stays_one(copies: int) -> None:
    instance, algorithm = _shifted(copies)
    for chunks in (1, 2, 5, 7):
        found = recut(instance, algorithm, chunks)
        assert found is not None
        assert isinstance(found[1], OrbitAlgorithm)
        require_valid(*found)
        require_valid(found[0], found[1].expanded())


def test_other_numberings_of_chunks_give_none() -> None:
    line = Topology.from_links("line", 2, {(0, 1): 1, (1, 0): 1})
    pre = np.array([[1, 0], [1, 0], [0, 1], [0, 1]], dtype=bool)
    instance = Instance(line, "allgather", 2, 1, 2, pre, np.ones_like(pre))
    algorithm = Algorithm((2,), [[0, 0, 1, 0], [1, 0, 1, 0], [2, 1, 0, 0], [3, 1, 0, 0]])
    require_valid(instance, algorithm)
    assert recut(instance, algorithm, 3) is None
    scrambled, orbit = random_orbit(1)
    assert scrambled.chunks > 1
    assert recut(scrambled, orbit, 4) is None


def test_chunks_that_are_in_place_need_no_sends() -> None:
    pair = Topology.from_links("pair", 2, {(0, 1): 1, (1, 0): 1})
    everywhere = np.ones((2, 2), dtype=bool)
    instance = Instance(pair, "nothing", 1, 0, 0, everywhere, everywhere)
    found = recut(instance, Algorithm((), []), 3)
    assert found is not None
    require_valid(*found)
    assert found[1].num_sends == 0
