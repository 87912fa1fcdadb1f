"""Allreduce in as many steps as the diameter: along shortest paths, summed where they meet.

Every contribution reaches every node along a tree of shortest paths from its own node, as late as
the last step allows.  Contributions that reach a node together, and leave it by the same sends, are
added up there, so that they travel on as one.

On a product of lines, rings and complete graphs the trees lead along one dimension after another.
Within a ring of even size the farthest node is reached forth from every second node and back from
the others; with the sums that is neighbour exchange (Chen and Yuan, 2005): half as many sends as
both ways at once.  Several orders of the dimensions, each for a part of the data, load all
dimensions in every step.  Elsewhere the trees take links in the order of some random priorities.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import permutations

import numpy as np
import numpy.typing as npt

from syncoll.deadline import Deadline
from syncoll.linear import GrowingProgram
from syncoll.model import Topology
from syncoll.symmetry.products import Product, find_products
from syncoll_treepairs.dealing import Dealt, rounded, rounds_of
from syncoll_treepairs.pairs import Pair

__all__ = ["few_chunks", "shortest_path_sums"]

IntArray = npt.NDArray[np.int64]

_MOST_CONTRIBUTIONS = 1 << 26
"""Sends of a chunk times nodes, at most."""

_ALL_ORDERS = 3
"""Dimensions of which all orders are tried; of more only those that begin with each in turn."""

_PRIORITIES, _MANY_PAIRS = 8, 1 << 18
"""Orders of the links that are tried where they form no product: fewer where so many pairs of
nodes in all of them are looked at."""


def shortest_path_sums(topology: Topology) -> Iterator[Pair]:
    """Ways to sum a chunk in as many steps as the diameter; none where they have too many sends."""
    if topology.distances.max() >= topology.num_nodes:
        return  # not every node reaches every other
    found = False
    for product in find_products(topology):
        for parents in _along_dimensions(product):
            found = True
            yield from _summed(topology, parents)
    if not found:
        random = np.random.default_rng(topology.num_nodes)
        for _ in range(max(1, min(_PRIORITIES, _MANY_PAIRS // topology.num_nodes**2))):
            order = random.permutation(len(topology.links))
            yield from _summed(topology, _by_priority(topology, order))


def _along_dimensions(product: Product) -> Iterator[IntArray]:
    """``[P, P]``: for each source and node the node before it, for each order of the dimensions."""
    kinds = list(zip(product.kinds, product.sizes, strict=True))
    axes = range(len(kinds))
    orders = [(*axes[first:], *axes[:first]) for first in axes]
    if len(axes) <= _ALL_ORDERS:
        orders = list(permutations(axes))
    nodes = len(product.places)
    node_at = np.argsort(product.places)
    places = np.stack(np.unravel_index(product.places, product.sizes), axis=1)
    ties = any(kind == "ring" and size % 2 == 0 for kind, size in kinds)
    for odd in range(1 + ties):
        factors = [_factor(kind, size, odd) for kind, size in kinds]
        for order in orders:
            before = np.repeat(places[None], nodes, axis=0)
            open_ = np.ones((nodes, nodes), dtype=bool)
            for axis in reversed(order):
                source, here = places[:, None, axis], places[None, :, axis]
                last = open_ & (source != here)
                before[..., axis][last] = factors[axis][source, here][last]
                open_ &= ~last
            yield node_at[np.ravel_multi_index(tuple(np.moveaxis(before, 2, 0)), product.sizes)]


def _factor(kind: str, size: int, odd: int) -> IntArray:
    """``[n, n]``: for each source and node the node before it in a line, ring or complete graph."""
    source, node = np.indices((size, size))
    if kind == "complete":
        return source
    if kind == "line":
        before = node - np.sign(node - source)
    else:
        twice = 2 * ((node - source) % size)
        forth = (twice < size) | ((twice == size) & (source % 2 == odd))
        before = (node - np.where(forth, 1, -1)) % size
    return np.asarray(before, dtype=np.int64)


def _by_priority(topology: Topology, order: IntArray) -> IntArray:
    """The same along shortest paths: into each node the last link of an order that is on one."""
    far = topology.distances
    parents = np.repeat(np.arange(topology.num_nodes)[:, None], topology.num_nodes, axis=1)
    for link in order.tolist():
        before, node = topology.links[link]
        parents[far[:, before] + 1 == far[:, node], node] = before
    return parents


def _summed(topology: Topology, parents: IntArray) -> Iterator[Pair]:
    """The sends of trees along which sources reach nodes, contributions added up on the way.

    Args:
        parents: ``[P, P]``, for each source and node the node before it, nearer by a link.
    """
    nodes, far = topology.num_nodes, topology.distances
    steps = int(far.max())
    number = np.zeros((nodes, nodes), dtype=np.int64)
    number[tuple(np.array(topology.links).T)] = np.arange(len(topology.links))
    height = np.zeros((nodes, nodes), dtype=np.int64)
    for source, node in _by_value(far, steps):
        np.maximum.at(height, (source, parents[source, node]), height[source, node] + 1)
    arrival = steps - height
    np.fill_diagonal(arrival, 0)
    random = np.random.default_rng(nodes)
    onward = np.zeros((nodes, nodes), dtype=np.int64)
    """Random numbers, added up modulo 2^64, of the sends by which contributions leave nodes."""
    room = _MOST_CONTRIBUTIONS // nodes
    sends: list[tuple[int, int]] = []
    carried = []
    for source, node in _by_value(arrival, steps):
        before = parents[source, node]
        links, leave = number[before, node], onward[source, node]
        order = np.lexsort((leave, links))
        links, leave = links[order], leave[order]
        first = np.append(True, (np.diff(links) != 0) | (np.diff(leave) != 0))
        which = np.cumsum(first) - 1
        words = random.integers(-(1 << 63), (1 << 63) - 1, which[-1] + 1)
        np.add.at(onward, (source[order], before[order]), words[which])
        room -= len(words)
        if room < 0:
            return
        members = np.zeros((len(words), nodes), dtype=bool)
        members[which, source[order]] = True
        step = int(arrival[source[0], node[0]]) - 1
        sends = [(step, link) for link in links[first].tolist()] + sends
        carried.append(members)
    packed = np.packbits(np.concatenate(carried[::-1])).tobytes()
    yield Pair(tuple(sends), tuple(range(nodes)), steps, packed)


def _by_value(table: IntArray, most: int) -> Iterator[tuple[IntArray, IntArray]]:
    """The places of each value from the largest down to 1."""
    flat = table.ravel()
    order = np.argsort(flat, kind="stable")
    ends = np.searchsorted(flat[order], np.arange(1, most + 2))
    for i in range(most - 1, -1, -1):
        some = order[ends[i] : ends[i + 1]]
        if len(some):
            yield np.divmod(some, len(table))


def few_chunks(
    topology: Topology, pairs: Sequence[Pair], most: int, stride: int, until: Deadline
) -> Dealt | None:
    """Chunks dealt to ways to sum one, as few as bring R/C near to the optimum of any shares.

    Args:
        pairs: at least one.
        most: chunks at most.
        stride: of which their number is a multiple.
        until: when to be content; without an optimum by then there is none.
    """
    steps = 1 + max(int(pair.steps[-1]) for pair in pairs)
    count, links = len(pairs), len(topology.links)
    sends = [np.bincount(p.links * steps + p.steps, minlength=links * steps) for p in pairs]
    on_links = np.stack(sends).reshape(count, links, steps)
    loads = np.stack([on_links[:, some].sum(axis=1) for some in topology.bound_links], axis=1)
    rates = [bound.chunks_per_round for bound in topology.bounds]
    over = np.array([float(rate) for rate in rates])
    program = GrowingProgram(np.concatenate([np.zeros(count), np.ones(steps)]))
    program.add(dict.fromkeys(range(count), 1.0), 1.0, 1.0)
    for step in range(steps):
        for row in np.unique(loads[:, :, step].T / over[:, None], axis=0):
            used = {int(i): float(row[i]) for i in np.flatnonzero(row)}
            program.add(used | {count + step: -1.0}, -np.inf, 0.0)
    optimum = program.minimise(max(0.05, until.left()))
    if optimum is None:
        return None
    shares = np.maximum(0.0, optimum.columns[:count])
    best: Dealt | None = None
    for chunks in range(stride, most + 1, stride):
        numbers = rounded(shares / shares.sum(), chunks)
        rounds = rounds_of(rates, np.tensordot(numbers, loads, axes=1))
        if best is None or Fraction(rounds, chunks) < best.bandwidth:
            dealt = [(pair, n) for pair, n in zip(pairs, numbers.tolist(), strict=True) if n]
            best = Dealt(chunks, rounds, tuple(dealt))
    return best
