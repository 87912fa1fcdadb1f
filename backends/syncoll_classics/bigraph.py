"""Rank mapping for halving-doubling on a BiGraph (EFLOPS, HPCA 2020).

A BiGraph has two layers of s switches, every upper one joined to every lower one, and n nodes under
each.  Every pair of halving-doubling (ranks that differ in one binary digit) has one node in each
layer, and the n nodes of a switch send over different cables.

Ranks with an even number of ones go to the upper layer, so that each exchange crosses.  Of the log2
s + log2 n digits without the last, the low log2 s number the upper switch, the high log2 s the
lower one.  Nodes of an upper switch differ in their high log2 n digits, so their partners are under
min(n, s) different switches, n / s each if n is larger.
"""

import re
from dataclasses import dataclass

import numpy as np

from syncoll.arrays import Ints
from syncoll.errors import OptionError
from syncoll.model import Fabric, Topology


@dataclass(frozen=True)
class BiGraph:
    """The nodes under each upper switch, and under each lower one."""

    upper: tuple[tuple[int, ...], ...]
    lower: tuple[tuple[int, ...], ...]


def numbered_bigraph(text: str, nodes: int) -> BiGraph:
    """Parses a BiGraph numbered switch by switch, upper layer first: ``4x8`` is 4 switches, 8 nodes
    each.  Raises `OptionError` if the text is malformed, or has another number of nodes."""
    found = re.fullmatch(r"(\d+)x(\d+)", text)
    switches, each = (int(found[1]), int(found[2])) if found else (0, 0)
    if switches * each != nodes or switches % 2 or min(switches, each) < 1:
        raise OptionError(
            f"option bigraph of seed halving_doubling is {text!r}; it must be SWITCHESxNODES with "
            f"an even number of switches, and {nodes} nodes in all, as in 4x8"
        )
    groups = [tuple(range(i * each, (i + 1) * each)) for i in range(switches)]
    return BiGraph(tuple(groups[: switches // 2]), tuple(groups[switches // 2 :]))


def recognise_bigraph(topology: Topology) -> BiGraph | None:
    """The BiGraph of a topology, read off its switches or its bounds; otherwise None."""
    fabric = topology.fabric
    joined = _by_bounds(topology) if fabric is None else _by_switches(fabric)
    if not joined or not all(joined):
        return None
    lower = joined[min(joined, key=min)]
    upper = joined.keys() - lower
    if any(joined.get(one) != (upper if one in lower else lower) for one in joined.keys() | lower):
        return None
    layers = [tuple(tuple(sorted(one)) for one in sorted(s, key=min)) for s in (upper, lower)]
    groups = [*layers[0], *layers[1]]
    covered = sorted(node for group in groups for node in group)
    alike = len(layers[0]) == len(layers[1]) and len({len(group) for group in groups}) == 1
    whole = covered == list(range(topology.num_nodes))
    return BiGraph(*layers) if alike and whole else None


_Joined = dict[frozenset[int], set[frozenset[int]]]
"""The nodes under each switch, with the sets of nodes under the switches of the other layer."""


def _by_switches(fabric: Fabric) -> _Joined:
    """Reads the layers off the links between switches; empty if nodes have other links."""
    nodes, ends = fabric.num_nodes, fabric.bandwidths
    if any((b, a) not in ends or (a < nodes and b < nodes) for a, b in ends):
        return {}
    below = {
        switch: frozenset(b for a, b in ends if a == switch and b < nodes)
        for switch in range(nodes, fabric.num_vertices)
    }
    joined: _Joined = {group: set() for group in below.values()}
    for a, b in ends:
        if min(a, b) >= nodes:
            joined[below[a]].add(below[b])
    return joined


def _by_bounds(topology: Topology) -> _Joined:
    """Reads the layers off the bounds, each over the links from one switch's nodes to another's."""
    joined: _Joined = {}
    for bound in topology.bounds:
        sources = frozenset(a for a, _ in bound.links)
        destinations = frozenset(b for _, b in bound.links)
        if min(len(sources), len(destinations)) < 2 or sources & destinations:
            continue
        if len(bound.links) == len(sources) * len(destinations):
            joined.setdefault(sources, set()).add(destinations)
    return joined


def rank_mapping(graph: BiGraph) -> Ints | None:
    """The node of each rank; None unless switches and nodes are powers of two in number."""
    switches, each = len(graph.upper), len(graph.upper[0])
    if switches & (switches - 1) or each & (each - 1):
        return None
    nodes = np.empty(2 * switches * each, dtype=np.int64)
    free = [[list(group) for group in layer] for layer in (graph.upper, graph.lower)]
    for rank in range(len(nodes)):
        layer = rank.bit_count() % 2
        digits = rank % (switches * each)  # without the last digit
        switch = digits // each if layer else digits % switches
        nodes[rank] = free[layer][switch].pop(0)
    return nodes
