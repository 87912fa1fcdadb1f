"""Packs trees box by box.

A group of nodes is *tight* if the links that enter it carry exactly the trees rooted outside.  It
is *robust* if the links inside it are so wide that no cut through it could be violated.  In both
cases every tree can enter the group once, and be continued on the group's own links: for every
set S inside a group X,

    capacity(S, X - S) >= trees rooted in S + trees that enter X in S.

This follows for a tight group from the cut around X - S, and for a robust one because its inner
cuts always carry the right side.  So the graph of groups is packed, then each group with the trees
that enter it as further roots, and the two are joined along the line.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from syncoll.arrays import Ints
from syncoll.routing.network import Network
from syncoll.routing.reduction import Groups
from syncoll_forestcoll.packing import Arc, ArcBlock, ForestPacking, locate

Packer = Callable[[Network], ForestPacking]


def pack_by_groups(network: Network, groups: Groups, pack: Packer) -> ForestPacking:
    """Packs the graph of groups and every group on physical paths, and joins the results.  The
    groups, tight, robust or single, partition the terminals of a network without switches."""
    outer = pack(network.quotient(groups)[0])
    arcs: list[Arc] = [
        (network.home[path[0]], network.home[path[-1]], path) for _, _, path in outer.arcs
    ]
    heads = np.array([head for _, head, _ in arcs] or [0], dtype=np.int64)
    root_start: dict[int, int] = {}
    for i, group in enumerate(groups):
        begin = outer.root_start.get(i, 0)
        for v in group:
            if network.demand[v]:
                root_start[v] = begin
                begin += network.demand[v]
    blocks: list[ArcBlock] = []
    for block in outer.blocks:
        for column, i in enumerate(block.vertices):
            line = block.arcs[:, column]
            changed = np.concatenate([[True], line[1:] != line[:-1]])
            starts, entry = block.starts[changed], line[changed]
            if len(groups[i]) == 1:
                blocks.append(ArcBlock((groups[i][0],), starts, entry[:, None]))
                continue
            blocks.append(_inside(network, groups[i], starts, entry, heads, root_start, arcs, pack))
    return ForestPacking(network.total, root_start, arcs, blocks)


def _inside(
    network: Network,
    group: list[int],
    starts: Ints,
    entry: npt.NDArray[np.int32],
    heads: Ints,
    root_start: dict[int, int],
    arcs: list[Arc],
    pack: Packer,
) -> ArcBlock:
    """Continues all trees inside a group; adds the group's arcs to `arcs`."""
    local = {v: i for i, v in enumerate(group)}
    own = [v for v in group if network.demand[v]]
    cuts = np.array([root_start[v] for v in own], dtype=np.int64)
    all_starts = np.union1d(starts, cuts)
    entry = entry[locate(starts, all_starts)]
    starts = all_starts
    lengths = np.diff(starts, append=network.total)
    index = np.full(network.num_vertices, -1, dtype=np.int64)
    index[group] = np.arange(len(group))
    port = index[heads[np.maximum(entry, 0)]]
    if own:
        mine = entry < 0
        by_start = np.argsort(cuts)
        owner = np.array([local[v] for v in own], dtype=np.int64)[by_start]
        port[mine] = owner[locate(cuts[by_start], starts[mine])]
    demand = np.bincount(port, weights=lengths, minlength=len(group)).astype(np.int64)
    home = [index[v] for v in network.home]
    inner = Network(demand.tolist(), range(len(group)), home)
    for u in group:
        for v in network.out[u]:
            if v in local:
                inner.add(local[u], local[v], network.pieces[u, v])
    packed = pack(inner)
    first = len(arcs)
    arcs.extend((group[u], group[v], path) for u, v, path in packed.arcs)
    # The outer pieces of each port lie one after another on its interval of the inner line.
    order = np.lexsort((starts, port))
    base = np.array([packed.root_start.get(i, 0) for i in range(len(group))], dtype=np.int64)
    running = np.cumsum(lengths[order]) - lengths[order]
    ports, where = np.unique(port[order], return_index=True)
    offset = np.zeros(len(group), dtype=np.int64)
    offset[ports] = running[where]
    inner_start = np.empty_like(starts)
    inner_start[order] = base[port[order]] + running - offset[port[order]]
    # Maps the inner pieces back to the outer line.
    breaks = np.unique(np.concatenate([block.starts for block in packed.blocks]))
    by_inner = np.argsort(inner_start)
    holder = by_inner[locate(inner_start[by_inner], breaks)]
    fresh = np.unique(np.concatenate([starts, starts[holder] + breaks - inner_start[holder]]))
    piece = locate(starts, fresh)
    at = inner_start[piece] + fresh - starts[piece]
    table = np.empty((len(fresh), len(group)), dtype=np.int32)
    for block in packed.blocks:
        rows = block.arcs[locate(block.starts, at)]
        table[:, list(block.vertices)] = np.where(rows >= 0, rows + first, entry[piece][:, None])
    return ArcBlock(tuple(group), fresh, table)
