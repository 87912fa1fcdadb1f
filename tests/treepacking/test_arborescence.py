"""Cheapest trees away from a root, against all of them."""

from __future__ import annotations

import random
from itertools import product

import pytest

from syncoll.scheduling.arborescence import cheapest_arborescence


def leads_from_root(parents: dict[int, int]) -> bool:
    for start in parents:
        seen, node = {start}, start
        while node:
            node = parents[node]
            if node in seen:
                return False
            seen.add(node)
    return True


@pytest.mark.parametrize("seed", range(100))
def test_cheapest_arborescences(seed: int) -> None:
    chance = random.Random(seed)
    nodes = chance.randint(2, 6)
    cost = {
        (u, v): chance.randint(0, 9)
        for u, v in product(range(nodes), repeat=2)
        if u != v and (v == u + 1 or chance.random() < 0.5)
    }
    named = list(cost)
    chosen = cheapest_arborescence(
        nodes, 0, [(u, v, cost[u, v], i) for i, (u, v) in enumerate(named)]
    )
    parents = {named[i][1]: named[i][0] for i in chosen}
    assert len(chosen) == len(parents) == nodes - 1
    assert leads_from_root(parents)
    choices = [[u for u in range(nodes) if (u, v) in cost] for v in range(1, nodes)]
    least = min(
        sum(cost[u, v] for v, u in enumerate(choice, start=1))
        for choice in product(*choices)
        if leads_from_root(dict(enumerate(choice, start=1)))
    )
    assert sum(cost[named[i]] for i in chosen) == least
