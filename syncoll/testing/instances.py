"""Small random topologies, instances and algorithms for tests.

Instances contain corner cases rather than look like machines: one-way links, rational bandwidths,
ports and buses shared by links, links under only a shared bound.  Chunks start at several nodes or
nowhere, are in place or needed nowhere, or are interchangeable.  There may be too few steps, or no
rounds at all.  Algorithms are made without any solver, and are valid.
"""

import random
from fractions import Fraction
from math import ceil

import numpy as np

from syncoll.arrays import Bools
from syncoll.model import UNREACHABLE, Algorithm, Instance, Link, Topology, compose, invert

_LINK_BANDWIDTHS = (1, 1, 1, 1, 2, 3, Fraction(1, 2), Fraction(3, 2), Fraction(2, 3))
_SHARED_BANDWIDTHS = (1, 1, 2, 2, 3, Fraction(1, 2), Fraction(3, 2), Fraction(5, 2))


def random_topology(
    seed: int | random.Random, *, least_nodes: int = 2, most_nodes: int = 5
) -> Topology:
    """A small random topology; the same int as seed gives the same one everywhere."""
    rng = _generator(seed)
    nodes = rng.randint(least_nodes, most_nodes)
    links = _links(rng, nodes)
    shared = _shared(rng, nodes, links)
    covered = {link for group, _ in shared for link in group}
    own = {
        link: rng.choice(_LINK_BANDWIDTHS)
        for link in links
        if link not in covered or rng.random() < 0.6
    }
    return Topology.from_links("random", nodes, own, shared, unbounded=links)


def random_instance(
    seed: int | random.Random,
    *,
    topology: Topology | None = None,
    least_nodes: int = 2,
    most_nodes: int = 5,
    most_chunks: int = 5,
    most_extra_steps: int = 2,
) -> Instance:
    """A small random instance; every post is reachable, in time or not.

    About half of them have an algorithm.

    Args:
        seed: the same int gives the same instance everywhere.
        topology: a random one of `least_nodes` to `most_nodes` nodes by default.
        most_chunks: G at most.
        most_extra_steps: S at most this number above the distance bound.
    """
    rng = _generator(seed)
    if topology is None:
        topology = random_topology(rng, least_nodes=least_nodes, most_nodes=most_nodes)
    rows = _rows(rng, topology, max(rng.randint(1, most_chunks), rng.randint(1, most_chunks)))
    pre = np.array([start for start, _ in rows], dtype=bool)
    post = np.array([goal for _, goal in rows], dtype=bool)
    least = Instance(topology, "random", 1, 0, 0, pre, post).least_steps
    extra = range(most_extra_steps + 1)
    steps = max(0, least + (rng.choice((0, *extra)) if rng.random() < 0.92 else -1))
    rounds = max(0, _rough_rounds(topology, pre, post) + rng.choice((-1, -1, 0, 0, 1, 1, 2, 3)))
    rounds = rounds if rng.random() < 0.95 else 0
    return Instance(topology, "random", 1, steps, rounds, pre, post)


def connected_topology(rng: random.Random, most_nodes: int = 5) -> Topology:
    """A random topology in which every node reaches every other; links may be one-way."""
    while True:
        topology = random_topology(rng, most_nodes=most_nodes)
        if topology.distances.max() < topology.num_nodes:
            return topology


def random_trees(
    rng: random.Random, topology: Topology, name: str, pre: Bools, post: Bools
) -> tuple[Instance, Algorithm]:
    """A valid algorithm that spreads each chunk from its one root along a random tree."""
    sends: list[tuple[int, int, int, int]] = []
    for chunk in range(len(pre)):
        (root,) = np.flatnonzero(pre[chunk]).tolist()
        at = {root: 0}  # the first step in which each node may send the chunk
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


def _generator(seed: int | random.Random) -> random.Random:
    return seed if isinstance(seed, random.Random) else random.Random(seed)


def _links(rng: random.Random, nodes: int) -> list[Link]:
    density = rng.choice((0.4, 0.6, 0.8, 1.0))
    links: list[Link] = []
    for a in range(nodes):
        for b in range(a + 1, nodes):
            if rng.random() < density:
                links += rng.choice(([(a, b), (b, a)], [(a, b), (b, a)], [(a, b)], [(b, a)]))
    if not links and rng.random() < 0.5:
        links.append((0, 1) if rng.random() < 0.5 else (1, 0))
    return sorted(links)


def _shared(
    rng: random.Random, nodes: int, links: list[Link]
) -> list[tuple[list[Link], int | Fraction]]:
    """Ports of nodes and buses over any links."""
    shared: list[tuple[list[Link], int | Fraction]] = []
    for _ in range(rng.choice((0, 0, 1, 2, 3))):
        kind, node = rng.randrange(3), rng.randrange(nodes)
        if kind == 2:
            group = [link for link in links if rng.random() < 0.5]
        else:
            group = [link for link in links if link[kind] == node]
        if group:
            shared.append((group, rng.choice(_SHARED_BANDWIDTHS)))
    return shared


def _rows(
    rng: random.Random, topology: Topology, chunks: int
) -> list[tuple[list[bool], list[bool]]]:
    """For each chunk its rows of pre and post; some post is not empty."""
    nodes = topology.num_nodes
    rows: list[tuple[list[bool], list[bool]]] = []
    for _ in range(chunks):
        if rows and rng.random() < 0.4:
            rows.append(rng.choice(rows))  # interchangeable
            continue
        starts = set(rng.sample(range(nodes), rng.choice((1, 1, 1, 1, min(2, nodes), 0))))
        near = [n for n in range(nodes) if any(_reaches(topology, s, n) for s in starts)]
        eagerness = rng.choice((0.0, 0.4, 0.7, 0.7, 1.0, 1.0))
        goals = {n for n in near if rng.random() < eagerness}
        rows.append(([n in starts for n in range(nodes)], [n in goals for n in range(nodes)]))
    if not any(any(goal) for _, goal in rows):
        start = rng.randrange(nodes)
        goal = rng.choice([n for n in range(nodes) if _reaches(topology, start, n)])
        rows[0] = ([n == start for n in range(nodes)], [n == goal for n in range(nodes)])
    return rows


def _rough_rounds(topology: Topology, pre: Bools, post: Bools) -> int:
    """Approximate rounds for every node to receive its missing chunks."""
    rate = {
        link: min(bound.chunks_per_round for bound in topology.bounds if link in bound.links)
        for link in topology.links
    }
    missing = (post & ~pre).sum(axis=0).tolist()
    return max(
        (
            ceil(count / sum(rate[link] for link in topology.links if link[1] == node))
            for node, count in enumerate(missing)
            if count
        ),
        default=0,
    )


def _reaches(topology: Topology, source: int, destination: int) -> bool:
    return bool(topology.distances[source, destination] < UNREACHABLE)
