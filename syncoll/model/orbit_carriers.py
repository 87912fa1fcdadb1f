"""Permutations of nodes and chunks that carry the sends of some chunks to those of all others.

An allgather on a torus of 4096 nodes has a hundred million sends, but what one node's chunks do is
what every node's chunks do, moved along.  So the sends of one node's chunks and the ways to move
them say it all, in some megabytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from syncoll.arrays import IntArray
from syncoll.errors import ModelError
from syncoll.wording import counted

__all__ = ["Carriers"]

NarrowArray = npt.NDArray[np.int32]

_CELLS_AT_ONCE = 1 << 21
"""Images of sends that are made together."""


@dataclass(frozen=True, eq=False)
class Carriers:
    """Elements, each a permutation of the nodes and one of the chunks, as products of generators.

    An element may carry sends to later steps as well.  Element 0 is the identity.  Nothing else is
    asked of them here: they need not be a group, and that they keep links and collective is the
    verifier's business.

    Args:
        nodes: ``[n, P]``, for each generator the node that each node goes to.
        chunks: ``[n, G]``, for each generator the chunk that each chunk goes to.
        products: ``[H - 1, 2]``, how elements 1, 2, … come about: generator `a` after element `b`
            for each row a, b; b is an earlier element.
        delays: ``[n]``, for each generator how many steps later everything happens; below 0 for
            sooner, empty where all is 0.

    Raises:
        ModelError: on arrays of other shapes, what is no permutation, and products of what there
            is not.

    Examples:
        >>> shift = Carriers([[1, 2, 0]], [[1, 2, 0]], [[0, 0], [0, 1]])
        >>> shift.elements.tolist()
        [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
        >>> shift.images([0]).tolist()
        [[0], [1], [2]]
    """

    nodes: IntArray
    chunks: IntArray
    products: IntArray
    delays: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __post_init__(self) -> None:
        for name in ("nodes", "chunks", "products"):
            try:
                array = np.array(getattr(self, name), dtype=np.int64)
            except ValueError:  # rows of several lengths
                array = np.zeros(1, dtype=np.int64)
            if not array.size and name == "products":
                array = array.reshape(0, 2)
            if array.shape == (0,):  # an empty list, which does not tell of how many nodes it is
                raise ModelError(
                    f"carriers without {name}",
                    None,
                    "at least one generator: a permutation of the nodes and one of the chunks",
                )
            if array.ndim != 2:
                raise ModelError(f"{name} of carriers", None, "rows of one length")
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        if len(self.nodes) != len(self.chunks) or self.products.shape[1] != 2:
            raise ModelError(
                f"carriers of shapes {self.nodes.shape}, {self.chunks.shape} and "
                f"{self.products.shape}",
                None,
                "shapes [n, P], [n, G] and [H - 1, 2]",
            )
        delays = np.array(self.delays, dtype=np.int64)
        if not delays.size:
            delays = np.zeros(len(self.nodes), dtype=np.int64)
        if delays.shape != (len(self.nodes),):
            raise ModelError(
                f"delays of shape {delays.shape} for {counted(len(self.nodes), 'generator')}",
                None,
                "one for each",
            )
        delays.setflags(write=False)
        object.__setattr__(self, "delays", delays)
        for name, maps in (("node", self.nodes), ("chunk", self.chunks)):
            numbers = np.arange(maps.shape[1])
            for i, images in enumerate(maps):
                if not np.array_equal(np.sort(images), numbers):
                    raise ModelError(
                        f"generator {i} is no permutation of the {name}s",
                        None,
                        f"each {name} from 0 to {maps.shape[1] - 1} once",
                    )
        generator, element = self.products.T
        wrong = (generator < 0) | (generator >= len(self.nodes)) | (element < 0)
        wrong |= element > np.arange(len(self.products))
        for i in np.flatnonzero(wrong)[:1].tolist():
            raise ModelError(
                f"element {i + 1} is generator {generator[i]} after element {element[i]}",
                None,
                f"one of {counted(len(self.nodes), 'generator')} after an earlier element",
            )

    @property
    def order(self) -> int:
        """H, how many elements there are."""
        return len(self.products) + 1

    @cached_property
    def elements(self) -> NarrowArray:
        """``[H, P]``: for each element the node that each node goes to."""
        return self._products(self.nodes, np.arange(self.nodes.shape[1]))

    @cached_property
    def later(self) -> IntArray:
        """``[H]``: for each element how many steps later everything happens."""
        found, delays = [0], self.delays.tolist()
        for generator, element in self.products.tolist():
            found.append(found[element] + delays[generator])
        return np.array(found, dtype=np.int64)

    def images(self, chunks: npt.ArrayLike) -> NarrowArray:
        """``[H, K]``: for each element the chunks that these go to.

        Args:
            chunks: ``[K]``.
        """
        return self._products(self.chunks, np.asarray(chunks, dtype=np.int64))

    def _products(self, generators: IntArray, identity: IntArray) -> NarrowArray:
        maps = generators.astype(np.int32)
        found = np.empty((self.order, len(identity)), dtype=np.int32)
        found[0] = identity
        for i, (generator, element) in enumerate(self.products.tolist(), start=1):
            maps[generator].take(found[element], out=found[i])
        found.setflags(write=False)
        return found

    def same_as(self, other: Carriers) -> bool:
        """Whether they are the same elements, said in the same way."""
        return self is other or all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("nodes", "chunks", "products", "delays")
        )

    def carried(
        self, ends: IntArray, elements: NarrowArray | None = None
    ) -> Iterator[tuple[slice, NarrowArray]]:
        """Where nodes go, for some elements after the others so that memory suffices.

        Args:
            ends: ``[K, …]``, nodes.
            elements: rows of `elements`, where not all of them are meant.

        Yields:
            Which elements, and their images ``[elements, K, …]``.
        """
        if elements is None:
            elements = self.elements
        block = max(1, _CELLS_AT_ONCE // max(1, ends.size))
        for low in range(0, len(elements), block):
            part = slice(low, min(low + block, len(elements)))
            yield part, elements[part][:, ends]
