"""Algorithms of dgx1 found by the solver, and small ones of every other kind."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from syncoll.arrays import Bools
from syncoll.documents import algorithm_document, write_document
from syncoll.model import Algorithm, Collective, Instance, Topology, compose, invert
from syncoll.plugins import PluginManager
from syncoll.results import Solution
from syncoll.solving import Solver
from syncoll.testing.instances import random_trees
from tests.oracles.classics import allgather, alltoall, broadcast, dgx1, line, ring

Pair = tuple[Algorithm, Instance]


def swapped(pair: tuple[Instance, Algorithm]) -> Pair:
    return pair[1], pair[0]


@pytest.fixture(scope="session")
def solutions() -> dict[str, Solution]:
    """Points of the frontiers of dgx1."""
    result = {}
    wanted: list[tuple[str, Collective, int, int, int]] = [
        ("allgather", allgather(), 6, 3, 7),
        ("fast allgather", allgather(), 2, 2, 3),
        ("alltoall", alltoall(), 24, 2, 8),
        ("broadcast", broadcast(3), 6, 3, 3),
    ]
    with Solver(PluginManager.discover(), backend="cpsat") as solver:
        for name, collective, chunks, steps, rounds in wanted:
            instance = collective.instantiate(dgx1(), chunks=chunks, steps=steps, rounds=rounds)
            result[name] = solver.solve(instance)
            assert result[name].algorithm is not None
    return result


@pytest.fixture(scope="session")
def cases(solutions: dict[str, Solution]) -> list[tuple[str, Pair]]:
    """By name: the algorithms of dgx1, and one of every kind on few nodes."""
    found: dict[str, tuple[Instance, Algorithm]] = {}
    for name, solution in solutions.items():
        assert solution.algorithm is not None
        found[name] = (solution.instance, solution.algorithm)
    whole, fast = found["allgather"], found["fast allgather"]
    found["reducescatter"] = invert(*whole, "reducescatter")
    found["allreduce"] = compose(invert(*fast, "reducescatter"), fast, "allreduce")
    found["reduce"] = invert(*found["broadcast"], "reduce")
    result = [(f"dgx1 {name}", swapped(pair)) for name, pair in found.items()]
    rng = random.Random(7)
    four, five = ring(4), line(5)
    own, every = np.tile(np.eye(4, dtype=bool), (3, 1)), np.ones((12, 4), dtype=bool)
    at_root = np.zeros((12, 4), dtype=bool)
    at_root[:, 2] = True
    result += [
        ("gather", tree(rng, four, own, at_root)),
        ("scatter", tree(rng, four, at_root, own)),
        ("allgather", tree(rng, four, own, every)),
        ("reduce", swapped(invert(*random_trees(rng, four, "x", at_root, every), "reduce"))),
    ]
    # Not standard: chunks that start unevenly, and reductions that end unevenly.
    pre = np.eye(5, dtype=bool)[[0, 0, 3, 4, 0, 1, 3]]
    post = np.array([[rng.random() < 0.5 for _ in range(5)] for _ in pre]) | pre[::-1]
    result.append(("uneven", tree(rng, five, pre, post)))
    spread = random_trees(rng, five, "x", pre, np.ones_like(pre))
    result.append(("uneven reduction", swapped(invert(*spread, "uneven reduction"))))
    return result


def tree(rng: random.Random, topology: Topology, pre: Bools, post: Bools) -> Pair:
    return swapped(random_trees(rng, topology, "tree", pre, post))


@pytest.fixture(scope="session")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with an algorithm for three nodes."""
    own = np.tile(np.eye(3, dtype=bool), (2, 1))
    forwards = random_trees(random.Random(3), ring(3), "allgather", own, np.ones_like(own))
    backwards = random_trees(random.Random(4), ring(3), "allgather", own, np.ones_like(own))
    pair = compose(invert(*backwards, "reducescatter"), forwards, "allreduce")
    path = tmp_path_factory.mktemp("mpi") / "allreduce.json"
    write_document(path, algorithm_document(*pair))
    return path
