"""Hints, good or bad, change no verdict: on every backend, for every encoding that takes them."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from syncoll.formula import Limits, Verdict
from syncoll.model import Algorithm, Instance
from syncoll.plugins import PluginManager, TakesHints, resolve_options
from syncoll.solving import Solver
from syncoll.testing.brute_force import TooLargeError, has_algorithm
from syncoll.testing.instances import random_instance
from syncoll.trust import violations

MANAGER = PluginManager.discover()
BACKENDS = [name for name, one in MANAGER.backends.items() if one.installed().ok]
SEEDS = range(60)


def noise(instance: Instance, seed: int) -> Algorithm:
    """Sends of any chunk over any link in any step, and some that no link carries."""
    rng = random.Random(seed)
    nodes, chunks, steps = instance.topology.num_nodes, instance.num_chunks, instance.steps
    rows = [
        (rng.randrange(chunks), rng.randrange(nodes), rng.randrange(nodes), rng.randrange(steps))
        for _ in range(rng.randrange(12))
        if chunks and steps
    ]
    return Algorithm((0,) * steps, np.array(rows, dtype=np.int64).reshape(-1, 4))


@pytest.fixture(scope="module")
def cases() -> list[tuple[Instance, bool]]:
    found = []
    for seed in SEEDS:
        instance = random_instance(seed)
        try:
            found.append((instance, has_algorithm(instance)))
        except TooLargeError:
            continue
    assert {truth for _, truth in found} == {True, False}
    return found


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("encoding", ["step", "path"])
def test_no_hint_changes_the_verdict(
    encoding: str, backend: str, cases: list[tuple[Instance, bool]]
) -> None:
    takes = any(o.name == "hints" for o in MANAGER.backends[backend].options)
    options = {"hints": True} if takes else {}
    with Solver(
        MANAGER,
        encoding=encoding,
        backend=backend,
        backend_options=options,
        limits=Limits(seconds=60, threads=1),
    ) as solver:
        for seed, (instance, truth) in enumerate(cases[:15]):
            solution = solver.solve(instance, hint=noise(instance, seed))
            if solution.verdict is Verdict.UNKNOWN:
                assert backend == "gurobi", solution.outcome.message  # its licence is small
                continue
            assert (solution.verdict is Verdict.SAT) == truth
            if solution.algorithm is not None:
                again = solver.solve(instance, hint=solution.algorithm)
                assert again.verdict is Verdict.SAT
                assert again.algorithm is not None
                assert not violations(instance, again.algorithm)


@pytest.mark.parametrize("name", ["step", "path"])
def test_a_hint_holds_in_a_model_of_the_algorithm(
    name: str, cases: list[tuple[Instance, bool]]
) -> None:
    """Its literals hold in a model that decodes to the algorithm, and there is one per send."""
    record = MANAGER.encodings[name]
    options = resolve_options(record.options, {}, name)
    looked = 0
    with Solver(MANAGER, encoding=name, backend="cpsat", limits=Limits(threads=1)) as solver:
        for instance, truth in cases:
            if not truth:
                continue
            algorithm = solver.solve(instance).algorithm
            assert algorithm is not None
            encoded = record.load().encode(instance, options)
            assert isinstance(encoded, TakesHints)
            literals = encoded.hint(algorithm)
            assert len(np.unique(np.abs(literals))) == len(literals)
            assert np.count_nonzero(literals > 0) == len(algorithm.sends)
            nothing = encoded.hint(replace(algorithm, sends=np.zeros((0, 4), dtype=np.int64)))
            assert (nothing < 0).all()
            looked += len(algorithm.sends) > 0
    assert looked >= 5
