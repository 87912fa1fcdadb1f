"""Algorithms made of one node's chunks, and their sends listed one by one without the product."""

from __future__ import annotations

import random

import numpy as np

from syncoll.model import Algorithm, Carriers, Instance, OrbitAlgorithm, Topology

__all__ = ["listed", "random_orbit"]


def random_orbit(seed: int) -> tuple[Instance, OrbitAlgorithm]:
    """An allgather on a circulant graph: random trees from node 0, moved round to all others."""
    rng = random.Random(seed)
    nodes, copies = rng.randint(3, 7), rng.randint(1, 3)
    jumps = sorted({1, *rng.sample(range(1, nodes), rng.randint(0, 2))})
    width = rng.choice((1, 2))
    links = {(v, (v + jump) % nodes): width for v in range(nodes) for jump in jumps}
    topology = Topology.from_links("circulant", nodes, links)
    numbers = np.array(rng.sample(range(nodes * copies), nodes * copies)).reshape(nodes, copies)
    sends, latest = [], 0
    for chunk in numbers[0].tolist():
        has = {0: rng.randint(0, 1)}
        while len(has) < nodes:
            source = rng.choice(list(has))
            target = (source + rng.choice(jumps)) % nodes
            if target not in has:
                sends.append((chunk, source, target, has[source]))
                has[target] = has[source] + rng.randint(1, 2)
                latest = max(latest, sends[-1][3])
    step = rng.choice([g for g in range(1, nodes) if np.gcd(g, nodes) == 1])
    chunk_map = np.empty(nodes * copies, dtype=np.int64)
    chunk_map[numbers] = np.roll(numbers, -step, axis=0)
    products = [(0, i) for i in range(nodes - 1)]
    around = (np.arange(nodes) + step) % nodes
    carriers = Carriers(around[None], chunk_map[None], np.array(products))
    own = Algorithm((0,) * (latest + 1), np.array(sends))
    tight = own._with(tuple(OrbitAlgorithm(own, carriers).least_rounds(topology)))
    algorithm = OrbitAlgorithm(tight, carriers)
    pre = np.zeros((nodes * copies, nodes), dtype=bool)
    pre[numbers, np.arange(nodes)[:, None]] = True
    costs = copies, algorithm.steps, algorithm.rounds
    return Instance(topology, "allgather", *costs, pre, np.ones_like(pre)), algorithm


def listed(algorithm: OrbitAlgorithm) -> list[tuple[int, int, int, int]]:
    """All sends, each carried along its own chain of generators; in no order."""
    carriers, found = algorithm.carriers, []
    for element in range(carriers.order):
        chain = []
        while element:
            generator, element = carriers.products[element - 1].tolist()
            chain.append(generator)
        for chunk, source, target, step in algorithm.representative.sends.tolist():
            for generator in reversed(chain):
                chunk = int(carriers.chunks[generator][chunk])
                source, target = (int(carriers.nodes[generator][n]) for n in (source, target))
            found.append((chunk, source, target, step))
    return found
