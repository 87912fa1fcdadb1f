"""Random valid algorithms of collectives, combining or not, made without any solver."""

from __future__ import annotations

import random

import numpy as np

from syncoll.model import Algorithm, BoolArray, Instance, Topology, compose, invert
from syncoll.testing.instances import random_topology

__all__ = ["connected_topology", "random_case", "random_trees"]


def connected_topology(rng: random.Random, most_nodes: int = 5) -> Topology:
    """A random topology in which every node reaches every other; links may be one-way."""
    while True:
        topology = random_topology(rng, most_nodes=most_nodes)
        if topology.distances.max() < topology.num_nodes:
            return topology


def random_trees(
    rng: random.Random, topology: Topology, name: str, pre: BoolArray, post: BoolArray
) -> tuple[Instance, Algorithm]:
    """A valid algorithm that spreads each chunk from its one root along a random tree."""
    sends: list[tuple[int, int, int, int]] = []
    for chunk in range(len(pre)):
        (root,) = np.flatnonzero(pre[chunk]).tolist()
        at = {root: 0}  # node to the step from which on it may send the chunk
        needed = set(np.flatnonzero(post[chunk]).tolist()) - {root}
        while needed - set(at):
            frontier = [(a, b) for a, b in topology.links if a in at and b not in at]
            a, b = rng.choice(frontier)
            step = at[a] + rng.randint(0, 1)
            sends.append((chunk, a, b, step))
            at[b] = step + 1
    steps = max((s for *_, s in sends), default=0) + 1
    algorithm = Algorithm((0,) * steps, np.array(sends, dtype=np.int64).reshape(-1, 4))
    free = Instance(topology, name, 1, steps, 0, pre, post)
    algorithm = algorithm.without_useless_sends(free)
    least = algorithm.least_rounds(topology)
    chunks = max(1, int(pre.sum(axis=0).max()))
    return (
        Instance(topology, name, chunks, steps, sum(least), pre, post),
        Algorithm(tuple(least), algorithm.sends),
    )


def random_case(rng: random.Random) -> tuple[Instance, Algorithm]:
    """A valid algorithm of a random collective, combining or not, on a random topology."""
    topology = connected_topology(rng)
    nodes = topology.num_nodes
    kind = rng.choice(["allgather", "broadcast", "random", "reducescatter", "reduce", "allreduce"])
    copies = rng.randint(1, 2)
    if kind in ("broadcast", "reduce"):
        pre = np.zeros((copies, nodes), dtype=bool)
        pre[:, rng.randrange(nodes)] = True
    else:
        pre = np.tile(np.eye(nodes, dtype=bool), (copies, 1))
    post = np.ones_like(pre)
    if kind == "random":
        post = np.array([[rng.random() < 0.6 for _ in range(nodes)] for _ in pre])
        post[0, :] = True
    if kind in ("allgather", "broadcast", "random"):
        return random_trees(rng, topology, kind, pre, post)
    backwards = random_trees(rng, topology.reversed(), "dual", pre, post)
    first = invert(*backwards, kind)
    if kind != "allreduce":
        return first
    return compose(first, random_trees(rng, topology, "allgather", pre, post), kind)
