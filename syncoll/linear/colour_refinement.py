"""Colour refinement: which vertices of a graph have the same neighbourhoods.

Refinement (Weisfeiler & Leman 1968) is the first step of every canonical labelling, see McKay &
Piperno 2014. It gives a vertex a new colour by its own and the colours of its neighbours, until no
more vertices are distinguished: the colouring is equitable then.  Here colours are hashes of 64
bits, and a set of neighbours is the sum of their hashes, O(edges) a round; so they mean the same in
every graph.  A collision could only merge too much, which `is_equitable` detects without hashes.

The rows and columns of a linear program are such vertices.  Making all variables of a colour equal
loses nothing: averaging a solution over the colours keeps it feasible and its cost.  Variables that
automorphisms of the program exchange have one colour, but the automorphisms need not be known
(Grohe, Kersting, Mladenov, Selman: Dimension reduction via colour refinement, ESA 2014).  The paper
requires equal sums where this requires equal multisets, which compares floats exactly.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from syncoll.arrays import Floats, Ints

WordArray = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph without directions, as each vertex sees it.

    Args:
        neighbours: of all vertices, one vertex after another.
        starts: ``[V + 1]``, where the neighbours of each vertex begin.
        labels: of the edges to these neighbours; None where all edges are alike.
    """

    neighbours: Ints
    starts: Ints
    labels: Ints | None = None

    @classmethod
    def of(cls, size: int, ends: Ints, labels: Ints | None = None) -> "Graph":
        """The graph of `size` vertices with these edges, ``[E, 2]``, and their labels, ``[E]``.
        Labels ``[2, E]`` are of each edge as its first end, and as its second end sees it."""
        here, there = ends.T.ravel(), ends[:, ::-1].T.ravel()
        order = np.argsort(here, kind="stable")
        starts = np.searchsorted(here[order], np.arange(size + 1))
        if labels is not None:
            labels = np.broadcast_to(labels, (2, len(ends))).ravel()[order]
        return cls(there[order], starts, labels)


def refine(graph: Graph, colours: WordArray, turns: Sequence[int] = ()) -> Iterator[WordArray]:
    """The colours after every round, the given ones first; the last ones are equitable.

    Args:
        colours: to begin with, `hashes` of the vertices' kinds.
        turns: vertices before the first of these numbers are recoloured first in a round, then the
            ones before the second, and so on.  Vertices with neighbours in other parts then need
            fewer rounds.
    """
    classes = 0
    words = None if graph.labels is None else graph.labels.astype(np.uint64)
    while True:
        yield colours
        before, classes = classes, _count(colours)
        if classes in (before, len(colours)):
            return
        colours = colours.copy()
        for first, last in pairwise((0, *turns, len(colours))):
            starts = graph.starts[first : last + 1]
            part = slice(starts[0], starts[-1])
            seen = mix(colours)[graph.neighbours[part]]
            if words is not None:
                seen = mix(seen + words[part])
            sums = np.zeros(len(seen) + 1, dtype=np.uint64)
            np.cumsum(seen, out=sums[1:])
            seen = sums[starts[1:] - starts[0]] - sums[starts[:-1] - starts[0]]
            colours[first:last] = mix(colours[first:last] + mix(seen))


def is_equitable(graph: Graph, numbers: Ints) -> bool:
    """Whether vertices of one colour have equal neighbourhoods, compared edge by edge; exact.
    Colours are numbered from 0 without gaps."""
    key = numbers[graph.neighbours]
    if graph.labels is not None:
        key = key + graph.labels * len(numbers)
    sizes = np.diff(graph.starts)
    member = np.repeat(np.arange(len(sizes)), sizes)
    key = key[np.lexsort((key, member))]
    _, first = np.unique(numbers, return_index=True)
    like = first[numbers]
    if (sizes != sizes[like]).any():
        return False
    offset = np.arange(len(key)) - np.repeat(graph.starts[:-1], sizes)
    return bool((key == key[graph.starts[like][member] + offset]).all())


def mix(words: WordArray) -> WordArray:
    """Each word scrambled, with the finaliser of SplitMix64 (Steele, Lea & Flood 2014)."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def hashes(kinds: Sequence[object]) -> WordArray:
    """A word for each vertex's kind; kinds with the same `repr` have the same word."""
    words = {
        kind: int.from_bytes(hashlib.sha256(repr(kind).encode()).digest()[:8], "big")
        for kind in set(kinds)
    }
    return np.array([words[kind] for kind in kinds], dtype=np.uint64)


def numbered(words: WordArray | Ints | Floats) -> Ints:
    """Numbers for words, in their order from 0 without gaps."""
    return np.unique(words, return_inverse=True)[1].astype(np.int64)


def _count(words: WordArray) -> int:
    ordered = np.sort(words)
    return int(np.count_nonzero(ordered[1:] != ordered[:-1])) + min(len(words), 1)
