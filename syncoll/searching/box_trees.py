"""Algorithms in stages for machines of boxes: each chunk crosses the network once.

Nodes of the same place in their boxes form a rail.  A chunk of a source moves along a rail, and
then within each box; a sum goes the other way.  An allreduce sums a chunk within each box at one
place, exchanges the sums along its rail, and spreads them within each box.  Few steps have the high
latency of the network, and all cards share its bandwidth (Cho et al.: BlueConnect, MLSys 2019).
"""

from __future__ import annotations

from collections.abc import Iterator
from math import lcm

import numpy as np

from syncoll.arrays import BoolArray
from syncoll.documents import StoredAlgorithm
from syncoll.errors import ModelError, VerificationError
from syncoll.model import Algorithm, Collective, Instance
from syncoll.model.derivation import tree_contributions
from syncoll.model.width_clusters import connected_by
from syncoll.simulating import PhysicalNetwork
from syncoll.simulating.boxes import between_boxes
from syncoll.trust import require_valid

__all__ = ["box_algorithms"]

_MOST_SENDS = 1 << 14

Sends = list[tuple[int, int, int]]
"""Source, destination and step."""


def box_algorithms(collective: Collective, network: PhysicalNetwork) -> Iterator[StoredAlgorithm]:
    """The verified algorithms in stages; none if boxes differ in size, or links are missing."""
    topology = network.topology
    cluster = connected_by(topology, ~np.array(between_boxes(network), dtype=bool))
    boxes = [np.flatnonzero(cluster == box).tolist() for box in np.unique(cluster).tolist()]
    if len(boxes) < 2 or len({len(box) for box in boxes}) > 1 or len(boxes[0]) < 2:
        return
    nodes, least = topology.num_nodes, collective.least_chunks(topology.num_nodes) or 1
    known: list[Algorithm] = []
    for parts, way in ((1, 0), (len(boxes[0]), 1), (nodes, 2)):
        try:
            chunks = lcm(least, parts)
            instance = collective.instantiate(topology, chunks=chunks, steps=nodes, rounds=nodes)
            if len(instance.pre) * nodes > _MOST_SENDS:
                continue
            made = _staged(instance, boxes, way)
            if made is not None and made[1] not in known:
                known.append(made[1])
                yield StoredAlgorithm(*made, f"boxes[{way}]")
        except (ModelError, VerificationError, KeyError):
            continue


def _staged(
    instance: Instance, boxes: list[list[int]], way: int
) -> tuple[Instance, Algorithm] | None:
    """The stages of every chunk, for one way to choose its rail; None if it has none."""
    rows, carried, topology = list[list[int]](), list[BoolArray](), instance.topology
    for chunk, (pre, post) in enumerate(zip(instance.pre, instance.post, strict=True)):
        starts, ends = (np.flatnonzero(one).tolist() for one in (pre, post))
        if not ends:
            continue
        backward = instance.combining and len(ends) == 1
        if len(starts) == 1 and not instance.combining:
            sends = _spread(boxes, starts[0], ends, chunk, way)
        elif backward:
            sends = _spread(boxes, ends[0], starts, chunk, way)
            last = max((step for *_, step in sends), default=0)
            sends = [(b, a, last - step) for a, b, step in sends]
        elif instance.combining and len(starts) == len(ends) == topology.num_nodes and way:
            sends = _summed(boxes, chunk, way)
        else:
            return None
        sends.sort(key=lambda one: one[2])
        rows += [[chunk, *one] for one in sends]
        if instance.combining:
            listed = np.array([[0, *one] for one in sends]).reshape(-1, 4)
            if backward:
                carried.append(tree_contributions(pre[None], listed))
            else:
                carried.append(_exchanged(boxes, listed, topology.num_nodes))
    sends_listed = np.array(rows, dtype=np.int64).reshape(-1, 4)
    steps = int(sends_listed[:, 3].max()) + 1
    whose = np.concatenate(carried) if carried else None
    algorithm = Algorithm((0,) * steps, sends_listed, whose).tightened(topology)
    fitted = Instance(
        topology,
        instance.collective,
        instance.chunks,
        algorithm.steps,
        algorithm.rounds,
        instance.pre,
        instance.post,
        combining=instance.combining,
    )
    require_valid(fitted, algorithm)
    return fitted, algorithm


def _spread(boxes: list[list[int]], start: int, ends: list[int], chunk: int, way: int) -> Sends:
    """A tree from a node: along a rail, then within the boxes.  The rail is that of the start, or
    of the only end, or one in turn."""
    home = next(box for box in boxes if start in box)
    place = home.index(start)
    if len(ends) == 1 and way == 0:
        place = next(box.index(ends[0]) for box in boxes if ends[0] in box)
    elif way:
        place = chunk % len(home)
    far = [(box, [n for n in box if n in ends]) for box in boxes if box is not home]
    gate, sends = home[place], list[tuple[int, int, int]]()
    near = [n for n in home if n in ends and n != start]
    if gate != start and (gate in near or any(some for _, some in far)):
        near = [gate, *(n for n in near if n != gate)]
    sends += [(start, n, 0) for n in near]
    first = 0 if gate == start else 1
    for box, some in far:
        if some:
            sends.append((gate, box[place], first))
            sends += [(box[place], n, first + 1) for n in some if n != box[place]]
    return sends


def _summed(boxes: list[list[int]], chunk: int, way: int) -> Sends:
    """Sums within boxes, along a rail (all exchange, or by way of one box), and back."""
    place, gate = chunk % len(boxes[0]), boxes[chunk // len(boxes[0]) % len(boxes)]
    rail = [box[place] for box in boxes]
    sends = [(n, box[place], 0) for box in boxes for n in box if n != box[place]]
    if way == 1:
        sends += [(a, b, 1) for a in rail for b in rail if a != b]
    else:
        root = gate[place]
        sends += [(a, root, 1) for a in rail if a != root]
        sends += [(root, b, 2) for b in rail if b != root]
    last = way + 1
    return sends + [(box[place], n, last) for box in boxes for n in box if n != box[place]]


def _exchanged(boxes: list[list[int]], sends: np.ndarray, nodes: int) -> BoolArray:
    """The contributions of the sends of `_summed`, in their order."""
    found = np.zeros((len(sends), nodes), dtype=bool)
    box_of = {n: box for box in boxes for n in box}
    for i, (_, source, _, step) in enumerate(sends.tolist()):
        whose = [source] if step == 0 else box_of[source] if step == 1 else list(range(nodes))
        found[i, whose] = True
    return found
