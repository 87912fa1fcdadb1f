"""Translations: automorphisms that move all nodes by one vector.

Rings, tori, hypercubes, complete graphs and switches are Cayley graphs of Z_a x Z_b x ….  Let every
node try its neighbours in one order of the vectors to them.  Then Algorithm 1, with trees in turn
by root, makes the trees of all roots translates of one another.  By induction over turns, all trees
are in translated situations, and the links of one turn are an orbit, each taken once.
"""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from syncoll.arrays import Ints
from syncoll.model import Topology
from syncoll.symmetry.products import factorings, find_products
from syncoll.symmetry.structure import Structure

_MOST_TRIED = 20_000


@dataclass(frozen=True, eq=False)
class Translations:
    """The group Z_a x Z_b x … that moves a topology's nodes.

    Args:
        sizes: a, b, ….
        places: ``[P]``, each node's vector as a number, row by row.
    """

    sizes: tuple[int, ...]
    places: Ints

    @cached_property
    def nodes(self) -> Ints:
        """``[P]``: the node at each place."""
        return np.argsort(self.places)

    def move(self, nodes: Ints, by: Ints) -> Ints:
        """The images of nodes if the node at place 0 moves to `by`; the shapes broadcast."""
        here, further = (np.unravel_index(self.places[one], self.sizes) for one in (nodes, by))
        sums = tuple(a + b for a, b in zip(here, further, strict=True))
        return self.nodes[np.ravel_multi_index(sums, self.sizes, mode="wrap")]

    def vectors(self, links: npt.ArrayLike) -> Ints:
        """``[E, dimensions]``: the vector from tail to head of each of ``[E, 2]`` links."""
        ends = np.array(np.unravel_index(self.places[np.asarray(links)], self.sizes))
        sizes = np.array(self.sizes)[:, None]
        result: Ints = ((ends[:, :, 1] - ends[:, :, 0]) % sizes).T
        return result


def find_translations(topology: Topology) -> tuple[Translations, ...]:
    """Groups of translations that preserve a topology, B included; may be empty.

    Products of rings and complete graphs are found under any numbering, other networks only if
    numbered row by row.  Bounds must limit at most one link of each orbit.
    """
    nodes = topology.num_nodes
    degrees = {len(links) for links in topology.out_links}
    if nodes < 2 or len(degrees) != 1 or degrees == {0}:
        return ()
    amounts = Counter((len(b.links), b.chunks_per_round) for b in topology.bounds)
    if any(count % nodes for count in amounts.values()):  # every orbit of bounds has P members
        return ()
    groups = [
        Translations(product.sizes, product.places)
        for product in find_products(topology)
        if "line" not in product.kinds
    ]
    found = tuple(group for group in groups if _keeps(group, topology))
    if found:
        return found
    by_number = np.arange(nodes)
    by_length = sorted(factorings(nodes), key=lambda sizes: (len(sizes), sizes))
    for sizes in by_length[:_MOST_TRIED]:
        translations = Translations(sizes, by_number)
        if _plausible(translations, topology) and _keeps(translations, topology):
            return (translations,)
    return ()


def _plausible(translations: Translations, topology: Topology) -> bool:
    """A cheap necessary test: whether a few nodes have the same vectors to their neighbours."""
    nodes = topology.num_nodes
    seen = set()
    for node in {0, 1, nodes // 2, nodes - 1}:
        links = [topology.links[i] for i in topology.out_links[node]]
        seen.add(frozenset(map(tuple, translations.vectors(links).tolist())))
    return len(seen) == 1


def _keeps(translations: Translations, topology: Topology) -> bool:
    """Whether the generators map links to links and bounds to bounds of the same bandwidth."""
    structure, stride = Structure(topology), topology.num_nodes
    everything = np.arange(topology.num_nodes)
    for size in translations.sizes:
        stride //= size
        moved = translations.move(everything, translations.nodes[stride])
        if not structure.keeps_links(moved):
            return False
    vectors = translations.vectors(topology.links)
    return all(len(set(map(tuple, vectors[m].tolist()))) == len(m) for m in topology.bound_links)
