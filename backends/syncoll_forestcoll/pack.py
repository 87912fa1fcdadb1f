"""Packs all trees of a network without switches, by the quickest way that works."""

from __future__ import annotations

from collections.abc import Sequence

from syncoll.routing.network import Network
from syncoll.routing.reduction import Groups, find_groups, is_tight, wide_parts
from syncoll_forestcoll.packing import ForestPacking, on_paths
from syncoll_forestcoll.packing_by_groups import pack_by_groups
from syncoll_forestcoll.packing_by_growth import pack_by_growth
from syncoll_forestcoll.packing_by_order import pack_by_order

__all__ = ["Packer"]

_LARGE = 300_000
"""Nodes times entering links from which on groups are looked for before orders."""


class Packer:
    """Packs networks, isomorphic ones once, and tries `groups` of vertices first."""

    def __init__(self, groups: Sequence[Sequence[int]] = ()) -> None:
        self.groups = groups
        self.ways: dict[str, int] = {"order": 0, "groups": 0, "growth": 0}
        self._known: dict[object, ForestPacking] = {}

    def pack(self, network: Network, *, outermost: bool = False) -> ForestPacking:
        """All trees of a network in which they fit, on physical paths."""
        packed = self.quickly(network, outermost=outermost)
        if packed is None:
            links = sorted(network.pieces)
            packed = self._keep(network, links, "growth", pack_by_growth(network, links))
        return packed

    def quickly(self, network: Network, *, outermost: bool = False) -> ForestPacking | None:
        """A packing, or None where trees must be grown one by one."""
        links = sorted(network.pieces)
        known = self._known.get(_key(network, links))
        if known is not None:
            return on_paths(network, links, known)
        widest = max(len(network.into[v]) for v in network.terminals)
        large = widest * len(network.terminals) > _LARGE
        packed = None if large else pack_by_order(network, links)
        if packed is None:
            groups = self._groups(network, self.groups if outermost else ())
            if groups:
                self.ways["groups"] += 1
                return pack_by_groups(network, groups, self.pack)
            if large:
                packed = pack_by_order(network, links)
        return packed and self._keep(network, links, "order", packed)

    def _keep(
        self, network: Network, links: list[tuple[int, int]], way: str, packed: ForestPacking
    ) -> ForestPacking:
        self.ways[way] += 1
        self._known[_key(network, links)] = packed
        return on_paths(network, links, packed)

    def _groups(self, network: Network, trusted: Sequence[Sequence[int]]) -> Groups:
        """Tight and robust groups, or none when there is no point in them."""
        groups = find_groups(network, network.need, [g for g in trusted if len(g) > 1])
        if len(groups) < 2:
            groups = [[v] for v in network.terminals]
        single = {group[0] for group in groups if len(group) == 1}
        for members in (*trusted, *wide_parts(network)):
            if single.issuperset(members) and is_tight(network, members):
                single.difference_update(members)
                groups = [g for g in groups if len(g) > 1 or g[0] in single] + [sorted(members)]
        covered = {v for g in groups for v in g}
        groups += [[v] for v in network.terminals if v not in covered]
        return sorted(groups) if 1 < len(groups) < len(network.terminals) else []


def _key(network: Network, links: Sequence[tuple[int, int]]) -> object:
    """A key that is equal for networks with the same packing."""
    return tuple(network.demand), tuple((u, v, network.out[u][v]) for u, v in links)
