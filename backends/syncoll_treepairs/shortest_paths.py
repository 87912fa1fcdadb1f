"""Cores of many or all nodes that exchange along shortest paths.

Every node's contribution reaches every other node of the core along a tree of shortest paths, as
late as the last step allows.  Contributions that reach a node together, and leave it by the same
sends, are summed there and travel on as one.  With all nodes in the core this is an allreduce in as
many steps as the diameter.

On a product of lines, rings and complete graphs the trees are dimension-ordered.  Within a ring of
even size every second node reaches the farthest node forwards, the others backwards; with the sums
this is neighbour exchange (Chen and Yuan, 2005), with half the sends of both ways at once.  Several
orders of the dimensions, each for a part of the data, load all dimensions in every step.  A core
may also have only some of the places of each dimension: a single one, two neighbours or every k-th
of a ring.  This saves sends, but takes steps into the core and out of it.  On other topologies all
nodes exchange along trees that take links in the order of random priorities.  Links in one orbit of
a free group of automorphisms share a priority: on circulants and twisted tori the trees of all
nodes are images of one.  Or each step uses links of one kind, as on dragonflies within the groups,
between them, and within them again.
"""

from collections.abc import Iterator
from itertools import permutations, product

import numpy as np

from syncoll.arrays import Bools, Ints
from syncoll.deadline import NEVER
from syncoll.model import Topology
from syncoll.packing.arrivals import MOST_CELLS
from syncoll.symmetry import free_symmetry
from syncoll.symmetry.orbits import link_orbits
from syncoll.symmetry.products import Product, find_products
from syncoll.symmetry.structure import Structure
from syncoll_treepairs.dimension_ordered_trees import parents_along, parents_of_factor
from syncoll_treepairs.exchange_groups import Core
from syncoll_treepairs.fitting import MOST_CONTRIBUTIONS

_ALL_ORDERS = 3
"""Up to this many dimensions all orders are tried; otherwise the cyclic ones.  Limits work."""

_PRIORITIES, _MANY_PAIRS = 16, MOST_CELLS >> 3
"""Random orders of the links of a topology that is no product, and most pairs of nodes in all of
these orders together; limits work."""

_MOST_STAGES, _MOST_TRIED = 16, MOST_CELLS << 11
"""Most sequences of kinds of links, one a step, and most sequences times the cube of the nodes;
limits work."""

_SYMMETRY_SECONDS = 0.5
"""Seconds of the search for a free group."""

_MOST_NODES, _MOST_CORES, _MOST_SENT = 256, 512, MOST_CELLS >> 1
"""Limits of cores of some nodes: nodes of the topology, number of cores, and sends times nodes of
each exchange; limits memory."""


def everywhere(topology: Topology) -> Iterator[Core]:
    """Exchanges of all nodes in as many steps as the diameter, unless of too many sends."""
    products = find_products(topology)
    for one in products:
        yield from _of_product(topology, one, [[np.ones(size, dtype=bool)] for size in one.sizes])
    if not products:
        yield from _by_stages(topology)
        yield from _of_group(topology, some=False)


def exchanges(topology: Topology) -> Iterator[Core]:
    """Exchanges of all nodes, and of places of each dimension of a product or of subgroups.

    Yields nothing on large networks.
    """
    nodes = topology.num_nodes
    if 2 * nodes**2 > _MOST_SENT:
        return
    yield from (one for one in everywhere(topology) if len(one.sends) * nodes <= _MOST_SENT)
    if nodes > _MOST_NODES:
        return
    products = find_products(topology)
    for one in products[:1]:
        kinds = zip(one.kinds, one.sizes, strict=True)
        yield from _of_product(topology, one, [_some(kind, size) for kind, size in kinds])
    if not products:
        yield from _of_group(topology, some=True)


def _of_group(topology: Topology, *, some: bool) -> Iterator[Core]:
    """Exchanges along trees that a free group maps to one another; `some`: of its subgroups."""
    nodes = topology.num_nodes
    random = np.random.default_rng(nodes)
    group = free_symmetry(topology, until=NEVER.working(_SYMMETRY_SECONDS))
    kinds = link_orbits(Structure(topology), list(group.generators))
    cores = [np.arange(nodes)]
    if some:
        cores = [np.sort(one.elements[:, 0]) for one in group.chain() if one.order < nodes]
    for members in cores:
        core = np.isin(np.arange(nodes), members)
        for _ in range(max(1, min(_PRIORITIES, _MANY_PAIRS // nodes**2))):
            rank = np.argsort(random.permutation(kinds.max() + 1))
            parents = _by_priority(topology, np.argsort(rank[kinds], kind="stable"))
            yield from _exchange(topology, parents[members], topology.distances[members], core)


def _by_stages(topology: Topology) -> Iterator[Core]:
    """Exchanges of all nodes in which each step has links of one kind: within the boxes of a
    cluster or the groups of a dragonfly, and between them."""
    nodes, steps = topology.num_nodes, int(topology.distances.max())
    every = np.ones(nodes, dtype=bool)
    kinds = _link_kinds(topology)
    count = int(kinds.max()) + 1
    tried = count**steps
    if count == 1 or tried > _MOST_STAGES or tried * nodes**3 > _MOST_TRIED:
        return
    ends = [np.array(topology.links)[kinds == kind] for kind in range(count)]
    near = np.repeat(np.eye(nodes, dtype=np.float32)[None], count, axis=0)
    for one, some in zip(near, ends, strict=True):
        one[some[:, 0], some[:, 1]] = 1
    for order in product(range(count), repeat=steps):
        reached = near[order[0]]
        for kind in order[1:]:
            reached = (reached @ near[kind] > 0).astype(np.float32)
        if not reached.all():
            continue
        depth = np.where(np.eye(nodes, dtype=bool), 0, steps + 1)
        parents = np.zeros((nodes, nodes), dtype=np.int64)
        for step, kind in enumerate(order):
            for before, node in ends[kind].tolist():
                new = (depth[:, before] <= step) & (depth[:, node] > step + 1)
                depth[new, node], parents[new, node] = step + 1, before
        yield from _exchange(topology, parents, depth, every)


def _link_kinds(topology: Topology) -> Ints:
    """``[L]``: kinds of links, by bandwidths and the number of common neighbours of the ends."""
    near = (topology.distances == 1).astype(np.float32)
    common = near @ near
    number: dict[tuple[object, ...], int] = {}
    found = []
    for (a, b), bounds in zip(topology.links, topology.link_bounds, strict=True):
        rates = sorted(topology.bounds[i].chunks_per_round for i in bounds)
        found.append(number.setdefault((int(common[a, b]), *rates), len(number)))
    return np.array(found, dtype=np.int64)


def _some(kind: str, size: int) -> list[Bools]:
    """Sets of places of a factor that exchange with one another, each ``[n]``."""
    one, two = ([i == 0 for i in range(size)], [i < 2 for i in range(size)])
    if kind == "line":
        return [np.roll(two if size % 2 == 0 else one, (size - 1) // 2)]
    every = [[i % k == 0 for i in range(size)] for k in range(1, size // 3 + 1) if size % k == 0]
    return [np.array(some) for some in (one, two, *(every if kind == "ring" else every[:1]))]


def _of_product(topology: Topology, factors: Product, places: list[list[Bools]]) -> Iterator[Core]:
    """Exchanges of the nodes with given places in each dimension, in several orders."""
    kinds = list(zip(factors.kinds, factors.sizes, strict=True))
    where = np.stack(np.unravel_index(factors.places, factors.sizes), axis=1)
    made: set[tuple[object, ...]] = set()
    for chosen in product(*places):
        core = np.all([some[where[:, axis]] for axis, some in enumerate(chosen)], axis=0)
        moving = [axis for axis, some in enumerate(chosen) if some.sum() > 1]
        orders = [(*moving[i:], *moving[:i]) for i in range(len(moving))]  # none for a single node
        if 1 < len(moving) <= _ALL_ORDERS:
            orders = list(permutations(moving))
        ties = any(kind == "ring" and size % 2 == 0 for kind, size in kinds)
        for odd, order in product(range(1 + ties), orders):
            ways = [
                parents_of_factor(kind, size, (np.cumsum(some) + odd) % 2 == 1)
                for (kind, size), some in zip(kinds, chosen, strict=True)
            ]
            parents = parents_along(factors, where, order, ways, np.flatnonzero(core))
            for found in _exchange(topology, parents, topology.distances[core], core):
                key = found.nodes, found.sends
                if key not in made:
                    made.add(key)
                    yield found
        if len(made) > _MOST_CORES:
            return


def _by_priority(topology: Topology, order: Ints) -> Ints:
    """Parents on shortest paths: the last link of an order into each node that is on one."""
    far = topology.distances
    parents = np.repeat(np.arange(topology.num_nodes)[:, None], topology.num_nodes, axis=1)
    for link in order.tolist():
        before, node = topology.links[link]
        parents[far[:, before] + 1 == far[:, node], node] = before
    return parents


def _exchange(topology: Topology, parents: Ints, depth: Ints, core: Bools) -> Iterator[Core]:
    """An exchange along trees, with sums on the way; nothing if it has too many sends.

    `parents` are ``[K, P]``, from the K sources of the core ``[P]``; `depth` grows along them.
    """
    nodes, members = topology.num_nodes, np.flatnonzero(core)
    steps = int(depth[:, members].max())
    number = np.zeros((nodes, nodes), dtype=np.int64)
    number[tuple(np.array(topology.links).T)] = np.arange(len(topology.links))
    height = np.where(core[None, :], 0, -1) + np.zeros_like(depth)
    for source, node in _by_value(depth):
        on_way = height[source, node] >= 0
        source, node = source[on_way], node[on_way]
        np.maximum.at(height, (source, parents[source, node]), height[source, node] + 1)
    arrival = np.where((height >= 0) & (depth > 0), steps - height, 0)
    random = np.random.default_rng(nodes)
    onward = np.zeros((len(members), nodes), dtype=np.int64)
    """Hashes of the sends by which contributions leave nodes: sums of random numbers modulo 2^64.
    """
    room = MOST_CONTRIBUTIONS // 4 // nodes
    sends: list[tuple[int, int]] = []
    carried = [np.zeros((0, nodes), dtype=bool)]
    for source, node in _by_value(arrival):
        before = parents[source, node]
        links, leave = number[before, node], onward[source, node]
        order = np.lexsort((leave, links))
        links, leave = links[order], leave[order]
        first = np.append(True, (np.diff(links) != 0) | (np.diff(leave) != 0))
        which = np.cumsum(first) - 1
        words = random.integers(-(1 << 63), (1 << 63) - 1, which[-1] + 1)
        np.add.at(onward, (source[order], before[order]), words[which])
        room -= len(words)
        if room < 0:
            return
        of = np.zeros((len(words), nodes), dtype=bool)
        of[which, members[source[order]]] = True
        step = int(arrival[source[0], node[0]]) - 1
        sends = [(step, link) for link in links[first].tolist()] + sends
        carried.append(of)
    packed = np.packbits(np.concatenate(carried[::-1])).tobytes()
    yield Core(tuple(members.tolist()), tuple(sends), steps, packed)


def _by_value(table: Ints) -> Iterator[tuple[Ints, Ints]]:
    """The places of each value from the largest down to 1."""
    flat = table.ravel()
    order = np.argsort(flat, kind="stable")
    ends = np.searchsorted(flat[order], np.arange(1, int(flat.max()) + 2))
    for i in range(len(ends) - 2, -1, -1):
        some = order[ends[i] : ends[i + 1]]
        if len(some):
            row, column = np.divmod(some, table.shape[1])
            yield row, column
