"""Combs: spanning trees of a grid that load its links evenly when all of them are taken.

On a product of lines, rings and complete graphs everything is collected along the first dimension
into the nodes that agree with a root in it, there along the second dimension, and so on; and spread
along the same tree turned round.  A link and its reverse carry one of both each.  On an n x n mesh
the two orders of the dimensions with the roots of a diagonal load every link with n + 1 of 2 n
chunks: what counting sends allows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from syncoll.arrays import IntArray
from syncoll.model import Topology
from syncoll.symmetry.products import Product, find_products

__all__ = ["combs"]


def combs(topology: Topology) -> Iterator[tuple[int, IntArray]]:
    """For each order of the dimensions, beginning with each of them, and each root a tree.

    Where the last dimension is a line all roots along it use the same links, and the one in the
    middle stands for all.

    Yields:
        The root, and for every node the node that comes next on the way to it (of the root the root
        itself).  No way is longer than it has to be.
    """
    products = find_products(topology)
    if not products:
        return
    product = products[0]
    dimensions = len(product.sizes)
    node_at = np.argsort(product.places)
    places = np.stack(np.unravel_index(np.arange(topology.num_nodes), product.sizes), axis=1)
    for first in range(dimensions):
        order = [(first + i) % dimensions for i in range(dimensions)]
        last = order[-1]
        middle = product.sizes[last] // 2 if product.kinds[last] == "line" else None
        for root in places:
            if middle is not None and root[last] != middle:
                continue
            towards = np.ravel_multi_index(
                tuple(_comb(product, order, root, places).T), product.sizes
            )
            at = int(np.ravel_multi_index(tuple(root), product.sizes))
            onward = np.empty_like(node_at)
            onward[node_at] = node_at[towards]
            yield int(node_at[at]), onward


def _comb(product: Product, order: list[int], root: IntArray, places: IntArray) -> IntArray:
    """``[P, D]``: for each place the place that it sends to."""
    onward = places.copy()
    moved = np.zeros(len(places), dtype=bool)
    for axis in order:
        here, size = places[:, axis], product.sizes[axis]
        if product.kinds[axis] == "ring":
            step = np.where(2 * ((here - root[axis]) % size) <= size, -1, 1)
        elif product.kinds[axis] == "line":
            step = np.sign(root[axis] - here)
        else:
            step = root[axis] - here
        now = ~moved & (here != root[axis])
        onward[now, axis] = (here + step)[now] % size
        moved |= now
    return onward
