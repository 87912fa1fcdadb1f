"""Reproducible sums with swapped operands or trees in one chunk: every one is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from random import Random

import numpy as np

from syncoll.api import Algorithm, Instance, Topology
from syncoll.errors import VerificationError
from syncoll.trust import require_valid

NODES = 6
FULL = Topology.from_links(
    "full", NODES, {(a, b): 99 for a in range(NODES) for b in range(NODES) if a != b}, []
)
EVERY = np.ones((2, NODES), dtype=bool)
INSTANCE = Instance(FULL, "sums", 2, NODES, NODES, EVERY, EVERY, combining=True)


def chunk(number: int, sums: list[tuple[int, int]]) -> list[tuple[list[int], int]]:
    """The sends of a chunk, each with its contributors: sums of two partial sums in turn, formed at
    a node of the first; then the whole sum goes to all nodes."""
    at = {1 << n: n for n in range(NODES)}
    sends = []
    for step, (one, two) in enumerate(sums):
        sends.append(([number, at[two], at[one], step], two))
        at[one | two] = at[one]
    whole = (1 << NODES) - 1
    sends += [([number, at[whole], n, NODES - 1], whole) for n in range(NODES) if n != at[whole]]
    return sends


def tree(random: Random) -> list[tuple[int, int]]:
    """A random order of additions."""
    pieces, sums = [1 << n for n in range(NODES)], []
    while len(pieces) > 1:
        one, two = random.sample(pieces, 2)
        pieces = [x for x in pieces if x not in (one, two)] + [one | two]
        sums.append((one, two))
    return sums


def cross(masks: set[int]) -> bool:
    """Whether two partial sums overlap, and neither is a part of the other: there is no common
    tree."""
    return any(a & b not in (0, a, b) for a, b in combinations(masks, 2))


def mutants(random: Random) -> Iterator[list[tuple[list[int], int]]]:
    """Two chunks in one association; then the second gets another tree or swapped operands."""
    while True:
        sums = tree(random)
        first = chunk(0, sums)
        yield [*first, *chunk(1, tree(random))]
        one, two = random.sample(range(NODES), 2)
        names = {one: two, two: one}
        swapped = [
            tuple(sum(1 << names.get(n, n) for n in range(NODES) if x >> n & 1) for x in both)
            for both in sums
        ]
        yield [*first, *chunk(1, [(a, b) for a, b in swapped])]
        second = chunk(1, sums)
        i, j = random.sample(range(NODES - 1), 2)
        (a, x), (b, y) = second[i], second[j]
        second[i], second[j] = (a, y), (b, x)
        yield [*first, *second]


def test_a_thousand_mutants_are_refused() -> None:
    random, other_trees, wrong_sums, kept = Random(1), 0, 0, 0
    instance = replace(INSTANCE, reproducible=True)
    for sends in mutants(random):
        carried = [[mask >> n & 1 for n in range(NODES)] for _, mask in sends]
        algorithm = Algorithm(
            (1,) * NODES, np.array([row for row, _ in sends]), np.array(carried, dtype=bool)
        )
        try:
            require_valid(instance, algorithm)
        except VerificationError as error:
            if "different" in str(error):
                assert cross({mask for _, mask in sends})
                other_trees += 1
            else:
                wrong_sums += 1
        else:
            kept += 1  # the same tree in another order
            assert not cross({mask for _, mask in sends})
        if other_trees + wrong_sums == 1000:
            break
    assert other_trees > 500
    assert wrong_sums > 100
    assert kept < 500
