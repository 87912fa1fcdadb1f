"""What all renumberings of a question have in common, and which nodes of two questions match.

A question is drawn as a coloured graph:

* three vertices for each node: itself, its way out and its way in;
* a link joins its source's way out to its destination's way in.  The links of the commonest
  bandwidth that no shared bound covers are bare edges, so that a topology of equal links, each its
  own bound, has 3 P vertices; any other link is a vertex, coloured by the bounds it has for itself;
* a vertex for each bound over several links, coloured by its capacity, joined to its links;
* a vertex for each class of chunks (those of one pre and post), joined to the ways out of the nodes
  where it starts and the ways in of those that need it (or to all others, where these are fewer),
  coloured by its size.

Classes that are the same under every numbering need no vertices: those of allgather, one for each
node, or of alltoall, one for each pair.  A group of classes is such when it has every pair (pre,
post) of its sizes.  Sizes of classes count by their order only, so that one graph serves every C.

The sorted colours of that graph after refinement (see `syncoll.linear.colour_refinement`) are a
hash that renumbered questions share.

To match the nodes of two graphs, both are refined together.  Where several nodes share a colour,
one of the first graph and one of the second are given a colour of their own, and refinement goes
on; where the graphs come apart, the next node of the second is tried.  In a graph whose equally
coloured nodes are interchangeable, as on every machine that anybody builds, the first try goes
well.  There are graphs with which it takes exponentially long, so looking ends after `MOST_WORK`.

Nothing here has to be believed: `CanonicalQuestion.renumbers` applies what was found, and compares.
Colours that meet by chance, and a search that was cut short, can only hide that two questions are
the same.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import comb

import numpy as np
import numpy.typing as npt

from syncoll.arrays import BoolArray, IntArray
from syncoll.linear.colour_refinement import Graph, hashes, mix, refine

__all__ = [
    "MOST_EDGES",
    "MOST_VERTICES",
    "MOST_WORK",
    "RefinementHash",
    "matching",
    "refinement_hash",
]

MOST_VERTICES = 10_000
MOST_EDGES = 100_000
"""Of the graph; larger ones have no hash."""

MOST_WORK = 50_000_000
"""Vertices and edges that are looked at to match two graphs, `_ROUND` more for each round of
refinement: about half a second."""

_ROUND = 3_000
_MOST_REFINING = 6_000_000
"""As `MOST_WORK`, of the colours of one graph alone.  They serve after any number of
rounds; the limit is for long lines, in which colours spread a node a round."""

_Colors = npt.NDArray[np.uint64]
_Link = tuple[int, int]


@dataclass(frozen=True, eq=False)
class RefinementHash:
    """What does not depend on the numbering.

    Args:
        key: SHA-256 of it.
        graph: node n is vertex n, its way out P + n, its way in 2 P + n.
        colors: of its vertices, refined.
    """

    key: bytes
    graph: Graph
    colors: _Colors


def refinement_hash(
    details: bytes, topology: bytes, pre: BoolArray, post: BoolArray, counts: IntArray
) -> RefinementHash | None:
    """The hash of a question.

    Graphs are kept for the questions asked last: those on one topology with classes of the same
    shape share one, whatever their C, S and R.

    Args:
        details: what has no numbers of nodes.
        topology: number of nodes, links and bounds, as JSON.
        pre: ``[G, P]``.
        post: ``[G, P]``.
        counts: ``[G]``; equal rows with equal counts follow one another.

    Returns:
        None where the graph would have more than `MOST_VERTICES` or `MOST_EDGES`.
    """
    pre, post, kinds, groups = _telling(pre, post, counts)
    table = np.packbits(np.concatenate([pre, post], axis=1), axis=1)
    drawn = _graph(topology, table.tobytes(), tuple(kinds.tolist()))
    if drawn is None:
        return None
    graph, colors = drawn
    whole = hashlib.sha256(details + b"\n" + groups.astype("<i8").tobytes() + b"\n")
    whole.update(np.sort(colors).astype("<u8").tobytes())
    return RefinementHash(whole.digest(), graph, colors)


def matching(
    one: RefinementHash, two: RefinementHash, num_nodes: int, most_work: int = MOST_WORK
) -> tuple[IntArray | None, int]:
    """Looks for a renumbering that turns one graph into another.

    Args:
        one: with the same key as the other.
        most_work: after which to give up, see `MOST_WORK`.

    Returns:
        For each node of the one graph a node of the other; None when there is no renumbering, or
        looking took too long.  And the work that it took.
    """
    left = most_work
    size = len(one.colors)
    both = Graph(
        np.concatenate([one.graph.neighbours, two.graph.neighbours + size]),
        np.concatenate([one.graph.starts, two.graph.starts[1:] + one.graph.starts[-1]]),
    )
    trials: list[Iterator[_Colors]] = [iter([np.concatenate([one.colors, two.colors])])]
    while trials:
        colors = next(trials[-1], None)
        if colors is None:
            trials.pop()
            continue
        refined, work = _refined(both, colors, 2, left)
        left -= work
        if left <= 0:
            break
        if refined is None:
            continue
        here, there = refined[:num_nodes], refined[size : size + num_nodes]
        found, sizes = np.unique(here, return_counts=True)
        several = np.flatnonzero(sizes > 1)
        if not several.size:
            nodes = np.empty(num_nodes, dtype=np.int64)
            nodes[np.argsort(here)] = np.argsort(there)
            return nodes, most_work - left
        color = found[several[np.argmin(sizes[several])]]
        first = int(np.flatnonzero(here == color)[0])
        others = (size + np.flatnonzero(there == color)).tolist()
        trials.append(_told_apart(refined, first, others))
    return None, most_work - left


def _told_apart(colors: _Colors, first: int, others: list[int]) -> Iterator[_Colors]:
    """The colours with a new one for a vertex, and for each of others in turn."""
    for other in others:
        result = colors.copy()
        result[[first, other]] = mix(~colors[[first, other]])
        yield result


def _refined(
    graph: Graph, given: _Colors, parts: int, most_work: int
) -> tuple[_Colors | None, int]:
    """Refined colours, or those found within so much work; and the work.

    None in place of colours when the parts, so many graphs of one size, have different ones.
    """
    each = len(given) + len(graph.neighbours) + _ROUND
    work = -each
    for colors in refine(graph, given):
        work += each
        ordered = np.sort(colors.reshape(parts, -1), axis=1) if parts > 1 else colors[None]
        if (ordered[1:] != ordered[0]).any():
            return None, work
        if work + each > most_work:
            return colors, work + each
    return colors, work


def _telling(
    pre: BoolArray, post: BoolArray, counts: IntArray
) -> tuple[BoolArray, BoolArray, IntArray, IntArray]:
    """Classes that do not look the same under every numbering, and the sizes of all.

    Returns:
        Their pre, their post, a number for each by the order of its size, and a table of groups:
        nodes to start at, nodes that need it, both, count, how many members, how many classes.
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
def _graph(topology: bytes, table: bytes, kinds: tuple[int, ...]) -> tuple[Graph, _Colors] | None:
    """The coloured graph of a topology and of classes of chunks; None where it is too large."""
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
        """A class of chunks, of a size that has this number."""
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

    def graph(self) -> tuple[Graph, _Colors] | None:
        """The graph, with the colours of its vertices refined; None where it is too large."""
        size = len(self._kinds)
        if size > MOST_VERTICES or len(self._edges) > MOST_EDGES:
            return None
        graph = Graph.of(size, np.array(self._edges, dtype=np.int64))
        refined, _ = _refined(graph, hashes(self._kinds), 1, _MOST_REFINING)
        assert refined is not None  # one part differs from no other
        for array in (refined, graph.neighbours, graph.starts):
            array.setflags(write=False)  # all who ask the cache get the same ones
        return graph, refined
