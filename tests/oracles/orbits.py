"""Algorithms made of one node's chunks, and their sends listed one by one without the product."""

from __future__ import annotations

import random

import numpy as np

from syncoll.model import Algorithm, Carriers, Instance, OrbitAlgorithm, Topology

__all__ = ["listed", "random_orbit"]


def random_orbit(seed: int) -> tuple[Instance, OrbitAlgorithm]:
    """An allgather on a circulant graph: random trees from node 0, moved round to all others.

    For every third seed all of it comes again some steps later, for other chunks.
    """
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
    waves, delay = (rng.randint(2, 3), rng.randint(1, 3)) if seed % 3 == 2 else (1, 0)
    kinds = 1 if waves == 1 else 2
    wave, every = nodes * copies, np.arange(nodes * copies * waves)
    products += [(1, i) for i in range(nodes * (waves - 1))]
    carriers = Carriers(
        np.stack([around, np.arange(nodes)][:kinds]),
        np.stack(
            [chunk_map[every % wave] + every // wave * wave, (every + wave) % len(every)][:kinds]
        ),
        np.array(products),
        np.array([0, delay][:kinds]),
    )
    own = Algorithm((0,) * (latest + 1 + delay * (waves - 1)), np.array(sends))
    tight = own._with(tuple(OrbitAlgorithm(own, carriers).least_rounds(topology)))
    algorithm = OrbitAlgorithm(tight, carriers)
    pre = np.zeros((wave, nodes), dtype=bool)
    pre[numbers, np.arange(nodes)[:, None]] = True
    pre = np.tile(pre, (waves, 1))
    costs = copies * waves, algorithm.steps, algorithm.rounds
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
                step += int(carriers.delays[generator])
            found.append((chunk, source, target, step))
    return found
