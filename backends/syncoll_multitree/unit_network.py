"""UnitNetwork: how often each link can be used in one time step.

A link of bandwidth b is b parallel unit links (MultiTree paper, section VII.B).  With a time step
of q rounds that makes ``floor(b q)`` of them, so that rational bandwidths need no common unit.  A
bound shared by several links is a pool of unit links that all of them draw from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from syncoll.model import Link, Topology

__all__ = ["ORDERS", "Key", "UnitNetwork"]


@dataclass(frozen=True, eq=False)
class UnitNetwork:
    """Links, in pools of unit links.

    Args:
        heads: for each link the node to which it leads.
        out: for each node its links in the order in which they are tried.
        limits: for each pool its unit links in a time step.
        members: for each pool the links that draw from it.
        pools_of: for each link the pools from which it draws.
    """

    num_nodes: int
    heads: tuple[int, ...]
    out: tuple[tuple[int, ...], ...]
    limits: tuple[int, ...]
    members: tuple[tuple[int, ...], ...]
    pools_of: tuple[tuple[int, ...], ...]

    @classmethod
    def of(
        cls, topology: Topology, rounds: int, order: str, places: Sequence[int] | None = None
    ) -> UnitNetwork:
        """The unit links of a topology in a time step of so many rounds.

        Args:
            rounds: q.
            order: a name of `ORDERS`.
            places: the number that each node counts as in the order; its own when missing.
        """
        links: Sequence[Link] = topology.links
        if places is not None:
            links = [(places[a], places[b]) for a, b in links]
        key = ORDERS[order](links)
        out = tuple(tuple(sorted(at, key=lambda i: key(links[i]))) for at in topology.out_links)
        members = tuple(tuple(m.tolist()) for m in topology.bound_links)
        pools: list[list[int]] = [[] for _ in topology.links]
        for pool, drawing in enumerate(members):
            for link in drawing:
                pools[link].append(pool)
        return cls(
            topology.num_nodes,
            tuple(b for _, b in topology.links),
            out,
            tuple(bound.capacity(rounds) for bound in topology.bounds),
            members,
            tuple(map(tuple, pools)),
        )

    @property
    def usable(self) -> bytearray:
        """For each link whether a time step has a unit link for it at all."""
        return bytearray(all(self.limits[pool] for pool in pools) for pools in self.pools_of)

    def lost(self, roots: frozenset[int]) -> tuple[int, int] | None:
        """A root, and a node that usable links do not lead to from it; None if there is none."""
        usable = self.usable
        first = min(roots)
        reached = self._search(first, usable)
        for node in range(self.num_nodes):
            if node not in reached:
                return first, node
        rest = roots - {first}
        if rest:  # where all reach `first` all reach everything
            reaching = self._search(first, usable, against=True)
            for root in sorted(rest):
                if root not in reaching:
                    return root, first
        return None

    def _search(self, start: int, usable: bytearray, *, against: bool = False) -> set[int]:
        onward: list[list[int]] = [[] for _ in range(self.num_nodes)]
        for node, links in enumerate(self.out):
            for link in links:
                if usable[link]:
                    a, b = (self.heads[link], node) if against else (node, self.heads[link])
                    onward[a].append(b)
        seen, stack = {start}, [start]
        while stack:
            for neighbour in onward[stack.pop()]:
                if neighbour not in seen:
                    seen.add(neighbour)
                    stack.append(neighbour)
        return seen


Key = Callable[[Link], tuple[int, ...]]
"""By which the links that leave a vertex are sorted."""


def _far(_: Sequence[Link]) -> Key:
    return lambda link: (-abs(link[1] - link[0]), link[1])


def _index(_: Sequence[Link]) -> Key:
    return lambda link: (link[1],)


def _scarce(links: Sequence[Link]) -> Key:
    arriving = Counter(end for _, end in links)
    return lambda link: (arriving[link[1]], link[1])


ORDERS: dict[str, Callable[[Sequence[Link]], Key]] = {
    "far": _far,
    "index": _index,
    "scarce": _scarce,
}
"""Orders of a node's neighbours, given all links.

``far``: by decreasing distance of numbers; on grids numbered row by row that is the paper's
"Y dimension, then X dimension".  ``index``: by number.  ``scarce``: those with the fewest incoming
links first, since they have the fewest chances to be reached.
"""
