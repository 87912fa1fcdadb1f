"""Routed steps: sends that take several links within one step, see docs/topologies.md.

They cost the load of their fullest link: that is a topology too, with a link between any two nodes,
and for each bound of B one over all pairs whose route takes a link of it.
"""

from dataclasses import replace

import numpy as np

from syncoll.arrays import Ints
from syncoll.errors import ModelError
from syncoll.model import UNREACHABLE, Fabric, Topology, ranges

MOST_ROUTED = 512
"""Nodes that a topology with routed steps may have: it has a link for each pair."""


def routed(topology: Topology) -> Topology:
    """The topology on which a send may go any way in a step.

    Routes are shortest paths, one for each pair of nodes, by destination as in a router's table: at
    each node all sends to one destination leave by one link, the one whose way on has the least
    load so far when every node sends to every other.  A pair whose route would take two links of
    one bound gets no link, as B cannot count a send twice.

    Where each link has a bandwidth of its own and nothing is shared, the links become the cables of
    the result's `fabric`.  A network with switches stays it only if every pair had a link.

    Raises `ModelError` if there are more than `MOST_ROUTED` nodes, or switches copy or add up.
    """
    nodes = topology.num_nodes
    if topology.counts_copies:
        raise ModelError(
            f"routed steps on {topology.name}, whose switches copy or add up",
            topology.origin,
            "a topology without `multicast`, `reduce` or `counting`",
        )
    if nodes > MOST_ROUTED:
        raise ModelError(
            f"routed steps on {topology.name} would need a link for each pair of {nodes} nodes",
            topology.origin,
            f"at most {MOST_ROUTED} nodes",
        )
    pairs, taken = _taken(next_links(topology), topology)
    counts = np.array([len(bounds) for bounds in topology.link_bounds], dtype=np.int64)
    flat = np.array([b for bounds in topology.link_bounds for b in bounds], dtype=np.int64)
    begins, width = np.cumsum(counts) - counts, counts[taken]
    use = np.stack([flat[ranges(begins[taken], width)], np.repeat(pairs, width)])
    used, times = np.unique(use, axis=1, return_counts=True)
    twice = np.unique(used[1, times > 1])
    used = used[:, ~np.isin(used[1], twice)]
    starts = np.searchsorted(used[0], np.arange(len(topology.bounds) + 1))
    bounds = tuple(
        replace(bound, links=tuple(_links(used[1, first:last], nodes)))
        for bound, first, last in zip(topology.bounds, starts, starts[1:], strict=False)
        if first < last
    )
    links = tuple(_links(np.setdiff1d(pairs, twice), nodes))
    return Topology(
        f"routed {topology.name}",
        nodes,
        links,
        bounds,
        topology.origin,
        _cables(topology, links),
        grains=topology.grains,
    )


def next_links(topology: Topology) -> Ints:
    """The link ``[node, destination]`` by which a node sends on; -1 without a route."""
    nodes, distances = topology.num_nodes, topology.distances
    share = [
        float(max(1 / topology.bounds[bound].chunks_per_round for bound in bounds))
        for bounds in topology.link_bounds
    ]
    heads = [b for _, b in topology.links]
    load = [0.0] * len(topology.links)

    onward = np.full((nodes, nodes), -1, dtype=np.int64)
    for destination in range(nodes):
        away = distances[:, destination]
        order = np.argsort(away, kind="stable")
        order = order[(away[order] > 0) & (away[order] != UNREACHABLE)]
        closer = away.tolist()
        way: dict[int, list[int]] = {destination: []}  # the links from a node on
        for node in order.tolist():
            ways = [
                [link, *way[heads[link]]]
                for link in topology.out_links[node]
                if closer[heads[link]] < closer[node]
            ]
            loads = [sorted((load[link] for link in links), reverse=True) for links in ways]
            way[node] = min(zip(loads, ways, strict=True))[1]
            onward[node, destination] = way[node][0]
            for link in way[node]:
                load[link] += share[link]
    return onward


def _taken(onward: Ints, topology: Topology) -> tuple[Ints, Ints]:
    """All links of all routes: the number P * source + destination of a pair, and a link."""
    nodes = len(onward)
    heads = np.array([b for _, b in topology.links], dtype=np.int64)
    pairs = np.flatnonzero(onward.ravel() >= 0)
    at, to = pairs // nodes, pairs % nodes
    found = [(pairs[:0], pairs[:0])]
    while len(pairs):
        links = onward[at, to]
        found.append((pairs, links))
        at = heads[links]
        going = at != to
        pairs, at, to = pairs[going], at[going], to[going]
    return np.concatenate([p for p, _ in found]), np.concatenate([x for _, x in found])


def _links(pairs: Ints, nodes: int) -> list[tuple[int, int]]:
    return list(zip((pairs // nodes).tolist(), (pairs % nodes).tolist(), strict=True))


def _cables(topology: Topology, links: tuple[tuple[int, int], ...]) -> Fabric | None:
    """The links as cables between nodes, where they can be."""
    switched = topology.fabric is not None and topology.fabric.num_switches > 0
    if switched and links != topology.links:  # routes through its switches give other links
        return None
    try:
        return Fabric.of(topology)
    except ModelError:
        return None
