"""Swing and Bine trees: exchanges with partners to either side in turn, for rings and tori.

Swing (De Sensi et al., NSDI 2024): in step t an even rank of a ring of 2^k exchanges with the rank
rho(t) places on, an odd one with the rank rho(t) places back, where rho(t), a third of 1 -
(-2)^(t+1), is 1, -1, 3, -5, 11, ….  Data doubles with each step as in recursive doubling, but
messages cross fewer links.  On a torus the steps take the dimensions in turn; 2D such exchanges,
each starting with another dimension and half of them mirrored, keep all links busy.  The tree of
one source, farthest partners first, is the Bine tree (De Sensi et al., SC 2025: binomial trees over
numbers of base -2).

Both suit networks where a message passes many links in a step (`syncoll.routing.routed`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import prod

import numpy as np

from syncoll.arrays import IntArray
from syncoll.model import Topology

__all__ = ["swing_peers", "torus_shape"]


def torus_shape(topology: Topology) -> tuple[int, ...]:
    """The sides of the torus, numbered row by row, that its cables form; else a ring of P."""
    nodes, fabric = topology.num_nodes, topology.fabric
    ring = (nodes,)
    if fabric is None:
        links = set(topology.links)
    elif fabric.num_switches:
        return ring
    else:
        links = {(link.source, link.destination) for link in fabric.links}
    beside = {b for a, b in links if a == 0}
    for shape in _shapes(nodes.bit_length() - 1):
        strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
        ends = zip(shape, strides, strict=True)
        if beside == {x for side, stride in ends for x in (stride, (side - 1) * stride)} and (
            _torus_links(shape) == links
        ):
            return shape
    return ring


def swing_peers(shape: tuple[int, ...], first: int = 0, *, mirrored: bool = False) -> IntArray:
    """The partners of each node, nearest first: ``[step, node]``.

    Args:
        shape: sides of the torus, powers of two; nodes are numbered row by row.
        first: the dimension that begins.
        mirrored: whether partners are on the other side.
    """
    axes = [axis % len(shape) for axis in range(first, first + len(shape))]
    turns = max(side.bit_length() for side in shape) - 1
    places = np.indices(shape).reshape(len(shape), -1)
    peers = []
    for turn in range(turns):
        away = (1 - (-2) ** (turn + 1)) // 3
        for axis in (axis for axis in axes if 1 << turn < shape[axis]):
            sign = np.where(places[axis] % 2 == 0, 1, -1) * (-1 if mirrored else 1)
            moved = places.copy()
            moved[axis] = (places[axis] + sign * away) % shape[axis]
            peers.append(np.ravel_multi_index(tuple(moved), shape))
    return np.array(peers, dtype=np.int64).reshape(-1, prod(shape))


def _shapes(digits: int) -> Iterator[tuple[int, ...]]:
    """All ways to write 2^digits as a product of powers of two above 1, in any order."""
    for cuts in range(1 << max(0, digits - 1)):
        ends = [0, *(i for i in range(1, digits) if cuts >> (i - 1) & 1), digits]
        yield tuple(1 << b - a for a, b in pairwise(ends))


def _torus_links(shape: tuple[int, ...]) -> set[tuple[int, int]]:
    nodes = np.arange(prod(shape)).reshape(shape)
    links: set[tuple[int, int]] = set()
    for axis in range(len(shape)):
        for by in (1, -1):
            other = np.roll(nodes, by, axis)
            links |= set(zip(nodes.ravel().tolist(), other.ravel().tolist(), strict=True))
    return links
