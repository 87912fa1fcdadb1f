"""No bound exceeds the cost of an algorithm, on random machines whose switches copy and add up."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import numpy as np

from syncoll.bounding import bound_at_once
from syncoll.bounding.combining import combining_rounds_bound
from syncoll.certificates import Certificate, ChunkClasses
from syncoll.model import Algorithm, BandwidthBound, Counting, Instance, Topology
from syncoll.trust import require_valid, violations


def machine(rng: random.Random) -> Topology:
    """A connected one, with shared cables of all kinds."""
    nodes = rng.randint(2, 5)
    ring = {(a, (a + 1) % nodes) for a in range(nodes)}
    more = {(a, b) for a in range(nodes) for b in range(nodes) if a != b and rng.random() < 0.5}
    links = tuple(sorted(ring | more))
    bounds = []
    for node in range(nodes):
        for end in (0, 1):
            own = tuple(link for link in links if link[end] == node)
            rate = Fraction(rng.choice((1, 2, Fraction(1, 2))))
            bounds.append(BandwidthBound(own, rate, "", rng.choice([*Counting])))
    if rng.random() < 0.3:
        some = tuple(link for link in links if rng.random() < 0.6) or links
        bounds.append(BandwidthBound(some, Fraction(2), "", rng.choice([*Counting])))
    return Topology("random", nodes, links, tuple(bounds))


def by_trees(rng: random.Random, topology: Topology, chunks: int) -> Algorithm:
    """Sums along a tree to a node, and results along another one, each as soon as it can."""
    nodes, sends, carried = topology.num_nodes, [], []
    for chunk in range(chunks):
        root = rng.randrange(nodes)
        up = tree(rng, [(b, a) for a, b in topology.links], root, nodes)
        down = tree(rng, list(topology.links), root, nodes)
        below = {n: frozenset([n]) for n in range(nodes)}
        depth = {root: 0}
        for parent, child in up:
            depth[child] = depth[parent] + 1
        height = max(depth.values())
        for parent, child in reversed(up):
            sends.append((chunk, child, parent, height - depth[child]))
            carried.append(below[child])
            below[parent] |= below[child]
        at = {root: height}
        for parent, child in down:
            sends.append((chunk, parent, child, at[parent]))
            at[child] = at[parent] + 1
            carried.append(frozenset(range(nodes)))
    whose = np.array([[n in one for n in range(nodes)] for one in carried])
    steps = 1 + max(step for *_, step in sends)
    return Algorithm((0,) * steps, sends, whose).tightened(topology)


def tree(
    rng: random.Random, links: list[tuple[int, int]], root: int, nodes: int
) -> list[tuple[int, int]]:
    """Parents and children, from the root on."""
    found: list[tuple[int, int]] = []
    reached = {root}
    while len(reached) < nodes:
        parent, child = rng.choice([x for x in links if x[0] in reached and x[1] not in reached])
        found.append((parent, child))
        reached.add(child)
    return found


def test_bounds_hold() -> None:
    rng, met, fewer = random.Random(3), 0, 0
    for _ in range(30):
        topology, chunks = machine(rng), rng.randint(1, 3)
        algorithm = by_trees(rng, topology, chunks)
        every = np.ones((chunks, topology.num_nodes), dtype=bool)
        instance = Instance(
            topology, "sum", chunks, algorithm.steps, algorithm.rounds, every, every, combining=True
        )
        require_valid(instance, algorithm)
        step = rng.randrange(algorithm.steps)
        rounds = [r - (i == step) for i, r in enumerate(algorithm.rounds_per_step)]
        fewest = replace(algorithm, rounds_per_step=tuple(rounds))
        wrong = violations(replace(instance, rounds=algorithm.rounds - 1), fewest)
        assert "bandwidth" in {one.kind for one in wrong}
        plain = sum(algorithm.least_rounds(topology.conservative))
        fewer += algorithm.rounds < plain
        require_valid(
            replace(instance, topology=topology.conservative, rounds=plain),
            algorithm.with_rounds(topology.conservative, plain),
        )
        shape = ChunkClasses.of(instance.table, 1, combining=True)
        for steps in (None, algorithm.steps):
            bound = combining_rounds_bound(topology, shape, steps)
            assert bound.rounds <= algorithm.rounds
            Certificate(shape, bound).check(topology)
            met += bound.rounds == algorithm.rounds
        assert bound_at_once(topology, shape).rounds <= algorithm.rounds
    assert fewer > 2
    assert met > 1
