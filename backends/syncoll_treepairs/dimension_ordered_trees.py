"""Dimension-ordered trees on products of lines, rings and complete graphs.

The tree of one root is a comb: data is reduced along the first dimension into the nodes that agree
with the root in it, then along the second dimension, and so on.  The reversed tree spreads the
result, so a link carries sums and its reverse results, or vice versa.  On an n x n mesh the two
orders of the dimensions with the roots of a diagonal load every link with n + 1 of 2 n chunks; this
meets the bound that counts sends.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from syncoll.arrays import Bools, Ints
from syncoll.model import Topology
from syncoll.symmetry.products import Product, find_products


def combs(topology: Topology) -> Iterator[tuple[int, Ints]]:
    """A tree for each root and each cyclic order of the dimensions.

    If the last dimension is a line all roots along it use the same links, and only the middle one
    is yielded.

    Yields:
        The root, and for every node the next node on a shortest path to it (of the root the root
        itself).
    """
    for product in find_products(topology)[:1]:
        factors = list(zip(product.kinds, product.sizes, strict=True))
        where = np.stack(np.unravel_index(product.places, product.sizes), axis=1)
        ways = [parents_of_factor(kind, n, np.ones(n, dtype=bool)) for kind, n in factors]
        for first in range(len(factors)):
            last = (first - 1) % len(factors)
            kind, size = factors[last]
            roots = np.argsort(product.places)
            if kind == "line":
                roots = roots[where[roots, last] == size // 2]
            order = [(first + i) % len(factors) for i in range(len(factors))]
            yield from zip(
                roots.tolist(), parents_along(product, where, order[::-1], ways, roots), strict=True
            )


def parents_along(
    product: Product, where: Ints, order: Sequence[int], ways: Sequence[Ints], sources: Ints
) -> Ints:
    """``[K, P]``: for each source and node the node before it, dimension by dimension.

    Args:
        where: ``[P, D]``, the places of the nodes.
        order: the dimensions in which sources and destinations differ, in travel order.
        ways: the parents of each dimension, see `parents_of_factor`.
    """
    before = np.repeat(where[None], len(sources), axis=0)
    open_ = np.ones(before.shape[:2], dtype=bool)
    for axis in reversed(order):
        source, here = where[sources, None, axis], where[None, :, axis]
        last = open_ & (source != here)
        before[..., axis][last] = ways[axis][source, here][last]
        open_ &= ~last
    places = np.ravel_multi_index(tuple(np.moveaxis(before, 2, 0)), product.sizes)
    return np.asarray(np.argsort(product.places)[places], dtype=np.int64)


def parents_of_factor(kind: str, size: int, forth: Bools) -> Ints:
    """``[n, n]``: for each source and node the node before it in a line, ring or complete graph.
    Sources in `forth` ``[n]`` reach the farthest node of a ring of even size forwards.
    """
    source, node = np.indices((size, size))
    if kind == "complete":
        return source
    if kind == "line":
        before = node - np.sign(node - source)
    else:
        twice = 2 * ((node - source) % size)
        before = node - np.where((twice < size) | ((twice == size) & forth[:, None]), 1, -1)
    return np.asarray(before % size, dtype=np.int64)
