"""Random forests, and the exact answer for tiny ones."""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from syncoll.deadline import Deadline
from syncoll.model import UNREACHABLE, Collective, Fabric, Topology
from syncoll.scheduling import StepTree
from syncoll.testing.instances import random_topology
from syncoll_forestcoll.collectives import weighted_broadcast
from syncoll_forestcoll.shortening import shortened


@dataclass(frozen=True)
class Forest:
    """Trees on a topology, and the collective that they serve."""

    topology: Topology
    collective: Collective
    trees: list[StepTree]


def random_forest(seed: int, *, most_nodes: int = 5, most_trees: int = 3) -> Forest | None:
    """Some roots with a few random spanning trees of their reachable nodes; None without links."""
    rng = random.Random(seed)
    topology = random_topology(rng, most_nodes=most_nodes)
    roots = [n for n in range(topology.num_nodes) if topology.out_links[n]]
    if not roots:
        return None
    pre, post, trees = [], [], []
    for root in rng.sample(roots, rng.randint(1, len(roots))):
        for _ in range(rng.choice((1, 1, 2))):
            goal = topology.distances[root] < UNREACHABLE
            if rng.random() < 0.3:
                goal &= np.array([rng.random() < 0.6 for _ in goal])
            pre.append([n == root for n in range(topology.num_nodes)])
            post.append(goal | np.array(pre[-1]))
        for _ in range(rng.randint(1, most_trees)):
            trees.append(random_tree(rng, topology, root))
    if not (np.array(post) & ~np.array(pre)).any():
        return None
    return Forest(topology, Collective.from_arrays("some roots", pre, post), trees)


def random_tree(rng: random.Random, topology: Topology, root: int) -> StepTree:
    """A random tree from a root to all nodes that it reaches."""
    reached, edges = {root}, []
    while options := [(a, b) for a, b in topology.links if a in reached and b not in reached]:
        edges.append(rng.choice(options))
        reached.add(edges[-1][1])
    return StepTree(root, rng.choice((1, 1, 1, 2)), tuple(edges))


def packed_trees(topology: Topology, roots: list[int], each: int, seed: int) -> list[StepTree]:
    """This number of trees of each root, grown together round by round within the links'
    bandwidths."""
    rng = random.Random(seed)
    owners = [root for root in roots for _ in range(each)]
    reached = [{root} for root in owners]
    edges: list[list[tuple[int, int]]] = [[] for _ in owners]
    while any(len(nodes) < topology.num_nodes for nodes in reached):
        free = {bound.links[0]: int(bound.chunks_per_round) for bound in topology.bounds}
        before, grown = [set(nodes) for nodes in reached], True
        while grown:
            grown = False
            for i in sorted(range(len(owners)), key=lambda i: len(reached[i]) + rng.random()):
                usable = [
                    (a, b)
                    for (a, b), room in free.items()
                    if room and a in before[i] and b not in reached[i]
                ]
                if usable:
                    link = rng.choice(usable)
                    free[link] -= 1
                    reached[i].add(link[1])
                    edges[i].append(link)
                    grown = True
    return [StepTree(root, 1, tuple(path)) for root, path in zip(owners, edges, strict=True)]


def optimal_trees(topology: Topology, roots: list[int], each: int) -> list[StepTree]:
    """Low trees of the greatest throughput that this number of trees of each root can have."""
    shares = tuple(int(node in roots) for node in range(topology.num_nodes))
    forest = weighted_broadcast(Fabric.of(topology), shares, fixed_k=each).forest
    forest = shortened(forest, Deadline.after(10))
    return [
        StepTree(tree.root, tree.weight, tuple((parent, child) for parent, child, _ in tree.edges))
        for tree in forest.trees()
    ]


def breadth_first_trees(topology: Topology) -> list[StepTree]:
    """A tree of shortest paths for every node as root."""
    trees = []
    for root in range(topology.num_nodes):
        reached, order, edges = {root}, [root], []
        for a in order:
            for i in topology.out_links[a]:
                b = topology.links[i][1]
                if b not in reached:
                    reached.add(b)
                    order.append(b)
                    edges.append((a, b))
        trees.append(StepTree(root, 1, tuple(edges)))
    return trees


def path(*nodes: int) -> StepTree:
    """A tree that is a path from the first of these nodes to the last."""
    return StepTree(nodes[0], 1, tuple(pairwise(nodes)))


def least_rounds(topology: Topology, sends: list[tuple[int, int]], steps: int, ceiling: int) -> int:
    """The least R by branch and bound over the steps of single sends.

    Args:
        topology: B.
        sends: (position of the link, position of the send before it in its tree or -1), each after
            the one before it.
        steps: S at most.
        ceiling: an R that is possible.
    """
    after = [0] * len(sends)
    for i in range(len(sends) - 1, -1, -1):
        if sends[i][1] >= 0:
            after[sends[i][1]] = max(after[sends[i][1]], after[i] + 1)
    bounds = [
        (set(m.tolist()), b.chunks_per_round)
        for m, b in zip(topology.bound_links, topology.bounds, strict=True)
    ]
    load = [[0] * len(bounds) for _ in range(steps)]
    rounds = [0] * steps
    placed = [0] * len(sends)
    best = ceiling

    def place(i: int) -> None:
        nonlocal best
        if sum(rounds) >= best:
            return
        if i == len(sends):
            best = sum(rounds)
            return
        link, before = sends[i]
        first = placed[before] + 1 if before >= 0 else 0
        for step in range(first, steps - after[i]):
            old, placed[i] = rounds[step], step
            for k, (members, b) in enumerate(bounds):
                if link in members:
                    load[step][k] += 1
                    rounds[step] = max(rounds[step], -(-load[step][k] // b))
            place(i + 1)
            rounds[step] = old
            for k, (members, _) in enumerate(bounds):
                load[step][k] -= link in members

    place(0)
    return best


def busiest(topology: Topology, sends: npt.NDArray[np.int64]) -> Fraction:
    """The rounds that the busiest link set needs for these sends, at any times."""
    index = topology.link_index
    links = np.array([index[a, b] for a, b in sends[:, 1:3].tolist()], dtype=np.int64)
    used = np.bincount(links, minlength=len(topology.links))
    return max(
        int(used[members].sum()) / bound.chunks_per_round
        for bound, members in zip(topology.bounds, topology.bound_links, strict=True)
    )


def height_of(tree: StepTree) -> int:
    """The largest distance of a node from the root."""
    depths = {tree.root: 0}
    for parent, child in tree.edges:
        depths[child] = depths[parent] + 1
    return max(depths.values())
