from __future__ import annotations

import dataclasses
import random
from dataclasses import replace

import numpy as np
import pytest

from syncoll.errors import ModelError
from syncoll.model import Algorithm, Instance
from syncoll.testing.brute_force import TooLargeError
from syncoll.testing.instances import random_instance
from syncoll.trust import violations
from tests.oracles.classics import broadcast, line, ring
from tests.oracles.enumeration import all_algorithms

Case = tuple[Instance, Algorithm]


@pytest.fixture(scope="module")
def valid() -> list[Case]:
    """Valid algorithms, many with useless sends: relays without receivers, and repeated
    deliveries."""
    cases: list[Case] = []
    rng = random.Random(5)
    for seed in range(220):
        instance = random_instance(seed, most_nodes=4, most_chunks=4)
        try:
            algorithms = list(all_algorithms(instance, most_work=3_000))
        except TooLargeError:
            continue
        for algorithm in rng.sample(algorithms, min(4, len(algorithms))):
            cases.append((instance, algorithm))
            if fuller := with_repeats(rng, instance, algorithm):
                cases.append(fuller)
    assert len(cases) > 180
    return cases


def with_repeats(rng: random.Random, instance: Instance, algorithm: Algorithm) -> Case | None:
    """Chunks sent again to nodes that have them, with rounds for these sends."""
    held = {(c, n) for c, n in np.argwhere(instance.pre).tolist()}
    extra = []
    for step in range(algorithm.steps):
        for c, a, b, _ in algorithm.sends[algorithm.sends[:, 3] == step].tolist():
            extra.append((c, a, b, step))
        extra += [
            (c, a, b, step)
            for c, a in sorted(held)
            for other, b in instance.topology.links
            if other == a and rng.random() < 0.3
        ]
        held |= {(c, b) for c, _, b, s in extra if s == step}
    sends = np.array(sorted(set(extra)), dtype=np.int64).reshape(-1, 4)
    if len(sends) == len(algorithm.sends):
        return None
    rounds = Algorithm(algorithm.rounds_per_step, sends).least_rounds(instance.topology)
    fuller = Algorithm(tuple(rounds), sends)
    larger = replace(instance, rounds=fuller.rounds)
    return larger, fuller


def test_the_cases_are_valid(valid: list[Case]) -> None:
    for instance, algorithm in valid:
        assert violations(instance, algorithm) == []


def test_without_useless_sends_is_valid_and_minimal(valid: list[Case]) -> None:
    dropped = 0
    for instance, algorithm in valid:
        lean = algorithm.without_useless_sends(instance)
        assert violations(instance, lean) == []
        assert lean.rounds_per_step == algorithm.rounds_per_step
        rows = set(map(tuple, algorithm.sends.tolist()))
        assert set(map(tuple, lean.sends.tolist())) <= rows
        assert lean.without_useless_sends(instance) == lean
        for row in range(len(lean.sends)):
            less = replace(lean, sends=np.delete(lean.sends, row, axis=0))
            assert violations(instance, less), (lean, row)
        dropped += len(algorithm.sends) - len(lean.sends)
    assert dropped > 100


def test_with_rounds_keeps_valid_algorithms_valid(valid: list[Case]) -> None:
    for instance, algorithm in valid:
        needed = sum(algorithm.least_rounds(instance.topology))
        for total in range(needed, needed + 5):
            if algorithm.steps == 0 and total:
                with pytest.raises(ModelError, match="no step for them"):
                    algorithm.with_rounds(instance.topology, total)
                continue
            roomy = algorithm.with_rounds(instance.topology, total)
            assert roomy.rounds == total
            assert np.array_equal(roomy.sends, algorithm.sends)
            assert violations(replace(instance, rounds=total), roomy) == []
            idle = roomy.rounds_per_step.count(0)
            assert idle == 0 or total < needed + idle + 1
        if needed:
            with pytest.raises(ModelError, match=f"need {needed} rounds?, more than {needed - 1}"):
                algorithm.with_rounds(instance.topology, needed - 1)


def test_least_rounds_are_enough_and_least(valid: list[Case]) -> None:
    for instance, algorithm in valid:
        least = algorithm.least_rounds(instance.topology)
        exact = replace(algorithm, rounds_per_step=tuple(least))
        assert violations(replace(instance, rounds=sum(least)), exact) == []
        for step, rounds in enumerate(least):
            if rounds:
                fewer = [*least]
                fewer[step] -= 1
                tight = replace(algorithm, rounds_per_step=tuple(fewer))
                found = violations(replace(instance, rounds=sum(fewer)), tight)
                assert {v.kind for v in found} == {"bandwidth"}


def test_tightened_keeps_valid_algorithms_valid(valid: list[Case]) -> None:
    shorter = 0
    for instance, algorithm in valid:
        tight = algorithm.tightened(instance.topology)
        smaller = replace(instance, steps=tight.steps, rounds=tight.rounds)
        assert violations(smaller, tight) == []
        assert tight.rounds == sum(algorithm.least_rounds(instance.topology))
        assert set(tight.sends[:, 3].tolist()) == set(range(tight.steps))
        assert tight.steps == len(set(algorithm.sends[:, 3].tolist()))
        assert np.array_equal(tight.sends[:, :3], algorithm.sends[:, :3])
        assert tight.tightened(instance.topology) == tight
        shorter += tight.steps < algorithm.steps
    assert shorter > 50


def test_sends_are_kept_in_order() -> None:
    rows = [(1, 0, 1, 1), (0, 1, 2, 1), (1, 0, 1, 0), (0, 0, 2, 1), (0, 0, 1, 1)]
    one, two = Algorithm((1, 1), np.array(rows)), Algorithm((1, 1), np.array(rows[::-1]))
    assert one == two
    assert hash(one) == hash(two)
    assert one.sends.tolist() == [
        [1, 0, 1, 0],
        [0, 0, 1, 1],
        [0, 0, 2, 1],
        [0, 1, 2, 1],
        [1, 0, 1, 1],
    ]
    assert one != Algorithm((2, 1), np.array(rows))
    assert one != Algorithm((1, 1), np.array(rows[1:]))
    assert one != "an algorithm"


@pytest.mark.parametrize("shape", [(3,), (2, 3), (1, 4, 1), (2, 5)])
def test_shapes_of_sends(shape: tuple[int, ...]) -> None:
    with pytest.raises(ModelError, match=r"an array of shape \[M, 4\]"):
        Algorithm((1,), np.zeros(shape, dtype=np.int64))


def test_no_sends_at_all() -> None:
    for sends in (np.empty(0), np.empty((0, 4)), []):
        algorithm = Algorithm((), np.array(sends, dtype=np.int64))
        assert (algorithm.sends.shape, algorithm.steps, algorithm.rounds) == ((0, 4), 0, 0)
        assert algorithm.tightened(ring(3)) == algorithm


def test_arrays_are_read_only() -> None:
    rows = np.array([(0, 0, 1, 0)])
    algorithm = Algorithm((1,), rows)
    rows[:] = 9
    assert algorithm.sends.tolist() == [[0, 0, 1, 0]]
    instance = broadcast().instantiate(line(2), chunks=1, steps=1, rounds=1)
    derived = [
        algorithm,
        algorithm.without_useless_sends(instance),
        algorithm.with_rounds(instance.topology, 2),
        algorithm.tightened(instance.topology),
    ]
    for one in derived:
        with pytest.raises(ValueError, match="read-only"):
            one.sends[0, 0] = 1
        with pytest.raises(dataclasses.FrozenInstanceError):
            one.rounds_per_step = (3,)  # type: ignore[misc]
