"""Translations of a network: where all nodes look alike, one tree stands for all.

Rings, tori, hypercubes, complete graphs and switches, numbered row by row, stay what they are when
every node moves by the same vector: they are Cayley graphs of Z_a x Z_b x ….  If every node tries
its neighbours in the order of their difference to it, Algorithm 1 makes the trees of all roots
translates of one another: by induction over turns, all trees stand before translated situations,
and the links that one turn takes are an orbit, each link taken once.  So it is enough to grow the
tree of one root on a network in which the unit links of an orbit are one pool.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from syncoll.model import Topology
from syncoll_multitree.unit_network import UnitNetwork

__all__ = ["Translations", "find_translations"]

IntArray = npt.NDArray[np.int64]

_MOST_TRIED = 20_000


@dataclass(frozen=True)
class Translations:
    """The group Z_a x Z_b x … that moves a topology's nodes.

    Args:
        sizes: a, b, …; nodes are numbered row by row, the last coordinate changing fastest.
    """

    sizes: tuple[int, ...]

    def coordinates(self, nodes: IntArray) -> IntArray:
        """``[..., dimensions]``: the place of each node."""
        return np.stack(np.unravel_index(nodes, self.sizes), axis=-1)

    def move(self, nodes: IntArray, by: IntArray) -> IntArray:
        """Where nodes come when node 0 moves to `by`; the shapes broadcast."""
        result = np.zeros(np.broadcast_shapes(nodes.shape, by.shape), dtype=np.int64)
        stride = int(np.prod(self.sizes, dtype=np.int64))
        for size in self.sizes:
            stride //= size
            result += (nodes // stride % size + by // stride % size) % size * stride
        return result

    def difference(self, link: tuple[int, int]) -> tuple[int, ...]:
        """By which vector a link moves what it carries."""
        ends = self.coordinates(np.array(link))
        return tuple(((ends[1] - ends[0]) % np.array(self.sizes)).tolist())

    def quotient(self, topology: Topology, rounds: int) -> UnitNetwork:
        """The unit links of a time step of so many rounds, those of an orbit as one pool."""
        orbit_of = self._orbits(topology)
        kinds: dict[tuple[tuple[int, ...], ...], list[int]] = {}
        for i, bound in enumerate(topology.bounds):
            kind = (
                (bound.chunks_per_round.numerator, bound.chunks_per_round.denominator),
                tuple(sorted({orbit_of[j] for j in topology.bound_links[i].tolist()})),
            )
            kinds.setdefault(kind, []).append(i)
        members = [
            sorted({j for i in same for j in topology.bound_links[i].tolist()})
            for same in kinds.values()
        ]
        pools: list[list[int]] = [[] for _ in topology.links]
        for pool, links in enumerate(members):
            for link in links:
                pools[link].append(pool)
        return UnitNetwork(
            topology.num_nodes,
            tuple(b for _, b in topology.links),
            tuple(tuple(sorted(links, key=orbit_of.__getitem__)) for links in topology.out_links),
            tuple(topology.bounds[same[0]].capacity(rounds) for same in kinds.values()),
            tuple(map(tuple, members)),
            tuple(map(tuple, pools)),
        )

    def _orbits(self, topology: Topology) -> list[int]:
        """For each link its orbit; orbits of slower dimensions first, steps forward first."""
        first = [self.difference(topology.links[i]) for i in topology.out_links[0]]
        first.sort(key=lambda d: (next(i for i, x in enumerate(d) if x), d))
        rank = {difference: i for i, difference in enumerate(first)}
        return [rank[tuple(d)] for d in _differences(self, topology).tolist()]


def find_translations(topology: Topology) -> Translations | None:
    """Translations under which a topology, B included, stays the same; None if none are found.

    Only those are looked for that move nodes numbered row by row, and only bounds that hold at most
    one link of each orbit count as the same.
    """
    nodes = topology.num_nodes
    degrees = {len(links) for links in topology.out_links}
    if nodes < 2 or len(degrees) != 1 or degrees == {0}:
        return None
    amounts = Counter((len(b.links), b.chunks_per_round) for b in topology.bounds)
    if any(count % nodes for count in amounts.values()):  # every orbit of bounds has P members
        return None
    for tried, sizes in enumerate(_factorizations(nodes)):
        if tried >= _MOST_TRIED:
            break
        translations = Translations(sizes)
        if _plausible(translations, topology) and _keeps(translations, topology):
            return translations
    return None


def _factorizations(number: int) -> Iterator[tuple[int, ...]]:
    """The ordered ways to write a number as a product of factors above 1, fewest factors first."""

    def split(rest: int, parts: int) -> Iterator[tuple[int, ...]]:
        if parts == 1:
            if rest > 1:
                yield (rest,)
            return
        for factor in range(2, rest // 2 ** (parts - 1) + 1):
            if rest % factor == 0:
                for others in split(rest // factor, parts - 1):
                    yield (factor, *others)

    for parts in range(1, number.bit_length()):
        yield from split(number, parts)


def _plausible(translations: Translations, topology: Topology) -> bool:
    """Whether a few nodes have the same differences to their neighbours: cheap, refutes most."""
    nodes = topology.num_nodes
    seen = {
        frozenset(translations.difference(topology.links[i]) for i in topology.out_links[node])
        for node in {0, 1, nodes // 2, nodes - 1}
    }
    return len(seen) == 1


def _differences(translations: Translations, topology: Topology) -> IntArray:
    ends = translations.coordinates(np.array(topology.links, dtype=np.int64))
    result: IntArray = (ends[:, 1] - ends[:, 0]) % np.array(translations.sizes)
    return result


def _keeps(translations: Translations, topology: Topology) -> bool:
    """Whether the generators map links to links and bounds to bounds of the same bandwidth."""
    nodes, links = topology.num_nodes, np.array(topology.links, dtype=np.int64)
    codes = links[:, 0] * nodes + links[:, 1]
    bounds = [(b.chunks_per_round, m) for b, m in zip(topology.bounds, topology.bound_links,
                                                      strict=True)]  # fmt: skip
    stride = nodes
    for size in translations.sizes:
        stride //= size
        moved = translations.move(links, np.array(stride))
        places = moved[:, 0] * nodes + moved[:, 1]
        image = np.searchsorted(codes, places)
        if (image == len(codes)).any() or (codes[image] != places).any():
            return False
        before = Counter((b, tuple(m.tolist())) for b, m in bounds)
        if before != Counter((b, tuple(np.sort(image[m]).tolist())) for b, m in bounds):
            return False
    differences = _differences(translations, topology)
    return all(_distinct(differences[m].tolist()) for m in topology.bound_links)


def _distinct(rows: Sequence[Sequence[int]]) -> bool:
    return len({tuple(row) for row in rows}) == len(rows)
