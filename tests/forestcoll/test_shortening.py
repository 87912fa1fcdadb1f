"""Lower trees with the same loads."""

from __future__ import annotations

import itertools
from random import Random

import numpy as np
import pytest

from syncoll.deadline import Deadline
from syncoll.errors import ModelError
from syncoll.model import Forest
from syncoll.trust.forest import verify_forest
from syncoll_forestcoll.collectives import weighted_broadcast
from syncoll_forestcoll.shortening import _assign, shortened
from tests.oracles.fabrics import a100, dgx1, mi250, p2_16xlarge, random_fabric, torus


def _mass(forest: Forest) -> int:
    """The sum of 3**depth over all nodes of all trees."""
    total = 0
    for tree in forest.trees():
        depth = {tree.root: 0}
        for parent, child, _ in tree.edges:
            depth[child] = depth[parent] + 1
        total += tree.weight * sum(3**d for d in depth.values())
    return total


@pytest.mark.parametrize(
    ("fabric", "k", "height"),
    [
        (dgx1(), 6, 2),  # the diameter
        (a100(2), 13, 2),
        (mi250(2), 2, 9),
        (p2_16xlarge(), 1, 3),
        (torus(4, 4), 4, 4),
    ],
    ids=lambda x: getattr(x, "name", ""),
)
def test_heights(fabric, k, height) -> None:
    before = weighted_broadcast(fabric, [1] * fabric.num_nodes, fixed_k=k).forest
    after = shortened(before)
    verify_forest(after)
    assert after.height <= height <= before.height
    assert (after.k, after.scale, after.algbw) == (before.k, before.scale, before.algbw)


def test_random_networks_keep_their_throughput() -> None:
    improved = 0
    for seed in range(80):
        random = Random(seed)
        fabric = random_fabric(random, irregular=bool(seed % 2))
        weights = [random.randint(0, 2) for _ in range(fabric.num_nodes - 1)] + [1]
        try:
            before = weighted_broadcast(fabric, weights).forest
        except ModelError:
            continue
        after = shortened(before)
        verify_forest(after)
        assert after.algbw == before.algbw
        assert np.array_equal(np.unique(after.roots), np.unique(before.roots))
        assert _mass(after) <= _mass(before)
        improved += _mass(after) < _mass(before)
    assert improved > 10


def test_time_that_is_up_changes_nothing() -> None:
    forest = weighted_broadcast(dgx1(), [1] * 8).forest
    after = shortened(forest, Deadline.after(-1))
    verify_forest(after)
    assert _mass(after) == _mass(forest)


def test_assignments_are_the_cheapest() -> None:
    random = Random(5)
    decided = 0
    for _ in range(60):
        rows, columns = random.randint(1, 4), random.randint(1, 3)
        costs = np.array([[random.randint(0, 9) for _ in range(columns)] for _ in range(rows)])
        allowed = np.array([[random.random() < 0.7 for _ in range(columns)] for _ in range(rows)])
        room = np.array([random.randint(0, 3) for _ in range(columns)])
        best = min(
            (
                sum(costs[i, c] for i, c in enumerate(choice))
                for choice in itertools.product(range(columns), repeat=rows)
                if all(allowed[i, c] for i, c in enumerate(choice))
                and all(choice.count(c) <= room[c] for c in range(columns))
            ),
            default=None,
        )
        chosen = _assign(costs, allowed, room)
        if best is None:
            assert chosen is None
            continue
        decided += 1
        assert chosen is not None
        assert costs[np.arange(rows), chosen].sum() == best
    assert decided > 15
