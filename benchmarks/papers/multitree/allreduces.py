"""MultiTree and its rivals, verified, and their times on the links of real networks.

The rivals' sends are from `syncoll_classics`. A send from node to node takes the machine's route,
or the one that MultiTree has reserved for it; each link of the way is a lane with its own latency
and bandwidth, and a link of several units is as many cables. The data from a node to another in one
step is a message, which leaves when all of it is there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import lcm

import numpy as np
import numpy.typing as npt

from benchmarks.papers.multitree.machines import Machine, Path, specs
from syncoll.model import Algorithm, Collective, Instance, Topology, ranges
from syncoll.routing import as_topology
from syncoll.simulating import Lane, PhysicalNetwork, Semantics, Strand
from syncoll.simulating.asynchronous import asynchronous
from syncoll.simulating.workload import Workload, workload_of
from syncoll.trust import require_valid
from syncoll_classics.bigraph import BiGraph, rank_mapping
from syncoll_classics.dissemination import Carrying, Dissemination, joined, up_and_down
from syncoll_classics.exchanges import allreduce_trees, around, doubling_peers, exchange, rooted
from syncoll_classics.grid import grid_allreduce
from syncoll_multitree.construction import multitree
from syncoll_multitree.translations import find_translations
from tests.oracles.multitrees import multitree_on_fabric, translated

__all__ = [
    "BANDWIDTH",
    "LATENCY",
    "Allreduce",
    "Made",
    "algorithms",
    "double_binary_tree",
    "halving_doubling",
    "on_links",
    "ring",
    "ring2d",
    "segmented_trees",
    "trees",
    "verified",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Ways = Mapping[tuple[int, int, int], Path]

LATENCY = Fraction(150, 10**9)
BANDWIDTH = Fraction(16 * 10**9)
"""Of a link, in seconds and bytes per second (MultiTree paper, Table III)."""

_CELLS_AT_ONCE = 1 << 22
"""Sends times sizes that are simulated together."""


@dataclass(frozen=True)
class Made:
    """An allreduce: into how many parts it cuts the data, its sends, and ways that it chose itself.

    Ways are by (part, source, destination); others take the machine's route.
    """

    parts: int
    sends: Carrying
    ways: Ways


@cache
def allreduce() -> Collective:
    return specs().collective("allreduce")


def there_and_back(trees: Dissemination) -> Made:
    """Each node's part up its tree and down again (Algorithm 1, lines 15 to 18)."""
    nodes = len(trees.parents)
    parts = [up_and_down(part, trees, part, trees.num_steps) for part in range(nodes)]
    return Made(nodes, joined(parts), {})


def trees(machine: Machine) -> Made:
    nodes = machine.nodes
    paths: list[Path] = []
    if machine.grid is None:
        routed = multitree_on_fabric(machine.fabric)
        timed, paths = routed.timed, list(routed.paths)
    else:
        topology = as_topology(specs().topology(machine.reference))
        groups = find_translations(topology)
        timed = translated(topology, groups) if groups else multitree(topology)
    parents, steps = np.full((2, nodes, nodes), -1, dtype=np.int64)
    tree, parent, child, step = timed.edges.T
    parents[tree, child], steps[tree, child] = parent, step
    made = there_and_back(Dissemination(parents, steps))
    ways: dict[tuple[int, int, int], Path] = {}
    for path, part in zip(paths, tree.tolist(), strict=bool(paths)):
        ways[part, path[0], path[-1]] = path
        ways[part, path[-1], path[0]] = path[::-1]
    return Made(made.parts, made.sends, ways)


def ring(machine: Machine) -> Made:
    """Once round the ring to add up, and once more the same way to spread."""
    nodes = machine.nodes
    last = len(machine.ring) - 1
    back, forth = around(machine.ring[::-1], last), around(machine.ring, last)
    sends = []
    for part in range(nodes):
        up, carried = up_and_down(part, back, part, nodes - 1)
        down, everybody = up_and_down(part, forth, part, nodes - 1)
        first, second = up[:, 3] < nodes - 1, down[:, 3] >= nodes - 1
        sends += [(up[first], carried[first]), (down[second], everybody[second])]
    return Made(nodes, joined(sends), {})


def segmented_trees(machine: Machine, segments: int) -> Made:
    """Two binary trees with half of the data each, in segments that follow one another.

    A segment begins a step after the one before; a node with two children sends to both in a step,
    and the second tree goes with the first.
    """
    both = [rooted(tree) for tree in allreduce_trees(machine.nodes)]
    height = max(tree.num_steps for tree in both)
    roots = [int(np.flatnonzero((tree.parents >= 0).any(axis=1))[0]) for tree in both]
    sends = [
        up_and_down(2 * segment + which, tree, roots[which], height, segment)
        for segment in range(segments)
        for which, tree in enumerate(both)
    ]
    return Made(2 * segments, joined(sends), {})


def double_binary_tree(machine: Machine) -> Made:
    """The same as the paper's simulator has it: as many parts as nodes.

    That is in a public copy of it (github.com/farabimahmud/accelerator); the paper does not say.
    """
    return segmented_trees(machine, machine.nodes // 2)


def ring2d(machine: Machine) -> Made:
    """Rows then columns and columns then rows, both ways round; a line's ends go along the line."""
    assert machine.grid is not None
    parts = 4 * lcm(*machine.grid.nodes.shape)
    sends = [grid_allreduce(machine.grid, part, folded=False) for part in range(parts)]
    return Made(parts, joined(sends), {})


def halving_doubling(machine: Machine) -> Made:
    """Halving then doubling, with the ranks laid out for a BiGraph."""
    half = len(machine.switches) // 2
    ranks = rank_mapping(BiGraph(machine.switches[:half], machine.switches[half:]))
    assert ranks is not None
    return there_and_back(exchange(doubling_peers(range(machine.nodes.bit_length() - 1), ranks)))


Algorithms = list[tuple[str, Callable[[Machine], Made]]]


def algorithms(machine: Machine) -> Algorithms:
    found: Algorithms = [
        ("MultiTree", trees),
        ("ring", ring),
        ("double binary tree", double_binary_tree),
    ]
    if machine.grid is not None:
        found.append(("2D-ring", ring2d))
    if machine.switches:
        found.append(("HDRM", halving_doubling))
    return found


@cache
def clique(nodes: int) -> Topology:
    bandwidth = {(a, b): 4 * nodes for a in range(nodes) for b in range(nodes) if a != b}
    return Topology.from_links("clique", nodes, bandwidth)


def verified(made: Made, nodes: int) -> tuple[Instance, Algorithm]:
    """Checks that it is an allreduce on a network that joins all nodes to all others.

    Raises:
        VerificationError: when it is not.
    """
    sends, carried = made.sends
    order = np.lexsort((*sends[:, 2::-1].T[::-1], sends[:, 3]))
    steps = int(sends[:, 3].max()) + 1
    instance = allreduce().instantiate(clique(nodes), chunks=made.parts, steps=steps, rounds=steps)
    algorithm = Algorithm((1,) * steps, sends[order], carried[order])
    require_valid(instance, algorithm)
    return instance, algorithm


@dataclass(frozen=True, eq=False)
class Allreduce:
    """Sends with their ways.

    Args:
        parts: into how many the data is cut.
        steps: of the algorithm.
        work: sends, each with the number of its way; the lanes of its network are the links, and
            each of its routes a way that is taken.
    """

    parts: int
    steps: int
    work: Workload

    def seconds(self, sizes: Sequence[int], semantics: Semantics) -> Floats:
        """Its time, for each number of bytes of a node's data."""
        found: list[Floats] = []
        block = max(1, _CELLS_AT_ONCE // len(self.work))
        for i in range(0, len(sizes), block):
            chunks = [Fraction(size, self.parts) for size in sizes[i : i + block]]
            moved = asynchronous(self.work, semantics, chunks)
            found.append(moved.arrived.max(axis=1))
        return np.concatenate(found)


def on_links(machine: Machine, made: Made) -> Allreduce:
    """A verified allreduce on the links of its machine."""
    instance, algorithm = verified(made, machine.nodes)
    route = cache(machine.route)
    ends = list(machine.fabric.bandwidths)
    number = {link: i for i, link in enumerate(ends)}
    lanes = tuple(
        Lane(f"{a} -> {b}", BANDWIDTH * units, LATENCY, int(units), (a, b))
        for (a, b), units in machine.fabric.bandwidths.items()
    )
    ways: dict[tuple[int, ...], int] = {}
    taken = [
        ways.setdefault(made.ways.get((part, a, b)) or route(a, b), len(ways))
        for part, a, b, _ in algorithm.sends.tolist()
    ]
    routes = tuple(
        (Strand(Fraction(1), tuple(number[link] for link in pairwise(way))),) for way in ways
    )
    physical = PhysicalNetwork(instance.topology, lanes, routes, Fraction(0), BANDWIDTH, True, True)
    work = workload_of(instance, algorithm, physical, symmetric=False)
    first_need, needs = _of_messages(work, machine.nodes)
    numbers = np.array(taken, dtype=np.int64)
    work = replace(work, links=numbers, connections=numbers, first_need=first_need, needs=needs)
    return Allreduce(made.parts, instance.steps, work)


def _of_messages(work: Workload, nodes: int) -> tuple[Ints, Ints]:
    """The dependencies of each send: the union over the sends in its message."""
    sends = work.sends
    keys = (sends[:, 3] * nodes + sends[:, 1]) * nodes + sends[:, 2]
    message: Ints = np.unique(keys, return_inverse=True)[1]
    owner = np.repeat(message, np.diff(work.first_need))
    pairs = np.unique(owner * len(sends) + work.needs)
    owner, need = np.divmod(pairs, len(sends))
    low, high = (np.searchsorted(owner, message, side=side) for side in ("left", "right"))
    return np.concatenate([[0], np.cumsum(high - low)]), need[ranges(low, high - low)]
