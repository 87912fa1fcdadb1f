"""Rank mapping for halving-doubling on a BiGraph (EFLOPS, HPCA 2020).

A BiGraph has two layers of s switches, every upper one joined to every lower one, and n nodes under
each.  Every pair of halving-doubling (ranks that differ in one binary digit) gets one node in each
layer, and the n nodes of a switch send over different cables.

Ranks with an even number of ones go to the upper layer, so that each exchange crosses.  Of the log2
s + log2 n digits without the last, the low log2 s number the upper switch, the high log2 s the
lower one.  Nodes of an upper switch differ in their high log2 n digits, so their partners are under
min(n, s) different switches, n / s each if n is larger.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from syncoll.arrays import IntArray
from syncoll.errors import OptionError
from syncoll.model import Topology
from syncoll.model.fabric import Fabric

__all__ = ["BiGraph", "numbered_bigraph", "rank_mapping", "recognise_bigraph"]


@dataclass(frozen=True)
class BiGraph:
    """The nodes under each upper switch, and under each lower one."""

    upper: tuple[tuple[int, ...], ...]
    lower: tuple[tuple[int, ...], ...]


def numbered_bigraph(text: str, nodes: int) -> BiGraph:
    """Parses a BiGraph numbered switch by switch, upper layer first: ``4x8`` is 4 switches, 8 nodes
    each.

    Raises:
        OptionError: if the text is malformed, or has another number of nodes.
    """
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
    """The BiGraph that a topology was made from, or whose cables its bounds are; else None."""
    if topology.fabric is not None:
        return _of_fabric(topology.fabric)
    return _of_cables(topology)


def _of_fabric(fabric: Fabric) -> BiGraph | None:
    """Reads the layers off the links between switches."""
    nodes, ends = fabric.num_nodes, fabric.bandwidths
    if fabric.num_switches < 2 or any((b, a) not in ends for a, b in ends):
        return None
    below: dict[int, list[int]] = {switch: [] for switch in range(nodes, fabric.num_vertices)}
    joined: dict[int, set[int]] = {switch: set() for switch in below}
    for a, b in ends:
        if a >= nodes and b >= nodes:
            joined[a].add(b)
        elif a >= nodes:
            below[a].append(b)
        elif b < nodes:
            return None
    if (layers := _layers(joined, joined[nodes])) is None:
        return None
    return _checked(*([below[s] for s in sorted(layer)] for layer in layers), nodes=nodes)


_Group = TypeVar("_Group", int, frozenset[int])


def _layers(
    joined: Mapping[_Group, Set[_Group]], lower: Set[_Group]
) -> tuple[Set[_Group], Set[_Group]] | None:
    """Upper and lower groups, if each of either layer is joined to just those of the other."""
    upper = joined.keys() - lower
    layered = lower <= joined.keys() and all(
        joined[one] == (upper if one in lower else lower) for one in joined
    )
    return (upper, lower) if layered else None


def _of_cables(topology: Topology) -> BiGraph | None:
    """Reads the layers off the bounds, each over the links from one switch's nodes to another's."""
    joined: dict[frozenset[int], set[frozenset[int]]] = {}
    for bound in topology.bounds:
        sources = frozenset(a for a, _ in bound.links)
        destinations = frozenset(b for _, b in bound.links)
        if min(len(sources), len(destinations)) < 2 or sources & destinations:
            continue
        if len(bound.links) == len(sources) * len(destinations):
            joined.setdefault(sources, set()).add(destinations)
    if not joined:
        return None
    if (layers := _layers(joined, joined[min(joined, key=min)])) is None:
        return None
    return _checked(*(sorted(layer, key=min) for layer in layers), nodes=topology.num_nodes)


def _checked(
    upper: Sequence[Iterable[int]], lower: Sequence[Iterable[int]], *, nodes: int
) -> BiGraph | None:
    """Two layers, if they are of one size and every node is under exactly one switch."""
    layers = [tuple(tuple(sorted(group)) for group in layer) for layer in (upper, lower)]
    groups = [*layers[0], *layers[1]]
    covered = sorted(node for group in groups for node in group)
    alike = len(layers[0]) == len(layers[1]) and len({len(group) for group in groups}) == 1
    return BiGraph(*layers) if alike and covered == list(range(nodes)) else None


def rank_mapping(graph: BiGraph) -> IntArray | None:
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
