"""Algorithms in stages for machines of boxes: each chunk crosses the network once.

Nodes of the same place in their boxes form a rail.  A chunk of a source moves along a rail, and
then within each box; a sum goes the other way.  An allreduce sums a chunk within each box at one
place, exchanges the sums along its rail, and spreads them within each box.  Few steps have the high
latency of the network, and all cards share its bandwidth (Cho et al.: BlueConnect, MLSys 2019).
"""

from collections.abc import Iterator
from contextlib import suppress
from math import lcm

import numpy as np

from syncoll.documents import StoredAlgorithm
from syncoll.errors import ModelError, VerificationError
from syncoll.model import Algorithm, Collective, Topology, tree_contributions
from syncoll.model.width_clusters import connected_by
from syncoll.searching.decompose import composed, inverted
from syncoll.simulating import PhysicalNetwork, with_sends
from syncoll.simulating.boxes import between_boxes

_MOST_CELLS = 1 << 14
"""Most chunks times nodes of an algorithm; limits work."""

Boxes = list[list[int]]
Sends = list[tuple[int, int, int]]
"""Source, destination and step."""


def box_algorithms(collective: Collective, network: PhysicalNetwork) -> Iterator[StoredAlgorithm]:
    """The verified algorithms in stages; none if boxes differ in size, or links are missing."""
    topology = network.topology
    cluster = connected_by(topology, ~np.array(between_boxes(network), dtype=bool))
    boxes = [np.flatnonzero(cluster == box).tolist() for box in np.unique(cluster).tolist()]
    if len(boxes) > 1 and len({len(box) for box in boxes}) == 1 and len(boxes[0]) > 1:
        known = list[Algorithm]()
        for one in _staged(collective, topology, boxes):
            if one.algorithm not in known:
                known.append(one.algorithm)
                yield one


def _staged(collective: Collective, topology: Topology, boxes: Boxes) -> Iterator[StoredAlgorithm]:
    """The algorithms in stages for each way to choose the rails."""
    if collective.dual is not None:
        for one in _staged(collective.dual, topology.reversed(), boxes):
            with suppress(ModelError, VerificationError):
                pair = one.instance, one.algorithm
                yield StoredAlgorithm(*inverted(pair, collective, topology), one.where)
        return
    for stages in collective.ways:
        for parts in zip(*(_staged(part, topology, boxes) for part in stages), strict=False):
            with suppress(ModelError, VerificationError):
                pairs = [(part.instance, part.algorithm) for part in parts]
                yield StoredAlgorithm(*composed(pairs, collective), parts[0].where)
    nodes, least = topology.num_nodes, collective.least_chunks(topology.num_nodes) or 1
    for way, chunks in enumerate((least, lcm(least, len(boxes[0])))):
        try:
            instance = collective.instantiate(topology, chunks=chunks, steps=nodes, rounds=nodes)
            pre, post, sums = instance.pre, instance.post, instance.combining
            fits = (way and pre.all() and post.all()) if sums else (pre.sum(axis=1) == 1).all()
            if not fits or len(pre) * nodes > _MOST_CELLS:
                continue
            rows = list[tuple[int, int, int, int]]()
            for chunk, start in enumerate(pre.argmax(axis=1).tolist()):
                ends = np.flatnonzero(post[chunk]).tolist()
                sends = _summed(boxes, chunk) if sums else _spread(boxes, start, ends, chunk, way)
                rows += [(chunk, *one) for one in sends]
            listed = np.array(sorted(rows, key=lambda one: one[3]), dtype=np.int64)
            carried = tree_contributions(pre, listed) if sums else None
            made = with_sends(instance, listed, carried, f"boxes[{way}]") if rows else None
        except (ModelError, KeyError):
            continue
        if made is not None:
            yield made


def _spread(boxes: Boxes, start: int, ends: list[int], chunk: int, way: int) -> Sends:
    """A tree from a node: along a rail, then within the boxes.  The rail is that of the start, or
    of the only end, or one in turn."""
    home = next(box for box in boxes if start in box)
    place = home.index(start)
    if way:
        place = chunk % len(home)
    elif len(ends) == 1:
        place = next(box.index(ends[0]) for box in boxes if ends[0] in box)
    others = ((box, [n for n in box if n in ends]) for box in boxes if box is not home)
    far = [(box, some) for box, some in others if some]
    gate, near = home[place], [n for n in home if n in ends and n != start]
    if gate != start and (gate in near or far):
        near = [gate, *(n for n in near if n != gate)]
    sends, first = [(start, n, 0) for n in near], int(gate != start)
    for box, some in far:
        sends.append((gate, box[place], first))
        sends += [(box[place], n, first + 1) for n in some if n != box[place]]
    return sends


def _summed(boxes: Boxes, chunk: int) -> Sends:
    """Sums within boxes at one place, exchanges along its rail, and back."""
    place = chunk % len(boxes[0])
    rail = [box[place] for box in boxes]
    within = [(n, box[place]) for box in boxes for n in box if n != box[place]]
    sends = [(*pair, 0) for pair in within] + [(a, b, 1) for a in rail for b in rail if a != b]
    return sends + [(b, a, 2) for a, b in within]
