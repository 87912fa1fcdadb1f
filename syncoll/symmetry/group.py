"""Groups of permutations of the nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from syncoll.arrays import IntArray

__all__ = ["Group"]


@dataclass(frozen=True, eq=False)
class Group:
    """A group, which may fix nodes.

    Args:
        elements: ``[H, P]``, the image of each node under each element; the identity first.
        generators: ``[n, P]``.
    """

    elements: IntArray
    generators: IntArray

    @staticmethod
    def of_order(nodes: int, generators: Sequence[IntArray], most: int) -> Group | None:
        """The group that permutations generate; None if it has more than `most` elements."""
        found = _closure(nodes, generators, most)
        if found is None:
            return None
        return Group(found[0], np.array(generators, dtype=np.int64).reshape(-1, nodes))

    @property
    def order(self) -> int:
        """The number of elements."""
        return len(self.elements)

    @property
    def num_nodes(self) -> int:
        """P."""
        return int(self.elements.shape[1])

    @cached_property
    def representatives(self) -> IntArray:
        """The least node of each orbit."""
        return np.unique(self.elements.min(axis=0))

    @cached_property
    def products(self) -> IntArray:
        """``[H - 1, 2]``: every element but the identity as a generator after an earlier one."""
        found = _closure(self.num_nodes, list(self.generators), self.order)
        assert found is not None
        return found[1]


def _closure(
    nodes: int, generators: Sequence[IntArray], most: int
) -> tuple[IntArray, IntArray] | None:
    """All products of generators, and their factors; None if there are more than `most`."""
    elements, products = [np.arange(nodes)], []
    known = {elements[0].tobytes()}
    for i, element in enumerate(elements):  # grows
        for g, images in enumerate(generators):
            product = images[element]
            if product.tobytes() not in known:
                if len(elements) >= most:
                    return None
                known.add(product.tobytes())
                elements.append(product)
                products.append((g, i))
    return np.array(elements), np.array(products, dtype=np.int64).reshape(-1, 2)
