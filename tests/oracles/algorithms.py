"""Random valid algorithms: nodes pass chunks on to nodes that lack them."""

from __future__ import annotations

import random

import numpy as np

from syncoll.documents import StoredAlgorithm
from syncoll.model import Algorithm, Instance, Topology, compose, invert
from syncoll.model.topology import UNREACHABLE
from syncoll.testing.instances import random_topology
from syncoll.trust import require_valid


def connected_topology(rng: random.Random) -> Topology:
    """A random topology in which every node reaches every other."""
    while True:
        topology = random_topology(rng)
        if (topology.distances != UNREACHABLE).all():
            return topology


def random_allgather(
    rng: random.Random, topology: Topology, chunks: int = 1, *, twice: float = 0.0
) -> tuple[Instance, Algorithm]:
    """An allgather of `chunks` chunks a node; each step each link carries some that its end lacks,
    or nothing.

    `twice` is the probability that a node receives a chunk from two nodes in one step.
    """
    nodes, count = topology.num_nodes, topology.num_nodes * chunks
    pre = np.zeros((count, nodes), dtype=bool)
    pre[np.arange(count), np.arange(count) % nodes] = True
    held, sends, step = pre.copy(), [], 0
    while not held.all():
        before = held.copy()
        for source, destination in topology.links:
            wanted = np.flatnonzero(before[:, source] & ~before[:, destination]).tolist()
            rng.shuffle(wanted)
            for chunk in wanted[: rng.randint(1, 3)] if rng.random() < 0.5 else ():
                if not held[chunk, destination] or rng.random() < twice:
                    held[chunk, destination] = True
                    sends.append((chunk, source, destination, step))
        step += 1
    algorithm = Algorithm((0,) * step, np.array(sends)).tightened(topology)
    instance = Instance(
        topology, "allgather", chunks, algorithm.steps, algorithm.rounds, pre, np.ones_like(pre)
    )
    return instance, algorithm


def random_algorithm(rng: random.Random, topology: Topology, chunks: int = 1) -> StoredAlgorithm:
    """An allgather, a reducescatter or an allreduce."""
    kind = rng.choice(("allgather", "reducescatter", "allreduce"))
    twice = 0.1 if kind == "allgather" else 0.0
    gathered = random_allgather(rng, topology, chunks, twice=twice)
    found = gathered
    if kind != "allgather":
        instance, algorithm = random_allgather(rng, topology.reversed(), chunks)
        found = invert(instance, algorithm, "reducescatter")
    if kind == "allreduce":
        found = compose(found, gathered, "allreduce")
    require_valid(*found)
    return StoredAlgorithm(*found, kind)
