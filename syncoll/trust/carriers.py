"""Whether carriers make a whole algorithm of the sends of some chunks.

An `OrbitAlgorithm` consists of own sends and of elements (p, q, d), each a permutation p of the
nodes and q of the chunks and a number d of steps by which everything happens later; its sends are
the images of its own under all of them.  It is right when

1. every generator maps links to links, and every chunk c that starts, or must end, at node n to a
   chunk q(c) that starts, or must end, at p(n), and no others;
2. no two pairs of an element and a chunk with own sends have the same image;
3. the own sends take each of these chunks from its pre to its post, every sender holding what it
   sends;
4. chunks that are no such image must go nowhere;
5. no send is carried before the first step or behind the last one, and over no set of links the
   images together are more than its bandwidth allows.

Why that is enough: by 1, which products inherit from generators, an element takes a valid way of
chunk c from pre to post to a valid way of chunk q(c), since whether a sender holds a chunk depends
on the sends of that chunk alone, and in which order they come, which is the same some steps later;
reductions of contributions are moved along with their contributors.  By 2 the sends of chunk q(c)
are this image and nothing else, and no send is there twice; so 3 and 4 speak of every chunk.  Loads
are the only thing in which chunks meet, and for 5 they are counted link by link over every image of
every send.  Nothing is taken for granted: the elements need be no group, and no bound has to be
mapped to another.

1, 2 and which chunks 3 and 4 are about stand here; the replay does the rest as for any algorithm.
The work grows with all sends, the memory with the own ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from syncoll.arrays import IntArray
from syncoll.model import Instance, OrbitAlgorithm
from syncoll.model.node_sets import NodeSets
from syncoll.trust.holdings import Violation
from syncoll.wording import counted

__all__ = ["carrier_violations", "watched_chunks"]


_CELLS_AT_ONCE = 1 << 22


def carrier_violations(
    instance: Instance, algorithm: OrbitAlgorithm, limit: int
) -> list[Violation]:
    """What is wrong with the carriers of an algorithm, at most `limit` entries."""
    carriers, found = algorithm.carriers, list[Violation]()
    sizes = ("node", instance.topology.num_nodes, carriers.nodes.shape[1])
    for name, there, moved in (sizes, ("chunk", instance.num_chunks, carriers.chunks.shape[1])):
        if there != moved:
            text = f"carriers of {counted(moved, name)}, not {there}"
            found.append(Violation("carriers", text))
    own = len(np.unique(algorithm.representative.sends[:, 0]))
    if not found and carriers.order * max(1, own) > max(1, instance.num_chunks):
        found.append(
            Violation(
                "carriers",
                f"{counted(carriers.order, 'element')} cannot carry {counted(own, 'chunk')} to as "
                f"many others: there are {instance.num_chunks}",
            )
        )
    if not found:
        found += _outside(algorithm)
        found += islice(_unkept(instance, algorithm), limit)
        found += islice(_repeated(algorithm), limit)
    return found[:limit]


def watched_chunks(algorithm: OrbitAlgorithm) -> IntArray:
    """The chunks that are replayed: those with own sends, and those to which none is carried."""
    own = np.unique(algorithm.representative.sends[:, 0])
    moved = np.zeros(algorithm.carriers.chunks.shape[1], dtype=bool)
    moved[algorithm.carriers.images(own)] = True
    moved[own] = False
    return np.flatnonzero(~moved)


def _outside(algorithm: OrbitAlgorithm) -> list[Violation]:
    """Elements that carry a send to where there is no step."""
    later, steps = algorithm.carriers.later, algorithm.representative.sends[:, 3]
    if not len(steps):
        return []
    first, last = int(steps.min()), int(steps.max())
    wrong = np.flatnonzero((later + first < 0) | (later + last >= algorithm.steps))
    return [
        Violation(
            "carriers",
            f"element {i} carries sends of steps {first} to {last} to steps {first + later[i]} to "
            f"{last + later[i]}; there are {counted(algorithm.steps, 'step')}",
        )
        for i in wrong[:1].tolist()
    ]


def _unkept(instance: Instance, algorithm: OrbitAlgorithm) -> Iterator[Violation]:
    """Links, starts and ends that a generator maps to what is none."""
    carriers, nodes = algorithm.carriers, instance.topology.num_nodes
    ends = np.array(instance.topology.links, dtype=np.int64).reshape(-1, 2)
    is_link = np.zeros(nodes * nodes, dtype=bool)
    is_link[ends[:, 0] * nodes + ends[:, 1]] = True
    for g, (images, chunks) in enumerate(zip(carriers.nodes, carriers.chunks, strict=True)):
        moved = images[ends]
        for i in np.flatnonzero(~is_link[moved[:, 0] * nodes + moved[:, 1]]).tolist():
            (a, b), (u, v) = ends[i].tolist(), moved[i].tolist()
            yield Violation(
                "carriers", f"generator {g} maps the link {a}->{b} to {u}->{v}, which is no link"
            )
        for sets, verb in ((instance.table.starts, "starts"), (instance.table.ends, "must end")):
            for chunk, node in _differing(sets, images, chunks):
                image, there = chunks[chunk], images[node]
                yield Violation(
                    "carriers",
                    f"generator {g} maps chunk {chunk} to chunk {image} and node {node} to node "
                    f"{there}, but of the two chunks only one {verb} at its node",
                )


def _differing(sets: NodeSets, nodes: IntArray, chunks: IntArray) -> Iterator[tuple[int, int]]:
    """Chunks with sets of nodes that a generator does not map to those of their images.

    Yields:
        A chunk, and a node for which that shows.
    """
    count = max(1, len(sets.sets))
    pairs, first = np.unique(sets.number * count + sets.number[chunks], return_index=True)
    block = max(1, _CELLS_AT_ONCE // max(1, sets.num_nodes))
    for low in range(0, len(pairs), block):
        part = slice(low, low + block)
        own, image = sets.sets[pairs[part] // count], sets.sets[pairs[part] % count]
        for i, n in np.argwhere(own != image[:, nodes]).tolist():
            yield int(first[part][i]), n


def _repeated(algorithm: OrbitAlgorithm) -> Iterator[Violation]:
    """Chunks to which two elements, or one and the identity, carry own chunks."""
    own = np.unique(algorithm.representative.sends[:, 0])
    images = algorithm.carriers.images(own)
    count = np.bincount(images.ravel(), minlength=1)
    for chunk in np.flatnonzero(count > 1).tolist():
        (first, i), (second, j) = np.argwhere(images == chunk)[:2].tolist()
        yield Violation(
            "carriers",
            f"elements {first} and {second} carry chunks {own[i]} and {own[j]} to one, "
            f"chunk {chunk}",
        )
