"""Verified allreduces on the links of real networks, and what the simulator says that they take.

The constructions and the networks are those of `benchmarks.multitree`.  A send from node to node
takes the network's route, or the one that MultiTree has reserved for it; each link of the way is a
lane with its own latency and bandwidth, and a link of several units is as many cables.  What a node
sends another in one step is a message, which leaves when all of it is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from benchmarks.multitree import Made, Network, allreduce, clique
from syncoll.model import Algorithm, ranges
from syncoll.simulating import Lane, PhysicalNetwork, Semantics, Strand
from syncoll.simulating.asynchronous import asynchronous
from syncoll.simulating.workload import Workload, workload_of
from syncoll.trust import require_valid
from syncoll_classics.binary import allreduce_trees, rooted
from syncoll_classics.combining import joined, up_and_down

__all__ = ["BANDWIDTH", "LATENCY", "Allreduce", "on_links", "segmented_trees"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

LATENCY = Fraction(150, 10**9)
BANDWIDTH = Fraction(16 * 10**9)
"""Of a link, in seconds and bytes per second (MultiTree paper, Table III)."""

_CELLS_AT_ONCE = 1 << 22
"""Sends times sizes that are simulated together."""


@dataclass(frozen=True, eq=False)
class Allreduce:
    """Sends with their ways.

    Args:
        parts: into how many the data is cut.
        steps: of the algorithm.
        network: its lanes are the links, and each of its routes a way that is taken.
        work: sends, each with the number of its way.
    """

    parts: int
    steps: int
    network: PhysicalNetwork
    work: Workload

    def seconds(self, sizes: Sequence[int], semantics: Semantics) -> FloatArray:
        """What it takes, for each number of bytes of a node's data."""
        found: list[FloatArray] = []
        block = max(1, _CELLS_AT_ONCE // len(self.work))
        for i in range(0, len(sizes), block):
            chunks = [Fraction(size, self.parts) for size in sizes[i : i + block]]
            moved = asynchronous(self.work, self.network, semantics, chunks)
            found.append(moved.arrived.max(axis=1))
        return np.concatenate(found)


def on_links(network: Network, made: Made) -> Allreduce:
    """A verified allreduce on the links of its network.

    What it is does not depend on where messages pass: it is verified where everybody is joined to
    everybody.
    """
    sends, carried = made.sends
    order = np.lexsort((*sends[:, 2::-1].T[::-1], sends[:, 3]))
    sends, carried = sends[order], carried[order]
    steps = int(sends[:, 3].max()) + 1
    everybody = clique(network.nodes)
    algorithm = Algorithm((1,) * steps, sends, carried)
    instance = allreduce().instantiate(everybody, chunks=made.parts, steps=steps, rounds=steps)
    require_valid(instance, algorithm)
    route = cache(network.route)
    ends = list(network.fabric.bandwidths)
    number = {link: i for i, link in enumerate(ends)}
    lanes = tuple(
        Lane(f"{a} -> {b}", BANDWIDTH * units, LATENCY, int(units), (a, b))
        for (a, b), units in network.fabric.bandwidths.items()
    )
    ways: dict[tuple[int, ...], int] = {}
    taken = [
        ways.setdefault(made.ways.get((part, a, b)) or route(a, b), len(ways))
        for part, a, b, _ in algorithm.sends.tolist()
    ]
    routes = tuple(
        (Strand(Fraction(1), tuple(number[link] for link in pairwise(way))),) for way in ways
    )
    physical = PhysicalNetwork(everybody, lanes, routes, Fraction(0), BANDWIDTH, True, True)
    work = workload_of(instance, algorithm, physical, symmetric=False)
    first_need, needs = _of_messages(work, network.nodes)
    numbers = np.array(taken, dtype=np.int64)
    work = replace(work, links=numbers, connections=numbers, first_need=first_need, needs=needs)
    return Allreduce(made.parts, steps, physical, work)


def _of_messages(work: Workload, nodes: int) -> tuple[IntArray, IntArray]:
    """What each send waits for: whatever one of those waits for that go with it."""
    sends = work.sends
    keys = (sends[:, 3] * nodes + sends[:, 1]) * nodes + sends[:, 2]
    _, message = np.unique(keys, return_inverse=True)
    owner = np.repeat(message, np.diff(work.first_need))
    pairs = np.unique(owner * len(sends) + work.needs)
    owner, need = np.divmod(pairs, len(sends))
    low, high = (np.searchsorted(owner, message, side) for side in ("left", "right"))
    return np.concatenate([[0], np.cumsum(high - low)]), need[ranges(low, high - low)]


def segmented_trees(network: Network, segments: int) -> Made:
    """Two binary trees with half of the data each, in segments that follow one another.

    A segment begins a step after the one before; a node with two children sends to both in a step,
    and the second tree goes with the first.
    """
    both = [rooted(tree) for tree in allreduce_trees(network.nodes)]
    height = max(tree.num_steps for tree in both)
    roots = [int(np.flatnonzero((tree.parents >= 0).any(axis=1))[0]) for tree in both]
    sends = [
        up_and_down(2 * segment + which, tree, roots[which], height, segment)
        for segment in range(segments)
        for which, tree in enumerate(both)
    ]
    return Made(2 * segments, joined(sends), {})
