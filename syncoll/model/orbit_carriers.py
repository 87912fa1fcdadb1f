"""Permutations of nodes and chunks that carry the sends of some chunks to all others.

An allgather on a torus of 4096 nodes has a hundred million sends, but the chunks of all nodes take
the same routes, shifted.  The sends of one node's chunks and the permutations take some megabytes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from syncoll.arrays import Ints, NarrowArray, frozen
from syncoll.errors import ModelError
from syncoll.wording import counted

_CELLS_AT_ONCE = 1 << 21
"""Images of sends that are computed together."""


@dataclass(frozen=True, eq=False)
class Carriers:
    """Elements, each a permutation of the nodes and one of the chunks, as products of generators.

    Element 0 is the identity.  The elements need not be a group; the verifier checks that they keep
    links and collective.

    Args:
        nodes: ``[n, P]``, for each generator the image of each node.
        chunks: ``[n, G]``, for each generator the image of each chunk.
        products: ``[H - 1, 2]``, elements 1, 2, …: a row (a, b) is generator a after the earlier
            element b.
        delays: ``[n]``, the steps by which each generator delays sends, maybe below 0; empty for 0.

    Raises:
        ModelError: for other shapes, no permutations, and unknown factors of products.

    Examples:
        >>> shift = Carriers([[1, 2, 0]], [[1, 2, 0]], [[0, 0], [0, 1]])
        >>> shift.elements.tolist()
        [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
        >>> shift.images([0]).tolist()
        [[0], [1], [2]]
    """

    nodes: Ints
    chunks: Ints
    products: Ints
    delays: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __post_init__(self) -> None:
        for name in ("nodes", "chunks", "products"):
            try:
                array = np.array(getattr(self, name), dtype=np.int64)
            except ValueError:  # rows of several lengths
                array = np.zeros(1, dtype=np.int64)
            if not array.size and name == "products":
                array = array.reshape(0, 2)
            if array.shape == (0,):  # an empty list has no width
                raise ModelError(
                    f"carriers without {name}",
                    None,
                    "at least one generator: a permutation of the nodes and one of the chunks",
                )
            if array.ndim != 2:
                raise ModelError(f"{name} of carriers", None, "rows of one length")
            object.__setattr__(self, name, frozen(array))
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
        object.__setattr__(self, "delays", frozen(delays))
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
        """H, the number of elements."""
        return len(self.products) + 1

    @cached_property
    def elements(self) -> NarrowArray:
        """``[H, P]``: for each element the image of each node."""
        return self._products(self.nodes, np.arange(self.nodes.shape[1]))

    @cached_property
    def later(self) -> Ints:
        """``[H]``: the steps by which each element delays sends."""
        found, delays = [0], self.delays.tolist()
        for generator, element in self.products.tolist():
            found.append(found[element] + delays[generator])
        return np.array(found, dtype=np.int64)

    def images(self, chunks: npt.ArrayLike) -> NarrowArray:
        """``[H, K]``: for each element the images of some chunks ``[K]``."""
        return self._products(self.chunks, np.asarray(chunks, dtype=np.int64))

    def _products(self, generators: Ints, identity: Ints) -> NarrowArray:
        maps = generators.astype(np.int32)
        found = np.empty((self.order, len(identity)), dtype=np.int32)
        found[0] = identity
        for i, (generator, element) in enumerate(self.products.tolist(), start=1):
            maps[generator].take(found[element], out=found[i])
        return frozen(found)

    def same_as(self, other: "Carriers") -> bool:
        """Whether they are the same elements as the same products."""
        return self is other or all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("nodes", "chunks", "products", "delays")
        )

    def carried(
        self, ends: Ints, elements: NarrowArray | None = None
    ) -> Iterator[tuple[slice, NarrowArray]]:
        """Yields images ``[elements, K, …]`` of nodes ``[K, …]``, in blocks that fit the memory,
        each with its slice of `elements`, by default all."""
        if elements is None:
            elements = self.elements
        block = max(1, _CELLS_AT_ONCE // max(1, ends.size))
        for low in range(0, len(elements), block):
            part = slice(low, min(low + block, len(elements)))
            yield part, elements[part][:, ends]
