"""The invariants of an automorphism: links, the bounds on them, and a collective's demands."""

import numpy as np

from syncoll.arrays import Ints, KeyArray
from syncoll.model import RelationTable, Topology

_MOST_CELLS = 1 << 24
"""Cells of a table of chunks and nodes that are processed together."""


class Structure:
    """A topology, and a collective's demands on it, as arrays on which permutations act.

    Sets are compared by sums of random 64-bit keys: a permutation that is no automorphism passes
    with a chance of about one in 10^19. Every result is verified in full later.

    Args:
        topology: P, the links and B.
        table: pre and post of some C; None where only the topology counts.
    """

    def __init__(self, topology: Topology, table: RelationTable | None = None) -> None:
        random = np.random.default_rng(20220103)
        nodes = topology.num_nodes
        self.topology, self.table, self.num_nodes = topology, table, nodes
        self.links = topology.ends
        self.codes = self.links[:, 0] * nodes + self.links[:, 1]
        sizes = [len(members) for members in topology.bound_links]
        none = np.zeros(0, dtype=np.int64)
        self.member: Ints = np.concatenate([*topology.bound_links, none])
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        rates = [bound.kind for bound in topology.bounds]
        kinds = {rate: i for i, rate in enumerate(sorted(set(rates)))}
        keys = random.integers(1 << 63, size=len(kinds), dtype=np.uint64)
        self._rate_key = np.array([keys[kinds[rate]] for rate in rates], dtype=np.uint64)
        self._link_key = random.integers(1 << 63, size=len(self.links), dtype=np.uint64)
        self.bound_key = self._bound_keys(np.arange(len(self.links)))
        self._sorted_bounds = np.sort(self.bound_key)
        self._node_keys = random.integers(1 << 63, size=(2, nodes), dtype=np.uint64)
        self._relations = None
        if table is not None:
            starts, ends, count = table.kinds
            sets = table.starts.sets[starts], table.ends.sets[ends]
            self._relations = *sets, count.astype(np.uint64)
            self._chunk_keys = np.sort(self._classes(np.arange(nodes)))

    def link_map(self, images: Ints) -> Ints | None:
        """The image of each link under images ``[P]`` of nodes; None if one is not a link."""
        codes = images[self.links[:, 0]] * self.num_nodes + images[self.links[:, 1]]
        found = np.searchsorted(self.codes, codes)
        found[found == len(self.codes)] = 0
        return found if np.array_equal(self.codes[found], codes) else None

    def keeps(self, images: Ints) -> bool:
        """Whether a permutation of the nodes is an automorphism."""
        return self.keeps_links(images) and self.keeps_chunks(images)

    def keeps_links(self, images: Ints) -> bool:
        """Whether a permutation of the nodes keeps the links and the bounds on them."""
        links = self.link_map(images)
        return links is not None and np.array_equal(
            np.sort(self._bound_keys(links)), self._sorted_bounds
        )

    def keeps_chunks(self, images: Ints) -> bool:
        """Whether it keeps the demands of the collective."""
        return self._relations is None or np.array_equal(
            np.sort(self._classes(images)), self._chunk_keys
        )

    def bound_map(self, images: Ints) -> Ints:
        """The image of each bound under an automorphism."""
        links = self.link_map(images)
        assert links is not None
        order = np.argsort(self.bound_key)
        moved = self._bound_keys(links)
        return order[np.searchsorted(self.bound_key[order], moved)]

    def _bound_keys(self, links: Ints) -> KeyArray:
        """For each bound a key of its rate and of the images of its links."""
        if not len(self.starts) - 1:
            return np.zeros(0, dtype=np.uint64)
        return np.add.reduceat(self._link_key[links[self.member]], self.starts[:-1]) + (
            self._rate_key
        )

    def _classes(self, images: Ints) -> KeyArray:
        """For each kind of chunk a key of their number and of the images of its nodes."""
        assert self._relations is not None
        pre, post, count = self._relations
        keys = self._node_keys[:, images]
        found = np.zeros(len(count), dtype=np.uint64)
        block = max(1, _MOST_CELLS // max(1, self.num_nodes))
        for low in range(0, len(count), block):
            part = slice(low, low + block)
            for relation, key in ((pre, keys[0]), (post, keys[1])):
                cells = np.where(relation[part], key, np.uint64(0))
                found[part] += cells.sum(axis=1, dtype=np.uint64)
        mixed: KeyArray = (found ^ (found >> np.uint64(29))) * (2 * count + np.uint64(1))
        return mixed
