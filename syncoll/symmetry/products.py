"""Products: the grid, torus or hypercube that links form, for any numbering of the nodes.

The decomposition of a connected graph into prime factors of the Cartesian product is unique.  Its
factors are the classes of links under the closure of two relations (Feder, Product graph
representations, 1992): links ab and cd with ``d(a,c) + d(b,d) != d(a,d) + d(b,c)``, and links ab
and ac where a is the only common neighbour of b and c.  Two nodes agree in a factor when links of
the other factors join them.  Factors that are lines, rings or complete graphs make up grids; two K2
make a ring of four, so that a hypercube counts as a torus.

It needs all distances, so it is limited to `_MOST_NODES` nodes.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations

import numpy as np

from syncoll.arrays import Ints
from syncoll.model import UNREACHABLE, Topology
from syncoll.model.components import least_connected

_MOST_NODES = 4096  # all distances take 64 MiB
_MOST_PAIRS = 400_000
"""Pairs of links of one node, as many as in a complete graph of 90 nodes."""


@dataclass(frozen=True, eq=False)
class Product:
    """A product of lines, rings and complete graphs that equals a topology's links.

    Args:
        kinds: of each factor, ``line``, ``ring`` or ``complete``.
        sizes: of each factor its nodes; the factors with most nodes come first.
        places: ``[P]``, for each node its number row by row, the last factor changing fastest.
        even: whether every link has a bandwidth of its own, the same for all links of a factor.
    """

    kinds: tuple[str, ...]
    sizes: tuple[int, ...]
    places: Ints
    even: bool


@dataclass(frozen=True, eq=False)
class _Factor:
    kind: str
    size: int
    bandwidths: tuple[Fraction, ...]
    along: Ints
    """``[P]``: where each node is in it."""


def factorings(number: int) -> Iterator[tuple[int, ...]]:
    """All factorisations into factors of at least 2, in every order."""
    yield (number,)
    for first in range(2, number // 2 + 1):
        if number % first == 0:
            yield from ((first, *rest) for rest in factorings(number // first))


def find_products(topology: Topology) -> tuple[Product, ...]:
    """The decompositions of a topology's links; empty without any, or if it is too large.

    In the first, pairs of K2 are rings of four; in the second, if there are any, they are not.
    Bandwidths only decide which factors are paired and which come first.
    """
    nodes, links = topology.num_nodes, set(topology.links)
    degrees = np.bincount([a for a, _ in links], minlength=nodes)
    if not 2 <= nodes <= _MOST_NODES or degrees @ degrees > 2 * _MOST_PAIRS:
        return ()
    if any((b, a) not in links for a, b in links):
        return ()
    distances = topology.distances
    if (distances == UNREACHABLE).any():
        return ()
    edges = np.array([(a, b) for a, b in topology.links if a < b], dtype=np.int64)
    classes = _classes(edges, distances)
    widths = {b.links[0]: b.chunks_per_round for b in topology.bounds if len(b.links) == 1}
    factors = []
    for name in np.unique(classes).tolist():
        factor = _factor(nodes, edges[classes == name], edges[classes != name], widths)
        if factor is None:
            return ()
        factors.append(factor)
    paired = _paired(factors)
    even = len(widths) == len(topology.bounds) == len(links)
    found = []
    for chosen in (paired, factors) if len(paired) < len(factors) else (factors,):
        chosen.sort(key=lambda f: (-f.size, f.kind, f.bandwidths))
        sizes = tuple(f.size for f in chosen)
        if int(np.prod(sizes, dtype=np.int64)) != nodes:
            return ()
        places = np.ravel_multi_index([f.along for f in chosen], sizes).astype(np.int64)
        if len(np.unique(places)) != nodes:
            return ()
        uniform = even and all(len(f.bandwidths) == 1 for f in chosen)
        found.append(Product(tuple(f.kind for f in chosen), sizes, places, uniform))
    return tuple(found)


def _classes(edges: Ints, distances: Ints) -> Ints:
    """``[E]``: the factor of each edge.

    Every node has edges of all factors, and in lines, rings and complete graphs the first relation
    between these and all others suffices, with the second.
    """
    joined: list[Ints] = []
    neighbours: list[dict[int, int]] = [{} for _ in distances]
    for i, (a, b) in enumerate(edges.tolist()):
        neighbours[a][b] = neighbours[b][a] = i
    around = [list(combinations(sorted(own), 2)) for own in neighbours]
    common = Counter(chain.from_iterable(around))
    for own, pairs in zip(neighbours, around, strict=True):
        for b, c in pairs:
            if common[b, c] == 1:
                joined.append(np.array([[own[b], own[c]]]))
    for b, i in neighbours[0].items():
        nearer = distances[0] - distances[b]
        others = np.flatnonzero(nearer[edges[:, 0]] != nearer[edges[:, 1]])
        joined.append(np.column_stack([np.full_like(others, i), others]))
    return least_connected(len(edges), np.concatenate(joined or [np.empty((0, 2), dtype=np.int64)]))


def _factor(
    nodes: int, inside: Ints, outside: Ints, widths: dict[tuple[int, int], Fraction]
) -> _Factor | None:
    """The factor of a class of links, with nodes that other links join identified; None if not a
    grid."""
    members, layer = np.unique(least_connected(nodes, outside), return_inverse=True)
    size = len(members)
    between = np.unique(np.sort(layer[inside], axis=1), axis=0)
    if len(between) * nodes != len(inside) * size or (between[:, 0] == between[:, 1]).any():
        return None
    near: list[list[int]] = [[] for _ in range(size)]
    for a, b in between.tolist():
        near[a].append(b)
        near[b].append(a)
    degrees = sorted(map(len, near))
    if degrees[0] == size - 1:
        kind, order = "complete", list(range(size))
    elif degrees == [1, 1] + [2] * (size - 2):
        kind, order = "line", _along(near, min(v for v in range(size) if len(near[v]) == 1))
    elif degrees == [2] * size:
        kind, order = "ring", _along(near, 0)
    else:
        return None
    if len(order) < size:  # several components
        return None
    position = np.argsort(order)
    found = {widths.get((a, b)) for x, y in inside.tolist() for a, b in ((x, y), (y, x))}
    bandwidths = tuple(sorted(width for width in found if width is not None))
    return _Factor(kind, size, bandwidths, position[layer])


def _along(near: Sequence[Sequence[int]], first: int) -> list[int]:
    """The nodes of the line or ring that a node is on, one after the other."""
    order, seen = [first], {first}
    while left := [v for v in near[order[-1]] if v not in seen]:
        order.append(left[0])
        seen.add(left[0])
    return order


def _paired(factors: list[_Factor]) -> list[_Factor]:
    """Two K2 of the same bandwidth become a ring of four."""
    result = [f for f in factors if f.size > 2]
    alone: dict[tuple[Fraction, ...], _Factor] = {}
    for factor in factors:
        if factor.size > 2:
            continue
        other = alone.pop(factor.bandwidths, None)
        if other is None:
            alone[factor.bandwidths] = factor
        else:
            around = np.array([[0, 3], [1, 2]])[other.along, factor.along]
            result.append(_Factor("ring", 4, factor.bandwidths, around))
    return [*result, *alone.values()]
