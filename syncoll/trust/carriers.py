"""Checks whether carriers make a whole algorithm of the sends of some chunks.

An `OrbitAlgorithm` has own sends and elements: a permutation of the nodes, one of the chunks, and a
delay.  Its sends are the images of the own sends under all elements.  It is valid when

1. every generator maps links to links, and pre and post of each chunk to pre and post of its image;
2. no two pairs of an element and a chunk with own sends have the same image;
3. the own sends are valid for their chunks, and chunks that are no such image must go nowhere;
4. no image lies outside the steps, and all images together keep the bandwidth of each set of links.

For a node's data of a chunk depend only on the sends of this chunk, and the sends of an image are
the images of the chunk's sends.  The elements need not form a group, nor keep the bounds.

This module checks 1 and 2 and selects the chunks of 3; the replay does the rest.  Time grows with
all sends, memory with the own sends.
"""

from collections.abc import Iterator
from itertools import chain, islice

import numpy as np

from syncoll.arrays import Ints
from syncoll.model import Instance, OrbitAlgorithm
from syncoll.model.node_sets import NodeSets
from syncoll.trust.holdings import Violation
from syncoll.wording import counted

_CELLS_AT_ONCE = 1 << 22


def carrier_violations(
    instance: Instance, algorithm: OrbitAlgorithm, limit: int
) -> list[Violation]:
    """The errors in the carriers of an algorithm, at most `limit` entries."""
    wrong = _misfits(instance, algorithm) or chain(
        _outside(algorithm), _unkept(instance, algorithm), _repeated(algorithm)
    )
    return [Violation("carriers", text) for text in islice(wrong, limit)]


def watched_chunks(algorithm: OrbitAlgorithm) -> Ints:
    """The chunks that are replayed: chunks with own sends, and chunks to which none is carried."""
    own = np.unique(algorithm.representative.sends[:, 0])
    moved = np.zeros(algorithm.carriers.chunks.shape[1], dtype=bool)
    moved[algorithm.carriers.images(own)] = True
    moved[own] = False
    return np.flatnonzero(~moved)


def _misfits(instance: Instance, algorithm: OrbitAlgorithm) -> list[str]:
    """Carriers of another number of nodes or chunks, or with too many elements."""
    carriers = algorithm.carriers
    sizes = ("node", instance.topology.num_nodes, carriers.nodes.shape[1])
    found = [
        f"carriers of {counted(moved, name)}, not {there}"
        for name, there, moved in (sizes, ("chunk", instance.num_chunks, carriers.chunks.shape[1]))
        if there != moved
    ]
    own = len(np.unique(algorithm.representative.sends[:, 0]))
    if not found and carriers.order * max(1, own) > max(1, instance.num_chunks):
        found.append(
            f"{counted(carriers.order, 'element')} cannot carry {counted(own, 'chunk')} to as "
            f"many others: there are {instance.num_chunks}"
        )
    return found


def _outside(algorithm: OrbitAlgorithm) -> Iterator[str]:
    """The first element that carries a send before the first or after the last step."""
    later, steps = algorithm.carriers.later, algorithm.representative.sends[:, 3]
    if not len(steps):
        return
    first, last = int(steps.min()), int(steps.max())
    wrong = np.flatnonzero((later + first < 0) | (later + last >= algorithm.steps))
    for i in wrong[:1].tolist():
        yield (
            f"element {i} carries sends of steps {first} to {last} to steps {first + later[i]} to "
            f"{last + later[i]}; there are {counted(algorithm.steps, 'step')}"
        )


def _unkept(instance: Instance, algorithm: OrbitAlgorithm) -> Iterator[str]:
    """Links, starts and ends that a generator does not map to links, starts and ends."""
    carriers, topology = algorithm.carriers, instance.topology
    ends = topology.ends
    for g, (images, chunks) in enumerate(zip(carriers.nodes, carriers.chunks, strict=True)):
        moved = images[ends]
        for i in np.flatnonzero(topology.links_of(*moved.T) < 0).tolist():
            (a, b), (u, v) = ends[i].tolist(), moved[i].tolist()
            yield f"generator {g} maps the link {a}->{b} to {u}->{v}, which is no link"
        for sets, verb in ((instance.table.starts, "starts"), (instance.table.ends, "must end")):
            for chunk, node in _differing(sets, images, chunks):
                image, there = chunks[chunk], images[node]
                yield (
                    f"generator {g} maps chunk {chunk} to chunk {image} and node {node} to node "
                    f"{there}, but of the two chunks only one {verb} at its node"
                )


def _differing(sets: NodeSets, nodes: Ints, chunks: Ints) -> Iterator[tuple[int, int]]:
    """Chunks whose nodes a generator does not map to the nodes of their images, with a node."""
    count = max(1, len(sets.sets))
    pairs, first = np.unique(sets.number * count + sets.number[chunks], return_index=True)
    block = max(1, _CELLS_AT_ONCE // max(1, sets.num_nodes))
    for low in range(0, len(pairs), block):
        part = slice(low, low + block)
        own, image = sets.sets[pairs[part] // count], sets.sets[pairs[part] % count]
        for i, n in np.argwhere(own != image[:, nodes]).tolist():
            yield int(first[part][i]), n


def _repeated(algorithm: OrbitAlgorithm) -> Iterator[str]:
    """Chunks to which two elements carry own chunks."""
    own = np.unique(algorithm.representative.sends[:, 0])
    images = algorithm.carriers.images(own)
    count = np.bincount(images.ravel(), minlength=1)
    for chunk in np.flatnonzero(count > 1).tolist():
        (first, i), (second, j) = np.argwhere(images == chunk)[:2].tolist()
        yield (
            f"elements {first} and {second} carry chunks {own[i]} and {own[j]} to one, "
            f"chunk {chunk}"
        )
