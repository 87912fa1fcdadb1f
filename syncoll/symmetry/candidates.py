"""Automorphisms that may generate a large free group.

The quickest first: cyclic shifts of a digit of the nodes' numbers (grids, tori, boxes and
circulants are numbered so), then products of the generators that igraph (BLISS) finds.  A
collective may be invariant under products of these but not under them: then igraph gets the graph
of both.
"""

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from syncoll.arrays import Ints
from syncoll.deadline import Deadline
from syncoll.model import Fabric, RelationTable
from syncoll.model.components import least_of_orbits
from syncoll.symmetry.structure import Structure

if TYPE_CHECKING:
    import igraph

_MOST_RANDOM = 500
"""Number of random elements of a group that are tried."""

_MOST_EDGES = 1_000_000
"""Most edges of a graph for igraph."""


def digit_shifts(structure: Structure) -> Iterator[Ints]:
    """Automorphisms that shift one digit of the nodes' numbers in some mixed radix system."""
    nodes = structure.num_nodes
    divisors = [d for d in range(1, nodes + 1) if nodes % d == 0]
    number = np.arange(nodes)
    for radix in reversed(divisors):
        for stride in divisors:
            if radix == 1 or nodes % (radix * stride):
                continue
            digit = number // stride % radix
            images = number + ((digit + 1) % radix - digit) * stride
            if structure.keeps(images):
                yield images


@dataclass(frozen=True, eq=False)
class ColouredGraph:
    """An undirected graph with the automorphisms of a topology; nodes come first.

    Args:
        edges: ``[E, 2]``.
        colours: ``[V]``.
    """

    edges: Ints
    colours: Ints

    @property
    def order(self) -> int:
        """Number of automorphisms, from igraph (BLISS)."""
        return int(self._graph().count_automorphisms(color=self.colours.tolist()))

    def generators(self) -> list[list[int]]:
        """Generators of its automorphisms."""
        graph, colours = self._graph(), self.colours.tolist()
        found: list[list[int]] = graph.automorphism_group(color=colours)
        return found

    @cached_property
    def canonical_numbers(self) -> Ints:
        """``[V]``: canonical numbers of its vertices, independent of the present ones."""
        graph = self._graph()
        graph.vs["number"] = range(len(self.colours))
        # Whether that is a permutation or its inverse differs between versions of igraph.
        found = graph.permute_vertices(graph.canonical_permutation(color=self.colours.tolist()))
        return np.argsort(np.array(found.vs["number"], dtype=np.int64))

    def _graph(self) -> "igraph.Graph":
        import igraph

        return igraph.Graph(n=len(self.colours), edges=self.edges.tolist())


def automorphism_graph(structure: Structure) -> ColouredGraph | None:
    """The graph for igraph; None if it is too large.

    Its automorphisms preserve the links and B, or the cables if there are switches, which is mostly
    the same.  `Structure.keeps` checks that afterwards, and whether they preserve a collective.
    """
    fabric = structure.topology.fabric
    if fabric is None or not fabric.num_switches:
        edges, colours = _graph_of_bounds(structure)
    else:
        edges, colours = _graph_of_fabric(fabric)
    return ColouredGraph(edges, colours) if len(edges) <= _MOST_EDGES else None


def automorphism_generators(structure: Structure) -> list[Ints]:
    """Generators of the graph's automorphisms; empty if it is too large."""
    return _moving(automorphism_graph(structure), structure.num_nodes)


def collective_graph(structure: Structure) -> ColouredGraph | None:
    """The same graph with vertices for a collective, which its automorphisms then preserve.

    Each set of nodes where chunks start is a vertex joined to these nodes, and so is each set where
    they end.  Chunks with the same pre and post are a vertex joined to both, with a colour for
    their number.

    Returns:
        None if it is too large, or there is no collective.
    """
    graph, table = automorphism_graph(structure), structure.table
    if graph is None or table is None:
        return None
    edges, colours = _graph_of_kinds(table, len(graph.colours), int(graph.colours.max(initial=0)))
    if len(graph.edges) + len(edges) > _MOST_EDGES:
        return None
    return ColouredGraph(
        np.concatenate([graph.edges, edges]), np.concatenate([graph.colours, colours])
    )


def collective_generators(structure: Structure) -> list[Ints]:
    """Generators of the automorphisms of a topology and a collective.

    If all generators of the topology preserve the collective, igraph is not asked again; if the
    graph of both is too large, only the preserving ones are returned.
    """
    found = automorphism_generators(structure)
    allowed = [one for one in found if structure.keeps_chunks(one)]
    if len(allowed) < len(found):
        graph = collective_graph(structure)
        if graph is not None:
            allowed = _moving(graph, structure.num_nodes)
    return [one for one in allowed if structure.keeps_links(one)]


def _moving(graph: ColouredGraph | None, nodes: int) -> list[Ints]:
    """The action of a graph's generators on the nodes, without trivial ones."""
    found = [] if graph is None else graph.generators()
    images = (np.array(one[:nodes], dtype=np.int64) for one in found)
    return [one for one in images if (one != np.arange(nodes)).any()]


def _graph_of_fabric(fabric: Fabric) -> tuple[Ints, Ints]:
    """The edges and the vertices' colours of a graph with the symmetries of a physical network."""
    ends = np.array([(link.source, link.destination) for link in fabric.links], dtype=np.int64)
    rates = sorted({link.bandwidth for link in fabric.links})
    kinds = np.array([rates.index(link.bandwidth) for link in fabric.links], dtype=np.int64)
    vertices = fabric.num_vertices
    switch = (np.arange(vertices) >= fabric.num_nodes).astype(np.int64)
    switch[list(fabric.multicast)] += 1
    switch[list(fabric.reduce)] += 2
    return _directed(ends.reshape(-1, 2), kinds, switch)


def _graph_of_bounds(structure: Structure) -> tuple[Ints, Ints]:
    """The same for links and the bandwidth relation: a bound is a vertex joined to its links.  A
    bound on a single link is the link's colour."""
    bounds = structure.topology.bounds
    sizes = np.diff(structure.starts)
    rates = sorted({bound.kind for bound in bounds})
    rate = np.array([rates.index(bound.kind) for bound in bounds], dtype=np.int64)
    own: dict[int, list[int]] = defaultdict(list)
    for bound in np.flatnonzero(sizes == 1).tolist():
        own[int(structure.member[structure.starts[bound]])].append(int(rate[bound]))
    names = [tuple(sorted(own[link])) for link in range(len(structure.links))]
    order = {name: i for i, name in enumerate(sorted(set(names)))}
    kinds = np.array([order[name] for name in names], dtype=np.int64)
    nodes = np.zeros(structure.num_nodes, dtype=np.int64)
    edges, colours = _directed(structure.links, kinds, nodes)
    shared = np.flatnonzero(sizes > 1)
    if not len(shared):
        return edges, colours
    position = np.full(len(bounds), -1)
    position[shared] = len(colours) + np.arange(len(shared))
    owner = np.repeat(np.arange(len(bounds)), sizes)
    held = position[owner] >= 0
    # The first vertices after the nodes are the links, see `_directed`.
    hung = np.stack([structure.num_nodes + structure.member[held], position[owner[held]]], axis=1)
    return (
        np.concatenate([edges, hung]),
        np.concatenate([colours, colours.max() + 1 + rate[shared]]),
    )


def _graph_of_kinds(table: RelationTable, vertices: int, colour: int) -> tuple[Ints, Ints]:
    """The edges and colours of vertices for kinds of chunks, after `vertices` and `colour`."""
    edges, colours, sides = [], [], []
    start, end, counts = table.kinds
    for sets, numbers in ((table.starts.sets, start), (table.ends.sets, end)):
        used, of_kind = np.unique(numbers, return_inverse=True)
        which, node = np.nonzero(sets[used])
        edges.append(np.stack([node, vertices + which], axis=1))
        sides.append(vertices + of_kind)
        vertices, colour = vertices + len(used), colour + 1
        colours.append(np.full(len(used), colour))
    kinds = vertices + np.arange(len(counts))
    edges += [np.stack([side, kinds], axis=1) for side in sides]
    colours.append(colour + 1 + np.unique(counts, return_inverse=True)[1])
    return np.concatenate(edges), np.concatenate(colours)


def _directed(ends: Ints, kinds: Ints, colours: Ints) -> tuple[Ints, Ints]:
    """An undirected coloured graph with the symmetries of a directed one with kinds of edges.

    Every edge has a vertex, of its kind's colour, next to its source, and one next to its target.
    """
    first, count = len(colours), len(ends)
    tail = first + np.arange(count)
    edges = np.concatenate(
        [
            np.stack([ends[:, 0], tail], axis=1),
            np.stack([tail, tail + count], axis=1),
            np.stack([tail + count, ends[:, 1]], axis=1),
        ]
    )
    last = int(colours.max(initial=0))
    return edges, np.concatenate([colours, last + 2 + kinds, np.full(count, last + 1)])


def products(
    generators: list[Ints], random: np.random.Generator, deadline: Deadline
) -> Iterator[Ints]:
    """Elements of a group: its generators, products of them in turn, and random ones."""
    yield from generators
    for length in range(2, min(len(generators), 24) + 1):
        for first in range(len(generators) - length + 1):
            product = np.arange(len(generators[0]))
            for one in generators[first : first + length]:
                product = one[product]
            yield product
            if deadline.passed:
                return
    # Product replacement (Celler et al., 1995).
    pool = [generators[i % len(generators)] for i in range(max(10, len(generators) + 2))]
    running = np.arange(len(generators[0]))
    for _ in range(_MOST_RANDOM):
        if deadline.passed:
            return
        i, j = random.choice(len(pool), 2, replace=False).tolist()
        other = pool[j] if random.integers(2) else np.argsort(pool[j])
        pool[i] = other[pool[i]] if random.integers(2) else pool[i][other]
        running = pool[i][running]
        yield running.copy()


def free_power(images: Ints) -> Ints | None:
    """The power of a permutation that generates the largest free group; None for the identity.  Its
    order has the primes that divide all lengths of cycles equally often, that many times."""
    lengths = np.unique(least_of_orbits(len(images), [images]), return_counts=True)[1].tolist()
    order, least_common = math.gcd(*lengths), math.lcm(*lengths)
    uneven = least_common // order
    while (common := math.gcd(order, uneven)) > 1:
        order //= common
    return _power(images, least_common // order) if order > 1 else None


def _power(images: Ints, exponent: int) -> Ints:
    result, base = np.arange(len(images)), images
    while exponent:
        if exponent & 1:
            result = base[result]
        base, exponent = base[base], exponent >> 1
    return result
