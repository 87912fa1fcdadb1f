"""Packs all trees of a network without switches by the fastest method that works."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from syncoll.arrays import Ints
from syncoll.model.distances import UNREACHABLE, distances
from syncoll.routing.network import FlowNetwork, Network
from syncoll.routing.reduction import Groups, find_groups, is_tight, wide_parts
from syncoll_forestcoll.packing import ArcBlock, ForestPacking, on_paths
from syncoll_forestcoll.packing_by_groups import pack_by_groups
from syncoll_forestcoll.packing_by_growth import pack_by_growth

_LARGE = 300_000
"""From this many nodes times entering links on, groups are tried before orders."""


class Packer:
    """Packs networks, isomorphic ones once; tries the `groups` of vertices first."""

    def __init__(self, groups: Sequence[Sequence[int]] = ()) -> None:
        self.groups = groups
        self.ways: dict[str, int] = {"order": 0, "groups": 0, "growth": 0}
        self._known: dict[object, ForestPacking] = {}

    def pack(self, network: Network, *, outermost: bool = False) -> ForestPacking:
        """Packs all trees on physical paths; they must fit."""
        packed = self.quickly(network, outermost=outermost)
        if packed is None:
            links = sorted(network.pieces)
            packed = self._keep(network, links, "growth", pack_by_growth(network, links))
        return packed

    def quickly(self, network: Network, *, outermost: bool = False) -> ForestPacking | None:
        """A packing, or None if trees must be grown one by one."""
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
        """Tight and robust groups; none if they would not help."""
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


def pack_by_order(network: Network, links: list[tuple[int, int]]) -> ForestPacking | None:
    """A packing of trees of least height, or None; arcs number `links`.

    If every node's parent is nearer to the root than itself, the parents form a tree.  So at each
    node the trees only have to share the entering links' capacities, each tree choosing among its
    nearer neighbours: a transportation problem.  If each node has a solution, the forest is optimal
    and of least height.
    """
    nodes = network.terminals
    place = {v: i for i, v in enumerate(nodes)}
    roots = np.array([i for i, v in enumerate(nodes) if network.demand[v]], dtype=np.int64)
    demand = np.array([network.demand[nodes[i]] for i in roots], dtype=np.int64)
    start = np.cumsum(demand) - demand
    number = {ends: i for i, ends in enumerate(links)}
    entering = [sorted(place[u] for u in network.into[v]) for v in nodes]
    linked = np.zeros((len(nodes), len(nodes)), dtype=bool)
    for i, parents in enumerate(entering):
        linked[parents, i] = True
    distance = distances(len(nodes), np.argwhere(linked))[roots].T.copy()
    if (distance == UNREACHABLE).any():
        return None
    blocks = []
    for i, v in enumerate(nodes):
        parents = entering[i]
        nearer = distance[parents] < distance[i]
        capacity = [network.into[v][nodes[u]] for u in parents]
        line = _share(nearer, roots != i, demand, start, capacity)
        if line is None:
            return None
        starts, chosen = line
        numbers = np.array([number[nodes[u], v] for u in parents] + [-1], dtype=np.int32)
        blocks.append(ArcBlock((v,), starts, numbers[chosen][:, None]))
    root_start = {nodes[i]: int(s) for i, s in zip(roots, start, strict=True)}
    return ForestPacking(network.total, root_start, [], blocks)


def _share(
    nearer: npt.NDArray[np.bool_],
    wanted: npt.NDArray[np.bool_],
    demand: Ints,
    start: Ints,
    capacity: list[int],
) -> tuple[Ints, Ints] | None:
    """Shares a node's entering links among the trees, or None; merges roots with equal choices.

    `nearer` is ``[link, root]``: whether the link comes from nearer to the root.  The result has
    starts of the pieces of the line, and each piece's link, or -1 at the node's own trees.
    """
    if not wanted.any():
        return start, np.full(len(start), -1, dtype=np.int64)
    if not capacity:
        return None
    packed = np.packbits(nearer, axis=0).T
    keys = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, sample, kind = np.unique(keys, return_index=True, return_inverse=True)
    kind = np.where(wanted, kind.ravel(), -1)
    need = np.bincount(kind[wanted], weights=demand[wanted], minlength=len(sample)).astype(np.int64)
    kinds = np.nonzero(need)[0]
    masks = nearer[:, sample[kinds]].T
    a, b = np.nonzero(masks)
    m, d = len(kinds), len(capacity)
    if need.sum() > sum(capacity):
        return None
    flow = FlowNetwork(
        m + d + 2,
        np.concatenate([a, np.full(m, m + d), m + np.arange(d)]),
        np.concatenate([m + b, np.arange(m), np.full(d, m + d + 1)]),
        np.concatenate([need[kinds[a]], need[kinds], np.array(capacity, dtype=np.int64)]),
    )
    if flow.maximum(m + d, m + d + 1) < need.sum():
        return None
    amounts = flow.flows()[: len(a)]
    # The roots, sorted by kind, and the flow on the arcs lie on one common line.
    members = np.nonzero(wanted)[0]
    members = members[np.argsort(kind[members], kind="stable")]
    mine = np.nonzero(amounts)[0]
    offsets = np.cumsum(demand[members]) - demand[members]
    begins = np.cumsum(amounts[mine]) - amounts[mine]
    cuts = np.union1d(offsets, begins)
    at = np.searchsorted(offsets, cuts, side="right") - 1
    own = start[~wanted]
    starts = np.concatenate([own, start[members[at]] + cuts - offsets[at]])
    chosen = np.concatenate(
        [
            np.full(len(own), -1, dtype=np.int64),
            b[mine[np.searchsorted(begins, cuts, side="right") - 1]],
        ]
    )
    order = np.argsort(starts)
    return starts[order], chosen[order]
