"""Algorithms in stages for machines of boxes: each chunk crosses the network once.

Nodes of the same place in their boxes form a rail.  A chunk of a source moves along a rail, and
then within each box; a sum goes the other way.  An allreduce sums a chunk within each box at one
place, exchanges the sums along its rail, and spreads them within each box.  Few steps have the high
latency of the network, and all cards share its bandwidth (Cho et al.: BlueConnect, MLSys 2019).
Small chunks are summed at several places of each box, each for its neighbours, and these exchange
their sums: that takes fewer hops.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterator, Sequence
from fractions import Fraction
from functools import cache, partial
from math import lcm

import numpy as np

from syncoll.arrays import Ints
from syncoll.documents import StoredAlgorithm
from syncoll.errors import ModelError
from syncoll.model import Algorithm, Collective, Topology, tree_contributions
from syncoll.model.width_clusters import connected_by
from syncoll.searching.arrival_trees import grown
from syncoll.searching.decompose import derived
from syncoll.simulating import PhysicalNetwork, Setting, with_sends
from syncoll.simulating.boxes import between_boxes

_MOST_CELLS = 1 << 14
"""Most chunks times nodes of an algorithm, and most copies along trees of boxes; limits work."""

_SETS = 4
"""Sets of places of sums, by turns; more have smaller chunks."""

Boxes = list[list[int]]
Tree = dict[int, tuple[int, int]]
"""For a node of the root's box the node before it, and the number of hops from the root."""

Trees = Callable[[int], dict[int, list[Tree]]]
"""From a number of trees for each root to these trees, which may be fewer."""

Sends = list[tuple[int, int, int]]
"""Source, destination and step."""


def box_algorithms(
    collective: Collective,
    network: PhysicalNetwork,
    grows: tuple[Setting, Fraction] | None = None,
    parts: int = 1,
) -> Iterator[StoredAlgorithm]:
    """The verified algorithms in stages, of `parts` times the fewest chunks; none if boxes differ
    in size, or links are missing.  Trees have the fewest hops, or grow by arrival time for L bytes
    of a node's data."""
    topology, apart = network.topology, between_boxes(network)
    cluster = connected_by(topology, ~np.array(apart, dtype=bool))
    boxes = [np.flatnonzero(cluster == box).tolist() for box in np.unique(cluster).tolist()]
    if len(boxes) > 1 and len({len(box) for box in boxes}) == 1 and len(boxes[0]) > 1:
        lanes = [{i for strand in strands for i in strand.lanes} for strands in network.routes]
        cards = set().union(*(own for own, far in zip(lanes, apart, strict=True) if far))
        outer = {i for i, own in enumerate(lanes) if own & cards}
        trees: Trees = partial(_of_few_hops, network, outer)
        if grows is not None:
            least = collective.least_chunks(topology.num_nodes) or 1
            data = grows[1] / least * len(collective.tabulate(topology.num_nodes, least))
            trees = partial(_by_arrival, topology, cluster, grows[0], data / len(boxes[0]), outer)
        known, made = list[Algorithm](), partial(_staged, boxes, cache(trees), parts)
        for one in (grows and [*made(collective, topology)]) or derived(collective, topology, made):
            if one.algorithm not in known:
                known.append(one.algorithm)
                yield one


def _of_few_hops(network: PhysicalNetwork, outer: Container[int], _: int) -> dict[int, list[Tree]]:
    """Trees of the fewest hops over the least used links."""
    into = defaultdict[int, dict[int, float]](dict)
    used = defaultdict[tuple[int, int], float](float)
    for i, (a, b) in enumerate(network.topology.links):
        if i not in outer:
            lanes = (network.lanes[x] for strand in network.routes[i] for x in strand.lanes)
            into[b][a] = 1 / min(float(lane.bandwidth) for lane in lanes)
    trees = {}
    for root in range(network.topology.num_nodes):
        tree, hops = {root: (root, 0)}, 0
        while last := [n for n, (_, at) in tree.items() if at == hops]:
            hops += 1
            for node in sorted({n for n, before in into.items() if before.keys() & last} - {*tree}):
                some = [(used[n, node] + into[node][n], n) for n in last if n in into[node]]
                used_then, before = min(some)
                used[before, node] = used_then
                tree[node] = before, hops
        trees[root] = [tree]
    return trees


def _by_arrival(
    topology: Topology,
    cluster: Ints,
    setting: Setting,
    data: Fraction,
    outer: Container[int],
    count: int,
) -> dict[int, list[Tree]]:
    """Trees by which all nodes spread some bytes within their boxes at once."""
    nodes, trees = topology.num_nodes, defaultdict[int, list[Tree]](list)
    count = max(1, min(count, _MOST_CELLS // int((cluster[:, None] == cluster).sum())))
    for chunk, links in enumerate(grown(topology, cluster, count, setting, data / count, outer)):
        tree = {chunk % nodes: (chunk % nodes, 0)}
        for a, b in links:
            tree[b] = a, tree[a][1] + 1
        trees[chunk % nodes].append(tree)
    return trees


def _staged(
    boxes: Boxes, trees: Trees, parts: int, collective: Collective, topology: Topology
) -> Iterator[StoredAlgorithm]:
    """The algorithms in stages for each way to choose the rails.  Sums are first at the places that
    are the nearest to all others of their boxes, then at all, then at sets of places."""
    nodes, least = topology.num_nodes, collective.least_chunks(topology.num_nodes) or 1
    rails, first, sums = range(len(boxes[0])), trees(1), collective.combining
    far = [max(at for box in boxes for _, at in first[box[i]][0].values()) for i in rails]
    ways = [[[i] for i in rails if far[i] == min(far) or not sums], [[i] for i in rails]]
    ways += [_sets(boxes, first, hops) for hops in range(1, min(far))] if sums else [ways[1]]
    for way, places in enumerate(ways):
        count = len(places) if sums else (1, len(rails), len(rails) * (len(boxes) - 1))[way]
        chunks = lcm(least, count) * parts
        try:
            instance = collective.instantiate(topology, chunks=chunks, steps=nodes, rounds=nodes)
            pre, post = instance.pre, instance.post
            fits = (pre.all() and post.all()) if sums else (pre.sum(axis=1) == 1).all()
            if not fits or len(pre) * nodes > _MOST_CELLS:
                continue
            rows = list[tuple[int, int, int, int]]()
            some = trees(-(-len(pre) // len(places)))
            for chunk, start in enumerate(pre.argmax(axis=1).tolist()):
                turn, place = chunk // len(places), places[chunk % len(places)]
                own = {root: each[turn % len(each)] for root, each in some.items()}
                ends = np.flatnonzero(post[chunk]).tolist()
                spread = partial(_spread, boxes, own, start, ends)
                rows += [
                    (chunk, *one)
                    for one in (_summed(boxes, own, place) if sums else spread(chunk, way))
                ]
            listed = np.array(sorted(rows, key=lambda one: one[3]), dtype=np.int64)
            carried = tree_contributions(pre, listed) if sums else None
            made = with_sends(instance, listed, carried, f"boxes[{way}]") if rows else None
        except (ModelError, KeyError):
            continue
        if made is not None:
            yield made


def _spread(
    boxes: Boxes, trees: dict[int, Tree], start: int, ends: list[int], chunk: int, way: int
) -> Sends:
    """A tree from a node: along a rail, then within the boxes.  The rail is that of the start, or
    of the only end, or one in turn.

    In the last `way` another box in turn gets a chunk first, and passes it on to the others; and a
    chunk leaves its start only once within the box.  So each card sends its part of the data once.
    """
    home = next(box for box in boxes if start in box)
    place = home.index(start)
    if way:
        place = chunk % len(home)
    elif len(ends) == 1:
        place = next(box.index(ends[0]) for box in boxes if ends[0] in box)
    others = ((box, [n for n in box if n in ends]) for box in boxes if box is not home)
    far = [(box, some) for box, some in others if some]
    gate, near = home[place], [n for n in home if n in ends and n != start]
    if not far and gate not in near:
        gate = start
    hub, relays = gate, far[:0]
    if way > 1 and far:
        turn = chunk // len(home) % len(far)
        far, relays = [*far[turn:], *far[:turn]], [far[turn]]
        if gate == start and near:
            hub = near[turn % len(near)]
    sends = _within(trees[start], [gate, hub], 0)
    sends += _within(trees[hub], near, trees[start][hub][1])
    step = trees[start][gate][1]
    for box, some in far:
        sends.append((gate, box[place], step))
        sends += _within(trees[box[place]], some, step + 1)
        if (box, some) in relays:
            gate, step = box[place], step + 1
    first = {b: (a, b, at) for a, b, at in sorted(sends, key=lambda one: -one[2]) if b != start}
    return list(first.values())


def _within(tree: Tree, ends: Sequence[int], step: int) -> Sends:
    """The part of a tree to some nodes, from a step on."""
    found = {}
    for node in ends:
        while tree[node][1] and node not in found:
            found[node] = (tree[node][0], node, step + tree[node][1] - 1)
            node = tree[node][0]
    return list(found.values())


def _sets(boxes: Boxes, trees: dict[int, list[Tree]], most: int) -> list[list[int]]:
    """Different sets of places, from which every node of a box is at most some hops away."""
    near = [
        {n for box in boxes for n, (_, hops) in trees[box[i]][0].items() if hops <= most}
        for i in range(len(boxes[0]))
    ]
    used, found = Counter[int](), list[list[int]]()
    for _ in range(_SETS):
        missing, places = set().union(*boxes), list[int]()
        while missing:
            i = max(range(len(near)), key=lambda i: len(near[i] & missing) / (1 + used[i]))
            places.append(i)
            missing -= near[i]
        used.update(places)
        found.append(places)
    return found


def _summed(boxes: Boxes, trees: dict[int, Tree], places: Sequence[int]) -> Sends:
    """Sums within boxes at some places, each from the nodes near it, exchanges among all of these,
    and back."""
    ends, tree = [box[i] for box in boxes for i in places], Tree()
    for box in boxes:
        some = [trees[box[i]] for i in places]
        for (hops, before), node in sorted((min(x[n][::-1] for x in some), n) for n in box):
            tree[node] = (before, tree[before][1] + 1) if hops else (node, 0)
    last = max(hops for _, hops in tree.values())
    back = [(a, b, hops - 1) for b, (a, hops) in tree.items() if hops]
    sends = [(b, a, last - 1 - step) for a, b, step in back]
    sends += [(a, b, last) for a in ends for b in ends if a != b]
    return sends + [(a, b, last + 1 + step) for a, b, step in back]
