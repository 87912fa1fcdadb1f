"""A hash that all renumberings of a question share, and the matching of the nodes of two questions.

A question becomes a coloured graph:

* three vertices for each node: itself, its way out and its way in;
* a link joins its source's way out to its destination's way in.  Links of the most frequent
  bandwidth under no shared bound are bare edges, so that a topology of equal links has 3 P
  vertices; any other link is a vertex, coloured by its own bounds;
* a vertex for each bound over several links, coloured by its capacity, joined to its links;
* a vertex for each class of chunks (of one pre and post), coloured by its size.  It is joined to
  the ways out of its pre and the ways in of its post (or to all others, if these are fewer).

A group of classes that has every pair (pre, post) of its sizes, as in allgather or alltoall, is the
same under every numbering and needs no vertices.  Only the order of class sizes counts, so that one
graph serves every C.  The hash is the sorted colours of the graph after refinement (see
`syncoll.linear.colour_refinement`).

The nodes of two graphs with equal hashes are matched by canonical numbers of their vertices, from
igraph (BLISS).  `CanonicalQuestion.renumbers` applies the result and compares, so that colliding
colours can only hide that two questions are the same.
"""

import hashlib
import json
from collections import Counter, deque
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from math import comb

import numpy as np
import numpy.typing as npt

from syncoll.arrays import BoolArray, IntArray
from syncoll.linear.colour_refinement import Graph, hashes, numbered, refine
from syncoll.symmetry.candidates import ColouredGraph

MOST_VERTICES = 10_000
MOST_EDGES = 100_000
"""Largest number of edges of the graph; larger ones have no hash."""

_ROUND, _MOST_REFINING = 3_000, 6_000_000
"""The work of a round of refinement, in addition to its vertices and edges.  Second, the work of
all rounds for one graph: on long lines colours spread one node a round.  Colours are valid after
any number of rounds."""

_Colors = npt.NDArray[np.uint64]
_Link = tuple[int, int]


@dataclass(frozen=True, eq=False)
class RefinementHash:
    """The SHA-256 of the invariants of a question under renumbering, and its graph in refined
    colours: node n is vertex n, its way out P + n, its way in 2 P + n."""

    key: bytes
    graph: ColouredGraph


def refinement_hash(
    details: bytes, topology: bytes, pre: BoolArray, post: BoolArray, counts: IntArray
) -> RefinementHash | None:
    """The hash of a question; None above `MOST_VERTICES` or `MOST_EDGES`.

    Questions on one topology with classes of the same shape share a cached graph.

    Args:
        details: without numbers of nodes.
        topology: number of nodes, links and bounds, as JSON.
        counts: ``[G]``; equal rows of pre and post, ``[G, P]``, with equal counts are adjacent.
    """
    pre, post, kinds, groups = _telling(pre, post, counts)
    table = np.packbits(np.concatenate([pre, post], axis=1), axis=1)
    drawn = _graph(topology, table.tobytes(), tuple(kinds.tolist()))
    if drawn is None:
        return None
    graph, colors = drawn
    whole = hashlib.sha256(details + b"\n" + groups.astype("<i8").tobytes() + b"\n")
    whole.update(np.sort(colors).astype("<u8").tobytes())
    return RefinementHash(whole.digest(), graph)


def matching(one: RefinementHash, two: RefinementHash, num_nodes: int) -> IntArray:
    """For each node of a graph one of another, a renumbering if one exists between them."""
    return inverse(two.graph.canonical_numbers)[one.graph.canonical_numbers][:num_nodes]


def inverse(order: IntArray) -> IntArray:
    """The inverse of a permutation."""
    result = np.empty(len(order), dtype=np.int64)
    result[order] = np.arange(len(order))
    return result


def _telling(
    pre: BoolArray, post: BoolArray, counts: IntArray
) -> tuple[BoolArray, BoolArray, IntArray, IntArray]:
    """The classes that change under renumbering, and the sizes of all.

    Returns:
        Their pre, their post, a number for each by the order of its size, and a table of groups:
        sizes of pre, post and both, count, number of members, number of classes.
    """
    members, nodes = pre.shape
    changes = (pre[1:] != pre[:-1]).any(1) | (post[1:] != post[:-1]).any(1)
    changes |= counts[1:] != counts[:-1]
    starts = np.flatnonzero(np.concatenate([np.ones(min(members, 1), dtype=bool), changes]))
    repeats = np.diff(starts, append=members)
    pre, post = pre[starts], post[starts]
    sizes = np.stack(
        [pre.sum(1), post.sum(1), (pre & post).sum(1), counts[starts], repeats], axis=1
    )
    groups, group, classes = np.unique(sizes, axis=0, return_inverse=True, return_counts=True)
    kept = np.array(
        [
            number < comb(nodes, both) * comb(nodes - both, a - both) * comb(nodes - a, b - both)
            for (a, b, both, *_), number in zip(groups.tolist(), classes.tolist(), strict=True)
        ],
        dtype=bool,
    )[group.ravel()]
    _, kinds = np.unique(sizes[kept, 3:], axis=0, return_inverse=True)
    return pre[kept], post[kept], kinds.ravel(), np.column_stack([groups, classes])


@lru_cache(maxsize=256)
def _graph(
    topology: bytes, table: bytes, kinds: tuple[int, ...]
) -> tuple[ColouredGraph, _Colors] | None:
    """The graph of a topology and of classes of chunks, and its refined colours; None if it is too
    large."""
    nodes, links, bounds = json.loads(topology)
    drawing = _Drawing(nodes, [(a, b) for a, b in links], bounds)
    width = (2 * nodes + 7) // 8
    for k, kind in enumerate(kinds):
        row = np.unpackbits(np.frombuffer(table, np.uint8, width, k * width), count=2 * nodes)
        drawing.add_class(row[:nodes].astype(bool), row[nodes:].astype(bool), kind)
    return drawing.graph()


class _Drawing:
    """A graph in the making: nodes, links and bounds, then classes."""

    def __init__(self, nodes: int, links: list[_Link], bounds: list[tuple[list[int], str]]) -> None:
        own: list[list[str]] = [[] for _ in links]
        shared: list[tuple[list[int], str]] = []
        for members, capacity in bounds:
            if len(members) == 1:
                own[members[0]].append(capacity)
            else:
                shared.append((members, capacity))
        covered = {link for members, _ in shared for link in members}
        capacities = [tuple(sorted(values)) for values in own]
        tally = Counter(c for i, c in enumerate(capacities) if i not in covered)
        bare = max(tally, key=lambda c: (tally[c], c), default=())
        self._nodes = nodes
        self._kinds: list[tuple[object, ...]] = []
        for kind in ("node", "out", "in"):
            self._kinds += [(kind, bare)] * nodes
        self._edges = [(n, way * nodes + n) for way in (1, 2) for n in range(nodes)]
        vertex: dict[int, int] = {}
        for i, (a, b) in enumerate(links):
            if i not in covered and capacities[i] == bare:
                self._edges.append((nodes + a, 2 * nodes + b))
            else:
                vertex[i] = self._add(("link", capacities[i]), [nodes + a, 2 * nodes + b])
        for members, capacity in shared:
            self._add(("bound", capacity), [vertex[i] for i in members])

    def add_class(self, pre: BoolArray, post: BoolArray, kind: int) -> None:
        """Adds a class of chunks, whose size has this number."""
        ends: list[int] = []
        turned = []
        for first, row in ((self._nodes, pre), (2 * self._nodes, post)):
            many = 2 * int(row.sum()) > self._nodes
            ends += (first + np.flatnonzero(~row if many else row)).tolist()
            turned.append(many)
        self._add(("class", kind, *turned), ends)

    def _add(self, kind: tuple[object, ...], neighbours: list[int]) -> int:
        new = len(self._kinds)
        self._kinds.append(kind)
        self._edges += [(new, neighbour) for neighbour in neighbours]
        return new

    def graph(self) -> tuple[ColouredGraph, _Colors] | None:
        """The graph and its refined colours; None if it is too large."""
        size, edges = len(self._kinds), np.array(self._edges, dtype=np.int64)
        if size > MOST_VERTICES or len(edges) > MOST_EDGES:
            return None
        rounds = 1 + _MOST_REFINING // (size + 2 * len(edges) + _ROUND)
        refined = refine(Graph.of(size, edges), hashes(self._kinds))
        (colors,) = deque(islice(refined, rounds), maxlen=1)
        return ColouredGraph(edges, numbered(colors)), colors
