"""The rings and trees of NCCL on boxes of GPUs: a ring for each card, and trees of boxes.

Boxes have G GPUs each, with a network card for each GPU; card i of a box reaches card i of others.

* Rings: ring i enters the first box at GPU i, passes all GPUs, and leaves over the card at which
  it enters the next box.  If G and the number of boxes are even, it passes a box in a zigzag (i,
  i+1, i-1, i+2, …, i + G/2).  So the G rings use each pair of GPUs once in either direction.
* Trees (``Tree`` and ``NVLSTree`` of NCCL): GPU i of each box is a node of two binary trees of
  boxes.  Below it are the other GPUs of its box, in a chain, or all at once where a switch adds up
  and copies.
* Two hops (``normal`` kernels of DeepEP): data goes to the GPU of the same card in each box, once,
  and from there to the GPUs of the box that need it.
"""

from collections.abc import Sequence
from itertools import pairwise, permutations

import numpy as np

from syncoll.arrays import Ints
from syncoll.model import Topology
from syncoll.model.width_clusters import boxes_by_copies, shared_memory_boxes
from syncoll_classics.dissemination import Dissemination
from syncoll_classics.exchanges import allreduce_trees
from syncoll_classics.hamiltonian import a_cycle
from syncoll_classics.tours import Cycle

Boxes = Sequence[Sequence[int]]


def boxes_of(topology: Topology) -> Boxes:
    """The nodes of each box; empty if boxes have unequal numbers of nodes."""
    return _alike(shared_memory_boxes(topology))


def boxes_that_sum(topology: Topology) -> Boxes:
    """The boxes whose switches add up and copy; empty unless all do, with several nodes each."""
    found = _alike(boxes_by_copies(topology))
    return found if topology.counts_copies and found and len(found[0]) > 1 else ()


def _alike(label: Ints) -> Boxes:
    boxes = [np.flatnonzero(label == one).tolist() for one in np.unique(label)]
    return boxes if len({len(box) for box in boxes}) == 1 else ()


def two_hops(boxes: Boxes) -> Dissemination:
    """From each node to its peer in each box, and at the same time or then inside the box."""
    members = np.array(boxes)
    count, size = members.shape
    box, card = np.empty((2, members.size), dtype=np.int64)
    box[members], card[members] = np.indices((count, size))
    nodes = np.arange(members.size)
    direct = (box[:, None] == box) | (card[:, None] == card)
    parents = np.where(direct, nodes[:, None], members[box[None, :], card[:, None]])
    steps = np.where(direct, 0, 1)
    parents[nodes, nodes] = steps[nodes, nodes] = -1
    return Dissemination(parents, steps)


def card_rings(topology: Topology) -> list[Cycle]:
    """A ring for each card, from node 0 on; empty with one box, or where rings need other links."""
    boxes = boxes_of(topology)
    if len(boxes) < 2:
        return []
    size = len(boxes[0])
    zigzag = size % 2 == 0 and len(boxes) % 2 == 0
    turns = [size // 2 if zigzag else 1] * len(boxes)
    turns[-1] = -sum(turns[:-1])
    if not turns[-1] % size:
        turns[-2:] = [2, -sum(turns[:-2]) - 2]
    if size > 1 and not all(turn % size for turn in turns):
        return []  # a ring must leave a box over another card
    rings = []
    for card in range(size):
        at, ring = card, list[int]()
        for box, turn in zip(boxes, turns, strict=True):
            ring += [box[i] for i in _path(size, at, (at + turn) % size, zigzag=zigzag)]
            at = (at + turn) % size
        first = ring.index(0)
        rings.append((*ring[first:], *ring[:first]))
    known = topology.link_index
    whole = all(link in known for ring in rings for link in pairwise((*ring, ring[0])))
    return rings if whole else []


def _path(size: int, first: int, last: int, *, zigzag: bool) -> list[int]:
    """All of 0 … size - 1, from `first` to `last`."""
    if zigzag:
        return [(first + (-i // 2 if i % 2 == 0 else (i + 1) // 2)) % size for i in range(size)]
    between = [(first + i) % size for i in range(1, size) if (first + i) % size != last]
    return [first, *between, last][: size if first != last else 1]


def trees_of_boxes(topology: Topology, boxes: Boxes, *, chains: bool) -> list[Ints]:
    """The parents of each node, -1 for the root: for each card in the two trees of boxes, or with
    a single box in its only tree.

    Args:
        chains: whether the nodes of a box are in a chain, instead of all below one of them.
    """
    nodes, size, known = topology.num_nodes, len(boxes[0]), topology.link_index
    zigzag = size % 2 == 0 and all(pair in known for pair in permutations(boxes[0], 2))
    if len(boxes) == 1 and not zigzag and isinstance(cycle := a_cycle(topology), tuple):
        boxes = [cycle]
    found = []
    for card in range(size):
        for above in allreduce_trees(len(boxes))[: len(boxes)]:
            parents = np.empty(nodes, dtype=np.int64)
            for box, parent in zip(boxes, above.tolist(), strict=True):
                order = [box[i] for i in _path(size, card, (card - 1) % size, zigzag=zigzag)]
                parents[order[1:]] = order[:-1] if chains else order[0]
                parents[order[0]] = boxes[parent][card] if parent >= 0 else -1
            found.append(parents)
    return found
