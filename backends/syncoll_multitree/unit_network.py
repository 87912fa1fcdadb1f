"""UnitNetwork: how often each link can be used in one time step.

A link of bandwidth b is ``floor(b q)`` parallel unit links in a time step of q rounds (MultiTree
paper, section VII.B), so that rational bandwidths need no common unit.  A bound shared by several
links is a pool of unit links.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from syncoll.model import Link, Topology
from syncoll.model.fabric import unreached

__all__ = ["ORDERS", "Key", "UnitNetwork"]


@dataclass(frozen=True, eq=False)
class UnitNetwork:
    """Links, in pools of unit links.

    Args:
        heads: the end of each link.
        out: links of each node in the order in which they are tried.
        limits: unit links of each pool in a time step.
        members: links that draw from each pool.
        pools_of: pools from which each link draws.
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
        """The unit links of a topology in a time step of `rounds` rounds.

        Args:
            order: a name of `ORDERS`.
            places: numbers of the nodes in the order; by default their own.
        """
        links: Sequence[Link] = topology.links
        if places is not None:
            links = [(places[a], places[b]) for a, b in links]
        key = ORDERS[order](links)
        out = tuple(tuple(sorted(at, key=lambda i: key(links[i]))) for at in topology.out_links)
        return cls(
            topology.num_nodes,
            tuple(b for _, b in topology.links),
            out,
            tuple(bound.capacity(rounds) for bound in topology.bounds),
            tuple(tuple(m.tolist()) for m in topology.bound_links),
            topology.link_bounds,
        )

    @property
    def usable(self) -> bytearray:
        """For each link whether a time step has a unit link for it at all."""
        return bytearray(all(self.limits[pool] for pool in pools) for pools in self.pools_of)

    def lost(self, roots: frozenset[int]) -> tuple[int, int] | None:
        """A root, and a node that usable links do not lead to from it; None if there is none."""
        usable = self.usable
        links = [
            (node, self.heads[link])
            for node, leaving in enumerate(self.out)
            for link in leaving
            if usable[link]
        ]
        return unreached(links, self.num_nodes, sorted(roots))


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
