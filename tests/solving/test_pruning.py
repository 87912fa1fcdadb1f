"""Pruning of algorithms that send more than they need."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

import syncoll
from syncoll.model import Algorithm, Instance, OrbitAlgorithm
from syncoll.solving import pruning
from syncoll.solving.pruning import without_useless_sends
from syncoll.testing.instances import random_case
from syncoll.trust import violations


def without(algorithm: Algorithm, send: int) -> Algorithm:
    kept = np.arange(algorithm.num_sends) != send
    carried = algorithm.contributions
    return Algorithm(
        algorithm.rounds_per_step, algorithm.sends[kept], None if carried is None else carried[kept]
    )


def useless(instance: Instance, algorithm: Algorithm) -> list[list[int]]:
    """The sends that can be left out, each by itself."""
    own = algorithm.expanded() if isinstance(algorithm, OrbitAlgorithm) else algorithm
    sends = range(own.num_sends)
    free = [i for i in sends if not violations(instance, without(own, i), limit=1)]
    return own.sends[free].tolist()


def with_more_sends(
    rng: random.Random, instance: Instance, algorithm: Algorithm
) -> tuple[Instance, Algorithm]:
    """The algorithm with further sends of own contributions or of data that is sent elsewhere."""
    wide = algorithm.num_sends + 8
    rounds = tuple(wide for _ in algorithm.rounds_per_step)
    instance = replace(instance, rounds=sum(rounds), rounds_per_step=None)
    algorithm = replace(algorithm, rounds_per_step=rounds)
    for _ in range(8):
        carried = algorithm.contributions
        source, target = rng.choice(instance.topology.links)
        chunk, step = rng.randrange(instance.num_chunks), rng.randrange(instance.steps)
        more = [*algorithm.sends.tolist(), [chunk, source, target, step]]
        of_send = None
        if carried is not None:
            same = algorithm.sends[:, 0] == chunk
            own = np.arange(instance.topology.num_nodes)[None] == source
            row = rng.choice([*carried[same], *own])
            of_send = np.concatenate([carried, row[None]])
        longer = Algorithm(rounds, more, of_send)
        if not violations(instance, longer, limit=1):
            algorithm = longer
    return instance, algorithm


def test_random_algorithms_keep_no_useless_send() -> None:
    rng, pruned = random.Random(1), 0
    for _ in range(60):
        instance, algorithm = with_more_sends(rng, *random_case(rng))
        lean = without_useless_sends(instance, algorithm)
        assert violations(instance, lean) == []
        assert useless(instance, lean) == []
        pruned += algorithm.num_sends - lean.num_sends
    assert pruned > 60


def test_trials_end_with_their_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, most = random.Random(1), 0
    for _ in range(20):
        instance, algorithm = with_more_sends(rng, *random_case(rng))
        if not instance.combining:
            continue
        lean = []
        for limit in (0, 60, 10**6):
            monkeypatch.setattr(pruning, "_MOST_REPLAYED", limit)
            lean.append(without_useless_sends(instance, algorithm))
        counts = [one.num_sends for one in lean]
        assert counts == sorted(counts, reverse=True)
        assert lean[0] == algorithm
        assert violations(instance, lean[1]) == []
        most = max(most, len(set(counts)))
    assert most == 3


@pytest.mark.parametrize(
    ("machine", "collective"),
    [("line(4)", "allgather + allreduce"), ("ring(3)", "2 * reduce + allgather"),
     ("line(3)", "allreduce within [[0, 2]] + broadcast(1)"), ("line(3)", "multi_broadcast(0, 2)"),
     ("ring(3)", "alltoallv([[0, 2, 1], [0, 0, 1], [1, 0, 0]])"),
     ("ring(4)", "allreduce + alltoall within [[0, 2]]")],
)  # fmt: skip
def test_points_have_no_useless_send(machine: str, collective: str) -> None:
    found = syncoll.pareto(machine, collective, max_chunks=2, max_steps=4, work=1)
    assert len(found)
    for point in found:
        assert useless(point.instance, point.algorithm) == [], (point.steps, point.backend)


@pytest.mark.parametrize("symmetric", [False, True])
def test_single_solutions_have_no_useless_send(symmetric: bool) -> None:
    found = syncoll.solve(
        "line(3)", "allgather + allreduce", chunks=1, steps=3, rounds=4, backend="pysat",
        symmetric=symmetric,
    )  # fmt: skip
    assert found.algorithm is not None
    assert useless(found.instance, found.algorithm) == []
