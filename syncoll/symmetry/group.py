"""Groups of permutations of the nodes.

In a free group every element but the identity moves every node.  It maps a solution for one node of
each orbit to all others, in a single way: the chunk (v, i) goes to (g v, i).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from syncoll.arrays import Ints


@dataclass(frozen=True, eq=False)
class Group:
    """A group, which may fix nodes.

    Args:
        elements: ``[H, P]``, the image of each node under each element; the identity first.
        generators: ``[n, P]``.
    """

    elements: Ints
    generators: Ints

    @staticmethod
    def of_order(nodes: int, generators: Sequence[Ints], most: int) -> "Group | None":
        """The group that permutations generate; None if it has more than `most` elements."""
        found = _closure(np.arange(nodes), generators, most)
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
    def representatives(self) -> Ints:
        """The least node of each orbit."""
        return np.unique(self.elements.min(axis=0))

    @property
    def base(self) -> Ints:
        """Nodes whose images tell any two elements apart."""
        return np.arange(self.num_nodes)

    @cached_property
    def products(self) -> Ints:
        """``[H - 1, 2]``: every element but the identity as a generator after an earlier one.
        Elements are numbered in an order of their own here, that of `syncoll.model.Carriers`."""
        found = _closure(self.base, list(self.generators), self.order)
        assert found is not None
        return found[1]


def _closure(base: Ints, generators: Sequence[Ints], most: int) -> tuple[Ints, Ints] | None:
    """The images of `base` under all products, and their factors; None if more than `most`."""
    elements, products = [base], []
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


class FreeGroup(Group):
    """A group that acts freely on the nodes."""

    @classmethod
    def trivial(cls, nodes: int) -> "FreeGroup":
        """The group of the identity alone."""
        return cls(np.arange(nodes)[None, :], np.zeros((0, nodes), dtype=np.int64))

    @classmethod
    def generated(cls, nodes: int, generators: Sequence[Ints]) -> "FreeGroup | None":
        """The group that permutations generate, or None if it is not free."""
        group: FreeGroup | None = cls.trivial(nodes)
        for images in generators:
            group = group and group.with_generator(images)
        return group

    def chain(self) -> "Iterator[FreeGroup]":
        """This group and a chain of its subgroups, without the trivial one."""
        group = self
        while group.order > 1:
            yield group
            *others, last = group.generators
            smaller = FreeGroup.generated(self.num_nodes, [*others, _prime_power(last)])
            if smaller is None or smaller.order == group.order:
                smaller = FreeGroup.generated(self.num_nodes, others)
            assert smaller is not None  # a subgroup of a free group
            group = smaller

    @cached_property
    def carriers(self) -> Ints:
        """``[P]``: the position of the element that takes the representative to each node."""
        carriers = np.zeros(self.num_nodes, dtype=np.int64)
        for node in self.representatives.tolist():
            carriers[self.elements[:, node]] = np.arange(self.order)
        return carriers

    @cached_property
    def inverses(self) -> Ints:
        """``[H, P]``: the inverse of each element."""
        return np.argsort(self.elements, axis=1)

    @property
    def base(self) -> Ints:
        """Node 0, as no two elements take it to the same node."""
        return np.arange(1)

    def with_generator(self, images: Ints) -> "FreeGroup | None":
        """The group that a permutation and this one generate, or None if it is not free.

        Elements of a free group are identified by the image of node 0 (Dimino's algorithm, coset by
        coset).
        """
        nodes, first = self.num_nodes, int(images[0])
        where = np.full(nodes, -1)
        where[self.elements[:, 0]] = np.arange(self.order)
        if where[first] >= 0:
            return self if np.array_equal(self.elements[where[first]], images) else None
        generators = np.concatenate([self.generators, images[None, :]])
        found = [self.elements]
        leaders = [np.arange(nodes)]
        total = self.order
        for leader in leaders:  # grows
            for generator in generators:
                product = generator[leader]
                at = int(where[product[0]])
                if at >= 0:
                    if not np.array_equal(found[at // self.order][at % self.order], product):
                        return None
                    continue
                coset = product[self.elements]
                if total + self.order > nodes or (where[coset[:, 0]] >= 0).any():
                    return None
                if (coset == np.arange(nodes)).any():
                    return None
                where[coset[:, 0]] = total + np.arange(self.order)
                found.append(coset)
                leaders.append(product)
                total += self.order
        return FreeGroup(np.concatenate(found), generators)


def _prime_power(images: Ints) -> Ints:
    """The least prime power of a permutation with cycles of one length that shortens them."""
    length, node = 1, int(images[0])
    while node:
        length, node = length + 1, int(images[node])
    prime = next(p for p in range(2, length + 1) if length % p == 0)
    power = images
    for _ in range(prime - 1):
        power = images[power]
    return power
