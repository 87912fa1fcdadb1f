"""Algorithms with given costs, which are all that a plan uses."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from syncoll.documents import StoredAlgorithm
from syncoll.model import Algorithm, Instance, Topology

Costs = tuple[int, int, int]
Make = Callable[[Sequence[Costs]], list[StoredAlgorithm]]

PAIR = Topology.from_links("pair", 2, {(0, 1): 1, (1, 0): 1})


def make_algorithms(costs: Sequence[Costs]) -> list[StoredAlgorithm]:
    """One algorithm for each (S, R, C); without sends, so the verifier would refuse them."""
    made = []
    for number, (steps, rounds, chunks) in enumerate(costs):
        pre = np.zeros((2 * chunks, 2), dtype=bool)
        pre[np.arange(2 * chunks), np.arange(2 * chunks) % 2] = True
        instance = Instance(PAIR, "allgather", chunks, steps, rounds, pre, np.ones_like(pre))
        per_step = (rounds, *[0] * (steps - 1))
        algorithm = Algorithm(per_step, np.empty((0, 4), dtype=np.int64))
        made.append(StoredAlgorithm(instance, algorithm, f"points[{number}]"))
    return made


@pytest.fixture(scope="session")
def make() -> Make:
    return make_algorithms
