"""Algorithms of every collective on a few machines, made of random trees without a solver."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache

import numpy as np

from syncoll.model import Algorithm, Instance, Topology, compose, invert
from syncoll.plugins import ExportRequest
from syncoll.testing.instances import random_trees
from tests.oracles.classics import dgx1, ring

COLLECTIVES = (
    *("allgather", "reducescatter", "allreduce", "alltoall", "broadcast", "reduce", "gather"),
    *("scatter", "alltoallv", "groups"),
)


def torus(side: int) -> Topology:
    """A torus of two dimensions."""
    at = {(x, y): x * side + y for x in range(side) for y in range(side)}
    links = {
        (here, at[(x + dx) % side, (y + dy) % side]): 1
        for (x, y), here in at.items()
        for dx, dy in ((0, 1), (0, -1), (1, 0), (-1, 0))
    }
    return Topology.from_links(f"torus({side},{side})", side * side, links)


def damaged() -> Topology:
    """dgx1 without two links and with a slow one."""
    whole = dgx1()
    links = {link: 2 for link in whole.links if link not in ((3, 2), (0, 1))}
    return Topology.from_links("dgx1, damaged", 8, {**links, (5, 6): 1})


MACHINES = {"ring": lambda: ring(8), "dgx1": dgx1, "damaged": damaged, "torus": lambda: torus(4)}


@cache
def case(machine: str, collective: str, share: int = 3) -> tuple[Instance, Algorithm]:
    """An algorithm; each rank's part of the data has `share` chunks."""
    topology = MACHINES[machine]()
    nodes = topology.num_nodes
    rng = random.Random(f"{machine} {collective}")
    own = np.tile(np.eye(nodes, dtype=bool), (share, 1))
    one, every = np.zeros_like(own), np.ones_like(own)
    one[:, 2] = True

    def trees(pre: np.ndarray, post: np.ndarray) -> tuple[Instance, Algorithm]:
        return random_trees(rng, topology, collective, pre, post)

    if collective in ("allgather", "reducescatter", "allreduce"):
        found = trees(own, every)
        if collective == "allgather":
            return found
        # The links of the inverse run backwards; all of these machines have both directions.
        backwards = Topology.from_links(
            topology.name, nodes, {(b, a): 2 for a, b in topology.links}
        )
        start = random_trees(rng, backwards, collective, own, every)
        reduced = invert(*start, "reducescatter")
        return reduced if collective == "reducescatter" else _both(reduced, rng, share)
    if collective in ("broadcast", "reduce"):
        found = trees(one[: 2 * share], every[: 2 * share])
        return found if collective == "broadcast" else invert(*found, "reduce")
    if collective in ("gather", "scatter"):
        return trees(own, one) if collective == "gather" else trees(one, own)
    if collective == "alltoall":
        return trees(
            np.repeat(np.eye(nodes, dtype=bool), nodes, axis=0), np.tile(own[:nodes], (nodes, 1))
        )
    if collective == "alltoallv":
        pairs = [(a, b) for a in range(nodes) for b in range(nodes) for _ in range((a * b + a) % 3)]
        eye = np.eye(nodes, dtype=bool)
        return trees(eye[[a for a, _ in pairs]], eye[[b for _, b in pairs]])
    assert collective == "groups"
    return _groups(rng, topology, share)


def _both(
    reduced: tuple[Instance, Algorithm], rng: random.Random, share: int
) -> tuple[Instance, Algorithm]:
    instance = reduced[0]
    nodes = instance.topology.num_nodes
    own = np.tile(np.eye(nodes, dtype=bool), (share, 1))
    forwards = random_trees(rng, instance.topology, "allgather", own, np.ones_like(own))
    return compose(reduced, forwards, "allreduce")


def _groups(rng: random.Random, topology: Topology, share: int) -> tuple[Instance, Algorithm]:
    """Allreduces of the nodes with even and with odd numbers, one chunk by one along trees."""
    nodes = topology.num_nodes
    members = np.array([[n % 2 == g for n in range(nodes)] for g in range(2)])
    # Chunks of the groups take turns, so a rank's chunks are no neighbours.
    post = np.tile(members, (share, 1))
    first = np.zeros_like(post)
    first[np.arange(len(post)), post.argmax(axis=1)] = True
    backwards = Topology.from_links(topology.name, nodes, {(b, a): 2 for a, b in topology.links})
    reduced = invert(*random_trees(rng, backwards, "groups", first, post), "reduce")
    spread = random_trees(rng, reduced[0].topology, "groups", first, post)
    return compose(reduced, spread, "groups")


def request(instance: Instance, algorithm: Algorithm) -> ExportRequest:
    return ExportRequest("sample", instance.collective, instance, algorithm)


def fewer(instance: Instance, algorithm: Algorithm, number: int) -> Algorithm:
    """The algorithm without one of its sends."""
    kept = np.arange(len(algorithm.sends)) != number
    carried = algorithm.contributions
    return replace(
        algorithm,
        sends=algorithm.sends[kept],
        contributions=None if carried is None else carried[kept],
    )
